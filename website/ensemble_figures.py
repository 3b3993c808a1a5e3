# SPDX-License-Identifier: BSD-3-Clause
"""The figures of the page on ensembles, one function for each: ``python -m website.ensemble_figures`` writes them.

An argument is the number of points along each side of the basins of attraction, to which the sizes of the other
ensembles are proportional; the default takes some minutes.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp
from matplotlib.colors import ListedColormap

import dalembert as da
from dalembert.figures.style import COLOURS, blank_figure, plain_axis

FOLDER = Path(__file__).parents[1] / "docs" / "figures" / "ensembles"
SIDE = 2000
"""Points along each side of the basins of attraction."""

ROD, DEPTH = 3.0, 0.3
"""Length of the magnetic pendulum, and the distance of the magnets' plane below its lowest point."""


def magnets() -> list[tuple[float, float, float]]:
    """Return the places of three magnets on a circle of radius one."""
    turns = (sp.pi / 2 + 2 * sp.pi * k / 3 for k in range(3))
    return [(float(sp.cos(a)), float(sp.sin(a)), -ROD - DEPTH) for a in turns]


def magnetic_pendulum() -> da.System:
    """A bob on a rod, above three magnets that attract it by the inverse square of the distance, with weak damping."""
    q = da.coordinates("x y z")
    force = [-sp.Rational(1, 5) * c.diff(da.t) for c in q]
    force[2] -= 3
    for place in magnets():
        away = [a - c for a, c in zip(place, q, strict=True)]
        distance = sp.sqrt(sum(d**2 for d in away))
        force = [f + d / distance**3 for f, d in zip(force, away, strict=True)]
    rod = da.Constraint(sum(c**2 for c in q) - ROD**2, name="rod")
    return da.System(q, sp.eye(3), force, rod)


def basins(side: int) -> Any:
    """Draw at which magnet the pendulum comes to rest, by where it is released."""
    places = np.linspace(-2, 2, side)
    x, y = np.meshgrid(places, places)
    start = np.stack([x, y, -np.sqrt(ROD**2 - x**2 - y**2)], axis=-1).reshape(-1, 3)
    many = da.simulate_ensemble(
        magnetic_pendulum(), start, (0, 0, 0), [0, 60], rtol=1e-7, atol=1e-9, keep="end", progress=False
    )
    end = many["q"].values[:, -1, :2]
    nearest = np.argmin([np.hypot(*(end - place[:2]).T) for place in magnets()], axis=0)
    figure = blank_figure(5.6, 5.2)
    axis = figure.subplots()
    picture = nearest.reshape(side, side)
    shades = ListedColormap([COLOURS[0], COLOURS[1], COLOURS[2]])
    smooth = {"interpolation": "antialiased", "interpolation_stage": "rgba"}
    axis.imshow(picture, origin="lower", extent=(-2, 2, -2, 2), cmap=shades, **smooth)
    axis.plot(*np.array(magnets())[:, :2].T, "o", color="white", markeredgecolor="black", markersize=7)
    axis.set(xlabel="x at release", ylabel="y at release")
    return figure


def band(side: int) -> Any:
    """Draw the swing of a damped pendulum whose length, damping and start are known to five per cent."""
    x, y = da.coordinates("x y")
    length, damping = da.parameters("l c")
    drag = [-damping * q.diff(da.t) for q in (x, y)]
    rod = da.Constraint(x**2 + y**2 - length**2, name="rod")
    system = da.System((x, y), sp.eye(2), (drag[0], drag[1] - sp.Rational(981, 100)), rod)
    rng, count, times = np.random.default_rng(1), 5 * side, np.linspace(0, 8, 401)
    lengths, angle = 1 + 0.05 * rng.standard_normal(count), 0.8 * (1 + 0.05 * rng.standard_normal(count))
    numbers = {"l": lengths, "c": 0.3 * (1 + 0.05 * rng.standard_normal(count))}
    start = np.stack([lengths * np.sin(angle), -lengths * np.cos(angle)], axis=1)
    swing = {"angle": sp.atan2(x, -y)}
    many = da.simulate_ensemble(
        system, start, (0, 0), times, parameters=numbers, outputs=swing, keep="summary", progress=False
    )
    low, middle, high = many["quantile_angle"].transpose("quantile", "time").values
    figure = blank_figure(6.4, 3.2)
    axis = figure.subplots()
    axis.fill_between(times, low, high, color=COLOURS[0], alpha=0.3, linewidth=0, label="5 % to 95 %")
    axis.plot(times, middle, color=COLOURS[0], label="median")
    axis.set(xlabel="time (s)", ylabel="angle (rad)", xlim=(0, 8))
    axis.legend(frameon=False)
    plain_axis(axis)
    return figure


def stick_slip_map(side: int) -> Any:
    """Draw for which part of the time a block on a belt sticks, by the belt's speed and the static coefficient."""
    x, y = da.coordinates("x y")
    speed, mu_s = da.parameters("V mu_s")
    friction = da.Coulomb(0.2, velocity=x.diff(da.t) - speed, normal_force=da.multiplier("belt"), mu_static=mu_s)
    belt = da.Constraint(y, name="belt", nonideal=friction)
    system = da.System((x, y), sp.eye(2), (-x - x.diff(da.t) / 10, -10), belt)
    times = np.linspace(0, 100, 1001)
    design = da.grid(V=np.linspace(0.05, 5, 9 * side // 100), mu_s=np.linspace(0.2, 0.6, 6 * side // 100))
    design = design.assign({"x'": design["V"]})  # the block begins at rest on the belt
    slip = {"slip": x.diff(da.t) - speed}
    many = da.simulate_ensemble(system, (0, 0), (0, 0), times, parameters=design, outputs=slip, progress=False)
    late = many["slip"].isel(time=slice(501, None))
    share = (abs(late) < 1e-9).mean("time").transpose("mu_s", "V")
    figure = blank_figure(6.2, 3.8)
    axis = figure.subplots()
    picture = axis.pcolormesh(share["V"], share["mu_s"], share, cmap="viridis", vmin=0, vmax=1, rasterized=True)
    figure.colorbar(picture, ax=axis, label="part of the time that the block sticks")
    axis.set(xlabel="speed of the belt (m/s)", ylabel="static coefficient")
    return figure


FIGURES: dict[str, Callable[[int], Any]] = {"band": band, "stick-slip": stick_slip_map, "basins": basins}


def main(side: int = SIDE) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, draw in FIGURES.items():
        began = time.process_time()
        figure = draw(side)
        figure.savefig(FOLDER / f"{name}.png", dpi=160)
        sys.stdout.write(f"{name}: {time.process_time() - began:.0f} s of processor time\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
