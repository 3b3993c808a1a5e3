# SPDX-License-Identifier: BSD-3-Clause
"""The path of a point, in a plane or in space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.common.names import name_of
from dalembert.errors import InputError
from dalembert.figures.style import pretty, with_unit
from dalembert.figures.trajectory_figures import Units, draw_path, figure_of, history, is_array, unit_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalembert.integration.motion_data import MotionData

ROLES = ("horizontal", "vertical", "third")
"""Names of the arguments; in space, the third axis points upwards."""


def path(run: MotionData, given: tuple[Any, ...], units: Units | None, ax: Any) -> Figure:
    """Plot two or three time series against one another with equal scales; a circle marks the start."""
    roles = ROLES[: len(given)]
    columns = [history(run, value, f"`{role}`") for role, value in zip(roles, given, strict=True)]
    unit = unit_table(run, units, roles)
    in_space = len(given) == 3
    if ax is None:
        ax = figure_of(run, 5.2, 5.0).add_subplot(projection="3d" if in_space else None)
    elif in_space != (ax.name == "3d"):
        call = 'figure.add_subplot(projection="3d")' if in_space else "figure.add_subplot()"
        raise InputError(
            f"`ax` must have {len(given)} dimensions; got an axis with {2 if in_space else 3}. Make it by `{call}`."
        )
    draw_path(ax, *columns)
    ax.set_aspect("equal", **({} if in_space else {"adjustable": "datalim"}))
    for axis, role, value in zip("xyz", roles, given, strict=False):
        name = role if is_array(value) else name_of(value)
        getattr(ax, f"set_{axis}label")(with_unit(pretty(name), unit(name)), labelpad=8 if in_space else None)
        if in_space:  # numbers along slanted axes overlap sooner
            ax.locator_params(axis=axis, nbins=5)
    return ax.figure
