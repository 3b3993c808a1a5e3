# SPDX-License-Identifier: BSD-3-Clause
"""Figures of a trajectory: against time, and in the phase plane."""

from __future__ import annotations

import difflib
import math
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.common.names import name_of, quoted, rate_unit
from dalembert.errors import InputError
from dalembert.figures.panels import (
    MOST_LINES,
    Panel,
    UnitOf,
    draw_panel,
    legend_columns,
    logarithmic_panel,
    panels_by_unit,
)
from dalembert.figures.style import COLOURS, blank_figure, plain_axis, pretty, with_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalembert.integration.motion_data import MotionData

Units = Mapping[Any, str]

ROUNDING_OF_FORCES = 1e-14
"""Forces below this part of the largest one are rounding errors, and are drawn as zero on an axis from -1 to 1."""


def overview(run: MotionData, units: Units | None = None) -> Figure:
    """Plot coordinates, constraint forces, violations, inputs and servo errors against time, with one unit per axis."""
    unit = unit_table(run, units)
    panels = [*_coordinate_panels(run, unit), *(_constraint_panels(run, unit) if run.constraints else ())]
    panels += _control_panels(run, unit) if run.inputs else []
    columns = max(legend_columns([panel.names[k] for k in panel.columns[:MOST_LINES]]) for panel in panels)
    heights = [panel.height if len(panels) <= 4 else 0.85 * panel.height for panel in panels]
    figure = figure_of(run, 6.2 + 0.8 * columns, 0.6 + sum(heights))
    axes = figure.subplots(len(panels), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
    for axis, panel in zip(axes, panels, strict=True):
        draw_panel(axis, run.t, panel)
    axes[-1].set_xlabel(with_unit("time t", unit("t")))
    figure.align_ylabels(list(axes))
    return figure


def phase(run: MotionData, names: Iterable[Any], units: Units | None = None) -> Figure:
    """Plot velocity against coordinate, on one axis for each of the named coordinates; a circle marks the start."""
    unit = unit_table(run, units)
    chosen = [_coordinate(run, name) for name in names] or list(run.coordinates)
    columns = min(len(chosen), 2 if len(chosen) <= 4 else 4)
    rows = math.ceil(len(chosen) / columns)
    figure = figure_of(run, max(4.6, 3.2 * columns), max(3.8, 2.7 * rows))
    axes = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axis, name in zip(axes, chosen, strict=False):
        draw_path(axis, run[name], run.qd[:, run.coordinates.index(name)])
        axis.set_xlabel(with_unit(pretty(name), unit(name)))
        axis.set_ylabel(with_unit(_rate(name), rate_unit(unit(name), unit("t"))))
    for axis in axes[len(chosen) :]:
        axis.remove()
    return figure


def histories(run: MotionData, of: Any, units: Units | None = None, ax: Any = None) -> Figure:
    """Plot named histories against time on one axis, which may be one of the user's."""
    unit = unit_table(run, units)
    names = [name_of(name) for name in (of if isinstance(of, list | tuple) else (of,))]
    if not names:
        raise InputError("`of` must name at least one history of the run; got none.")
    shared = {_history_unit(run, name, unit) for name in names}
    columns = np.stack([run[name] for name in names], axis=1)
    if ax is None:
        ax = figure_of(run, 6.2, 3.0).subplots()
    shown = tuple(map(_history_name, names))
    title = shown[0] if len(names) == 1 else ""
    kind = shared.pop() if len(shared) == 1 else None
    draw_panel(
        ax, run.t, Panel(with_unit(title, kind) if title else kind or "", columns, shown, tuple(range(len(names))))
    )
    ax.set_xlabel(with_unit("time t", unit("t")))
    return ax.figure


def _history_name(name: str) -> str:
    """Return the name of a history as it is printed; those of velocities and accelerations keep their primes."""
    stem = name.rstrip("'")
    return pretty(stem) + ("", "′", "″")[len(name) - len(stem)]


def _history_unit(run: MotionData, name: str, unit: UnitOf) -> str | None:
    """Return the unit of a history: that of a coordinate, or of its derivatives; a multiplier has none."""
    stem, time = name.rstrip("'"), unit("t")
    own = unit(stem) if stem in run.coordinates else None
    order = len(name) - len(stem)
    return own if not order else f"{own}/{time}{'²' * (order > 1)}" if own and time else None


def history(run: MotionData, value: Any, role: str) -> Floats:
    """Return the time series (T,) of a coordinate or array; ``role`` names the argument in messages."""
    if is_array(value):
        return _array(run, value, role)
    name = name_of(value)
    if name in run.coordinates:
        return run[name]
    raise InputError(
        f"{role} must be a coordinate of the run ({quoted(run.coordinates)}) or an array of its {len(run)} values; "
        f"got {value!r}."
    )


def is_array(value: Any) -> bool:
    """Return True if a value is a time series rather than the name of a coordinate."""
    return isinstance(value, list | tuple) or np.ndim(value) > 0


def _array(run: MotionData, value: Any, role: str) -> Floats:
    try:
        array = np.asarray(value, float)
    except (TypeError, ValueError):
        raise InputError(f"{role} must hold numbers; got {value!r}.") from None
    if array.shape != run.t.shape:
        raise InputError(f"{role} must have one value for each of the {len(run)} times of the run; got {array.shape}.")
    return array


def unit_table(run: MotionData, units: Units | None, more: tuple[str, ...] = ()) -> UnitOf:
    """Return a function from names to units, None for names without one.

    Raises
    ------
    InputError    if ``units`` is not a mapping, or has names that the run does not have
    """
    if units is None:
        return lambda name: None
    if not isinstance(units, Mapping):
        raise InputError(f'`units` must map names to units, as {{"x": "m", "t": "s"}}; got {units!r}.')
    table = {name_of(key): str(value) for key, value in units.items()}
    forces = ("force", *(f"force {name}" for name in run.coordinates))
    known = ("t", *run.coordinates, *run.constraints, *run.inputs, *run.servo_error, *forces, *more)
    for name in table:
        if name not in known and name not in run.parameters:  # units of parameters come with those of a model file
            near = difflib.get_close_matches(name, known, 1)
            advice = f"Did you mean `{near[0]}`?" if near else f"The run has {quoted(known[: -len(forces + more)])}."
            raise InputError(
                f"`units` must name coordinates, constraints, parameters, `t` or `force`; `{name}` is unknown. {advice}"
            )
    return table.get


def _rate(name: str) -> str:
    """Return the name of a velocity: a dot above a single letter, or words."""
    shown = pretty(name)
    if shown[:2].isalpha() and len(shown) > 1:
        return f"rate of {shown}"
    return unicodedata.normalize("NFC", f"{shown[0]}\N{COMBINING DOT ABOVE}") + shown[1:]


def _coordinate(run: MotionData, name: Any) -> str:
    if (key := name_of(name)) in run.coordinates:
        return key
    raise InputError(f"`names` must name coordinates of the run ({quoted(run.coordinates)}); got `{key}`.")


def _coordinate_panels(run: MotionData, unit: UnitOf) -> list[Panel]:
    return panels_by_unit("coordinates", "{}", run.q, run.coordinates, unit)


def _constraint_panels(run: MotionData, unit: UnitOf) -> list[Panel]:
    """Return panels for each part of the constraint force, and a logarithmic one for the violations."""
    parts = {"constraint": run.ideal_force}
    if np.any(run.nonideal_force):
        parts = {"ideal": run.ideal_force, "nonideal": run.nonideal_force}
    panels: list[Panel] = []
    for part, values in parts.items():
        found = panels_by_unit(f"{part} force", f"{part} force on {{}}", values, run.coordinates, _force_unit(unit))
        panels += [replace(panel, zero=ROUNDING_OF_FORCES * float(np.abs(values).max())) for panel in found]
    return [*panels, logarithmic_panel("violation", run.violation, run.constraints, unit)]


def _control_panels(run: MotionData, unit: UnitOf) -> list[Panel]:
    """Return panels for the inputs of actuators, and a logarithmic one for the errors of servo constraints."""
    force = _force_unit(unit)
    inputs = panels_by_unit(
        "inputs",
        "input of {}",
        np.stack([*run.inputs.values()], axis=1),
        tuple(run.inputs),
        lambda name: force(name) if name in run.coordinates else unit(name),
    )
    rows = {name: error.reshape(len(run), -1) for name, error in run.servo_error.items()}
    names = [f"{name}[{k}]" if own.shape[1] > 1 else name for name, own in rows.items() for k in range(own.shape[1])]
    return [*inputs, logarithmic_panel("servo error", np.hstack([*rows.values()]), names, unit)]


def _force_unit(unit: UnitOf) -> UnitOf:
    return lambda name: unit(f"force {name}") or unit("force")


def draw_path(axis: Any, *columns: Floats) -> None:
    """Draw a path in a plane or in space, with a circle at its start."""
    axis.plot(*columns, color=COLOURS[0], linewidth=1.2, marker="o", markerfacecolor="white", markevery=[0])
    if len(columns) == 2:
        plain_axis(axis)


def figure_of(run: MotionData, width: float, height: float) -> Figure:
    """Return an empty figure, with the name of the theory if it is not d'Alembert's."""
    figure = blank_figure(width, height)
    if run.mark:
        figure.suptitle(run.mark, fontsize="medium")
    return figure
