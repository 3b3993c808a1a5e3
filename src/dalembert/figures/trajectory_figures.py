# SPDX-License-Identifier: BSD-3-Clause
"""Figures of a trajectory: against time, and in the phase plane."""

from __future__ import annotations

import difflib
import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.common.names import name_of, quoted, rate_unit
from dalembert.errors import InputError
from dalembert.figures.style import COLOURS, LINE_STYLES, blank_figure, plain_axis, pretty, with_unit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from dalembert.integration.motion_data import MotionData

Units = Mapping[Any, str]
UnitOf = Callable[[str], str | None]

MOST_LINES = len(COLOURS) * len(LINE_STYLES)
MOST_GREY_LINES = 300
"""Most lines without a name of their own: matplotlib needs a minute for the 20 000 coordinates of a large system."""
LEGEND_ROWS = 10
LEGEND_LETTERS = 36
"""Letters beside one another, in all columns of a legend; a wider one would leave little of the figure to its axis."""
LINE_LETTERS = 5
"""Width of the line of a legend, in letters."""
SHOWN_ZERO = 1e-18
"""Value at which an exact zero is drawn on a logarithmic axis: well below rounding."""
ROUNDING_TOP = 1e-12
"""Smallest upper limit of a logarithmic axis of violations, so that mere rounding errors look small."""
ROUNDING_OF_FORCES = 1e-14
"""Forces below this part of the largest one are rounding errors, and are drawn as zero on an axis from -1 to 1."""


@dataclass(frozen=True)
class Panel:
    """Columns of an array that are plotted against time on one axis, in one unit."""

    title: str
    values: Floats
    names: tuple[str, ...]
    columns: tuple[int, ...]
    height: float = 2.2
    logarithmic: bool = False
    zero: float = 0.0
    """The size below which values are rounding errors."""


def overview(run: MotionData, units: Units | None = None) -> Figure:
    """Plot coordinates, constraint forces, violations, inputs and servo errors against time, with one unit per axis."""
    unit = unit_table(run, units)
    panels = [*_coordinate_panels(run, unit), *(_constraint_panels(run, unit) if run.constraints else ())]
    panels += _control_panels(run, unit) if run.inputs else []
    columns = max(_legend_columns([panel.names[k] for k in panel.columns[:MOST_LINES]]) for panel in panels)
    heights = [panel.height if len(panels) <= 4 else 0.85 * panel.height for panel in panels]
    figure = figure_of(run, 6.2 + 0.8 * columns, 0.6 + sum(heights))
    axes = figure.subplots(len(panels), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0]
    for axis, panel in zip(axes, panels, strict=True):
        _draw(axis, run.t, panel)
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
    _draw(ax, run.t, Panel(with_unit(title, kind) if title else kind or "", columns, shown, tuple(range(len(names)))))
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
    return _by_unit("coordinates", "{}", run.q, run.coordinates, unit)


def _constraint_panels(run: MotionData, unit: UnitOf) -> list[Panel]:
    """Return panels for each part of the constraint force, and a logarithmic one for the violations."""
    parts = {"constraint": run.ideal_force}
    if np.any(run.nonideal_force):
        parts = {"ideal": run.ideal_force, "nonideal": run.nonideal_force}
    panels: list[Panel] = []
    for part, values in parts.items():
        found = _by_unit(f"{part} force", f"{part} force on {{}}", values, run.coordinates, _force_unit(unit))
        panels += [replace(panel, zero=ROUNDING_OF_FORCES * float(np.abs(values).max())) for panel in found]
    return [*panels, _logarithmic("violation", run.violation, run.constraints, unit)]


def _control_panels(run: MotionData, unit: UnitOf) -> list[Panel]:
    """Return panels for the inputs of actuators, and a logarithmic one for the errors of servo constraints."""
    force = _force_unit(unit)
    inputs = _by_unit(
        "inputs",
        "input of {}",
        np.stack([*run.inputs.values()], axis=1),
        tuple(run.inputs),
        lambda name: force(name) if name in run.coordinates else unit(name),
    )
    rows = {name: error.reshape(len(run), -1) for name, error in run.servo_error.items()}
    names = [f"{name}[{k}]" if own.shape[1] > 1 else name for name, own in rows.items() for k in range(own.shape[1])]
    return [*inputs, _logarithmic("servo error", np.hstack([*rows.values()]), names, unit)]


def _force_unit(unit: UnitOf) -> UnitOf:
    return lambda name: unit(f"force {name}") or unit("force")


def _by_unit(several: str, single: str, values: Floats, names: tuple[str, ...], unit: UnitOf) -> list[Panel]:
    """Return one panel for each unit, since metres and radians have no common scale."""
    panels: list[Panel] = []
    for kind in dict.fromkeys(unit(name) for name in names):
        columns = tuple(k for k, name in enumerate(names) if unit(name) == kind)
        title = several if len(columns) > 1 else single.format(pretty(names[min(columns)]))
        panels.append(Panel(with_unit(title, kind), values, tuple(map(pretty, names)), columns))
    return panels


def _logarithmic(title: str, values: Floats, rows: Sequence[str], unit: UnitOf) -> Panel:
    """Return a panel of absolute values on a logarithmic axis; the rows of a servo have its unit."""
    own = [unit(name) or unit(name.rpartition("[")[0]) for name in rows]
    shared = own[0] if len({*own}) == 1 else None
    names = tuple(name if shared else with_unit(name, kind) for name, kind in zip(rows, own, strict=True))
    shown = np.maximum(np.abs(values), SHOWN_ZERO)
    return Panel(with_unit(title, shared), shown, names, tuple(range(len(names))), height=1.7, logarithmic=True)


def _draw(axis: Any, t: Floats, panel: Panel) -> None:
    width = 1.4 if len(panel.columns) <= 8 else 1.0
    for k in panel.columns[:MOST_LINES]:
        style = {"color": COLOURS[k % len(COLOURS)], "linestyle": LINE_STYLES[k % len(LINE_STYLES)]}
        axis.plot(t, panel.values[:, k], linewidth=width, label=panel.names[k], **style)
    if rest := panel.columns[MOST_LINES:]:
        drawn = rest[:: math.ceil(len(rest) / MOST_GREY_LINES)]
        axis.plot(t, panel.values[:, drawn], color="0.8", linewidth=0.7, zorder=0)
    if panel.logarithmic:
        axis.set_yscale("log")
        axis.set_ylim(top=max(ROUNDING_TOP, axis.get_ylim()[1]))
    elif np.abs(panel.values[:, panel.columns]).max() < panel.zero:
        axis.set_ylim(-1, 1)
    axis.set_ylabel(panel.title)
    axis.margins(x=0)
    plain_axis(axis)
    if len(panel.columns) > 1 or panel.logarithmic:
        _legend(axis, len(panel.columns))


def _legend_columns(names: Sequence[str]) -> int:
    """Return the columns of a legend: as many as its names need, or as are not too wide."""
    fitting = LEGEND_LETTERS // (max(map(len, names), default=0) + LINE_LETTERS)
    return max(1, min(math.ceil(len(names) / LEGEND_ROWS), fitting))


def _legend(axis: Any, count: int) -> None:
    """Add a legend of ``count`` curves beside the axis, where it covers none; those that do not fit are counted."""
    lines, names = axis.get_legend_handles_labels()
    columns = _legend_columns(names)
    room = columns * LEGEND_ROWS
    if count > len(names) or count > room:
        shown = min(len(names), room - 1)
        (rest,) = axis.plot([], [], color="0.8" if count > MOST_LINES else "none")
        lines, names = [*lines[:shown], rest], [*names[:shown], f"{count - shown} more"]
    axis.legend(
        lines,
        names,
        loc="center left",
        bbox_to_anchor=(1.0, 0.5),
        ncols=columns,
        frameon=False,
        fontsize="small",
        handlelength=2.4,
        labelspacing=0.3,
        columnspacing=1.0,
    )


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
