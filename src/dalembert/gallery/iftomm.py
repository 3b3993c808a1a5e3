# SPDX-License-Identifier: BSD-3-Clause
"""Mechanisms of the IFToMM library of benchmark problems: A01, A02 and A04."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk

from dalembert.gallery.bodies import start_of
from dalembert.gallery.definition import Case, Check, Measure, Picture, histories, path, si
from dalembert.integration.trajectory import Trajectory
from dalembert.mechanisms.forces import Gravity
from dalembert.mechanisms.frames import ground
from dalembert.mechanisms.joints import Revolute, Rod
from dalembert.mechanisms.mechanism import Mechanism
from dalembert.mechanisms.particle import Particle
from dalembert.mechanisms.spatial_body import Body
from dalembert.model.constraint import Constraint
from dalembert.model.symbols import coordinates
from dalembert.model.system import System

LIBRARY = "IFToMM library of computational benchmark problems"
G = 9.81

# (x, y) at t = 1, 9.99 and 10
PENDULUM_ANALYTIC = (
    (0.98629175113187532, -0.16501085312554117),
    (-0.31643646991303229, -0.94861370457577652),
    (-0.27508746257611686, -0.96141920509912506),
)
# x, y, ẋ, ẏ of B₀ at t = 10; Exudyn's results converge to these as its step goes to zero
FOUR_BARS_COMPUTED = (0.3284581115328, 0.9445185381814, 1.4230514701895, -0.4948688454675)
FOUR_BARS_PUBLISHED = (0.3284573768, 0.9445187937, 1.423050003, -0.4948670827)
# the point P₃ at t = 1, 2, 5 and 10
BRICARD_COMPUTED = (
    (0.2744813193, -0.8867079387, -0.4623300027),
    (-0.7781353730, -0.9803526834, -0.1972526706),
    (0.9999327423, -0.9999999977, -0.0000672554),
    (0.9997309873, -0.9999999638, -0.0002689766),
)


def pendulum(name: str, title: str) -> Case:
    bob = Particle("bob", 1, (-1, 0))
    mechanism = Mechanism(bob, Rod("rod", ground.at(0, 0), bob, length=1), Gravity((0, -G)))
    q0, qd0 = start_of(mechanism)
    return Case(
        name=name,
        title=title,
        about="A point mass on a rod of one metre, let go where the rod is level.",
        source=f"{LIBRARY}, A01",
        system=mechanism.system,
        mechanism=mechanism,
        q0=q0,
        qd0=qd0,
        times=np.linspace(0, 10, 1001),
        checks=(
            Check(
                "x, y at t = 1, 9.99 and 10",
                lambda run: run.q[[100, 999, 1000]],
                PENDULUM_ANALYTIC,
                1e-9,
                "closed form in 30 digits",
            ),
            Check("x, y − elliptic functions", lambda run: run.q - _elliptic_solution(run.t), 0, 1e-9, "closed form"),
            Check("energy", lambda run: run.energy, 0, 1e-9, "conservation"),
        ),
        units=si(metres="x_bob y_bob"),
        pictures=(path("Half a circle, there and back", "x_bob", "y_bob"),),
        points=lambda run: {"pivot": (0, 0), "bob": (run["x_bob"], run["y_bob"])},
        links=(("pivot", "bob"),),
    )


def _elliptic_solution(t: Any) -> Any:
    """Return x, y from sin(θ/2) = k sn(K − √g t, k) with k² = ½, θ from the downward vertical."""
    half = np.arcsin(np.sqrt(0.5) * ellipj(ellipk(0.5) - np.sqrt(G) * t, 0.5)[0])
    return np.stack([-np.sin(2 * half), -np.cos(2 * half)], axis=1)


def four_bars(name: str, title: str, loops: int = 2) -> Case:
    joints = range(loops + 1)
    return Case(
        name=name,
        title=title,
        about=(
            "Windows of four bars side by side, each bar 1 kg and 1 m. Whenever all bars lie in one line the "
            "constraints lose rank for a moment, and there a solver may take a wrong branch."
        ),
        source=f"{LIBRARY}, A02 with N = {loops}",
        system=_windows(loops),
        q0=tuple(x for i in joints for x in (float(i), 1.0)),
        qd0=(1.0, 0.0) * (loops + 1),
        times=np.linspace(0, 10, 101),
        checks=(
            *((_at_the_end(FOUR_BARS_COMPUTED, 1e-7, "computed by us from one angle, to 1e-13"),) * (loops == 2)),
            *(
                (_at_the_end(FOUR_BARS_PUBLISHED, 2e-6, "published: Exudyn's tests at a step of 1.25e-4 s"),)
                * (loops == 2)
            ),
            Check(
                "x₀, y₀ − one angle's motion",
                lambda run: run.q[:, :2] - _reduced_motion(loops, run.t),
                0,
                1e-6,
                "minimal",
            ),
            Check("energy", lambda run: run.qd[:, 0] * 0 + _window_energy(loops, run), 0, 1e-5, "conservation"),
        ),
        units=si(metres=" ".join(f"x{i} y{i}" for i in joints)),
        pictures=(path("The path of the first joint", "x0", "y0"),),
        points=lambda run: {
            **{f"base {i}": (i, 0) for i in joints},
            **{f"joint {i}": (run[f"x{i}"], run[f"y{i}"]) for i in joints},
        },
        links=(
            *((f"base {i}", f"joint {i}") for i in joints),
            *((f"joint {i}", f"joint {i + 1}") for i in range(loops)),
        ),
    )


def _at_the_end(values: Any, tolerance: float, source: str) -> Check:
    def measure(run: Trajectory) -> Any:
        return [*run.q[-1, :2], *run.qd[-1, :2]]

    return Check("x₀, y₀, ẋ₀, ẏ₀ at t = 10", measure, values, tolerance, source)


def _windows(loops: int) -> System:
    """Return uniform bars, described by the coordinates of their ends: M = m/6 [[2, 1], [1, 2]] for each."""
    q = coordinates([f"{axis}{i}" for i in range(loops + 1) for axis in "xy"])
    places = [sp.Matrix(q[2 * i : 2 * i + 2]) for i in range(loops + 1)]
    mass, weights = sp.zeros(len(q)), [0.0] * len(q)
    rows: list[Constraint] = []
    for i, place in enumerate(places):
        bars = [("upright", place - sp.Matrix([i, 0]), None)]
        bars += [("coupler", places[i + 1] - place, i + 1)] if i < loops else []
        for kind, bar, other in bars:
            rows.append(Constraint(bar.dot(bar) - 1, name=f"{kind} {i}"))
            for end in (i,) if other is None else (i, other):
                weights[2 * end + 1] -= G / 2
                for k in (2 * end, 2 * end + 1):
                    mass[k, k] += sp.Rational(1, 3)
            for k in (2 * i, 2 * i + 1) if other is not None else ():
                mass[k, k + 2] = mass[k + 2, k] = sp.Rational(1, 6)
    return System(q, mass, weights, rows)


def _window_energy(loops: int, run: Trajectory) -> Any:
    """Return the change of kinetic and potential energy, from the common speed and the common height."""
    swung, raised = (loops + 1) / 3 + loops, (loops + 1) / 2 + loops
    energy = swung * (run.qd[:, 0] ** 2 + run.qd[:, 1] ** 2) / 2 + raised * G * run.q[:, 1]
    return energy - energy[0]


def _reduced_motion(loops: int, t: Any) -> Any:
    swung, raised = (loops + 1) / 3 + loops, (loops + 1) / 2 + loops
    found = solve_ivp(
        lambda _, y: [y[1], -G * raised / swung * np.cos(y[0])],
        (t[0], t[-1]),
        [np.pi / 2, -1.0],
        method="DOP853",
        t_eval=t,
        rtol=1e-13,
        atol=1e-13,
    )
    return np.stack([np.cos(found.y[0]), np.sin(found.y[0])], axis=1)


CORNERS = np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], float)


def bricard_mechanism() -> Mechanism:
    """Return five rods along the edges of a cube, connected by six revolute joints."""
    along, square, middles = 0.02 / 12, 1.01 / 12, (CORNERS[:-1] + CORNERS[1:]) / 2
    rods = [
        Body(f"rod{k}", 1, [along if edge else square for edge in CORNERS[k + 1] - CORNERS[k]], position=middles[k])
        for k in range(5)
    ]

    def end(rod: int, corner: int) -> Any:
        return rods[rod].at(*(CORNERS[corner] - middles[rod])) if 0 <= rod < 5 else ground.at(*CORNERS[corner])

    axes = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}
    hinges = [Revolute(f"P{k}", end(k - 1, k), end(k, k), axis=axes["yzxyzx"[k]]) for k in range(6)]
    return Mechanism(rods, hinges, Gravity((0, -G, 0)))


def bricard(name: str, title: str) -> Case:
    mechanism = bricard_mechanism()
    q0, qd0 = start_of(mechanism)
    rod = mechanism.bodies[1]
    corner = (CORNERS[2] - CORNERS[1]) / 2

    def place(run: Trajectory) -> Any:
        return rod.place_along(run.q[:, 7:14], corner)

    def axis(k: int) -> Measure:
        return lambda run: place(run)[:, k]

    return Case(
        name=name,
        title=title,
        about=(
            "A loop of six links and six revolute joints should be rigid, yet this loop moves: one of the 35 "
            "equations always follows from the others."
        ),
        source=f"{LIBRARY}, A04",
        system=mechanism.system,
        mechanism=mechanism,
        q0=q0,
        qd0=qd0,
        times=np.linspace(0, 10, 401),
        checks=(
            Check(
                "P₃ at t = 1, 2, 5 and 10",
                lambda run: place(run)[[40, 80, 200, 400]],
                BRICARD_COMPUTED,
                1e-7,
                "computed by us, confirmed by Exudyn to 3e-7",
            ),
            Check(
                "least and greatest x, y, z of P₃",
                lambda run: [place(run).min(axis=0), place(run).max(axis=0)],
                [[-1, -1, -0.5], [1, -0.87, 0]],
                0.02,
                f"published, read off a plot: {LIBRARY}",
            ),
            Check("rank", lambda run: run.rank, 34, 0, "35 coordinates, one degree of freedom"),
            Check("energy", lambda run: run.energy, -3 * G, 1e-7, "conservation"),
        ),
        units=si(metres=" ".join(f"{a}_rod{k}" for k in range(5) for a in "xyz")),
        pictures=(
            Picture(
                "corner",
                "The corner P₃",
                "time t / s",
                "position / m",
                histories({a: axis(k) for k, a in enumerate("xyz")}),
            ),
        ),
        histories=False,
        readable=False,
    )
