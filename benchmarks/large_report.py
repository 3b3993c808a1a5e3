# SPDX-License-Identifier: BSD-3-Clause
"""The table and the figure of ``benchmarks.large``."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import short, table

DOCS = Path(__file__).parents[1] / "docs"
ALONE = ("QDLDL alone", "Thomas alone")
NAMES = {"pinocchio": "Pinocchio", "mujoco": "MuJoCo", "exudyn": "Exudyn"}
QUANTITIES = {"first": "first answer", "acceleration": "acceleration", "simulated": "per simulated second"}
FITTED_FROM = 100
"""Least size of a case that is fitted."""
COLOURS = {"chain": "#0072B2", "net": "#009E73", "truss": "#D55E00", "bodies": "#CC79A7"}
MARKERS = {"dalembert": "o-", "by hand": "s--", "pinocchio": "^:", "mujoco": "v:", "exudyn": "d:", ALONE[0]: "x:"}

Rows = list[dict[str, Any]]


def report(rows: Rows) -> str:
    """Return all measurements as a table, and the slopes of times against the number of constraints."""
    head = ["case", "constraints", "program", "state", "first answer", "acceleration", "per simulated second"]
    head += ["error", "violation", "memory"]
    lines = [line for row in with_constraints(rows) for line in _lines(row)]
    return f"{measured(rows)}\n\n{table(head, lines)}\n\n{fitted(rows)}\n\n{FIGURE}"


def measured(rows: Rows) -> str:
    """Return when the rows were measured, and beside how many other processes."""
    dates = sorted({row["date"] for row in rows})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    loads = [row["load"] for row in rows]
    return textwrap.fill(
        f"Measured on {os.cpu_count()} cores, {when}. The load of the machine, that of the measured program included, "
        f"was {np.median(loads):.1f} processes in the median, and {max(loads):.1f} at most. Where it is above the "
        f"number of cores, trust ratios of neighbouring rows rather than single times.",
        width=120,
    )


FIGURE = "![CPU seconds to the first answer, of one acceleration and of a simulated second, against the number of \
constraints](figures/large.png)"


def with_constraints(rows: Rows) -> Rows:
    """Return the rows with the number of constraints of their case."""
    known = {(row["kind"], row["size"]): row for row in rows if "constraints" in row}
    shared = ("constraints", "rank")
    return [row | {name: known.get((row["kind"], row["size"]), {}).get(name, 0) for name in shared} for row in rows]


def _lines(row: dict[str, Any]) -> Iterator[list[str]]:
    """Yield the line of a program, and those of other solutions of its equations."""
    case = f"{row['kind']} {row['size']}" + "²" * (row["kind"] == "net")
    count = f"{row['constraints']}" + f" (rank {row['rank']})" * (row["rank"] < row["constraints"])
    program = row["program"]
    by_hand = "by hand (Thomas)" if row["kind"] == "chain" else "by hand (QDLDL)"
    yield [
        case,
        count,
        by_hand if program == "by hand" else NAMES.get(program, program),
        _timed(row, "state"),
        _timed(row, "first"),
        _timed(row, "acceleration", 1e3, "ms"),
        _timed(row, "simulated"),
        f"{row['error']:.0e}" if "error" in row else "–",
        f"{row['violation']:.0e}" if row.get("violation") is not None else "–",
        f"{row['memory']:.0f} MB",
    ]
    for name in ALONE:
        if name in row:
            yield [case, count, name, "–", "–", _timed(row, name, 1e3, "ms"), *["–"] * 4]


TICK = 0.004
"""Seconds in which the clock of a process may advance: an action that was not repeated may take less."""


def _timed(row: dict[str, Any], key: str, scale: float = 1.0, unit: str = "s") -> str:
    if key in ("state", "first") and row.get(key, TICK) < TICK:
        return f"< {TICK} s"
    return f"{short(scale * row[key])} {unit}" if key in row else "–"


def fitted(rows: Rows) -> str:
    """Return the exponents of times as powers of the number of constraints."""
    head, lines = ["kind", "program", *QUANTITIES.values()], []
    for kind in COLOURS:
        for program in dict.fromkeys([*(row["program"] for row in rows if row["kind"] == kind), ALONE[0]]):
            slopes = [_slope(points(rows, kind, program, key)) for key in QUANTITIES]
            if any(slopes):
                lines.append([kind, NAMES.get(program, program), *(slope or "–" for slope in slopes)])
    about = f"Exponents of times as powers of the number of constraints, fitted to all cases of at least {FITTED_FROM}:"
    return f"{about}\n\n{table(head, lines)}"


def points(rows: Rows, kind: str, program: str, key: str) -> list[tuple[int, float]]:
    """Return numbers of constraints and times."""
    if program in ALONE:
        program, key = "dalembert", program if key == "acceleration" else ""
    found = [row for row in with_constraints(rows) if (row["kind"], row["program"]) == (kind, program)]
    return [(row["constraints"], row[key]) for row in found if row.get(key) and row["constraints"]]


def _slope(given: list[tuple[int, float]]) -> str:
    large = [point for point in given if point[0] >= FITTED_FROM]
    return f"{float(np.polyfit(*np.log(np.array(large).T), deg=1)[0]):.2f}" if len(large) > 1 else ""


def draw(rows: Rows) -> None:
    """Draw first answers, accelerations and simulated seconds against the number of constraints."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12.6, 4.2), layout="constrained")
    panels = figure.subplots(1, 3)
    for axes, (key, what) in zip(panels, QUANTITIES.items(), strict=True):
        for kind, colour in COLOURS.items():
            for program, style in MARKERS.items():
                own = points(rows, kind, program, key) if key == "acceleration" or program not in ALONE else []
                if own:
                    axes.loglog(*zip(*own, strict=True), style, color=colour, markersize=4, linewidth=1)
        axes.set_xlabel("constraints")
        axes.set_ylabel(f"{what}, CPU s")
        axes.grid(color="#e6e6e6", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    for kind, colour in COLOURS.items():
        panels[0].plot([], [], "-", color=colour, label=kind)
    for program, style in MARKERS.items():
        panels[1].plot([], [], style, color="k", markersize=4, linewidth=1, label=NAMES.get(program, program))
    for axes in panels[:2]:
        axes.legend(frameon=False, fontsize="small")
    figure.savefig(DOCS / "figures" / "large.png", dpi=110)
