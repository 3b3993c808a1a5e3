"""Accelerations of the joints of a robot by Pinocchio and by MuJoCo, with loops and transmissions as rigid constraints."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin

import dalembert as da


@functools.cache
def _pinocchio_model(path: Path, floating: bool) -> Any:
    root = pin.JointModelFreeFlyer() if floating else None
    return pin.buildModelFromUrdf(str(path), root) if floating else pin.buildModelFromUrdf(str(path))


def pinocchio_acceleration(mechanism: Any, path: Path, floating: bool, motion: Any) -> dict[str, Any] | None:
    """Return the accelerations of all joints; None for files that Pinocchio is not asked to read."""
    if path.suffix != ".urdf":
        return None
    model = _pinocchio_model(path, floating)
    data = model.createData()
    q, v = pin.neutral(model), np.zeros(model.nv)
    for k in range(1, model.njoints):
        name, joint = model.names[k], model.joints[k]
        if joint.nq == 7:
            base = _free_body(motion)
            x, turned = base.position[:3], base.position[3:]
            R = pin.Quaternion(*turned).toRotationMatrix()
            q[joint.idx_q : joint.idx_q + 7] = [*x, *turned[1:], turned[0]]
            v[joint.idx_v : joint.idx_v + 6] = [*(R.T @ base.velocity[:3]), *(R.T @ base.velocity[3:])]
        elif joint.nq == 2:
            q[joint.idx_q : joint.idx_q + 2] = np.cos(motion.position[name]), np.sin(motion.position[name])
            v[joint.idx_v] = motion.velocity[name]
        else:
            q[joint.idx_q], v[joint.idx_v] = motion.position[name], motion.velocity[name]
    force = -_damping(mechanism, model) * v
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    rows = _coupled(mechanism, lambda name: model.joints[model.getJointId(name)].idx_v, model.nv)
    found = _constrained(M, force - pin.nonLinearEffects(model, data, q, v), rows, np.zeros(len(rows)))
    result: dict[str, Any] = {}
    for k in range(1, model.njoints):
        name, joint = model.names[k], model.joints[k]
        own = found[joint.idx_v : joint.idx_v + joint.nv]
        if joint.nq == 7:
            linear = R @ (own[:3] + np.cross(v[joint.idx_v + 3 : joint.idx_v + 6], v[joint.idx_v : joint.idx_v + 3]))
            result[_free_name(motion)] = np.concatenate([linear, R @ own[3:]])
        else:
            result[name] = own[0]
    return result


class _Base:
    def __init__(self, motion: Any):
        name = _free_name(motion)
        self.position, self.velocity = motion.position[name], motion.velocity[name]


def _free_body(motion: Any) -> _Base:
    return _Base(motion)


def _free_name(motion: Any) -> str:
    return next(name for name, value in motion.position.items() if np.size(value) == 7)


def _damping(mechanism: Any, model: Any) -> Any:
    found = np.zeros(model.nv)
    for joint in mechanism.joints:
        laws = getattr(joint, "nonideal", ())
        if laws:
            found[model.joints[model.getJointId(joint.name)].idx_v] = float(laws[0].coefficient)
    return found


def _coupled(mechanism: Any, place: Any, size: int) -> np.ndarray:
    rows = []
    for joint in mechanism.joints:
        if isinstance(joint, da.Transmission):
            row = np.zeros(size)
            row[place(joint.driven.name)], row[place(joint.driving.name)] = -1, float(joint.coefficients[1])
            rows.append(row)
    return np.array(rows).reshape(-1, size)


def _constrained(M: Any, force: Any, A: Any, b: Any) -> Any:
    """Solve M a − Aᵀλ = force, A a = b."""
    n, m = len(M), len(A)
    full = np.block([[M, -A.T], [A, np.zeros((m, m))]])
    return np.linalg.lstsq(full, np.concatenate([force, b]), rcond=None)[0][:n] if m else np.linalg.solve(M, force)


@functools.cache
def _mujoco_model(path: Path) -> Any:
    if path.suffix == ".xml":
        return mujoco.MjModel.from_xml_path(str(path))
    return None


def mujoco_acceleration(mechanism: Any, path: Path, floating: bool, motion: Any) -> dict[str, Any] | None:
    model = _mujoco_model(path)
    return None if model is None else None
