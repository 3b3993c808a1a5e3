# SPDX-License-Identifier: BSD-3-Clause
"""The figures of the tutorial, one function for each chapter: ``python -m website.tutorial_figures`` writes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

import dalembert as da
from dalembert.figures.style import COLOURS, blank_figure, plain_axis

FOLDER = Path(__file__).parents[1] / "docs" / "figures" / "tutorial"
BLUE, ORANGE, GREEN, *_ = COLOURS
GREY = "0.45"


def scene(width: float = 6.0, height: float = 3.4, count: int = 1, **ratios: Any) -> tuple[Any, Any]:
    """Return a figure and its axes, side by side."""
    figure = blank_figure(width, height)
    return figure, figure.subplots(1, count, **ratios)


def arrow(axis: Any, start: Any, vector: Any, colour: str, width: float = 0.012) -> None:
    axis.quiver(*start, *vector, angles="xy", scale_units="xy", scale=1, color=colour, width=width, zorder=3)


def bare(axis: Any) -> None:
    """Equal scales and no frame, for drawings of things."""
    axis.set_aspect("equal")
    axis.axis("off")


def pendulum_system() -> da.System:
    x, y = da.coordinates("x y")
    return da.System((x, y), sp.eye(2), (0, -9.81), da.Constraint(x**2 + y**2 - 1, name="rod"))


def pendulum() -> Any:
    run = da.simulate(pendulum_system(), (1, 0), (0, 0), np.linspace(0, 1.18392, 201))
    figure, axis = scene(5.4, 3.6)
    axis.plot(*run.q.T, color="0.8", linewidth=1)
    for k in (0, 80, 100, 120, 200):
        axis.plot([0, run["x"][k]], [0, run["y"][k]], color=GREY, linewidth=1)
        arrow(axis, run.q[k], (0, -0.28), ORANGE)
        arrow(axis, run.q[k], run.ideal_force[k] / 9.81 * 0.28, BLUE)
        axis.plot(*run.q[k], "o", color="black", markersize=6)
    axis.plot(0, 0, "s", color="black", markersize=5)
    axis.set(xlim=(-1.2, 1.2), ylim=(-1.4, 0.15))
    bare(axis)
    return figure


def forces() -> Any:
    x, y = da.coordinates("x y")
    string = da.Constraint(sp.sqrt(x**2 + y**2) - (1 - da.t / 4), name="string")
    run = da.simulate(da.System((x, y), sp.eye(2), (0, 0), string), (1, 0), (-0.25, 1), np.linspace(0, 3.2, 1601))
    figure, (left, right) = scene(7.0, 3.2, 2)
    left.plot(*run.q.T, color=BLUE, linewidth=1.4)
    left.plot([0, run["x"][0]], [0, run["y"][0]], color=GREY, linewidth=1)
    left.plot(0, 0, "o", color="black", markersize=5)
    left.plot(*run.q[0], "o", color=BLUE, markersize=8)
    left.set(xlabel="x / m", ylabel="y / m", aspect="equal")
    length = 1 - run.t / 4
    right.semilogy(length, -run["string"], color=BLUE, linewidth=2.2, label="computed")
    right.semilogy(length, 1 / length**3, color=ORANGE, linestyle="--", linewidth=1.2, label="1/l³")
    right.set(xlabel="length l of the string / m", ylabel="tension / N", xlim=(1, 0.2))
    right.legend(frameon=False)
    for axis in (left, right):
        plain_axis(axis)
    return figure


def redundancy() -> Any:
    figure, axes = scene(7.2, 2.3, 3)
    for axis, loads in zip(axes, ((40, 40, 40), (60, 0, 60), (20, 80, 20)), strict=True):
        axis.plot([-1.2, 1.2], [0, 0], color="black", linewidth=6, solid_capstyle="butt")
        arrow(axis, (0, 0.9), (0, -0.8), ORANGE)
        axis.text(0.08, 0.62, "120 N", color=ORANGE)
        for place, load in zip((-1, 0, 1), loads, strict=True):
            axis.plot(place, -0.12, "^", color=GREY, markersize=9)
            if load:
                arrow(axis, (place, -0.25 - load / 80), (0, load / 80 - 0.02), BLUE)
            axis.text(place, -0.45 - load / 80, f"{load} N", color=BLUE, ha="center")
        axis.set(xlim=(-1.5, 1.5), ylim=(-1.75, 1.0))
        bare(axis)
    return figure


def rolling() -> Any:
    x, y, theta = da.coordinates("x y theta")
    blade = da.Constraint(x.diff(da.t) * sp.sin(theta) - y.diff(da.t) * sp.cos(theta), name="blade")
    skate = da.System((x, y, theta), sp.diag(1, 1, 0.1), (9.81 * np.sin(0.3), 0, 0), blade)
    run = da.simulate(skate, (0, 0, 0), (0, 0, 2), np.linspace(0, 2 * np.pi, 401))
    figure, axis = scene(7.0, 2.4)
    axis.plot(run["y"], run["x"], color=BLUE, linewidth=1.4)
    for k in range(0, 401, 20):
        along = 0.07 * np.array([np.sin(run["theta"][k]), np.cos(run["theta"][k])])
        here = np.array([run["y"][k], run["x"][k]])
        axis.plot(*np.stack([here - along, here + along]).T, color="black", linewidth=2)
    axis.set(xlabel="y, across the slope / m", ylabel="x, downhill / m", aspect="equal")
    axis.invert_yaxis()
    plain_axis(axis)
    return figure


def friction() -> Any:
    x, y = da.coordinates("x y")
    times = np.linspace(0, 8, 201)
    figure, axis = scene(6.0, 3.2)
    for law, label, colour in ((da.Coulomb(0.2), "Coulomb, μ = 0.2", BLUE), (da.Viscous(0.8), "viscous", ORANGE)):
        ring = da.Constraint(x**2 + y**2 - 0.25, name="ring", nonideal=law)
        run = da.simulate(da.System((x, y), sp.eye(2), (0, 0), ring), (0.5, 0), (0, 2), times)
        axis.plot(run.t, np.hypot(*run.qd.T), color=colour, label=label)
    axis.plot(times[::10], 2 / (1 + 0.8 * times[::10]), "o", color=BLUE, markersize=3, label="2/(1 + μ 2 t/R)")
    axis.plot(times[::10], 2 * np.exp(-0.8 * times[::10]), "o", color=ORANGE, markersize=3, label="2 exp(−0.8 t)")
    axis.set(xlabel="time t / s", ylabel="speed / (m/s)", ylim=(0, None))
    axis.margins(x=0)
    plain_axis(axis)
    axis.legend(frameon=False)
    return figure


def swing_run() -> da.Trajectory:
    x, y = da.coordinates("x y")
    t, omega = da.t, np.sqrt(9.81)
    rope = da.Constraint(sp.sqrt(x**2 + y**2) - 1 - 0.08 * sp.sin(2 * omega * t), name="rope")
    energy = (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 - 9.81 * y
    drag = (-0.1 * x.diff(t), -0.1 * y.diff(t))
    swing = da.System.from_lagrangian(energy, (x, y), applied_force=drag, constraints=rope)
    q, qd = da.consistent_state(swing, (np.sin(0.2), -np.cos(0.2)), (0, 0))
    return da.simulate(swing, q, qd, np.linspace(0, 12, 601))


def ledger() -> Any:
    run = swing_run()
    found = run.ledger()
    figure = blank_figure(6.4, 4.4)
    top, bottom = figure.subplots(2, 1, sharex=True)
    for name, label, colour in (("rope", "rope", BLUE), ("applied forces", "air", ORANGE)):
        top.plot(run.t, found.power[:, found.names.index(name)], color=colour, label=label, linewidth=1.2)
    top.set(ylabel="power / W")
    energy = found.kinetic + found.potential
    bottom.plot(run.t, energy - energy[0], color=GREEN, linewidth=2.6, label="energy gained")
    both = found["rope"] + found["applied forces"]
    bottom.plot(run.t, both, color="black", linestyle="--", linewidth=1, label="work of rope and air")
    bottom.set(xlabel="time t / s", ylabel="energy, work / J")
    for axis in (top, bottom):
        axis.margins(x=0)
        plain_axis(axis)
        axis.legend(frameon=False, loc="upper left")
    return figure


def drift() -> Any:
    times = np.concatenate([[0], np.geomspace(0.1, 1000, 300)])
    cures = {"no correction": None, "Baumgarte(5, 5)": da.Baumgarte(5, 5), "projection": da.Projection()}
    figure, axis = scene(6.0, 3.4)
    for (label, cure), colour in zip(cures.items(), (ORANGE, GREEN, BLUE), strict=True):
        run = da.simulate(pendulum_system(), (1, 0), (0, 0), times, rtol=1e-6, drift=cure)
        worst = np.maximum.accumulate(np.maximum(abs(run.violation[1:, 0]), 1e-17))
        axis.loglog(times[1:], worst, color=colour, label=label)
    axis.set(xlabel="time t / s", ylabel="largest |x² + y² − 1| so far")
    axis.margins(x=0)
    plain_axis(axis)
    axis.legend(frameon=False)
    return figure


def well_posed() -> Any:
    figure, axes = scene(7.4, 2.6, 3, gridspec_kw={"width_ratios": [3.2, 4, 5]})
    titles = ("d = 1.2: two positions", "d = 2: one, degenerate", "d = 3: none")
    turn = np.linspace(0, 2 * np.pi, 100)
    for axis, d, title in zip(axes, (1.2, 2.0, 3.0), titles, strict=True):
        for hook, colour in ((0, BLUE), (d, ORANGE)):
            axis.plot(hook + np.cos(turn), np.sin(turn), color=colour, linewidth=1)
            axis.plot(hook, 0, "s", color="black", markersize=5)
        if d <= 2:
            height = -np.sqrt(max(1 - d**2 / 4, 0))
            axis.plot([0, d / 2, d], [0, height, 0], color=GREY, linewidth=2)
            axis.plot(d / 2, height, "o", color="black", markersize=8)
        axis.set_title(title, fontsize="medium")
        bare(axis)
    return figure


def four_bar_mechanism() -> da.Mechanism:
    def bar(name: str, length: float, mass: float, position: Any, angle: float) -> da.PlanarBody:
        return da.PlanarBody(name, mass=mass, inertia=mass * length**2 / 12, position=position, angle=angle)

    crank = bar("crank", 0.3, 1, (0, 0.15), np.pi / 2)
    coupler, rocker = bar("coupler", 0.8, 2, (0.4, 0.45), 0.4), bar("rocker", 0.7, 2, (0.9, 0.3), 1.9)
    bearing = da.Revolute("bearing", da.ground.at(0, 0), crank.at(-0.15, 0))
    pins = (
        da.Revolute("crank pin", crank.at(0.15, 0), coupler.at(-0.4, 0)),
        da.Revolute("rocker pin", coupler.at(0.4, 0), rocker.at(0.35, 0)),
        da.Revolute("pivot", da.ground.at(1, 0), rocker.at(-0.35, 0)),
    )
    motor = da.Drive("motor", bearing, 2 * np.pi * da.t)
    return da.Mechanism((crank, coupler, rocker), (bearing, *pins, motor), da.Gravity((0, -9.81)))


def four_bar() -> Any:
    linkage = four_bar_mechanism()
    run = da.simulate(linkage.system, *linkage.assemble(), np.linspace(0, 1, 401))

    def point(body: str, along: float, across: float = 0.0) -> Any:
        angle = run[f"theta_{body}"]
        return np.stack(
            [
                run[f"x_{body}"] + along * np.cos(angle) - across * np.sin(angle),
                run[f"y_{body}"] + along * np.sin(angle) + across * np.cos(angle),
            ],
            axis=1,
        )

    figure, axis = scene(6.0, 4.0)
    pin, end, tip = point("coupler", -0.4), point("coupler", 0.4), point("coupler", 0.0, 0.35)
    axis.plot(*tip.T, color=ORANGE, linewidth=1.6)
    for k, shade in zip((0, 100, 200, 300), ("0", "0.35", "0.55", "0.72"), strict=True):
        axis.plot(*np.array([(0, 0), pin[k], end[k], (1, 0)]).T, "o-", color=shade, linewidth=2.2, markersize=4)
        axis.plot(*np.array([pin[k], tip[k], end[k]]).T, color=shade, linewidth=0.8)
        axis.plot(*tip[k], "o", color=ORANGE, markersize=6)
    axis.plot([0, 1], [0, 0], "s", color="black", markersize=6)
    bare(axis)
    return figure


def squeezer() -> Any:
    case = da.gallery.case("andrews")
    run = case.simulate(times=[0, 0.015])
    figure, axes = scene(7.2, 3.6, 2)
    for k, axis in enumerate(axes):
        _draw_squeezer(axis, dict(zip(run.coordinates, run.q[k], strict=True)), case.parameters)
        axis.set_title(f"t = {run.t[k]:g} s", fontsize="medium")
        bare(axis)
    return figure


def _draw_squeezer(axis: Any, q: Any, n: Any) -> None:
    """The links, from the equations that close the loops."""

    def at(angle: float) -> Any:
        return np.array([np.cos(angle), np.sin(angle)])

    A, B, C = (np.array([n[f"x{k}"], n[f"y{k}"]]) for k in "abc")
    right = np.pi / 2
    crank = n["rr"] * at(q["beta"])
    common = crank - n["d"] * at(q["beta"] + q["Theta"])
    lever = B + n["ss"] * at(q["gamma"] - right)
    spring = B + n["sc"] * at(q["gamma"] - right) + n["sd"] * at(q["gamma"])
    upper, lower = A + n["zt"] * at(q["delta"]), A + n["u"] * at(q["epsilon"] - right)
    axis.fill(*np.array([B, lever, spring]).T, color=GREEN, alpha=0.3)
    lines = [((0 * A, crank, common), BLUE), ((B, lever), GREEN), ((A, upper, common), ORANGE)]
    lines += [((A, lower, common), ORANGE)]
    for points, colour in lines:
        axis.plot(*np.array(points).T, "o-", color=colour, linewidth=2.4, markersize=4)
    along = np.linspace(0, 1, 60)[:, None]
    normal = np.array([-(C - spring)[1], (C - spring)[0]]) / np.linalg.norm(C - spring)
    coil = spring + along * (C - spring) + 0.0025 * np.sin(16 * np.pi * along) * normal
    axis.plot(*coil.T, color=GREY, linewidth=1)
    axis.plot(*np.array([0 * A, A, B, C]).T, "s", color="black", markersize=6)


FIGURES: dict[str, Callable[[], Any]] = {
    "01-pendulum": pendulum,
    "02-forces": forces,
    "03-redundancy": redundancy,
    "04-rolling": rolling,
    "05-friction": friction,
    "06-ledger": ledger,
    "07-drift": drift,
    "08-well-posed": well_posed,
    "09-four-bar": four_bar,
    "10-squeezer": squeezer,
}


def main() -> None:
    import matplotlib as mpl

    mpl.rcParams["svg.hashsalt"] = "dalembert"  # the same file from the same figure
    for name, draw in FIGURES.items():
        draw().savefig(FOLDER / f"{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
