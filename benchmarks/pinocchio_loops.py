"""Pinocchio's own model of a robot that MuJoCo has read, with connections as constraints of Pinocchio.

Pinocchio reads one tree of an MJCF file only, so that bodies and joints are taken from MuJoCo's numbers. Kinematics,
the terms of the equation of motion and the solution with the constraints are Pinocchio's.
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pinocchio as pin

FREE, BALL, SLIDE, HINGE = range(4)
"""Kinds of joints in MuJoCo."""


def pinocchio_model(source: Any) -> tuple[Any, list[Any]]:
    """Return the model with joint k of MuJoCo under the name "k", and for each body its joint and its place in it."""
    model, bodies = pin.Model(), [(0, pin.SE3.Identity())]
    model.gravity.linear = source.opt.gravity
    for body in range(1, source.nbody):
        parent, place = bodies[source.body_parentid[body]]
        place = place * _placement(source.body_pos[body], source.body_quat[body])
        for k in range(source.body_jntadr[body], source.body_jntadr[body] + source.body_jntnum[body]):
            anchor = pin.SE3(np.eye(3), source.jnt_pos[k])
            parent = model.addJoint(parent, _joint(source, k), place * anchor, str(k))
            place = anchor.inverse()
        own = _placement(source.body_ipos[body], source.body_iquat[body])
        inertia = pin.Inertia(source.body_mass[body], np.zeros(3), np.diag(source.body_inertia[body]))
        model.appendBodyToJoint(parent, inertia, place * own)
        bodies.append((parent, place))
    model.armature = np.array([source.dof_armature[v] for v in _order(model, source)])
    return model, bodies


def acceleration(source: Any, data: Any) -> Any:
    """Return the accelerations along MuJoCo's degrees of freedom at the state of its data.

    None if there are equality constraints other than connections of bodies.
    """
    if any(source.eq_type != int(mujoco.mjtEq.mjEQ_CONNECT)) or any(source.eq_objtype != int(mujoco.mjtObj.mjOBJ_BODY)):
        return None
    model, bodies = pinocchio_model(source)
    q, v, order = pin.neutral(model), np.zeros(model.nv), _order(model, source)
    v[:] = data.qvel[order]
    for k in range(source.njnt):
        joint, own = model.joints[model.getJointId(str(k))], source.jnt_qposadr[k]
        values = data.qpos[own : own + joint.nq]
        if source.jnt_type[k] == FREE:
            q[joint.idx_q : joint.idx_q + 7] = [*values[:3], *values[4:], values[3]]
            turned = pin.Quaternion(*values[3:]).toRotationMatrix()
            v[joint.idx_v : joint.idx_v + 3] = turned.T @ data.qvel[source.jnt_dofadr[k] :][:3]
        elif source.jnt_type[k] == BALL:
            q[joint.idx_q : joint.idx_q + 4] = [*values[1:], values[0]]
        else:
            q[joint.idx_q] = values[0] - source.qpos0[own]
    constraints = [_connection(source, model, bodies, k) for k in range(source.neq)]
    found = _solved(model, q, v, -source.dof_damping[order] * v, constraints)
    result = np.zeros(source.nv)
    result[order] = found
    for k in np.flatnonzero(source.jnt_type == FREE):
        joint = model.joints[model.getJointId(str(k))]
        turned = pin.Quaternion(q[joint.idx_q + 3 : joint.idx_q + 7]).toRotationMatrix()
        linear, spin = v[joint.idx_v : joint.idx_v + 3], v[joint.idx_v + 3 : joint.idx_v + 6]
        start = source.jnt_dofadr[k]
        result[start : start + 3] = turned @ (found[joint.idx_v : joint.idx_v + 3] + np.cross(spin, linear))
    return result


def _solved(model: Any, q: Any, v: Any, force: Any, constraints: list[Any]) -> Any:
    data = model.createData()
    if not constraints:
        return pin.aba(model, data, q, v, force)
    settings = pin.ProximalSettings(1e-14, 1e-10, 50)
    rigid, own = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    rigid.extend(constraints)
    own.extend([constraint.createData() for constraint in constraints])
    pin.initConstraintDynamics(model, data, rigid, own)
    return pin.constraintDynamics(model, data, q, v, force, rigid, own, settings)


def _connection(source: Any, model: Any, bodies: Any, k: int) -> Any:
    ends: list[Any] = []
    for body, anchor in ((source.eq_obj1id[k], source.eq_data[k][:3]), (source.eq_obj2id[k], source.eq_data[k][3:6])):
        joint, place = bodies[body]
        ends += [joint, place * pin.SE3(np.eye(3), anchor)]
    return pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, *ends, pin.ReferenceFrame.LOCAL)


def _order(model: Any, source: Any) -> list[int]:
    """Return MuJoCo's degrees of freedom in the order of Pinocchio's."""
    found = np.zeros(model.nv, int)
    for k in range(source.njnt):
        joint = model.joints[model.getJointId(str(k))]
        found[joint.idx_v : joint.idx_v + joint.nv] = source.jnt_dofadr[k] + np.arange(joint.nv)
    return list(found)


def _joint(source: Any, k: int) -> Any:
    kind, axis = source.jnt_type[k], source.jnt_axis[k]
    if kind == FREE:
        return pin.JointModelFreeFlyer()
    if kind == BALL:
        return pin.JointModelSpherical()
    return (pin.JointModelPrismaticUnaligned if kind == SLIDE else pin.JointModelRevoluteUnaligned)(axis)


def _placement(position: Any, quaternion: Any) -> Any:
    return pin.SE3(pin.Quaternion(*quaternion).toRotationMatrix(), np.array(position))
