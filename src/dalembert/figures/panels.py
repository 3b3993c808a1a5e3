# SPDX-License-Identifier: BSD-3-Clause
"""Panels of a figure: histories of several quantities in one unit, drawn against time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.figures.style import COLOURS, LINE_STYLES, plain_axis, pretty, with_unit

UnitOf = Callable[[str], str | None]
"""The unit of a quantity by its name, None if it has none."""

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


def panels_by_unit(several: str, single: str, values: Floats, names: tuple[str, ...], unit: UnitOf) -> list[Panel]:
    """Return one panel for each unit, since metres and radians have no common scale."""
    panels: list[Panel] = []
    for kind in dict.fromkeys(unit(name) for name in names):
        columns = tuple(k for k, name in enumerate(names) if unit(name) == kind)
        title = several if len(columns) > 1 else single.format(pretty(names[min(columns)]))
        panels.append(Panel(with_unit(title, kind), values, tuple(map(pretty, names)), columns))
    return panels


def logarithmic_panel(title: str, values: Floats, rows: Sequence[str], unit: UnitOf) -> Panel:
    """Return a panel of absolute values on a logarithmic axis; the rows of a servo have its unit."""
    own = [unit(name) or unit(name.rpartition("[")[0]) for name in rows]
    shared = own[0] if len({*own}) == 1 else None
    names = tuple(name if shared else with_unit(name, kind) for name, kind in zip(rows, own, strict=True))
    shown = np.maximum(np.abs(values), SHOWN_ZERO)
    return Panel(with_unit(title, shared), shown, names, tuple(range(len(names))), height=1.7, logarithmic=True)


def draw_panel(axis: Any, t: Floats, panel: Panel) -> None:
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


def legend_columns(names: Sequence[str]) -> int:
    """Return the columns of a legend: as many as its names need, or as are not too wide."""
    fitting = LEGEND_LETTERS // (max(map(len, names), default=0) + LINE_LETTERS)
    return max(1, min(math.ceil(len(names) / LEGEND_ROWS), fitting))


def _legend(axis: Any, count: int) -> None:
    """Add a legend of ``count`` curves beside the axis, where it covers none; those that do not fit are counted."""
    lines, names = axis.get_legend_handles_labels()
    columns = legend_columns(names)
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
