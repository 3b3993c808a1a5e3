# SPDX-License-Identifier: BSD-3-Clause
"""Rolling bodies with unexpected motions: a rattleback, and a ball in an upright cylinder, which does not fall."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp

from dalembert.gallery.bodies import own_spin, start_of, world_spin
from dalembert.gallery.definition import Case, Check, Picture, coordinate, gained_energy, histories, path, si
from dalembert.integration.trajectory import Trajectory
from dalembert.mechanisms.couplings import PointOnCurve
from dalembert.mechanisms.forces import Gravity
from dalembert.mechanisms.frames import ground
from dalembert.mechanisms.mechanism import Mechanism
from dalembert.mechanisms.rolling import RollingEllipsoid
from dalembert.mechanisms.spatial_body import Body
from dalembert.model.constraint import Constraint

G = 9.81
STONE_MASS, STONE_AXES = 1.0, np.array([0.2, 0.03, 0.02])
# the principal axes of inertia are not those of the ellipsoid, so one direction of rotation is preferred
STONE_INERTIA = np.array([[2e-4, -5e-5, 0], [-5e-5, 1.6e-3, 0], [0, 0, 1.7e-3]])
STONE_SPIN = np.array([0.01, -0.02, -5.0])


def rattleback(name: str, title: str) -> Case:
    mechanism = stone_mechanism()
    q0, qd0 = start_of(mechanism)

    def spin(run: Trajectory) -> Any:
        return world_spin(run)[:, 2]

    return Case(
        name=name,
        title=title,
        about=(
            "An ellipsoidal stone whose principal axes of inertia are not its geometric axes. Spun the wrong way "
            "it begins to rattle, stops, and reverses, although nothing but the ground touches it."
        ),
        source="Walker 1896; against Euler's equations about the centre of mass, in body axes",
        system=mechanism.system,
        mechanism=mechanism,
        q0=q0,
        qd0=qd0,
        times=np.linspace(0, 6, 601),
        checks=(
            Check("ω in body axes − Euler's", lambda run: own_spin(run) - _euler(run.t), 0, 1e-6, "SciPy's DOP853"),
            Check("energy − energy at the start", gained_energy, 0, 1e-9, "conservation"),
            Check("spin reverses", lambda run: [np.sign(spin(run)[0]), np.sign(spin(run)[-1])], [-1, 1], 0, "Walker"),
        ),
        units=si(metres="x_stone y_stone z_stone"),
        pictures=(
            Picture("spin", "Spin about the vertical", "time t / s", "spin / (rad/s)", histories({"": spin})),
            Picture(
                "height", "Height of the centre", "time t / s", "height / m", histories({"": coordinate("z_stone")})
            ),
        ),
        histories=False,
        readable=False,
    )


def stone_mechanism() -> Mechanism:
    up = np.array([0, 0, STONE_AXES[2]])
    stone = Body(
        *("stone", STONE_MASS, STONE_INERTIA.tolist()),
        position=up,
        velocity=np.cross(STONE_SPIN, up),
        spin=STONE_SPIN,
    )
    rolling = RollingEllipsoid("rolling", ground.at(0, 0, 0), stone, axes=STONE_AXES.tolist())
    return Mechanism(stone, rolling, Gravity((0, 0, -G)))


def _euler(times: Any) -> Any:
    """Return ω in body axes by Newton's and Euler's laws for the centre of mass, the contact force eliminated.

    Notation: γ the vertical and ρ the contact point in body axes, v = −ω × ρ the velocity of the centre.
    """
    squares = STONE_AXES**2

    def rates(_: float, state: Any) -> Any:
        omega, gamma = state[:3], state[3:]
        turning = _cross(gamma, omega)
        size = np.sqrt(squares @ gamma**2)
        rho = -squares * gamma / size
        rho_rate = -squares * turning / size + squares * gamma * (squares @ (gamma * turning)) / size**3
        # F = m (−ω̇ × ρ − ω × ρ̇ + ω × v + g γ)
        known = -_cross(omega, rho_rate) - _cross(omega, _cross(omega, rho)) + G * gamma
        moment = STONE_MASS * _cross(rho, known) - _cross(omega, STONE_INERTIA @ omega)
        about_contact = STONE_INERTIA + STONE_MASS * (rho @ rho * np.eye(3) - np.outer(rho, rho))
        return np.concatenate([np.linalg.solve(about_contact, moment), turning])

    start = np.concatenate([STONE_SPIN, [0, 0, 1]])
    found = solve_ivp(rates, (times[0], times[-1]), start, t_eval=times, rtol=1e-11, atol=1e-13, method="DOP853")
    return found.y[:3].T


def _cross(a: Any, b: Any) -> Any:
    """Return the cross product, as NumPy's for two vectors, but ten times as fast."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def cylinder(name: str, title: str) -> Case:
    r, far, rate, about_spoke = 0.05, 0.45, 4.0, 3.0
    ball = Body(
        *("ball", 1, (0.4 * r**2,) * 3),
        position=(far, 0, 0),
        velocity=(0, far * rate, 0),
        spin=(about_spoke, 0, -far * rate / r),
    )
    x, y = ball.coordinates[:2]
    spoke = sp.Matrix([x, y, 0]) / sp.Float(far)
    slip = sp.Matrix(ball.center_of_mass.velocity) + r * sp.Matrix(ball.turning).cross(spoke)
    mechanism = Mechanism(
        ball,
        PointOnCurve("wall", ground.at(0, 0, 0), ball, curve=lambda x, y, z: (x**2 + y**2 - far**2) / (2 * far)),
        Gravity((0, 0, -G)),
        (
            Constraint(slip[2], name="rolling upwards"),
            Constraint(spoke[0] * slip[1] - spoke[1] * slip[0], name="rolling around"),
        ),
    )
    q0, qd0 = start_of(mechanism)
    # ω along the spoke grows as the ball climbs, and pushes it back: (7/5) z̈ = −g − (2/5) Ω (r ω₀ + Ω z)
    bobbing = np.sqrt(2 / 7) * rate
    middle = -(G + 0.4 * rate * r * about_spoke) / (0.4 * rate**2)
    source = "closed form: Littlewood's golf ball; Neimark and Fufaev"
    return Case(
        name=name,
        title=title,
        about=(
            "A ball that rolls round the inside of an upright tube does not spiral down: it oscillates vertically "
            "√(2/7) times per turn. This is why golf balls come out of the hole again."
        ),
        source=source,
        system=mechanism.system,
        mechanism=mechanism,
        q0=q0,
        qd0=qd0,
        times=np.linspace(0, 6, 301),
        checks=(
            Check(
                "z − closed form", lambda run: run["z_ball"] - middle * (1 - np.cos(bobbing * run.t)), 0, 1e-9, source
            ),
            Check(
                "x, y − even turning",
                lambda run: run.q[:, :2] - far * np.stack([np.cos(rate * run.t), np.sin(rate * run.t)], axis=1),
                0,
                1e-9,
                source,
            ),
            Check("energy − energy at the start", gained_energy, 0, 1e-9, "conservation"),
        ),
        rtol=1e-12,
        units=si(metres="x_ball y_ball z_ball"),
        pictures=(
            Picture("height", "Height of the ball", "time t / s", "height / m", histories({"": coordinate("z_ball")})),
            path("Round the tube, from above", "x_ball", "y_ball"),
        ),
        histories=False,
        readable=False,
    )
