# SPDX-License-Identifier: BSD-3-Clause
"""The figure of a fit: measurements, fitted motion and residuals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dalembert.figures.style import COLOURS, blank_figure, plain_axis, pretty, with_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalembert.fitting.result import Fit


def plot_fit(fit: Fit, units: Mapping[str, str]) -> Figure:
    """Return a figure with one column per observation and one colour per coordinate."""
    count = len(fit.observations)
    figure = blank_figure(max(5.0, min(3.6 * count, 14.0)), 4.6)
    axes = figure.subplots(2, count, sharex="col", sharey="row", squeeze=False, height_ratios=[3, 1])
    names = list(dict.fromkeys(name for one in fit.observations for name in one.values))
    for number, (one, run, residuals) in enumerate(zip(fit.observations, fit.runs, fit.residuals, strict=True)):
        above, below = axes[0][number], axes[1][number]
        for name, column in one.values.items():
            colour = COLOURS[names.index(name) % len(COLOURS)]
            above.plot(run.t, run[name], color=colour, linewidth=1.2, label=f"{pretty(name)}, fitted")
            measured = f"{pretty(name)}, measured"
            above.plot(one.times, column, ".", color=colour, markersize=4, alpha=0.6, label=measured)
            below.plot(one.times, residuals[name], ".", color=colour, markersize=4)
        below.axhline(0, color="0.4", linewidth=0.6)
        below.set_xlabel(with_unit("time t", units.get("t")))
        for axis in (above, below):
            plain_axis(axis)
        if count > 1:
            above.set_title(f"observation {number + 1}", fontsize="small")
    unit = units.get(names[0]) if len({units.get(name) for name in names}) == 1 else None
    axes[0][0].set_ylabel(with_unit("coordinates", unit))
    axes[1][0].set_ylabel(with_unit("residual", unit))
    largest = max(np.nanmax(np.abs(column)) for residuals in fit.residuals for column in residuals.values()) or 1.0
    axes[1][0].set_ylim(-1.2 * largest, 1.2 * largest)
    axes[0][-1].legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small")
    figure.align_ylabels(axes[:, 0])
    return figure
