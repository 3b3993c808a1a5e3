# SPDX-License-Identifier: BSD-3-Clause
"""The motions of the joints of a mechanism in space: angles and displacements, their rates and accelerations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import InputError
from dalembert.mechanisms.frames import Ground
from dalembert.mechanisms.joint_tree import JointGeometry, PlacedBody, joint_tree
from dalembert.mechanisms.joints import Prismatic, Revolute
from dalembert.mechanisms.part_copies import coordinate_names
from dalembert.mechanisms.vectors import across, conjugate, half_turning, quaternion_product
from dalembert.model.input_values import as_numbers, parameter_values


@dataclass(frozen=True, eq=False)
class JointMotion:
    """The motions of joints, and of free bodies, by name; for arrays of states each entry has their leading axis.

    position        the angle of a ``da.Revolute``, the displacement of a ``da.Prismatic``; the quaternion (4,) of a
                    ``da.Spherical``; position and quaternion (7,) of a free body
    velocity        the rates; for a ``da.Spherical`` the relative angular velocity (3,) in the axes of the second
                    body; for a free body its velocity and angular velocity (6,) in world axes
    acceleration    their time derivatives; empty unless accelerations were given
    """

    position: dict[str, Any]
    velocity: dict[str, Any]
    acceleration: dict[str, Any]

    def __repr__(self) -> str:
        return f"<JointMotion of {', '.join(self.position)}>"


class BodyMotion(NamedTuple):
    """The motion of a body at T times, in world axes: axes (T, 3, 3), quaternion (T, 4), and vectors (T, 3)."""

    axes: Floats
    quaternion: Floats
    position: Floats
    velocity: Floats
    spin: Floats
    acceleration: Floats
    spin_rate: Floats


def joint_motion(mechanism: Any, q: Any, qd: Any, acceleration: Any, parameters: Any) -> JointMotion:
    """Return the motions of all joints at one state (n,) or at several (T, n)."""
    n = len(mechanism.system.coordinate_names)
    arrays = [_array(given, name, n) for given, name in ((q, "q"), (qd, "qd"), (acceleration, "acceleration"))]
    given = [array for array in arrays if array is not None]
    if arrays[0] is None or len({array.shape for array in given}) > 1:
        raise InputError("`q`, `qd` and `acceleration` must have the same shape, and `q` must be given.")
    full = [np.zeros((1, n)) if array is None else array.reshape(-1, n) for array in arrays]
    full = [np.broadcast_to(array, full[0].shape) for array in full]
    constants = mechanism.system.parameter_names
    numbers = dict(zip(constants, parameter_values(constants, parameters), strict=True))
    places = _columns(mechanism)
    tree = [placed for placed in joint_tree(mechanism) if placed.key is not None]
    found = {
        str(placed.key): _motion(placed, lambda body: _body_motion(body, places, full), numbers) for placed in tree
    }
    shape = arrays[0].shape[:-1]
    by_order = [{name: _shaped(motion[k], shape) for name, motion in found.items()} for k in range(3)]
    return JointMotion(*({} if array is None else part for part, array in zip(by_order, arrays, strict=True)))


def _array(given: Any, name: str, n: int) -> Floats | None:
    if given is None:
        return None
    values = np.asarray(as_numbers(given, name), float)
    if values.ndim not in (1, 2) or values.shape[-1] != n:
        raise InputError(f"`{name}` must have shape ({n},) or (T, {n}), as the states of `system`; got {values.shape}.")
    return values


def _shaped(values: Floats, shape: tuple[int, ...]) -> Any:
    return values if shape else (float(values[0]) if values.ndim == 1 else values[0])


def _columns(mechanism: Any) -> dict[str, list[int]]:
    index = {name: k for k, name in enumerate(mechanism.system.coordinate_names)}
    return {body.name: [index[name] for name in coordinate_names(body)] for body in mechanism.bodies}


def _body_motion(body: Any, places: dict[str, list[int]], full: list[Floats]) -> BodyMotion:
    """Return the motion of a body or of the ground."""
    count = len(full[0])
    if isinstance(body, Ground):
        still = np.zeros((count, 3))
        identity = np.tile([1.0, 0, 0, 0], (count, 1))
        return BodyMotion(np.tile(np.eye(3), (count, 1, 1)), identity, still, still, still, still, still)
    q, qd, qdd = (array[:, places[body.name]] for array in full)
    axes = body.axes_along(q)
    # ω = 2 H(e) ė and, since H(ė) ė vanishes, ω̇ = 2 H(e) ë, both in body axes
    turning = np.asarray(half_turning(tuple(np.moveaxis(q[:, 3:], 1, 0))))
    own = [2 * np.einsum("tij,jkt,tk->ti", axes, turning, rates[:, 3:]) for rates in (qd, qdd)]
    return BodyMotion(axes, q[:, 3:], q[:, :3], qd[:, :3], own[0], qdd[:, :3], own[1])


def _motion(placed: PlacedBody, motion_of: Any, numbers: dict[str, float]) -> tuple[Floats, Floats, Floats]:
    """Return position, velocity and acceleration of a joint or of a free body."""
    joint = placed.joint
    if joint is None:
        own = motion_of(placed.body)
        pairs = (own.position, own.quaternion), (own.velocity, own.spin), (own.acceleration, own.spin_rate)
        one, two, three = (np.concatenate(pair, axis=1) for pair in pairs)
        return one, two, three
    first, second = (motion_of(marker.body) for marker in joint.markers)
    geometry = JointGeometry.of(joint, numbers)
    if isinstance(joint, Revolute):
        return _hinge(first, second, geometry)
    if isinstance(joint, Prismatic):
        return _slider(first, second, geometry)
    return _ball(joint, first, second)


def _hinge(first: BodyMotion, second: BodyMotion, geometry: JointGeometry) -> tuple[Floats, Floats, Floats]:
    u, v = (np.asarray(side, float).ravel() for side in across(geometry.axis))
    side = second.axes @ (geometry.turned.T @ u)
    angle = np.arctan2(_dot(side, first.axes @ v), _dot(side, first.axes @ u))
    axis = first.axes @ geometry.axis
    relative = second.spin - first.spin
    rate = second.spin_rate - first.spin_rate
    return np.unwrap(angle), _dot(axis, relative), _dot(axis, rate) + _dot(np.cross(first.spin, axis), relative)


def _slider(first: BodyMotion, second: BodyMotion, geometry: JointGeometry) -> tuple[Floats, Floats, Floats]:
    axis = first.axes @ geometry.axis
    points = [_point(body, own) for body, own in ((first, geometry.first), (second, geometry.second))]
    away, relative, change = (two - one for one, two in zip(*points, strict=True))
    # along an axis that turns: a·r, and its two derivatives
    turning = np.cross(first.spin, axis)
    second_turning = np.cross(first.spin_rate, axis) + np.cross(first.spin, turning)
    rate = _dot(axis, relative) + _dot(turning, away)
    return _dot(axis, away), rate, _dot(axis, change) + 2 * _dot(turning, relative) + _dot(second_turning, away)


def _ball(joint: Any, first: BodyMotion, second: BodyMotion) -> tuple[Floats, Floats, Floats]:
    given = quaternion_product(conjugate(joint.second.body.orientation), joint.first.body.orientation)
    back = np.tile(given[:, None], len(first.axes))
    found = quaternion_product(back, quaternion_product(conjugate(tuple(first.quaternion.T)), second.quaternion.T)).T
    spin = second.spin - first.spin
    # the rate of a vector in the axes of the second body
    change = second.spin_rate - first.spin_rate - np.cross(second.spin, spin)
    return found, *(np.einsum("tji,tj->ti", second.axes, vector) for vector in (spin, change))


def _point(body: BodyMotion, own: Floats) -> tuple[Floats, Floats, Floats]:
    """Return position, velocity and acceleration of a point of a body."""
    arm = body.axes @ own
    along = np.cross(body.spin, arm)
    return (
        body.position + arm,
        body.velocity + along,
        body.acceleration + np.cross(body.spin_rate, arm) + np.cross(body.spin, along),
    )


def _dot(a: Floats, b: Floats) -> Floats:
    return np.einsum("ti,ti->t", a, b)
