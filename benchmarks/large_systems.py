# SPDX-License-Identifier: BSD-3-Clause
"""Large systems for measurements: chain, net, truss with redundant rods and chain of bodies, each with a start."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import sympy as sp

import dalembert as da

GRAVITY = 9.81


class Particles(NamedTuple):
    """Particles of mass one, joined by rods, for programs written by hand.

    positions, velocities    (N, 2) or (N, 3)
    start, end               (k,) numbers of the particles that each rod joins
    fixed                    (N,) whether a particle is held
    redundant                (k,) whether a rod follows from the others
    ground                   number of first particles that the system of arrays does not have
    """

    positions: np.ndarray
    velocities: np.ndarray
    start: np.ndarray
    end: np.ndarray
    fixed: np.ndarray
    redundant: np.ndarray
    ground: int = 0


class Case(NamedTuple):
    """A system and a start on its constraints."""

    system: da.System
    q: np.ndarray
    qd: np.ndarray


def chain(links: int) -> Case:
    """A chain of rods of length one that is let go in a horizontal position, its first end fixed."""
    x, y = da.coordinates("x", links), da.coordinates("y", links)
    u, v, w, z = da.coordinates("u v w z")
    first = da.Constraint(x[0] ** 2 + y[0] ** 2 - 1, name="first")
    pairs = {u: x[:-1], v: y[:-1], w: x[1:], z: y[1:]}
    rods = da.Constraint.over((u - w) ** 2 + (v - z) ** 2 - 1, pairs, name="rod")
    system = da.System((x, y), 1, {y: -GRAVITY}, (first, rods))
    return Case(system, np.concatenate([np.arange(1.0, links + 1), np.zeros(links)]), np.zeros(2 * links))


def chain_particles(links: int) -> Particles:
    """The particles and rods of ``chain``, with its fixed end."""
    numbers = np.arange(links + 1)
    positions = np.stack([numbers, 0 * numbers], axis=1).astype(float)
    is_redundant = np.zeros(links, bool)
    return Particles(positions, 0 * positions, numbers[:-1], numbers[1:], numbers == 0, is_redundant, ground=1)


def net(side: int) -> Case:
    """A net of side² particles, bent along a circle, which hangs from two opposite corners."""
    positions, _, start, end, fixed, _, _ = net_particles(side)
    x, y, z = (da.coordinates(name, side**2) for name in "xyz")
    u, v, w, a, b, c = da.coordinates("u v w a b c")
    length = (u - a) ** 2 + (v - b) ** 2 + (w - c) ** 2 - 1
    places = {u: x[start], v: y[start], w: z[start], a: x[end], b: y[end], c: z[end]}
    h = da.parameters("h")
    held = {u: [*x[fixed], *y[fixed], *z[fixed]], h: positions[fixed].T.ravel()}
    fixed_corners = da.Constraint.over(u - h, held, name="held")
    rods = da.Constraint.over(length, places, name="rod")
    system = da.System((x, y, z), 1, {z: -GRAVITY}, (rods, fixed_corners))
    return Case(system, positions.T.ravel(), np.zeros(3 * side**2))


def net_particles(side: int) -> Particles:
    """The particles and rods of ``net``."""
    number = np.arange(side**2).reshape(side, side)
    ends = [(number[:, :-1], number[:, 1:]), (number[:-1], number[1:])]
    start, end = (np.concatenate([np.ravel(pair[k]) for pair in ends]) for k in (0, 1))
    angle = np.pi / side
    turns = angle * np.arange(side)
    radius = 0.5 / np.sin(angle / 2)
    along, across = np.meshgrid(radius * np.sin(turns), np.arange(side, dtype=float))
    height, _ = np.meshgrid(-radius * np.cos(turns), np.arange(side))
    positions = np.stack([along.ravel(), across.ravel(), height.ravel()], axis=1)
    is_corner = np.isin(number.ravel(), [number[0, 0], number[-1, -1]])
    return Particles(positions, 0 * positions, start, end, is_corner, np.zeros(len(start), bool))


def stiff_net(side: int, stiffness: float) -> Case:
    """A flat net of side² particles of mass one, let go, two of its corners held: rods one way, springs the other.

    The springs are damped, by a tenth of their stiffness.
    """
    x, y, z = (da.coordinates(name, side**2) for name in "xyz")
    u, v, w, a, b, c = da.coordinates("u v w a b c")
    number = np.arange(side**2).reshape(side, side)

    def joined(start: np.ndarray, end: np.ndarray) -> dict[sp.Expr, np.ndarray]:
        i, j = start.ravel(), end.ravel()
        return {u: x[i], v: y[i], w: z[i], a: x[j], b: y[j], c: z[j]}

    square = (u - a) ** 2 + (v - b) ** 2 + (w - c) ** 2
    rods = da.Constraint.over(square - 1, joined(number[:, :-1], number[:, 1:]), name="rod")
    across = joined(number[:-1], number[1:])
    springs = da.AppliedForce.from_potential(stiffness * (sp.sqrt(square) - 1) ** 2 / 2, across)
    ends = ((u, a), (v, b), (w, c), (a, u), (b, v), (c, w))
    dampers = da.AppliedForce.over({p: -stiffness / 10 * (p - other).diff(da.t) for p, other in ends}, across)
    flat = np.meshgrid(*[np.arange(side, dtype=float)] * 2)
    q = np.concatenate([flat[0].ravel(), flat[1].ravel(), np.zeros(side**2)])
    h = da.parameters("h")
    # not x of the second corner, which the rods between them hold
    places = [*x[number[0, :1]], *y[number[0, [0, -1]]], *z[number[0, [0, -1]]]]
    held = da.Constraint.over(u - h, {u: places, h: np.zeros(5)}, name="held")
    return Case(da.System((x, y, z), 1, [{z: -GRAVITY}, springs, dampers], (rods, held)), q, np.zeros_like(q))


def truss(panels: int) -> Case:
    """A free, turning truss of square panels with both diagonals: one rod of each panel is redundant."""
    positions, velocities, start, end, *_ = truss_particles(panels)
    x, y = da.coordinates("x", len(positions)), da.coordinates("y", len(positions))
    u, v, w, z = da.coordinates("u v w z")
    l = da.parameters("l")  # noqa: E741
    lengths = np.hypot(*(positions[start] - positions[end]).T)
    places = {u: x[start], v: y[start], w: x[end], z: y[end], l: lengths}
    rods = da.Constraint.over((u - w) ** 2 + (v - z) ** 2 - l**2, places, name="rod")
    return Case(da.System((x, y), 1, {y: -GRAVITY}, rods), positions.T.ravel(), velocities.T.ravel())


def truss_particles(panels: int) -> Particles:
    """The particles and rods of ``truss``; the second diagonal of each panel is redundant."""
    nodes = 2 * (panels + 1)
    low, high = np.arange(0, nodes, 2), np.arange(1, nodes, 2)
    pairs = [(low, high), (low[:-1], low[1:]), (high[:-1], high[1:]), (low[:-1], high[1:]), (high[:-1], low[1:])]
    start, end = (np.concatenate([pair[k] for pair in pairs]) for k in (0, 1))
    positions = np.stack([np.repeat(np.arange(panels + 1.0), 2), np.tile([0.0, 1.0], panels + 1)], axis=1)
    velocities = 2.0 / panels * np.stack([-positions[:, 1], positions[:, 0]], axis=1)
    redundant = np.arange(len(start)) >= len(start) - panels
    return Particles(positions, velocities, start, end, np.zeros(nodes, bool), redundant)


PARTICLES = {"chain": chain_particles, "net": net_particles, "truss": truss_particles}


def spatial_chain(count: int) -> da.Mechanism:
    """A chain of rigid bodies with ball joints, in a horizontal position, its first end fixed."""
    bodies: list[da.Body] = []
    joints: list[da.Spherical] = []
    last = da.ground.at(0, 0, 0)
    for i in range(count):
        bodies.append(da.Body(f"b{i}", 1, (0.01, 0.1, 0.1), position=(i + 0.5, 0, 0)))
        joints.append(da.Spherical(f"j{i}", last, bodies[-1].at(-0.5, 0, 0)))
        last = bodies[-1].at(0.5, 0, 0)
    return da.Mechanism(bodies, joints, da.Gravity((0, 0, -GRAVITY)))


def bodies(count: int) -> Case:
    """The same chain of bodies as a system."""
    mechanism = spatial_chain(count)
    return Case(mechanism.system, *mechanism.assemble())
