# SPDX-License-Identifier: BSD-3-Clause
"""The mechanism of a robot description: links that are fixed to one another become one body."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import ModelError
from dalembert.mechanisms.couplings import Drive
from dalembert.mechanisms.forces import Force, Gravity
from dalembert.mechanisms.frames import Marker, ground
from dalembert.mechanisms.joint_inertia import Rotor
from dalembert.mechanisms.joints import Prismatic, Revolute, Weld
from dalembert.mechanisms.massless_body import MasslessBody
from dalembert.mechanisms.mechanism import Mechanism
from dalembert.mechanisms.robots.placement import AT_ORIGIN, Placement, quaternion_of, without_rounding
from dalembert.mechanisms.robots.rigid_inertia import RigidInertia, joined
from dalembert.mechanisms.robots.robot_tree import WORLD, RobotTree, TreeJoint
from dalembert.mechanisms.spatial_body import Body
from dalembert.mechanisms.spatial_joints import Spherical
from dalembert.mechanisms.springs import TorsionSpring
from dalembert.mechanisms.transmission import Transmission
from dalembert.model.servo import Actuator

CLOSED_LOOP = 1e-9
"""Distance of two places that are welded, relative to the size of the robot, that is rounding of a file."""


@dataclass(frozen=True, eq=False)
class Attachment:
    """The place of a link: the moving link whose body it is part of, or the world, and its placement there."""

    host: str
    placement: Placement


@dataclass(eq=False)
class TreeMechanism:
    """The parts of a mechanism, as they are made from a robot description.

    attached    where each link is
    poses       the placement of the frame of each moving link in the world, where all joints are at zero
    bodies      by the name of the moving link
    """

    tree: RobotTree
    attached: dict[str, Attachment] = field(default_factory=dict[str, Attachment])
    poses: dict[str, Placement] = field(default_factory=dict[str, Placement])
    bodies: dict[str, Any] = field(default_factory=dict[str, Any])
    joints: dict[str, Any] = field(default_factory=dict[str, Any])
    forces: list[Any] = field(default_factory=list[Any])

    def marker(self, link: str, point: Any) -> Marker:
        """Return a point of a link as a point of its body or of the ground."""
        attachment = self.attached[link]
        own = without_rounding(attachment.placement.point(point))
        return (ground if attachment.host == WORLD else self.bodies[attachment.host]).at(*own)

    def pose(self, link: str) -> Placement:
        """Return the placement of a link in the world, where all joints are at zero."""
        attachment = self.attached[link]
        return self.poses[attachment.host] @ attachment.placement


def mechanism_of(tree: RobotTree) -> Mechanism:
    """Return the mechanism that a robot description states."""
    parts = TreeMechanism(tree)
    _attach(parts)
    _make_bodies(parts)
    for joint in tree.joints:
        if joint.kind not in ("fixed", "free"):
            _make_joint(parts, joint)
    for loop in tree.loops:
        _close(parts, loop)
    for coupling in tree.couplings:
        _couple(parts, coupling)
    _add_weights(parts)
    if not parts.bodies:
        advice = " A robot without a base is read with `floating=True`." if tree.element.tag == "robot" else ""
        raise tree.element.error(
            f"{tree.element.label} must have a part that moves; all are fixed to the ground, or there is none.{advice}"
        )
    motors = _motors(parts)
    try:
        return Mechanism(
            tuple(parts.bodies.values()),
            tuple(parts.joints.values()),
            tuple(parts.forces),
            actuators=motors,
            notes=tuple(tree.notes),
        )
    except ModelError as error:
        raise tree.element.error(" ".join(error.problems)) from None


def _attach(parts: TreeMechanism) -> None:
    """Find the body that each link is part of, and the placements of all bodies."""
    parts.attached[WORLD] = Attachment(WORLD, AT_ORIGIN)
    parts.poses[WORLD] = AT_ORIGIN
    for joint in parts.tree.joints:
        parent = parts.attached[joint.parent]
        placement = parent.placement @ joint.placement
        if joint.kind == "fixed":
            parts.attached[joint.child] = Attachment(parent.host, placement)
        else:
            parts.attached[joint.child] = Attachment(joint.child, AT_ORIGIN)
            parts.poses[joint.child] = parts.poses[parent.host] @ placement


def _make_bodies(parts: TreeMechanism) -> None:
    inertias: dict[str, list[RigidInertia]] = {host: [] for host in parts.poses if host != WORLD}
    for name, link in parts.tree.links.items():
        attachment = parts.attached[name]
        if attachment.host != WORLD:
            inertias[attachment.host].append(link.inertia.placed(attachment.placement))
    found = {host: joined(own) for host, own in inertias.items()}
    carried = _carried(parts, found)
    names = _body_names(list(found))
    for host, own in found.items():
        pose = parts.poses[host]
        initial = {"position": tuple(pose.position), "orientation": tuple(quaternion_of(pose.rotation))}
        element = parts.tree.links[host].element
        try:
            if own.is_nothing:
                parts.bodies[host] = MasslessBody(names[host], **initial, scale=_scale(parts, host, carried[host]))
            else:
                inertia = without_rounding(own.inertia).tolist()
                center = tuple(without_rounding(own.center))
                parts.bodies[host] = Body(names[host], own.mass, inertia, **initial, center=center)
        except ModelError as error:
            raise element.error(f"{element.label}: {' '.join(error.problems)}") from None
    changed = [f"`{host}` is `{name}`" for host, name in names.items() if host != name]
    if changed:
        parts.tree.notes.append(f"names of bodies consist of letters, digits and underscores: {', '.join(changed)}.")


def _carried(parts: TreeMechanism, inertias: dict[str, RigidInertia]) -> dict[str, RigidInertia]:
    """Return for each moving link the first inertia that is not zero: its own or one that it carries."""
    found = dict(inertias)
    for joint in reversed(parts.tree.joints):
        host = parts.attached[joint.parent].host
        if joint.kind != "fixed" and host != WORLD and found[host].is_nothing:
            found[host] = found[joint.child]
    return found


def _scale(parts: TreeMechanism, host: str, carried: RigidInertia) -> tuple[float, float]:
    """Return the weights of a massless body from the body that it carries, or raise if it carries none."""
    if carried.is_nothing:
        element = parts.tree.links[host].element
        raise element.error(
            f"{element.label} must have a mass, since it moves and carries no other link that has one. Give it its "
            f"inertia, or make its joint fixed."
        )
    return carried.mass, float(np.trace(carried.inertia))


def _body_names(links: list[str]) -> dict[str, str]:
    """Return names that coordinates can have, each once."""
    found: dict[str, str] = {}
    for link in links:
        plain = re.sub(r"\W", "_", link) or "_"
        plain = f"_{plain}" if plain[0].isdigit() else plain
        taken = {"ground", *found.values()}
        found[link] = next(
            name for name in (plain, *(f"{plain}_{k}" for k in range(2, len(links) + 3))) if name not in taken
        )
    return found


def _make_joint(parts: TreeMechanism, given: TreeJoint) -> None:
    """Add a joint, its damper, its spring and its rotor."""
    parent = parts.attached[given.parent].placement @ given.placement
    first = parts.marker(given.parent, given.placement.point(given.anchor))
    second = parts.bodies[given.child].at(*without_rounding(given.anchor))
    axes = tuple(without_rounding(parent.rotation @ given.axis)), tuple(without_rounding(given.axis))
    if given.kind == "ball":
        joint: Any = Spherical(given.name, first, second)
    elif given.kind == "revolute":
        joint = Revolute(given.name, first, second, axis=axes)
    else:
        joint = Prismatic(given.name, first, second, axis=axes[0])
    parts.joints[given.name] = joint
    if given.stiffness:
        parts.forces += _springs(joint, given)
    if given.armature or given.damping:
        parts.forces.append(Rotor(joint, given.armature, given.damping))


def _springs(joint: Any, given: TreeJoint) -> list[Any]:
    if isinstance(joint, Revolute):
        return [TorsionSpring(joint, given.stiffness, given.rest)]
    if isinstance(joint, Spherical):
        raise given.element.error(
            f"{given.element.label}: `stiffness` of a ball joint is not supported. Leave it out, and add a `da.Torque`."
        )
    pull = -given.stiffness * (joint.displacement - given.rest) * joint.first.body.turn(joint.axis)
    return [Force(joint.second, pull), Force(joint.first, -pull)]


def _close(parts: TreeMechanism, loop: Any) -> None:
    """Add the joint of a loop; its second point is where the first one is, with all joints at zero."""
    if parts.attached[loop.first].host == parts.attached[loop.second].host:
        raise loop.element.error(f"{loop.element.label} must connect links that move relative to each other.")
    world = parts.pose(loop.first).point(loop.point)
    other = parts.pose(loop.second)
    own: Floats = other.rotation.T @ (world - other.position)
    if loop.other is not None:
        if loop.kind == "fixed" and np.abs(own - loop.other.position).max() > CLOSED_LOOP * (1 + np.abs(world).max()):
            raise loop.element.error(
                f"{loop.element.label} must hold where all joints are at zero, which it does not. Give two "
                f"bodies instead."
            )
        own = loop.other.position
    kind = Spherical if loop.kind == "ball" else Weld
    parts.joints[loop.name] = kind(loop.name, parts.marker(loop.first, loop.point), parts.marker(loop.second, own))


def _couple(parts: TreeMechanism, coupling: Any) -> None:
    joints = [parts.joints[name] for name in (coupling.driving, coupling.driven) if name is not None]
    wrong = [joint.name for joint in joints if joint.motion_rate is None]
    if wrong:
        raise coupling.element.error(
            f"{coupling.element.label} must relate joints with one motion; `{wrong[0]}` has more."
        )
    if coupling.driving is None:
        parts.joints[coupling.name] = Drive(coupling.name, joints[0], coupling.coefficients[0])
    else:
        parts.joints[coupling.name] = Transmission(coupling.name, *joints, coefficients=coupling.coefficients)


def _add_weights(parts: TreeMechanism) -> None:
    gravity = np.array(parts.tree.gravity)
    if not gravity.any():
        return
    parts.forces.insert(0, Gravity(tuple(gravity)))
    for name, link in parts.tree.links.items():
        if link.compensated and link.inertia.mass and parts.attached[name].host != WORLD:
            lifted = -link.compensated * link.inertia.mass * gravity
            parts.forces.append(Force(parts.marker(name, link.inertia.center), tuple(lifted)))


def _motors(parts: TreeMechanism) -> tuple[Actuator, ...]:
    """Return the motors; one that has the name of a joint gets another, since reactions are listed by name."""
    found: list[Actuator] = []
    for motor in parts.tree.motors:
        joint = parts.joints[motor.joint]
        if joint.motion_rate is None:
            parts.tree.notes.append(f"motor `{motor.name}` is left out: joint `{motor.joint}` has several motions.")
            continue
        taken = {*parts.joints, *(actuator.name for actuator in found)}
        name = motor.name if motor.name not in taken else f"motor of {motor.name}"
        found.append(Actuator(name, joint, motor.limit))
    return tuple(found)
