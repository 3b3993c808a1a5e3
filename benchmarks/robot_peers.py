"""Accelerations of the joints of a robot by Pinocchio and by MuJoCo, with loops as rigid constraints."""

from __future__ import annotations

import functools
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pinocchio as pin

import dalembert as da
from benchmarks import pinocchio_loops


@functools.cache
def _pinocchio_model(path: Path, floating: bool) -> Any:
    root = pin.JointModelFreeFlyer() if floating else None
    return pin.buildModelFromUrdf(str(path), root) if floating else pin.buildModelFromUrdf(str(path))


def pinocchio_acceleration(mechanism: Any, path: Path, floating: bool, motion: Any) -> dict[str, Any] | None:
    """Return the accelerations of all joints; None for MJCF files with equality constraints other than `connect`."""
    if path.suffix != ".urdf":
        source = _mujoco_model(path, floating)
        data, keys = _mujoco_data(source, motion)
        rates = pinocchio_loops.acceleration(source, data)
        return None if rates is None else _by_joint(source, keys, motion, rates)
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
    for force in mechanism.forces:
        if isinstance(force, da.Rotor):
            found[model.joints[model.getJointId(force.joint.name)].idx_v] = float(force.damping)
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
def _mujoco_model(path: Path, floating: bool) -> Any:
    if path.suffix == ".xml":
        return mujoco.MjModel.from_xml_path(str(path))
    root = ElementTree.parse(path).getroot()
    for link in root.iter("link"):
        for shape in (*link.findall("visual"), *link.findall("collision")):
            link.remove(shape)
    for other in [child for child in root if child.tag not in ("link", "joint")]:
        root.remove(other)
    for joint in root.iter("joint"):  # a range of zero length is an error
        for limit in joint.findall("limit"):
            joint.remove(limit)
        for mimic in joint.findall("mimic"):
            joint.remove(mimic)
    base = {link.get("name") for link in root.iter("link")}
    base -= {joint.find("child").get("link") for joint in root.iter("joint")}
    if floating:
        ElementTree.SubElement(root, "link", name="world")
        joint = ElementTree.SubElement(root, "joint", name="mujoco base", type="floating")
        ElementTree.SubElement(joint, "parent", link="world")
        ElementTree.SubElement(joint, "child", link=base.pop())
    settings = ElementTree.SubElement(root, "mujoco")
    ElementTree.SubElement(settings, "compiler", fusestatic="false", strippath="false")
    return mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))


def mujoco_acceleration(mechanism: Any, path: Path, floating: bool, motion: Any) -> dict[str, Any] | None:
    """Return the accelerations of all joints; None if MuJoCo refuses the file."""
    try:
        model = _mujoco_model(path, floating)
    except ValueError as error:
        print(f"MuJoCo refuses {path.name}: {error}")
        return None
    data, keys = _mujoco_data(model, motion)
    mujoco.mj_fwdPosition(model, data)
    mujoco.mj_fwdVelocity(model, data)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    rows, rhs = _loops(mechanism, model, data)
    coupled = _coupled(mechanism, lambda name: model.joint(name).dofadr[0], model.nv)
    A, b = np.vstack([rows, coupled]), np.concatenate([rhs, np.zeros(len(coupled))])
    return _by_joint(model, keys, motion, _constrained(M, data.qfrc_passive - data.qfrc_bias, A, b))


def _mujoco_data(model: Any, motion: Any) -> tuple[Any, dict[int, str]]:
    """Return MuJoCo's data of a state, and the name of each joint in the motion."""
    data, keys = mujoco.MjData(model), {}
    for k in range(model.njnt):
        kind, name = model.jnt_type[k], model.joint(k).name
        keys[k] = name = _key(model, k, motion, name)
        where, rate = motion.position[name], motion.velocity[name]
        p, v = model.jnt_qposadr[k], model.jnt_dofadr[k]
        if kind == mujoco.mjtJoint.mjJNT_FREE:
            data.qpos[p : p + 7], data.qvel[v : v + 3] = where, rate[:3]
            data.qvel[v + 3 : v + 6] = _turned(where[3:]).T @ rate[3:]
        elif kind == mujoco.mjtJoint.mjJNT_BALL:
            data.qpos[p : p + 4], data.qvel[v : v + 3] = where, rate
        else:
            data.qpos[p], data.qvel[v] = where + model.qpos0[p], rate
    return data, keys


def _by_joint(model: Any, keys: dict[int, str], motion: Any, found: Any) -> dict[str, Any]:
    """Return the accelerations of joints, from those along MuJoCo's degrees of freedom."""
    result: dict[str, Any] = {}
    for k, name in keys.items():
        v = model.jnt_dofadr[k]
        size = {0: 6, 1: 3}.get(int(model.jnt_type[k]), 1)
        own = found[v : v + size]
        if size == 6:
            own = np.concatenate([own[:3], _turned(motion.position[name][3:]) @ own[3:]])
        result[name] = own if size > 1 else own[0]
    return result


def _key(model: Any, k: int, motion: Any, name: str) -> str:
    """The name of a joint in the mechanism: a free one has that of its body, one without a name that of the reader."""
    if int(model.jnt_type[k]) == 0:
        body = model.body(model.jnt_bodyid[k]).name
        return body if body in motion.position else _free_name(motion)
    if name:
        return name
    body = model.jnt_bodyid[k]
    count = model.body_jntnum[body]
    own = model.body(body).name or f"body_{body}"
    return f"joint of {own}" if count == 1 else f"joint {k - model.body_jntadr[body] + 1} of {own}"


def _turned(quaternion: Any) -> Any:
    found = np.zeros(9)
    mujoco.mju_quat2Mat(found, np.asarray(quaternion, float))
    return found.reshape(3, 3)


def _loops(mechanism: Any, model: Any, data: Any) -> tuple[Any, Any]:
    """Rows and right-hand sides of connections and welds, as rigid constraints."""
    rows, rhs = [np.zeros((0, model.nv))], [np.zeros(0)]
    for k in range(model.neq):
        kind = int(model.eq_type[k])
        if kind not in (int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD)) or not data.eq_active[k]:
            continue
        bodies, points = _ends(model, data, k, kind)
        jacobians = [_jacobian(model, data, body, point) for body, point in zip(bodies, points, strict=True)]
        size = 3 if kind == int(mujoco.mjtEq.mjEQ_CONNECT) else 6
        rows.append((jacobians[0][0] - jacobians[1][0])[:size])
        rhs.append(-((jacobians[0][1] - jacobians[1][1]) @ data.qvel)[:size])
    return np.vstack(rows), np.concatenate(rhs)


def _ends(model: Any, data: Any, k: int, kind: int) -> tuple[list[int], list[Any]]:
    one, other = int(model.eq_obj1id[k]), int(model.eq_obj2id[k])
    if int(model.eq_objtype[k]) == int(mujoco.mjtObj.mjOBJ_SITE):
        return [int(model.site_bodyid[s]) for s in (one, other)], [data.site_xpos[s].copy() for s in (one, other)]
    own = model.eq_data[k]
    if kind == int(mujoco.mjtEq.mjEQ_WELD):  # any point will do
        place = data.xpos[one].copy()
        return [one, other], [place, place]
    anchors = own[:3], own[3:6]
    places = [data.xpos[b] + data.xmat[b].reshape(3, 3) @ a for b, a in zip((one, other), anchors, strict=True)]
    return [one, other], places


def _jacobian(model: Any, data: Any, body: int, point: Any) -> tuple[Any, Any]:
    """The Jacobian (6, nv) of a point of a body and of its rotation, and their time derivatives."""
    parts = [np.zeros((3, model.nv)) for _ in range(4)]
    mujoco.mj_jac(model, data, *parts[:2], point, body)
    mujoco.mj_jacDot(model, data, *parts[2:], point, body)
    return np.vstack(parts[:2]), np.vstack(parts[2:])
