# SPDX-License-Identifier: BSD-3-Clause
"""The default figure of a trajectory."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from dalembert.integration.trajectory import Trajectory

# Dark enough for print, distinct for colour-blind readers (Okabe and Ito).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
MOST_LINES = 7


def overview(run: Trajectory) -> Figure:
    """Coordinates, constraint forces (ideal solid, nonideal dashed) and violations against time."""
    constrained = bool(run.constraints)
    heights = [2.2, 2.2, 1.5] if constrained else [2.2]
    figure = Figure(figsize=(7.0, 0.6 + sum(heights)), layout="constrained")
    axes = np.atleast_1d(figure.subplots(len(heights), 1, sharex=True, height_ratios=heights))
    _lines(axes[0], run.t, run.q, run.coordinates)
    axes[0].set_ylabel("coordinates")
    if constrained:
        _forces(axes[1], run)
        _violations(axes[2], run)
    axes[-1].set_xlabel("time t")
    for axis in axes:
        axis.grid(alpha=0.25)
        axis.margins(x=0)
        axis.spines[["top", "right"]].set_visible(False)
    return figure


def _forces(axis: Any, run: Trajectory) -> None:
    _lines(axis, run.t, run.ideal_force, run.coordinates)
    if np.any(run.nonideal_force):
        _lines(axis, run.t, run.nonideal_force, [f"{name}, nonideal" for name in run.coordinates], linestyle="--")
    axis.set_ylabel("constraint force")


def _violations(axis: Any, run: Trajectory) -> None:
    # On a logarithmic axis an exact zero has no place: show it at the bottom, well below rounding.
    _lines(axis, run.t, np.maximum(np.abs(run.violation), 1e-18), run.constraints)
    axis.set_yscale("log")
    axis.set_ylabel("violation")


def _lines(axis: Any, t: Any, values: Any, names: Any, linestyle: str = "-") -> None:
    for k, name in enumerate(names[:MOST_LINES]):
        axis.plot(t, values[:, k], linestyle, color=COLOURS[k], linewidth=1.4, label=name)
    if len(names) > MOST_LINES:
        axis.plot(t, values[:, MOST_LINES:], linestyle, color="0.8", linewidth=0.7, zorder=0)
        axis.plot([], [], color="0.8", label=f"{len(names) - MOST_LINES} more")
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small")
