# SPDX-License-Identifier: BSD-3-Clause
"""Common functions of cases made of bodies: initial states, rotations, angular velocities along a trajectory."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.integration.trajectory import Trajectory
from dalembert.mechanisms.mechanism import Mechanism
from dalembert.mechanisms.vectors import half_turning, quaternion, rotation


def start_of(mechanism: Mechanism) -> tuple[list[float], list[float]]:
    """Return the given poses and velocities of the bodies, for mechanisms whose joints they satisfy exactly."""
    starts = [body.start for body in mechanism.bodies]
    return [x for q, _ in starts for x in q], [x for _, qd in starts for x in qd]


def turned(*turns: Any) -> tuple[Any, Any]:
    """Return rotation (3, 3) and quaternion of successive rotations (axis, angle), each about rotated axes."""
    e = np.array([1.0, 0, 0, 0])
    for axis, angle in turns:
        a, b = e, np.array(quaternion(axis, float(angle)))
        e = np.array([a[0] * b[0] - a[1:] @ b[1:], *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))])
    return np.array(rotation(tuple(e))), e


def own_spin(run: Trajectory, first: int = 0) -> Any:
    """Return ω (T, 3) in the axes of the body whose coordinates begin at ``first``."""
    return _turning(run, run.qd, first)


def own_spin_rate(run: Trajectory, first: int = 0) -> Any:
    """Return the rates of ω's components (T, 3) in body axes: 2 H ë, because Ḣ ė vanishes."""
    return _turning(run, run.acceleration, first)


def world_spin(run: Trajectory, first: int = 0) -> Any:
    """Return ω (T, 3) in world axes."""
    axes = np.moveaxis(np.array(rotation(tuple(run.q[:, first + 3 : first + 7].T))), 2, 0)
    return np.einsum("tij,tj->ti", axes, own_spin(run, first))


def _turning(run: Trajectory, rates: Any, first: int) -> Any:
    e = slice(first + 3, first + 7)
    return 2 * np.einsum("ijt,tj->ti", np.array(half_turning(tuple(run.q[:, e].T))), rates[:, e])
