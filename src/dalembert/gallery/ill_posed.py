# SPDX-License-Identifier: BSD-3-Clause
"""Systems whose mass matrix is not a metric: the examples of Lemos et al., and Weber's electrodynamics."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.equation.multipliers import Multipliers
from dalembert.errors import MassMatrixError
from dalembert.gallery.definition import Case, Check, Curve, Picture, coordinate, histories, si, velocity
from dalembert.integration.trajectory import Trajectory
from dalembert.model.constraint import Constraint
from dalembert.model.symbols import coordinates, parameters, t
from dalembert.model.system import System
from dalembert.verbs import motion

SOURCE = "Lemos et al."


def hidden_constraint(name: str, title: str) -> Case:
    q = q1, q2, q3 = coordinates("q1 q2 q3")
    v1, v2, v3 = (c.diff(t) for c in q)
    L = (v1**2 + v2**2) / 2 + v1 * v2 + v2 * v3 - (q1**2 + q2**2 + q3**2) / 2
    stated = System.from_lagrangian(
        L, q, constraints=(Constraint(v1 + q3, name="first"), Constraint(v2 - q3, name="second"))
    )
    a, b, c = 1.0, 0.5, 0.3
    return Case(
        name=name,
        title=title,
        about=(
            "The saddle matrix of the problem as stated is singular: q̇₃ + q₃ = 0 is hidden in it, and initial data "
            "that violate it have no motion. With it added, the problem is well posed: three constants, not four."
        ),
        source=f"{SOURCE}, example 1",
        system=stated.constrain(Constraint(v3 + q3, name="hidden")),
        q0=(a + c, b - c, c),
        qd0=(-c, c, -c),
        times=np.linspace(0, 5, 101),
        formulation=Multipliers(),
        checks=(
            Check(
                "refused as stated",
                lambda run: _refused(stated, (a + c, b - c, c), (-c, c, -c)),
                1,
                0,
                "singular saddle matrix",
            ),
            Check("q₁ − (a + c e⁻ᵗ)", lambda run: run["q1"] - a - c * np.exp(-run.t), 0, 1e-10, "closed form"),
            Check("q₂ − (b − c e⁻ᵗ)", lambda run: run["q2"] - b + c * np.exp(-run.t), 0, 1e-10, "closed form"),
            Check("q₃ − c e⁻ᵗ", lambda run: run["q3"] - c * np.exp(-run.t), 0, 1e-10, "closed form"),
            Check("λ₁ − q₁", lambda run: run["first"] - run["q1"], 0, 1e-10, f"{SOURCE}, example 1"),
            Check(
                "λ₂ − (q₂ − q̇₃)",
                lambda run: run["second"] - run["q2"] + velocity("q3")(run),
                0,
                1e-10,
                f"{SOURCE}, example 1",
            ),
            Check("multiplier of the hidden constraint", lambda run: run["hidden"], 0, 1e-10, "it exerts no force"),
        ),
        pictures=(_histories("q1", "q2", "q3"),),
    )


def indefinite_mass(name: str, title: str) -> Case:
    q = q1, q2, q3 = coordinates("q1 q2 q3")
    v1, v2, v3 = (c.diff(t) for c in q)
    L = (v1**2 + v2**2 - v3**2) / 2 - (q1**2 + q2**2 + q3**2) / 2
    return Case(
        name=name,
        title=title,
        about=(
            "The problem is well posed although the Hessian is indefinite, since the determinant of the saddle matrix "
            "is 1 + q₃², which never vanishes. Formulations that take a square root of M do not apply here; the "
            "multiplier form does."
        ),
        source=f"{SOURCE}, example 2",
        system=System.from_lagrangian(L, q, constraints=Constraint(v1 + q3 * v2, name="pfaff")),
        q0=(1, 0.5, 0.3),
        qd0=(-0.21, 0.7, 0.2),
        times=np.linspace(0, 2, 101),
        formulation=Multipliers(),
        checks=(
            Check(
                "q at t = 2", lambda run: run.q[-1], (0.60828498, 1.18001569, 1.85403079), 5e-9, "reference solution"
            ),
            Check("λ − closed form", lambda run: run["pfaff"] - _multiplier(run), 0, 1e-10, f"{SOURCE}, example 2"),
            Check("energy − energy at the start", _energy_change, 0, 1e-10, "conservation"),
        ),
        pictures=(_histories("q1", "q2", "q3"),),
    )


def weber(name: str, title: str) -> Case:
    q = r, theta, _ = coordinates("r theta phi")
    m, k, c = parameters("m k c")
    rate, turn, spin = (x.diff(t) for x in q)
    kinetic = (1 - k / (m * c**2 * r)) * rate**2 + r**2 * turn**2 + r**2 * sp.sin(theta) ** 2 * spin**2
    system = System.from_lagrangian(m * kinetic / 2 - k / r, q)
    numbers = {"m": 1.0, "k": 0.5, "c": 1.0}
    return Case(
        name=name,
        title=title,
        about=(
            "Two like charges: the velocity-dependent potential makes the Hessian lose its positive sign at "
            "r ≤ k/(mc²), here 0.5. Outside it the motion conserves energy and angular momentum; inside it the default "
            "formulation raises an error."
        ),
        source=f"{SOURCE}, Weber's Lagrangian",
        system=system,
        parameters=numbers,
        q0=(2, 1.2, 0),
        qd0=(-0.6, 0.1, 0.2),
        times=np.linspace(0, 10, 201),
        checks=(
            Check("Weber's law of force, left − right", _weber_difference, 0, 1e-11, "Weber 1846"),
            Check("energy − energy at the start", _energy_change, 0, 1e-10, "conservation"),
            Check("angular momentum about the axis", lambda run: _spin(run) - _spin(run)[0], 0, 1e-10, "conservation"),
            Check("squared angular momentum", lambda run: _square(run) - _square(run)[0], 0, 1e-10, "conservation"),
            Check(
                "refused at r = 0.499, not at 0.501",
                lambda run: [_refused(system, (x, 1, 0), (0.1, 0, 0), numbers) for x in (0.499, 0.501)],
                (1, 0),
                0,
                "r = k/(mc²)",
            ),
        ),
        units=si(metres="r", radians="theta phi"),
        pictures=(
            Picture(
                "path",
                "The path seen from above",
                "x / m",
                "y / m",
                (Curve("", lambda run: _plane(run)[0], lambda run: _plane(run)[1]),),
                equal=True,
            ),
        ),
        points=lambda run: {"charge": _plane(run), "other charge": (0, 0)},
    )


def _refused(system: System, q: Any, qd: Any, numbers: dict[str, float] | None = None) -> int:
    formulation = Multipliers() if system.constraints else None
    try:
        motion(system, q, qd, parameters=numbers, formulation=formulation)
    except MassMatrixError:
        return 1
    return 0


def _multiplier(run: Trajectory) -> Any:
    v2, v3 = velocity("q2")(run), velocity("q3")(run)
    return (run["q1"] + run["q2"] * run["q3"] - v2 * v3) / (1 + run["q3"] ** 2)


def _energy_change(run: Trajectory) -> Any:
    assert run.energy is not None
    return run.energy - run.energy[0]


def _weber_difference(run: Trajectory) -> Any:
    """m (r̈ − r(θ̇² + sin²θ φ̇²)) less (k/r²)(1 − ṙ²/2c² + r r̈/c²), the force between two charges at rest otherwise."""
    m, k, c = (run.parameters[name] for name in "mkc")
    (r, theta, _), (rate, turn, spin) = run.q.T, run.qd.T
    outward = run.acceleration[:, 0]
    left = m * (outward - r * (turn**2 + np.sin(theta) ** 2 * spin**2))
    return left - k / r**2 * (1 - rate**2 / (2 * c**2) + r * outward / c**2)


def _spin(run: Trajectory) -> Any:
    return run["r"] ** 2 * np.sin(run["theta"]) ** 2 * velocity("phi")(run)


def _square(run: Trajectory) -> Any:
    return run["r"] ** 4 * (velocity("theta")(run) ** 2 + np.sin(run["theta"]) ** 2 * velocity("phi")(run) ** 2)


def _plane(run: Trajectory) -> tuple[Any, Any]:
    reach = run["r"] * np.sin(run["theta"])
    return reach * np.cos(run["phi"]), reach * np.sin(run["phi"])


def _histories(*names: str) -> Picture:
    return Picture(
        "motion", "The motion", "time t", "coordinates", histories({name: coordinate(name) for name in names})
    )
