# SPDX-License-Identifier: BSD-3-Clause
"""The state of a mechanism in space from the angles, displacements and rates of its joints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import InputError, StateError
from dalembert.integration.start_states import State
from dalembert.mechanisms.frames import Ground
from dalembert.mechanisms.joint_tree import JointGeometry, PlacedBody, joint_tree, loop_joints
from dalembert.mechanisms.joints import Prismatic, Revolute
from dalembert.mechanisms.spatial_joints import Spherical
from dalembert.mechanisms.transmission import Transmission
from dalembert.mechanisms.vectors import (
    conjugate,
    evaluate,
    half_turning,
    product,
    quaternion,
    quaternion_product,
    rotation,
)
from dalembert.model.constraint import Constraint
from dalembert.model.deferred_fields import Deferred
from dalembert.model.input_values import parameter_values
from dalembert.model.ordering import unknown_names
from dalembert.model.similar_terms import with_constraints
from dalembert.model.symbols import t as time
from dalembert.model.system import System
from dalembert.numerics.tolerances import EXACT
from dalembert.verbs import consistent_state


class Pose(NamedTuple):
    """The motion of a body in world axes: unit quaternion, position, angular velocity and velocity."""

    quaternion: Floats
    position: Floats
    spin: Floats
    velocity: Floats

    @property
    def rotation(self) -> Floats:
        return np.asarray(rotation(tuple(self.quaternion)))


POSE_OF_GROUND = Pose(np.array([1.0, 0, 0, 0]), np.zeros(3), np.zeros(3), np.zeros(3))


def joint_state(mechanism: Any, positions: Any, velocities: Any, t: float, parameters: Any) -> State:
    """Return the state in which the joints have these positions and velocities."""
    tree = joint_tree(mechanism)
    sizes = {placed.key: _sizes(placed) for placed in tree if placed.key is not None}
    where = _values(positions, "positions", {name: size[0] for name, size in sizes.items()})
    rates = _values(velocities, "velocities", {name: size[1] for name, size in sizes.items()})
    constants = mechanism.system.parameter_names
    numbers = dict(zip(constants, parameter_values(constants, parameters), strict=True))
    given = {*where, *rates}
    _follow(mechanism, where, rates, numbers)
    q, qd = _placed(mechanism, tree, where, rates, numbers)
    loops = loop_joints(mechanism, tree)
    if not loops:
        return State(q, qd)
    return _closed(mechanism, tree, State(q, qd), (where, rates, given), t, parameters)


def _sizes(placed: PlacedBody) -> tuple[int, int]:
    """Return how many numbers the position and the velocity of a joint or of a free body have."""
    if placed.joint is None:
        return 7, 6
    return (4, 3) if isinstance(placed.joint, Spherical) else (1, 1)


def _values(given: Any, argument: str, sizes: dict[str, int]) -> dict[str, Floats]:
    """Return the values by name as arrays."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(f"`{argument}` must be a mapping from names of joints and free bodies; got {given!r}.")
    problems = unknown_names(list(sizes), map(str, given), argument, "joint")
    if problems:
        raise InputError(" ".join(problems))
    found: dict[str, Floats] = {}
    for name, value in given.items():
        try:
            numbers = np.hstack([np.ravel(np.asarray(part, float)) for part in np.atleast_1d(np.array(value, object))])
        except (TypeError, ValueError):
            numbers = np.empty(0)
        if numbers.shape != (sizes[name],) or not np.isfinite(numbers).all():
            plural = "s" * (sizes[name] > 1)
            raise InputError(f"`{argument}` of `{name}` must be {sizes[name]} finite number{plural}; got {value!r}.")
        found[name] = numbers
    return found


def _follow(mechanism: Any, where: dict[str, Floats], rates: dict[str, Floats], numbers: dict[str, float]) -> None:
    """Add the motions of joints that transmissions drive, those that drive others first."""
    waiting = [joint for joint in mechanism.joints if isinstance(joint, Transmission)]
    while waiting:
        driven = {part.driven.name for part in waiting}
        ready = [part for part in waiting if part.driving.name not in driven] or waiting[:1]
        for part in ready:
            _drive(part, where, rates, numbers)
        waiting = [part for part in waiting if part not in ready]


def _drive(part: Any, where: dict[str, Floats], rates: dict[str, Floats], numbers: dict[str, float]) -> None:
    factors = np.polynomial.Polynomial(evaluate(part.coefficients, numbers))
    driving, driven = part.driving.name, part.driven.name
    x, rate = where.get(driving, np.zeros(1)), rates.get(driving, np.zeros(1))
    required = factors(x), factors.deriv()(x) * rate
    for values, own, noun in zip((where, rates), required, ("positions", "velocities"), strict=True):
        if driven in values and np.abs(values[driven] - own).max() > EXACT * (1 + np.abs(own).max()):
            raise StateError(
                f"`{noun}` of `{driven}` must be {own[0]:.9g}, by transmission `{part.name}`; got "
                f"{values[driven][0]:.9g}. Leave it out."
            )
        values[driven] = own


def _placed(
    mechanism: Any,
    tree: list[PlacedBody],
    where: dict[str, Floats],
    rates: dict[str, Floats],
    numbers: dict[str, float],
) -> State:
    """Return the coordinates and velocities of all bodies, from the ground outwards."""
    poses: dict[str, Pose] = {}
    for placed in tree:
        if placed.joint is None:
            poses[placed.body.name] = _free(placed.body, where, rates)
            continue
        first = placed.joint.first.body
        carrier = POSE_OF_GROUND if isinstance(first, Ground) else poses[first.name]
        geometry = JointGeometry.of(placed.joint, numbers)
        own = where.get(placed.joint.name), rates.get(placed.joint.name)
        poses[placed.body.name] = _carried(placed.joint, geometry, carrier, *own)
    parts = [_coordinates(poses[body.name]) for body in mechanism.bodies]
    return State(np.concatenate([q for q, _ in parts]), np.concatenate([qd for _, qd in parts]))


def _free(body: Any, where: dict[str, Floats], rates: dict[str, Floats]) -> Pose:
    """Return the motion of a free body: position and quaternion, velocity and spin, as given or as of the body."""
    q = where.get(body.name, np.array([*body.position, *body.orientation]))
    qd = rates.get(body.name, np.array([*body.velocity, *body.spin]))
    length = float(np.linalg.norm(q[3:]))
    if length == 0:
        raise InputError(
            f"`positions` of `{body.name}` must hold a position and a quaternion; got a quaternion of zero."
        )
    return Pose(q[3:] / length, q[:3], qd[3:], qd[:3])


def _carried(joint: Any, geometry: JointGeometry, carrier: Pose, x: Floats | None, rate: Floats | None) -> Pose:
    """Return the motion of the second body of a joint from that of the first."""
    R, axis = carrier.rotation, geometry.axis
    start = _given_quaternion(joint)
    turned, slid, spin, slide = start, np.zeros(3), carrier.spin, np.zeros(3)
    if isinstance(joint, Revolute):
        turned = quaternion_product(quaternion(axis, 0.0 if x is None else float(x[0])), start)
        spin = spin + R @ axis * (0.0 if rate is None else rate[0])
    elif isinstance(joint, Prismatic):
        distance = _given_displacement(joint, geometry) if x is None else x[0]
        slid, slide = axis * distance, axis * (0.0 if rate is None else rate[0])
    elif isinstance(joint, Spherical) and x is not None:
        turned = quaternion_product(start, x / np.linalg.norm(x))
    e = quaternion_product(carrier.quaternion, turned)
    own = np.asarray(rotation(tuple(e)))
    if isinstance(joint, Spherical) and rate is not None:
        spin = spin + own @ rate
    arm, back = R @ (geometry.first + slid), own @ geometry.second
    velocity = carrier.velocity + np.cross(carrier.spin, arm) + R @ slide - np.cross(spin, back)
    return Pose(e, carrier.position + arm - back, spin, velocity)


def _given_quaternion(joint: Any) -> Floats:
    """Return the orientation of the second body in the axes of the first, in the given poses."""
    return quaternion_product(conjugate(joint.first.body.orientation), joint.second.body.orientation)


def _given_displacement(joint: Any, geometry: JointGeometry) -> float:
    """Return the displacement of a prismatic joint in the given poses."""
    first, second = joint.first.body, joint.second.body
    one, other = (np.asarray(rotation(body.orientation)) for body in (first, second))
    origin = np.zeros(3) if isinstance(first, Ground) else np.asarray(first.position)
    away = np.asarray(second.position) + other @ geometry.second - origin - one @ geometry.first
    return float(geometry.axis @ (one.T @ away))


def _coordinates(pose: Pose) -> tuple[Floats, Floats]:
    """Return the coordinates of a body in space and their rates."""
    own = pose.rotation.T @ pose.spin
    rate = np.asarray(half_turning(tuple(pose.quaternion))).T @ own / 2
    return np.concatenate([pose.position, pose.quaternion]), np.concatenate([pose.velocity, rate])


def _closed(mechanism: Any, tree: list[PlacedBody], start: State, given: Any, t: float, parameters: Any) -> State:
    """Return the nearest state that closes all loops and keeps the given motions of joints and free bodies."""
    where, rates, named = given
    starts = {b.name: (start.q[7 * k :][:7], start.qd[7 * k :][:7]) for k, b in enumerate(mechanism.bodies)}
    held: list[Constraint] = []
    for placed in tree:
        if placed.key in named:
            own = where.get(placed.key), rates.get(placed.key)
            rows = _prescribed(placed, own, starts, time - t)
            held += [Constraint(row, name=f"given {placed.key}: {about}") for about, row in rows]
    system = _with_constraints(mechanism.system, held)
    numbers = {name: value for name, value in dict(parameters or {}).items() if str(name) in system.parameter_names}
    try:
        return consistent_state(system, *start, t, parameters=numbers)
    except StateError as error:
        raise StateError(f"no state with these motions of joints closes all loops: {error}") from None


def _prescribed(placed: PlacedBody, own: Any, starts: Any, since: Any) -> list[tuple[str, Any]]:
    """Return expressions that vanish if a joint or a free body moves as given, each with what it is about."""
    body, joint = placed.body, placed.joint
    if joint is None:
        moves = zip(body.coordinates, *starts[body.name], strict=True)
        return [(x.func.__name__, x - value - rate * since) for x, value, rate in moves]
    if isinstance(joint, Spherical):
        (q, qd), first = starts[body.name], joint.first.body
        # the product of quaternions is linear in each of them
        e, rate = (
            ((1, 0, 0, 0), (0, 0, 0, 0)) if isinstance(first, Ground) else [list(z[3:]) for z in starts[first.name]]
        )
        value = product(conjugate(e), q[3:])
        turning = np.add(product(conjugate(rate), q[3:]), product(conjugate(e), qd[3:]))
        turned = body.coordinates[3:]
        if not isinstance(first, Ground):
            turned = product(conjugate(first.coordinates[3:]), turned)
        parts = zip("wxyz", turned, value, turning, strict=True)
        return [(f"orientation {name}", e - v - w * since) for name, e, v, w in parts]
    x, rate = (0.0 if values is None else float(values[0]) for values in own)
    return joint.driven(x + rate * since)


def _with_constraints(system: System, held: list[Constraint]) -> System:
    """Return the system without servos and with further constraints; one of groups keeps them."""

    def derive() -> System:
        return replace(system, constraints=(*system.constraints, *held), servos=())

    if system.statement is None and system.deferred is None:
        return derive()
    assert system.templates is not None
    return System.from_deferred(Deferred(with_constraints(system.templates, held), derive)) if held else system
