# SPDX-License-Identifier: BSD-3-Clause
"""A rigid body described about a fixed point P that is not its centre of mass."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.gallery.definition import Case, Check, Picture, histories, si
from dalembert.integration.trajectory import Trajectory
from dalembert.model.constraint import Constraint
from dalembert.model.symbols import StateSymbols, coordinates, parameters, t
from dalembert.model.system import System

SOURCE = "Zhao et al. 2018, equations 37 to 39"
MASS, CENTRE, INERTIA, G = 1.5, np.array([0.1, -0.2, 0.4]), np.diag([0.05, 0.07, 0.03]), 9.81


def about_a_point(name: str, title: str) -> Case:
    q = coordinates("x y z psi theta phi")
    m, g = parameters("m g")
    c, i = sp.Matrix(parameters("c1 c2 c3")), sp.diag(*parameters("I1 I2 I3"))
    R, spin = _rotation(q[3:]), _spin(q[3:])
    speed = sp.Matrix(q[:3]).diff(t) + R * spin.cross(c)
    centre = sp.Matrix(q[:3]) + R * c
    L = (m * speed.dot(speed) + spin.dot(i * spin)) / 2 - m * g * centre[2]
    held = [Constraint(place, name=f"pivot {axis}") for place, axis in zip(q[:3], "xyz", strict=True)]
    numbers = {"m": MASS, "g": G, **dict(zip(("c1", "c2", "c3"), CENTRE.tolist(), strict=True))}
    numbers |= {f"I{k + 1}": float(INERTIA[k, k]) for k in range(3)}
    return Case(
        name=name,
        title=title,
        about=(
            "Its spatial mass matrix is [[m I, −m[c]×], [m[c]×, I_cm − m[c]×[c]×]], symmetric, and its velocity terms "
            "are m[ω]×[ω]×c and [ω]×(I_cm − m[c]×[c]×)ω: both are checked here against the Lagrangian in yaw ψ, "
            "pitch θ and roll φ. The body swings about P like a heavy top."
        ),
        source=SOURCE,
        system=System.from_lagrangian(L, q, constraints=held),
        parameters=numbers,
        q0=(0, 0, 0, 0.3, 0.4, -0.2),
        qd0=(0, 0, 0, 2.0, -1.0, 3.0),
        times=np.linspace(0, 2, 201),
        checks=(
            Check("M(q) − Jᵀ M_spatial J", _mass_difference, 0, 1e-12, f"{SOURCE}, signs corrected"),
            Check("reaction at P − Newton's", _reaction_difference, 0, 1e-9, f"{SOURCE}, velocity term corrected"),
            Check("moment about P − Euler's", _moment_difference, 0, 1e-9, f"{SOURCE}, second velocity term"),
            Check("energy − energy at the start", lambda run: _energy(run) - _energy(run)[0], 0, 1e-9, "conservation"),
            Check("vertical angular momentum about P", _momentum_change, 0, 1e-9, "conservation"),
        ),
        units=si(metres="x y z", radians="psi theta phi"),
        pictures=(
            Picture(
                "reaction",
                "Reaction at the pivot",
                "time t / s",
                "force / N",
                histories({axis: _reaction(k) for k, axis in enumerate("xyz")}),
            ),
        ),
        points=lambda run: {"P": (0, 0), "centre of mass": _centre(run)},
        links=(("P", "centre of mass"),),
    )


def _rotation(angles: Any) -> Any:
    """Return the rotation from body to world axes: about z by yaw, then y by pitch, then x by roll."""
    yaw, pitch, roll = angles
    return sp.rot_ccw_axis3(yaw) * sp.rot_ccw_axis2(pitch) * sp.rot_ccw_axis1(roll)


def _spin(angles: Any) -> Any:
    """Return the angular velocity in body axes."""
    _, pitch, roll = angles
    yawing, pitching, rolling = (angle.diff(t) for angle in angles)
    return sp.Matrix(
        [
            rolling - yawing * sp.sin(pitch),
            pitching * sp.cos(roll) + yawing * sp.sin(roll) * sp.cos(pitch),
            yawing * sp.cos(roll) * sp.cos(pitch) - pitching * sp.sin(roll),
        ]
    )


def _numbers_of(run: Trajectory) -> tuple[Any, Any, Any, Any]:
    """Return R (T, 3, 3), ω and its derivative α in body axes (T, 3), and ∂ω/∂q̇ (T, 3, 3) along a trajectory."""
    angles = coordinates("psi theta phi")
    symbols = StateSymbols(angles)
    spin = _spin(angles)
    wanted = (_rotation(angles), spin, spin.diff(t), spin.jacobian([angle.diff(t) for angle in angles]))
    function = sp.lambdify((symbols.q, symbols.qd, symbols.qdd), [symbols.plain(sp.ImmutableMatrix(e)) for e in wanted])
    rows = [function(*state) for state in zip(run.q[:, 3:], run.qd[:, 3:], run.acceleration[:, 3:], strict=True)]
    R, omega, alpha, W = (np.array(part, float) for part in zip(*rows, strict=True))
    return R, omega[..., 0], alpha[..., 0], W


def _cross(v: Any) -> Any:
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def _spatial_mass() -> Any:
    c = MASS * _cross(CENTRE)
    return np.block([[MASS * np.eye(3), -c], [c, INERTIA - c @ _cross(CENTRE)]])


def _mass_difference(run: Trajectory) -> Any:
    """Return the mass matrix of the Lagrangian minus that of (Rᵀ v_P, ω) = J q̇, at all times."""
    system = about_a_point("", "").system
    entries = sp.lambdify(
        (system.symbols.q, sp.symbols(system.parameter_names, real=True)), system.symbols.plain(system.mass_matrix)
    )
    values = [run.parameters[name] for name in system.parameter_names]
    R, _, _, W = _numbers_of(run)
    off = []
    for q, rotation, rates in zip(run.q, R, W, strict=True):
        J = np.block([[rotation.T, np.zeros((3, 3))], [np.zeros((3, 3)), rates]])
        off.append(np.array(entries(q, values), float) - J.T @ _spatial_mass() @ J)
    return np.array(off)


def _reaction_difference(run: Trajectory) -> Any:
    """Return the constraint force at P minus Newton's m(α × c + ω × (ω × c)) − weight, in world axes."""
    R, omega, alpha, _ = _numbers_of(run)
    body = MASS * (np.cross(alpha, CENTRE) + np.cross(omega, np.cross(omega, CENTRE)))
    return run.ideal_force[:, :3] - np.einsum("tij,tj->ti", R, body) - np.array([0, 0, MASS * G])


def _moment_difference(run: Trajectory) -> Any:
    """Return I_P α + ω × I_P ω minus the moment of the weight about P, in body axes."""
    R, omega, alpha, _ = _numbers_of(run)
    I_P = INERTIA - MASS * _cross(CENTRE) @ _cross(CENTRE)
    weight = np.einsum("tij,i->tj", R, np.array([0, 0, -MASS * G]))
    return alpha @ I_P + np.cross(omega, omega @ I_P) - np.cross(CENTRE, weight)


def _momentum_change(run: Trajectory) -> Any:
    R, omega, _, _ = _numbers_of(run)
    about_P = INERTIA - MASS * _cross(CENTRE) @ _cross(CENTRE)
    vertical = np.einsum("tij,jk,tk->ti", R, about_P, omega)[:, 2]
    return vertical - vertical[0]


def _energy(run: Trajectory) -> Any:
    assert run.energy is not None
    return run.energy


def _reaction(k: int) -> Any:
    return lambda run: run.ideal_force[:, k]


def _centre(run: Trajectory) -> tuple[Any, Any]:
    """Return the path of the centre of mass in the plane of x and z."""
    angles, offset = coordinates("psi theta phi"), sp.symbols("c1 c2 c3")
    x, _, z = sp.lambdify((angles, offset), list(_rotation(angles) * sp.Matrix(offset)))(
        run.q[:, 3:].T, [run.parameters[str(c)] for c in offset]
    )
    return x, z
