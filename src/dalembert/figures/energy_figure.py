# SPDX-License-Identifier: BSD-3-Clause
"""Kinetic, potential and total energy against time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dalembert.common.array_types import Floats
from dalembert.errors import InputError
from dalembert.figures.style import COLOURS, LINE_STYLES, plain_axis, with_unit
from dalembert.figures.trajectory_figures import figure_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalembert.integration.motion_data import MotionData


def energies(run: MotionData, kinetic: Floats, units: Mapping[Any, str] | None, ax: Any) -> Figure:
    """Plot the kinetic energy (T,) and, if the total energy is known, that and the potential one."""
    unit = {str(key): str(value) for key, value in (units or {}).items()}
    unknown = [name for name in unit if name not in ("t", "energy")]
    if unknown:
        raise InputError(f"`units` must name `t` or `energy`; got `{unknown[0]}`.")
    if ax is None:
        ax = figure_of(run, 6.2, 3.0).subplots()
    parts = {"kinetic": kinetic}
    if run.energy is not None:
        parts |= {"potential": run.energy - kinetic, "total": run.energy}
    for k, (name, values) in enumerate(parts.items()):
        ax.plot(run.t, values, color=COLOURS[k], linestyle=LINE_STYLES[k], linewidth=1.4, label=name)
    ax.set_xlabel(with_unit("time t", unit.get("t")))
    ax.set_ylabel(with_unit("energy" if run.energy is not None else "kinetic energy", unit.get("energy")))
    ax.margins(x=0)
    plain_axis(ax)
    if len(parts) > 1:
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small")
    return ax.figure
