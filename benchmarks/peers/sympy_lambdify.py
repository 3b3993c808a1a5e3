# SPDX-License-Identifier: BSD-3-Clause
"""SymPy's mechanics: ``LagrangesMethod`` with multipliers, ``KanesMethod`` for the disc, ``lambdify``, SciPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp
from scipy.integrate import solve_ivp
from sympy.physics.mechanics import (
    KanesMethod,
    LagrangesMethod,
    Point,
    ReferenceFrame,
    RigidBody,
    dynamicsymbols,
    inertia,
    msubs,
)

from benchmarks.peers.problems import DISC_MASS, DISC_RADIUS, DISC_START, G, Problem, disc_axes

PACKAGES = ("sympy", "numpy", "scipy")
SETTINGS = [*(("DOP853", rtol) for rtol in (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)), ("LSODA", 1e-8)]


def runs(problem: Problem) -> dict[str, Callable[[], np.ndarray]]:
    rates, y0, seen = _disc() if problem.velocity else _lagrange(problem)

    def run(method: str, rtol: float) -> np.ndarray:
        found = solve_ivp(rates, (0, problem.end), y0, method=method, rtol=rtol, atol=rtol / 100)
        if not found.success:
            raise RuntimeError(found.message)
        return seen(found.y[:, -1])

    return {
        f"{method} rtol={rtol:.0e}": lambda method=method, rtol=rtol: run(method, rtol) for method, rtol in SETTINGS
    }


def _lagrange(problem: Problem) -> tuple[Any, Any, Any]:
    n, t = len(problem.q), dynamicsymbols._t
    q = dynamicsymbols(" ".join(f"q_{s}" for s in problem.q))
    moving = dict(zip((*problem.q, *problem.v), (*q, *(s.diff(t) for s in q)), strict=True))
    L = sp.sympify(problem.kinetic - problem.potential).xreplace(moving)
    method = LagrangesMethod(L, q, hol_coneqs=[row.xreplace(moving) for row in problem.position])
    method.form_lagranges_equations()
    still = {moving[s]: s for s in (*problem.v, *problem.q)}
    # q̈ and multipliers; that q̇ is q̇ needs no solving
    K, right = (msubs(part, still) for part in (method.mass_matrix_full[n:, n:], method.forcing_full[n:, :]))
    terms = sp.lambdify([(*problem.q, *problem.v)], [K, right], "numpy", cse=True)

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        K, right = terms(y)
        return np.concatenate([y[n:], np.linalg.solve(K, right[:, 0])[:n]])

    return rates, problem.y0, lambda y: problem.seen(y[:n])


def _disc() -> tuple[Any, Any, Any]:
    """As in SymPy's own example: three speeds, ω in leaning axes, and where the point of contact goes."""
    yaw, lean, turn, x, y = q = dynamicsymbols("yaw lean turn x y")
    u1, u2, u3 = u = dynamicsymbols("u1 u2 u3")
    ground = ReferenceFrame("N")
    ahead = ground.orientnew("Y", "Axis", [yaw, ground.z])
    leaning = ahead.orientnew("L", "Axis", [lean, ahead.x])
    disc = leaning.orientnew("D", "Axis", [turn, leaning.y])
    spin = disc.ang_vel_in(ground)
    disc.set_ang_vel(ground, u1 * leaning.x + u2 * leaning.y + u3 * leaning.z)
    contact = Point("C")
    contact.set_vel(ground, 0)
    centre = contact.locatenew("O", DISC_RADIUS * leaning.z)
    centre.v2pt_theory(contact, ground, disc)
    third = DISC_MASS * DISC_RADIUS**2 / 4
    body = RigidBody("disc", centre, disc, DISC_MASS, (inertia(leaning, third, 2 * third, third), centre))
    rolled = DISC_RADIUS * turn.diff()
    known = [spin.dot(axis) - s for axis, s in zip(leaning, u, strict=True)]
    known += [x.diff() - rolled * sp.cos(yaw), y.diff() - rolled * sp.sin(yaw)]
    method = KanesMethod(ground, q_ind=q, u_ind=u, kd_eqs=known)
    method.kanes_equations([body], [(centre, -DISC_MASS * G * ground.z)])
    terms = sp.lambdify([(*q, *u)], [method.mass_matrix_full, method.forcing_full], "numpy", cse=True)

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        K, right = terms(y)
        return np.linalg.solve(K, right[:, 0])

    def seen(y: np.ndarray) -> np.ndarray:
        _, axle, up = np.array(disc_axes(y[0], y[1], np))
        return np.array([*(np.array([y[3], y[4], 0.0]) + DISC_RADIUS * up), *axle])

    return rates, np.array([*DISC_START[0], 0.0, 0.0, *DISC_START[1]]), seen
