# SPDX-License-Identifier: BSD-3-Clause
"""Pinocchio: links on hinges, loops as rigid constraints, accelerations in C++, SciPy's DOP853 around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin
from scipy.integrate import solve_ivp

from benchmarks.peers.planar import GROUND, Planar, planar
from benchmarks.peers.problems import CannotError, Problem

PACKAGES = ("pin", "scipy")
RTOLS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10)


def runs(problem: Problem) -> dict[str, Callable[[], np.ndarray]]:
    if problem.velocity:
        raise CannotError("no nonholonomic constraint; contacts are fixed in the body, a rolling one is not")
    mechanism = planar(problem)
    accelerate, y0, n = _acceleration(mechanism), np.concatenate(mechanism.start), len(mechanism.links)

    def rates(_: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[n:], accelerate(y[:n], y[n:])])

    def run(rtol: float) -> np.ndarray:
        found = solve_ivp(rates, (0, problem.end), y0, method="DOP853", rtol=rtol, atol=rtol / 100)
        if not found.success:
            raise RuntimeError(found.message)
        return mechanism.seen(found.y[:n, -1])

    return {f"DOP853 rtol={rtol:.0e}": lambda rtol=rtol: run(rtol) for rtol in RTOLS}


def _acceleration(mechanism: Planar) -> Callable[[Any, Any], np.ndarray]:
    model, joints = _model(mechanism)
    data, spring = model.createData(), mechanism.spring
    push = np.zeros(model.nv)
    push[0] = mechanism.torque

    def force(q: Any) -> np.ndarray:
        if spring is None:
            return push
        c, s = np.cos(q[spring.link]), np.sin(q[spring.link])
        x, y = c * spring.at[0] - s * spring.at[1], s * spring.at[0] + c * spring.at[1]
        hinge = mechanism.links[spring.link].at
        dx, dy = hinge[0] + x - spring.anchor[0], hinge[1] + y - spring.anchor[1]
        far = np.hypot(dx, dy)
        pushed = push.copy()
        pushed[spring.link] = -spring.stiffness * (far - spring.length) / far * (dy * x - dx * y)
        return pushed

    if not mechanism.loops:
        return lambda q, v: pin.aba(model, data, q, v, force(q))
    closed, kept = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for loop in mechanism.loops:
        one = pin.RigidConstraintModel(
            pin.ContactType.CONTACT_3D,
            *(model, joints[loop.first], _shift(loop.at_first), joints[loop.second], _shift(loop.at_second)),
            pin.ReferenceFrame.LOCAL,
        )
        closed.append(one)
        kept.append(one.createData())
    # in the plane the third row of each loop is zero: the proximal iteration takes care of it
    near = pin.ProximalSettings(1e-14, 1e-10, 10)
    pin.initConstraintDynamics(model, data, closed, kept)
    return lambda q, v: pin.constraintDynamics(model, data, q, v, force(q), closed, kept, near)


def _model(mechanism: Planar) -> tuple[Any, list[int]]:
    """Joints branch by branch, from each root to its last link: in another order the accelerations are wrong."""
    model = pin.Model()
    model.gravity.linear = np.array([0.0, -mechanism.gravity, 0.0])
    joints: list[int] = []
    for k, link in enumerate(mechanism.links):
        parent = 0 if link.parent == GROUND else joints[link.parent]
        joints.append(model.addJoint(parent, pin.JointModelRZ(), _shift(link.at), f"hinge {k}"))
        turning = pin.Inertia(link.mass, np.array([*link.com, 0.0]), link.inertia * np.eye(3))
        model.appendBodyToJoint(joints[-1], turning, pin.SE3.Identity())
    return model, joints


def _shift(at: Any) -> Any:
    return pin.SE3(np.eye(3), np.array([*at, 0.0]))
