# SPDX-License-Identifier: BSD-3-Clause
"""A cloth that falls over a moving hoop: ``python -m website.cloth_animation cloth.gif`` simulates it and draws it.

The file may end in ``.gif``, ``.html`` (a page with a player) or ``.mp4`` (which needs ffmpeg). ``--side 60`` is the
number of threads in each direction. ``--still`` writes the picture of the documentation instead.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

import dalembert as da
from dalembert.figures.animation_files import checked_writer, quantized
from dalembert.figures.style import COLOURS, canvas_figure

STILL = Path(__file__).parents[1] / "docs" / "figures" / "cloth.png"
STILL_TIMES = (0.12, 0.52, 1.56, 2.0)
SIDE, SPAN, FRAMES_PER_SECOND = 41, 4.0, 25

EDGE, MASS, HEIGHT = 1.9, 0.3, 0.3
"""Edge of the square cloth in metres, its mass in kilograms, and its height above the hoop at the start, in metres."""
RADIUS, TUBE = 0.6, 0.06
"""Radius of the hoop, and the distance from its centre line at which the middle of the cloth touches it, in metres."""
SHEAR, BENDING, DAMPING = 5.0, 0.5, 0.01
"""Stiffness of the springs along diagonals and over two meshes, in N/m, and damping along threads, in N s/m."""
PRESSURE, SOFTNESS, RUBBING, AIR = 100.0, 0.01, 0.1, 0.3
"""Stiffness of the contact with the hoop (N/m) and the distance over which it begins (m); resistance to sliding on the
hoop (N s/m), and that of the air as a rate (1/s)."""

CHECKS = 13
"""Stripes of the pattern in each direction."""
FLOOR, LIGHT = -0.9, np.array([0.35, 0.45, 0.82])
AZIMUTH, ELEVATION = np.radians(35), np.radians(22)


def hoop_centre() -> tuple[sp.Expr, sp.Expr, sp.Expr]:
    """Return the place of the hoop's centre as functions of time: it goes up and around in two seconds."""
    turn = sp.pi * da.t
    return 3 * sp.sin(turn) ** 2 / 10, sp.sin(2 * turn) / 10, 3 * (1 - sp.cos(turn)) / 20


def cloth(side: int) -> tuple[da.System, np.ndarray]:
    """Return a cloth of side² particles, and its positions at the start, flat and at rest above the hoop.

    Threads of fixed length join neighbours; springs resist shear and bending. The hoop presses on particles that come
    closer than ``TUBE`` to its centre line, by a potential, and resists sliding.
    """
    x, y, z = (da.coordinates(name, side**2) for name in "xyz")
    u, v, w, a, b, c = da.coordinates("u v w a b c")
    number = np.arange(side**2).reshape(side, side)
    mesh, mass = EDGE / (side - 1), MASS / side**2

    def joined(*ends: tuple[np.ndarray, np.ndarray]) -> dict[Any, Any]:
        start, end = (np.concatenate([np.ravel(pair[k]) for pair in ends]) for k in (0, 1))
        return {u: x[start], v: y[start], w: z[start], a: x[end], b: y[end], c: z[end]}

    neighbours = joined((number[:, :-1], number[:, 1:]), (number[:-1], number[1:]))
    diagonals = joined((number[:-1, :-1], number[1:, 1:]), (number[1:, :-1], number[:-1, 1:]))
    over_two = joined((number[:, :-2], number[:, 2:]), (number[:-2], number[2:]))
    square = (u - a) ** 2 + (v - b) ** 2 + (w - c) ** 2
    stretches = ((SHEAR, np.sqrt(2) * mesh, diagonals), (BENDING, 2 * mesh, over_two))
    springs = [
        da.AppliedForce.from_potential(k * (sp.sqrt(square) - length) ** 2 / 2, places)
        for k, length, places in stretches
    ]
    rates = {p: -DAMPING * (p - other).diff(da.t) for p, other in ((u, a), (v, b), (w, c), (a, u), (b, v), (c, w))}
    forces = [{z: -9.81 * mass}, *springs, da.AppliedForce.over(rates, neighbours)]
    air = da.AppliedForce.over({p: -AIR * mass * p.diff(da.t) for p in (u, v, w)}, {u: x, v: y, w: z})
    threads = da.Constraint.over(square - mesh**2, neighbours, name="thread")
    system = da.System((x, y, z), mass, [*forces, *_hoop_forces((u, v, w), {u: x, v: y, w: z}), air], threads)
    along, across = np.meshgrid(*[np.linspace(-EDGE / 2, EDGE / 2, side)] * 2)
    return system, np.concatenate([along.ravel(), across.ravel(), np.full(side**2, HEIGHT)])


def _hoop_forces(place: Any, particles: dict[Any, Any]) -> list[da.AppliedForce]:
    """Return the forces of the hoop on particles: pressure by a potential, and resistance to sliding."""
    centre = hoop_centre()
    dx, dy, dz = (p - h for p, h in zip(place, centre, strict=True))
    rounding = SOFTNESS**4  # no corner at the axis and on the centre line
    distance = sp.sqrt((sp.sqrt(dx**2 + dy**2 + rounding) - RADIUS) ** 2 + dz**2 + rounding)
    depth = SOFTNESS * sp.log(1 + sp.exp((TUBE - distance) / SOFTNESS))
    touching = (1 - sp.tanh((distance - TUBE - 2 * SOFTNESS) / (2 * SOFTNESS))) / 2
    sliding = {p: -RUBBING * touching * (p - h).diff(da.t) for p, h in zip(place, centre, strict=True)}
    return [
        da.AppliedForce.from_potential(PRESSURE * depth**2 / 2, particles),
        da.AppliedForce.over(sliding, particles),
    ]


def simulated(side: int, times: Any) -> da.Trajectory:
    """Return the motion of the cloth from rest at some times."""
    system, q = cloth(side)
    return da.simulate(system, q, np.zeros_like(q), times, rtol=1e-4, atol=1e-5)


def _quads(points: np.ndarray) -> np.ndarray:
    """Return the meshes (count, 4, 3) of a grid of points (rows, columns, 3)."""
    corners = (points[:-1, :-1], points[:-1, 1:], points[1:, 1:], points[1:, :-1])
    return np.stack(corners, axis=2).reshape(-1, 4, 3)


def _hoop(t: float) -> np.ndarray:
    """Return the surface of the hoop as quads; it is thinner than ``TUBE`` by the thickness of the cloth."""
    along, around = np.meshgrid(np.linspace(0, 2 * np.pi, 97), np.linspace(0, 2 * np.pi, 9), indexing="ij")
    out = RADIUS + 0.8 * TUBE * np.cos(around)
    ring = np.stack([out * np.cos(along), out * np.sin(along), 0.8 * TUBE * np.sin(around)], axis=-1)
    return _quads(ring + [float(p.subs(da.t, t)) for p in hoop_centre()])


def _checks(meshes: int) -> np.ndarray:
    """Return the colours (meshes², 3) of a chequered cloth."""
    stripe = np.arange(meshes) * CHECKS // meshes % 2
    mixed = (stripe[:, None] + stripe).reshape(-1, 1) / 2
    return 0.96 * (1 - mixed) + _rgb(COLOURS[0]) * mixed


def _rgb(colour: str) -> np.ndarray:
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def draw(axis: Any, q: np.ndarray, t: float) -> None:
    """Draw the cloth and the hoop, faces from back to front, with their shadow on the floor."""
    from matplotlib.collections import PolyCollection

    right = np.array([-np.sin(AZIMUTH), np.cos(AZIMUTH), 0])
    forward = -np.array([np.cos(AZIMUTH) * np.cos(ELEVATION), np.sin(AZIMUTH) * np.cos(ELEVATION), np.sin(ELEVATION)])
    side = round((len(q) / 3) ** 0.5)
    own, ring = _quads(np.moveaxis(q.reshape(3, side, side), 0, -1)), _hoop(t)
    faces = np.concatenate([own, ring])
    normals = np.cross(faces[:, 2] - faces[:, 0], faces[:, 3] - faces[:, 1])
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    colours = np.concatenate([_checks(side - 1), np.tile(_rgb(COLOURS[1]), (len(ring), 1))])
    toward = normals * -np.sign(normals @ forward)[:, None]
    # light falls through the cloth in part, so that no side is black
    shades = 0.42 + 0.2 * np.abs(normals @ LIGHT) + 0.4 * np.maximum(toward @ LIGHT, 0)
    colours = np.clip(colours * shades[:, None], 0, 1)
    order = np.argsort(-(faces @ forward).mean(axis=1))
    shadow = faces - (faces[..., 2:] - FLOOR) * LIGHT / LIGHT[2]
    plane = np.stack([right, np.cross(right, forward)], axis=-1)
    axis.add_collection(PolyCollection(shadow @ plane, facecolors="0.88", edgecolors="0.88", linewidths=0.3))
    axis.add_collection(
        PolyCollection(
            (faces @ plane)[order], facecolors=colours[order], edgecolors=0.92 * colours[order], linewidths=0.3
        )
    )
    axis.set(xlim=(-1.38, 1.27), ylim=(-1.3, 0.9), aspect="equal")
    axis.axis("off")


def pictures(run: da.Trajectory) -> Iterator[Any]:
    """Yield a picture for every time of a run."""
    from PIL.Image import fromarray

    figure = canvas_figure(5.8, 4.8)
    figure.set_layout_engine("none")
    for t, q in zip(run.t, run.q, strict=True):
        figure.clear()
        draw(figure.add_axes((0, 0, 1, 1)), q, t)
        figure.canvas.draw()
        yield fromarray(np.array(figure.canvas.buffer_rgba())[..., :3])


def still(run: da.Trajectory) -> Any:
    """Return a figure with the states of a run beside one another, without the one at the start."""
    figure = canvas_figure(11.6, 2.6)
    for axis, t, q in zip(figure.subplots(1, len(run.t) - 1), run.t[1:], run.q[1:], strict=True):
        draw(axis, q, t)
        axis.set_title(f"t = {t:.2f} s", fontsize="medium")
    return figure


def main() -> None:
    """Write the animation, or the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, nargs="?", default=Path("cloth.gif"))
    parser.add_argument("--side", type=int, default=SIDE)
    parser.add_argument("--still", action="store_true")
    given = parser.parse_args()
    if given.still:
        still(simulated(given.side, [0.0, *STILL_TIMES])).savefig(STILL, dpi=100)
        return
    write = checked_writer(given.path)
    run = simulated(given.side, np.linspace(0, SPAN, round(SPAN * FRAMES_PER_SECOND) + 1))
    write(quantized(list(pictures(run))), given.path, 1000 // FRAMES_PER_SECOND)
    longest = np.abs(run.violation).max()
    sys.stdout.write(
        f"{given.path}: {run.q.shape[1]} coordinates, {run.statistics['steps']} steps; "
        f"squares of the lengths of threads are kept to {longest:.0e} m²\n"
    )


if __name__ == "__main__":
    main()
