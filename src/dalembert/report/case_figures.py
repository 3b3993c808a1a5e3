# SPDX-License-Identifier: BSD-3-Clause
"""The figures of a gallery case: those it defines, its time series, and a few special ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.figures.geometry import plot_geometry
from dalembert.figures.panels import SHOWN_ZERO
from dalembert.figures.style import COLOURS, LINE_STYLES, blank_figure, plain_axis
from dalembert.gallery.definition import Case, Picture
from dalembert.integration.drift import Baumgarte, Drift, Projection
from dalembert.integration.trajectory import Trajectory
from dalembert.variational.vakonomic import vakonomic
from dalembert.verbs import motion, simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


SHOWN_EXACT = 1e-17
"""Value at which violations of the size of rounding are drawn on a logarithmic axis."""


class Drawn(NamedTuple):
    """A figure with a name for its file and a caption."""

    name: str
    caption: str
    figure: Figure


def figures_of(case: Case, run: Trajectory) -> Iterator[Drawn]:
    """Yield all figures of a case, from a run of it."""
    for picture in case.pictures:
        yield Drawn(picture.name.replace(" ", "-"), picture.caption, draw(picture, run))
    if case.name in _SPECIAL_FIGURES:
        yield _SPECIAL_FIGURES[case.name](case, run)
    if case.histories:
        shown = ["constraint forces", "violations"] if run.constraints else []
        shown += ["inputs", "servo errors"] if run.inputs else []
        yield Drawn("histories", ", ".join(["Coordinates", *shown]), run.plot(units=case.units))


def draw(picture: Picture, run: Trajectory) -> Figure:
    """Draw one picture of a run."""
    figure = blank_figure(5.4 if picture.equal else 6.4, 4.0)
    axis: Any = figure.subplots()
    for k, curve in enumerate(picture.curves):
        y = curve.y(run)
        values = np.maximum(np.abs(y), SHOWN_ZERO) if picture.log else y
        style = {"color": COLOURS[k % len(COLOURS)], "linestyle": LINE_STYLES[k % len(LINE_STYLES)], "linewidth": 1.4}
        if picture.equal:
            style |= {"linestyle": "-", "marker": "o", "markevery": [0], "markersize": 4}
        axis.plot(curve.x(run), values, label=curve.label, **style)
    axis.set(xlabel=picture.x_label, ylabel=picture.y_label)
    if picture.log:
        axis.set_yscale("log")
        low, high = axis.get_ylim()
        if high < 10 * low:  # widen the axis, so that small variations do not look large
            axis.set_ylim(low / 10, high * 10)
    if picture.equal:
        axis.set_aspect("equal", adjustable="datalim")
    else:
        axis.margins(x=0)
    plain_axis(axis)
    if any(curve.label for curve in picture.curves):
        axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small")
    return figure


def drift_figure(case: Case) -> Figure:
    """Plot violation against time for each drift cure; Baumgarte's from a start off the constraint."""
    cures: Mapping[str, tuple[Drift | None, float]] = {
        "drift=None": (None, 0.0),
        "drift=Baumgarte(2, 2), started 1e-3 off": (Baumgarte(2, 2), 1e-3),
        "drift=Projection()": (Projection(), 0.0),
    }
    figure = blank_figure(7.6, 4.2)
    axis: Any = figure.subplots()
    for (label, (cure, off)), colour in zip(cures.items(), COLOURS, strict=False):
        run = _run_with_drift(case, cure, off)
        axis.loglog(
            run.t[1:], np.maximum(np.abs(run.violation[1:, 0]), SHOWN_EXACT), color=colour, linewidth=1.1, label=label
        )
    axis.set(xlabel="time t / s", ylabel="violation |x² + y² − l²| / m²")
    axis.margins(x=0)
    plain_axis(axis)
    axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=3, frameon=False, fontsize="small")
    return figure


def _run_with_drift(case: Case, cure: Drift | None, off: float) -> Trajectory:
    start = (case.q0[0] + off, *case.q0[1:])
    options: dict[str, Any] = {"drift": cure, "rtol": case.rtol, "atol": case.atol, "allow_violation": True}
    return simulate(case.system, start, case.qd0, case.times, parameters=case.parameters, **options)


def _drift(case: Case, run: Trajectory) -> Drawn:
    return Drawn("drift", "The violation of the rod under three drift cures, rtol = 1e-6", drift_figure(case))


def _geometry(case: Case, run: Trajectory) -> Drawn:
    k = len(run) // 4
    point = motion(case.system, run.q[k], run.qd[k], float(run.t[k]), parameters=case.parameters)
    caption = f"The geometry of constrained motion at t = {run.t[k]:g}: two orthogonal parts make up the acceleration"
    return Drawn("geometry", caption, plot_geometry(point, unit="m/s²"))


def vakonomic_figure(case: Case, run: Trajectory, multipliers0: tuple[float, ...]) -> Figure:
    """Plot the path of a run beside vakonomic paths from the same start, one for each initial multiplier."""
    figure = blank_figure(7.6, 4.0)
    axis: Any = figure.subplots()
    runs = {"nonholonomic (d'Alembert)": run}
    equations = vakonomic(case.system)
    for chosen in multipliers0:
        runs[f"vakonomic, λ(0) = {chosen:g} N s".replace("-", "−")] = equations.simulate(
            case.q0, case.qd0, run.t, multipliers0=(chosen,), parameters=case.parameters, progress=False
        )
    for k, (label, shown) in enumerate(runs.items()):
        style = {"color": COLOURS[k], "linewidth": 1.4, "marker": "o", "markevery": [0], "markersize": 4}
        axis.plot(shown["x"], shown["y"], label=label, **style)
    axis.set(xlabel="x, down the slope / m", ylabel="y, across it / m")
    axis.set_aspect("equal", adjustable="datalim")
    plain_axis(axis)
    axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small")
    return figure


def _vakonomic(case: Case, run: Trajectory) -> Drawn:
    start = run.until(int(np.searchsorted(run.t, 3.0, side="right")))  # later the vakonomic paths only oscillate faster
    caption = (
        "Two theories from one initial state, the first 3 s: d'Alembert's skate runs across the slope, the vakonomic "
        "ones zigzag down it, each for its multiplier λ(0), which the mechanical problem does not determine"
    )
    return Drawn("vakonomic", caption, vakonomic_figure(case, start, (0.0, -0.5)))


_SPECIAL_FIGURES: dict[str, Callable[[Case, Trajectory], Drawn]] = {
    "pendulum": _drift,
    "skate": _vakonomic,
    **dict.fromkeys(("bead", "hoop", "circular-wire", "pendulum-rod-twice"), _geometry),
}
"""Figures that need more than curves of one run."""
