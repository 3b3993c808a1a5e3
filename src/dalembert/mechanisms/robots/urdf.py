# SPDX-License-Identifier: BSD-3-Clause
"""URDF files: links and joints of robots."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.common.names import listed, quoted
from dalembert.mechanisms.mechanism import Mechanism
from dalembert.mechanisms.robots.placement import AT_ORIGIN, Placement, rotation_of_angles, without_rounding
from dalembert.mechanisms.robots.rigid_inertia import NOTHING, RigidInertia
from dalembert.mechanisms.robots.robot_tree import WORLD, Coupling, JointKind, Link, Motor, RobotTree, TreeJoint
from dalembert.mechanisms.robots.tree_mechanism import mechanism_of
from dalembert.mechanisms.robots.urdf_notes import note_omissions
from dalembert.mechanisms.robots.xml_elements import XmlElement, nearest_hint, read_xml

JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")

KNOWN_IN_ROBOT = ("link", "joint", "transmission", "material", "gazebo", "sensor")

JOINT_ATTRIBUTES = ("name", "type")

LINK_PARTS = ("inertial", "visual", "collision")

JOINT_PARTS = ("origin", "parent", "child", "axis", "calibration", "dynamics", "limit", "mimic", "safety_controller")


def read_urdf(path: str | Path, gravity: Sequence[float], *, floating: bool) -> Mechanism:
    """Return the mechanism of a URDF file; the root link is fixed to the ground unless it is floating."""
    root = read_xml(path)
    if root.tag != "robot":
        hint = " Read it with `da.Mechanism.from_mjcf`." if root.tag == "mujoco" else ""
        raise root.error(f"a URDF file must begin with <robot>; got <{root.tag[:60]}>.{hint}")
    _refuse_macros(root)
    tree = RobotTree(root.attributes.get("name", "robot"), root, tuple(gravity))
    _read_links(root, tree)
    elements = _joint_elements(root, tree)
    base = _sort_joints(tree, elements)
    kind = "free" if floating else "fixed"
    tree.joints.insert(0, TreeJoint(f"base of {base}", kind, WORLD, base, tree.links[base].element))
    _read_mimics(tree, elements)
    _read_motors(root, tree, elements)
    note_omissions(root, tree, elements, base, floating=floating)
    return mechanism_of(tree)


def _refuse_macros(root: XmlElement) -> None:
    for element in root.walk():
        if element.tag.startswith("xacro:"):
            raise element.error(
                f"<{element.tag[:60]}> is a macro of xacro, which must be expanded first: "
                f"`xacro robot.xacro > robot.urdf`."
            )


def _read_links(root: XmlElement, tree: RobotTree) -> None:
    for element in root.all("link"):
        name = element.text("name")
        if name in tree.links:
            raise element.error(f"links must differ in name; `{name[:60]}` is given twice.")
        _refuse_children(element, LINK_PARTS)
        tree.links[name] = Link(name, _inertia(element), element)
    if not tree.links:
        raise root.error(f"{root.label} must have at least one <link>; there is none.")


def _refuse_children(element: XmlElement, known: Sequence[str]) -> None:
    """Raise if the tag of a child is a misspelling of a known one."""
    for child in element.children:
        near = difflib.get_close_matches(child.tag[:60], known, n=1, cutoff=0.8)
        if child.tag not in known and near:
            raise child.error(f"{element.label} has no part <{child.tag[:60]}>. Did you mean <{near[0]}>?")


def _inertia(link: XmlElement) -> RigidInertia:
    element = link.first("inertial")
    if element is None:
        return NOTHING
    mass = element.first("mass")
    tensor = element.first("inertia")
    if mass is None or tensor is None:
        missing = "mass" if mass is None else "inertia"
        raise element.error(f"<inertial> of {link.label} must have <{missing}>; there is none.")
    xx, xy, xz, yy, yz, zz = (tensor.number(name) for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
    own = RigidInertia(
        mass.nonnegative("value"), np.zeros(3), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], float)
    )
    return own.placed(_origin(element))


def _origin(element: XmlElement) -> Placement:
    """Return the placement in <origin>: fixed-axis roll, pitch and yaw, and a position."""
    origin = element.first("origin")
    if origin is None:
        return AT_ORIGIN
    origin.unknown_attributes(("xyz", "rpy", "quat_xyzw"))
    angles = origin.numbers("rpy", 3, (0, 0, 0))
    return Placement(without_rounding(rotation_of_angles(angles, "XYZ")), np.array(origin.numbers("xyz", 3, (0, 0, 0))))


def _joint_elements(root: XmlElement, tree: RobotTree) -> dict[str, XmlElement]:
    found: dict[str, XmlElement] = {}
    parents: dict[str, str] = {}
    for element in root.all("joint"):
        name = element.text("name")
        if name in found:
            raise element.error(f"joints must differ in name; `{name[:60]}` is given twice.")
        element.unknown_attributes(JOINT_ATTRIBUTES)
        _refuse_children(element, JOINT_PARTS)
        ends = [_end(element, which, tree) for which in ("parent", "child")]
        if ends[1] in parents:
            raise element.error(
                f"a link must be the child of one joint; `{ends[1]}` is that of `{parents[ends[1]]}` and `{name}`. "
                f"URDF has no closed loops; MJCF has."
            )
        parents[ends[1]] = name
        found[name] = element
    return found


def _end(joint: XmlElement, which: str, tree: RobotTree) -> str:
    element = joint.first(which)
    if element is None:
        raise joint.error(f"{joint.label} must have <{which}>; there is none.")
    link = element.text("link")
    if link not in tree.links:
        raise element.error(
            f"`link` of <{which}> of {joint.label} must be a link of the robot; `{link[:60]}` is unknown. "
            f"{nearest_hint(link, list(tree.links))}"
        )
    return link


def _sort_joints(tree: RobotTree, elements: dict[str, XmlElement]) -> str:
    """Add the joints from the root outwards, and return the root link."""
    below: dict[str, list[XmlElement]] = {}
    children: set[str] = set()
    names = list(tree.links)  # planar joints add others
    for element in elements.values():
        below.setdefault(_end(element, "parent", tree), []).append(element)
        children.add(_end(element, "child", tree))
    roots = [name for name in tree.links if name not in children]
    if len(roots) != 1:
        problem = f"{len(roots)} links are the child of no joint: {listed(roots)}" if roots else "they form a cycle"
        raise tree.element.error(f"the links of a robot must form one tree; {problem}.")
    waiting, reached = list(reversed(below.get(roots[0], []))), {roots[0]}
    while waiting:
        element = waiting.pop()
        child = _end(element, "child", tree)
        reached.add(child)
        tree.joints += _joints(element, tree, child)
        waiting += reversed(below.get(child, []))
    missing = [name for name in names if name not in reached]
    if missing:
        raise tree.element.error(f"the links of a robot must form one tree; {quoted(missing[:8])} form a cycle.")
    return roots[0]


def _joints(element: XmlElement, tree: RobotTree, child: str) -> list[TreeJoint]:
    """Return the joint of an element; a planar one is two sliders and a hinge, with massless links in between."""
    name, parent = element.text("name"), _end(element, "parent", tree)
    kind = element.choice("type", JOINT_TYPES)
    placement = _origin(element)
    if kind in ("fixed", "floating"):
        return [TreeJoint(name, "fixed" if kind == "fixed" else "free", parent, child, element, placement)]
    axis = _axis(element)
    damping = _damping(element)
    if kind != "planar":
        motion = "prismatic" if kind == "prismatic" else "revolute"
        return [TreeJoint(name, motion, parent, child, element, placement, axis, damping=damping)]
    sides = np.linalg.svd(axis[None])[2][1:]
    if np.cross(*sides) @ axis < 0:
        sides = sides[::-1]
    between = [f"{child}_{letter}" for letter in "xy"]
    for own in between:
        tree.links[own] = Link(own, NOTHING, element)
    ends = [parent, *between, child]
    kinds: list[tuple[JointKind, Floats, str]] = [
        ("prismatic", sides[0], "x"),
        ("prismatic", sides[1], "y"),
        ("revolute", axis, "angle"),
    ]
    return [
        TreeJoint(
            f"{name} {about}",
            own,
            ends[k],
            ends[k + 1],
            element,
            placement if k == 0 else AT_ORIGIN,
            along,
            damping=damping,
        )
        for k, (own, along, about) in enumerate(kinds)
    ]


def _axis(joint: XmlElement) -> np.ndarray:
    element = joint.first("axis")
    axis = np.array([1.0, 0.0, 0.0] if element is None else element.numbers("xyz", 3))
    if element is not None and not axis.any():
        raise element.error(f"`xyz` of <axis> of {joint.label} must be a direction; got zero.")
    return axis / np.linalg.norm(axis)


def _damping(joint: XmlElement) -> float:
    dynamics = joint.first("dynamics")
    if dynamics is None:
        return 0.0
    dynamics.unknown_attributes(("damping", "friction"))
    return dynamics.nonnegative("damping", 0.0)


def _read_mimics(tree: RobotTree, elements: dict[str, XmlElement]) -> None:
    """Add the joints that follow others; one that is fixed does not, and one that follows a fixed joint is held."""
    kinds = {joint.name: joint.kind for joint in tree.joints}
    moving = ("revolute", "prismatic")
    for name, joint in elements.items():
        mimic = joint.first("mimic")
        if mimic is None:
            continue
        mimic.unknown_attributes(("joint", "multiplier", "offset"))
        driving = mimic.text("joint")
        if driving not in elements:
            hint = nearest_hint(driving, list(elements))
            raise mimic.error(
                f"`joint` of <mimic> of {joint.label} must be a joint; `{driving[:60]}` is unknown. {hint}"
            )
        wrong = [own for own in (name, driving) if kinds.get(own) not in (*moving, "fixed")]
        factors = mimic.number("offset", 0.0), mimic.number("multiplier", 1.0)
        if wrong or driving == name or factors[1] == 0:
            raise mimic.error(
                f"<mimic> of {joint.label} must follow another joint that turns or slides, with a `multiplier` that is "
                f"not zero; got `{driving[:60]}` and {factors[1]:g}."
            )
        if kinds[name] == "fixed":
            tree.notes.append(f"joint `{name}` is fixed, and does not follow `{driving}`.")
            continue
        follows = driving if kinds[driving] in moving else None
        tree.couplings.append(Coupling(f"mimic of {name}", name, follows, factors, mimic))


def _read_motors(root: XmlElement, tree: RobotTree, elements: dict[str, XmlElement]) -> None:
    """Add the motors of transmissions; without any, those of joints with an effort that follow no other joint."""
    moving = [joint.name for joint in tree.joints if joint.kind in ("revolute", "prismatic")]
    driven = {coupling.driven for coupling in tree.couplings}
    named: list[str] = []
    for transmission in root.all("transmission"):
        for joint in transmission.all("joint"):
            name = joint.text("name")
            if name in elements:
                named.append(name)
            else:  # files of parts of a robot keep the transmissions of all of it
                hint = nearest_hint(name, moving)
                tree.notes.append(f"{transmission.label} is left out: the robot has no joint `{name[:60]}`. {hint}")
    efforts = {name: _effort(joint) for name, joint in elements.items()}
    chosen = named or [name for name in moving if efforts.get(name)]
    for name in chosen:
        if name in moving and name not in driven:
            tree.motors.append(Motor(f"motor of {name}", name, efforts[name] or None, elements[name]))


def _effort(joint: XmlElement) -> float:
    limit = joint.first("limit")
    return 0.0 if limit is None else limit.nonnegative("effort", 0.0)
