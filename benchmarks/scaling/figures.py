# SPDX-License-Identifier: BSD-3-Clause
"""The measured rows as figures, each line labelled where it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks.scaling.record import Row, complete, rows_of
from benchmarks.scaling.sizes import once

FOLDER = Path(__file__).parents[2] / "docs" / "figures"

Cost = Callable[[Row], float]

COLOURS = {
    "machine code": "#0072B2",
    "JAX": "#009E73",
    "NumPy pinv": "#666666",
}
MIDDLE = 20
"""A line that ends here or before is labelled to the left of its end: others go on to the right of it."""

BY_SIZE = {4: "#0072B2", 10: "#009E73", 40: "#D55E00"}


def draw() -> None:
    """Write all figures, once everything has been measured."""
    if not complete():
        return
    FOLDER.mkdir(exist_ok=True)
    _against_size()
    _against_members()


def _against_size() -> None:
    figure, (left, right) = _panels(2)
    accelerations, simulations = rows_of("acceleration"), rows_of("simulation")
    for axes, rows, what, scale in (
        (left, accelerations, "one acceleration, µs", 1e6),
        (right, simulations, "two seconds of motion, ms", 1e3),
    ):
        _programs(axes, rows, once, scale)
        axes.set_xlabel("coordinates n of a planar chain")
        axes.set_ylabel(what)
    _save(figure, "scaling-size")


def _against_members() -> None:
    figure, (axes,) = _panels(1)
    rows = rows_of("members")
    for n, colour in BY_SIZE.items():
        for device, style in (("cpu", "o-"), ("gpu", "s--")):
            mine = [row for row in rows if row["n"] == n and row["device"] == device]
            many = [row for row in mine if row["program"] == "da.simulate_ensemble"]
            where = f"n = {n}" + (" on the GPU" if device == "gpu" else "")
            _line(axes, many, "members", lambda row: row["per_member"], 1e6, where, colour, style)
            for row in (row for row in mine if row["program"] != "da.simulate_ensemble"):
                axes.axhline(row["per_member"] * 1e6, color=colour, linewidth=0.8, linestyle=":")
    alone = [row["per_member"] * 1e6 for row in rows if row["program"] == "da.simulate in a loop"]
    if alone:
        axes.annotate(
            "dotted: one by one with da.simulate", (4**11, max(alone)), (0, 5), textcoords="offset points", ha="right"
        )
    axes.set_xlabel("members")
    axes.set_ylabel("half a second of motion, µs per member")
    axes.set_xscale("log", base=2)
    axes.set_xlim(right=2**25)
    axes.set_xticks([4**k for k in range(12)])
    _save(figure, "scaling-members")


def _programs(axes: Axes, rows: Iterable[Row], cost: Cost, scale: float) -> None:
    for program, colour in COLOURS.items():
        measured = [row for row in rows if row["program"] == program and "seconds" in row]
        _line(axes, measured, "n", cost, scale, program, colour, "o-")
    axes.set_xticks([2, 5, 10, 20, 50, 100, 200], ["2", "5", "10", "20", "50", "100", "200"])
    axes.set_xlim(1.7, 1000)  # room for the labels
    axes.minorticks_off()


def _line(
    axes: Axes, rows: Sequence[Row], across: str, up: Cost, scale: float, label: str, colour: str, style: str
) -> None:
    points = sorted((row[across], up(row) * scale) for row in rows)
    if not points:
        return
    axes.plot(*zip(*points, strict=True), style, color=colour, markersize=3.5, linewidth=1.4)
    breaks_off = across == "n" and points[-1][0] <= MIDDLE
    aside, side = ((2, 9), "right") if breaks_off else ((6, 0), "left")
    paper = {"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8}
    axes.annotate(label, points[-1], aside, textcoords="offset points", color=colour, ha=side, va="center", bbox=paper)


def _panels(count: int) -> tuple[Figure, Sequence[Axes]]:
    figure = Figure(figsize=(4.9 * count if count > 1 else 7.0, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, count, squeeze=False)[0]
    for axes in panels:
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.grid(color="#e6e6e6", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    return figure, panels


def _save(figure: Figure, name: str) -> None:
    figure.savefig(FOLDER / f"{name}.png", dpi=130)
