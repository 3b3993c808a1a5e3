# SPDX-License-Identifier: BSD-3-Clause
"""Connections in MJCF files: equality constraints that close loops or couple joints, and actuators."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.common.names import listed
from dalembert.mechanisms.robots.mjcf_document import ACTUATORS, MAIN_CLASS, MjcfDocument
from dalembert.mechanisms.robots.placement import Placement
from dalembert.mechanisms.robots.robot_tree import WORLD, Coupling, Loop, Motor, RobotTree
from dalembert.mechanisms.robots.xml_elements import XmlElement, nearest_hint

Sites = dict[str, tuple[str, Placement]]

FORCES_OF_MEDIUM = ("density", "viscosity", "wind")

NOT_READ = ("asset", "visual", "statistic", "size", "sensor", "keyframe", "custom", "contact", "extension")


def read_equalities(document: MjcfDocument, tree: RobotTree, sites: Sites) -> None:
    """Add the loops and couplings of the section <equality>."""
    for number, element in enumerate(document.sections("equality"), start=1):
        name = element.attributes.get("name") or f"{element.tag} {number}"
        if name in {joint.name for joint in tree.joints}:
            name = f"{element.tag} {name}"
        if not element.boolean("active", True):
            tree.notes.append(f"equality `{name}` is not active, and left out.")
        elif element.tag in ("connect", "weld"):
            tree.loops.append(_loop(element, name, tree, sites))
        elif element.tag == "joint":
            tree.couplings.append(_coupling(element, name, tree))
        else:
            raise element.error(
                f"<equality> must hold <connect>, <weld> or <joint>; <{element.tag[:60]}> is not supported. Leave it "
                f'out, or set `active="false"`.'
            )
    if document.sections("equality"):
        tree.notes.append("equality constraints are rigid: `solref` and `solimp` are not read.")


def _loop(element: XmlElement, name: str, tree: RobotTree, sites: Sites) -> Loop:
    kind = "ball" if element.tag == "connect" else "fixed"
    if element.given("site1"):
        ends = [_known(element, key, sites) for key in ("site1", "site2")]
        (first, at_first), (second, at_second) = sites[ends[0]], sites[ends[1]]
        return Loop(name, kind, first, second, at_first.position, element, at_second)
    first = _known(element, "body1", tree.links)
    second = _known(element, "body2", tree.links) if element.given("body2") else WORLD
    if kind == "ball":
        return Loop(name, kind, first, second, np.array(element.numbers("anchor", 3)), element)
    relative = np.array(element.numbers("relpose", 7, (0, 1, 0, 0, 0, 0, 0)))
    if relative[3:].any():
        raise element.error(
            f"`relpose` of {element.label} is not supported: bodies keep the relative pose that they have where all "
            f"joints are at zero. Leave it out."
        )
    return Loop(name, kind, first, second, np.zeros(3), element)


def _known(element: XmlElement, key: str, names: Any) -> str:
    value = element.text(key)
    if value not in names:
        raise element.error(
            f"`{key}` of {element.label} must name one that is in the file; `{value[:60]}` is unknown. "
            f"{nearest_hint(value, list(names))}"
        )
    return value


def _coupling(element: XmlElement, name: str, tree: RobotTree) -> Coupling:
    joints = {joint.name: joint for joint in tree.joints}
    driven = _known(element, "joint1", joints)
    driving = _known(element, "joint2", joints) if element.given("joint2") else None
    factors = element.numbers("polycoef", (1, 2, 3, 4, 5), (0, 1, 0, 0, 0))
    while len(factors) > 2 and factors[-1] == 0:
        factors.pop()
    if driving is not None and not any(factors[1:]):
        driving = None
    return Coupling(name, driven, driving, tuple(factors), element)


def read_actuators(document: MjcfDocument, tree: RobotTree) -> None:
    """Add the actuators that act on one joint."""
    joints = [joint.name for joint in tree.joints if joint.kind not in ("fixed", "free")]
    for number, given in enumerate(document.sections("actuator"), start=1):
        if given.tag not in ACTUATORS:
            raise given.error(f"<actuator> has no <{given.tag[:60]}>. {nearest_hint(given.tag, ACTUATORS)}")
        element = document.with_defaults(given, MAIN_CLASS, "actuator")
        name = element.attributes.get("name") or f"{element.tag} {number}"
        if not element.given("joint"):
            tree.notes.append(f"actuator `{name}` is left out, since it does not act on a joint.")
            continue
        joint = _known(element, "joint", joints)
        limit = _limit(element, name, tree)
        tree.motors.append(Motor(name, joint, limit, element))
        if element.tag != "motor":
            tree.notes.append(
                f"actuator `{name}` is a motor here: its input is the torque or force in joint `{joint}`, and the "
                f"law of <{element.tag}> is not read. A `da.Servo` states what it must achieve."
            )


def _limit(element: XmlElement, name: str, tree: RobotTree) -> float | None:
    """Return the largest torque or force of an actuator in its joint."""
    gear = abs(element.numbers("gear", (1, 2, 3, 4, 5, 6), (1,))[0])
    keys = ["forcerange", *(["ctrlrange"] if element.tag == "motor" else [])]
    ranges = [
        element.numbers(key, 2)
        for key in keys
        if element.given(key) and element.attributes.get(key.replace("range", "limited")) != "false"
    ]
    if not ranges or gear == 0:
        return None
    low, high = max(low for low, _ in ranges), min(high for _, high in ranges)
    if low != -high:
        tree.notes.append(
            f"the limits {low:g} and {high:g} of actuator `{name}` differ in size; its limit is the larger."
        )
    return gear * max(abs(low), abs(high)) or None


def note_sections(document: MjcfDocument, tree: RobotTree, option: XmlElement) -> None:
    """Note the sections that are not read, and refuse those that would change the motion."""
    for tendon in document.sections("tendon"):
        element = document.with_defaults(tendon, MAIN_CLASS, "tendon")
        acting = [key for key in ("stiffness", "damping", "frictionloss", "armature") if _is_set(element, key)]
        if acting:
            raise tendon.error(
                f"{tendon.label} must have no `{acting[0]}`: forces of tendons are not supported. Leave it out, and "
                f"add a `da.Spring`."
            )
        tree.notes.append(f"tendon {tendon.label} is left out; it has no stiffness and no damping.")
    deformable = document.sections("deformable")
    if deformable:
        raise deformable[0].error(f"<{deformable[0].tag[:60]}> is not supported: bodies must be rigid. Leave it out.")
    medium = [key for key in FORCES_OF_MEDIUM if _is_set(option, key)]
    if medium:
        tree.notes.append(f"forces of the medium are not modelled: {', '.join(medium)}; `da.Drag` adds some.")
    fixed = [joint.child for joint in tree.joints if joint.kind == "fixed"]
    if fixed:
        tree.notes.append(f"bodies without joints are part of the one that carries them, or fixed: {listed(fixed)}.")
    unread = [tag for tag in NOT_READ if document.root.all(tag)]
    others = f" Not read: {', '.join(f'<{tag}>' for tag in unread)}." if unread else ""
    tree.notes.append(f"there are no contacts; shapes count only for inertia that is not stated.{others}")


def _is_set(element: XmlElement, key: str) -> bool:
    return any(element.numbers(key, (1, 2, 3), (0.0,)))
