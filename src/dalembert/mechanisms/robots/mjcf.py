# SPDX-License-Identifier: BSD-3-Clause
"""MJCF files, the format of MuJoCo: bodies, joints and what connects them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from dalembert.mechanisms.mechanism import Mechanism
from dalembert.mechanisms.robots.mjcf_connections import note_sections, read_actuators, read_equalities
from dalembert.mechanisms.robots.mjcf_document import MAIN_CLASS, MjcfDocument, read_document
from dalembert.mechanisms.robots.mjcf_geoms import InertiaRules, body_inertia
from dalembert.mechanisms.robots.placement import AT_ORIGIN, Placement
from dalembert.mechanisms.robots.rigid_inertia import NOTHING, RigidInertia
from dalembert.mechanisms.robots.robot_tree import WORLD, JointKind, Link, RobotTree, TreeJoint
from dalembert.mechanisms.robots.tree_mechanism import mechanism_of
from dalembert.mechanisms.robots.xml_elements import XmlElement, nearest_hint

BODY_PARTS = ("inertial", "joint", "freejoint", "geom", "site", "camera", "light", "body", "frame")

NOT_SUPPORTED = ("composite", "flexcomp", "plugin", "replicate", "attach", "skin")

JOINT_TYPES_OF_MJCF: dict[str, JointKind] = {
    "hinge": "revolute",
    "slide": "prismatic",
    "ball": "ball",
    "free": "free",
}

BODY_ATTRIBUTES = (
    *(
        "name",
        "childclass",
        "mocap",
        "pos",
        "quat",
        "axisangle",
        "xyaxes",
        "zaxis",
        "euler",
        "gravcomp",
        "user",
        "sleep",
    ),
)

JOINT_ATTRIBUTES_OF_MJCF = (
    *("name", "class", "type", "group", "pos", "axis", "springdamper", "solreflimit", "solimplimit", "stiffness"),
    *("range", "limited", "actuatorfrcrange", "actuatorfrclimited", "actuatorgravcomp", "margin", "ref", "springref"),
    *("armature", "damping", "frictionloss", "solreffriction", "solimpfriction", "user", "align"),
)


@dataclass(eq=False)
class BodyParts:
    """The parts of a body, those in frames included, with the placements of the frames in the body."""

    joints: list[tuple[Placement, XmlElement]] = field(default_factory=list[tuple[Placement, XmlElement]])
    geoms: list[tuple[Placement, XmlElement]] = field(default_factory=list[tuple[Placement, XmlElement]])
    bodies: list[tuple[Placement, XmlElement, str]] = field(default_factory=list[tuple[Placement, XmlElement, str]])


@dataclass(eq=False)
class MjcfTree:
    """A robot description as it is read: the tree, sites by name with link and placement, and links that move."""

    document: MjcfDocument
    tree: RobotTree
    rules: InertiaRules
    sites: dict[str, tuple[str, Placement]] = field(default_factory=dict[str, tuple[str, Placement]])
    moving: set[str] = field(default_factory=set[str])


def read_mjcf(path: str | Path) -> Mechanism:
    """Return the mechanism of an MJCF file."""
    document = read_document(path)
    option, compiler = document.option(), document.compiler()
    is_on = option.choice("flag gravity", ("enable", "disable"), "enable") == "enable"
    gravity = option.numbers("gravity", 3, (0, 0, -9.81)) if is_on else [0.0] * 3
    name = document.root.attributes.get("model", "MuJoCo model")
    reader = MjcfTree(document, RobotTree(name, document.root, tuple(gravity)), InertiaRules.of(compiler))
    _read_bodies(reader)
    _set_total_mass(reader, compiler)
    if option.choice("flag equality", ("enable", "disable"), "enable") == "enable":
        read_equalities(document, reader.tree, reader.sites)
    read_actuators(document, reader.tree)
    note_sections(document, reader.tree, option)
    return mechanism_of(reader.tree)


def _read_bodies(reader: MjcfTree) -> None:
    """Add all bodies, each after the one that carries it."""
    waiting: list[tuple[Placement, XmlElement, str, str]] = []
    for world in reversed(reader.document.root.all("worldbody")):
        parts = _parts(reader, world, WORLD, world.attributes.get("childclass", MAIN_CLASS))
        waiting += [(place, body, kind, WORLD) for place, body, kind in reversed(parts.bodies)]
    while waiting:
        place, body, inherited, parent = waiting.pop()
        inherited = body.attributes.get("childclass", inherited)
        link = body.attributes.get("name") or f"body_{len(reader.tree.links) + 1}"
        if link in reader.tree.links:
            raise body.error(f"bodies must differ in name; `{link[:60]}` is given twice.")
        _note_unknown(reader.tree, body, BODY_ATTRIBUTES)
        parts = _parts(reader, body, link, inherited)
        moves = bool(parts.joints) or parent in reader.moving
        reader.moving |= {link} if moves else set()
        # what is fixed to the ground may consist of meshes only
        inertia = body_inertia(reader.document, reader.rules, body, parts.geoms) if moves else NOTHING
        reader.tree.links[link] = Link(link, inertia, body, body.number("gravcomp", 0.0))
        reader.tree.joints += _joints(reader, body, link, parent, place @ reader.document.placement(body), parts)
        waiting += [(inner, child, kind, link) for inner, child, kind in reversed(parts.bodies)]


def _note_unknown(tree: RobotTree, element: XmlElement, known: tuple[str, ...]) -> None:
    tree.notes += [
        f"attribute `{name}` of {element.label} is not known, and not read."
        for name in element.unknown_attributes(known)
    ]


def _parts(reader: MjcfTree, body: XmlElement, link: str, inherited: str) -> BodyParts:
    """Return the parts of a body with their default classes."""
    found, document = BodyParts(), reader.document
    waiting = [(AT_ORIGIN, child, inherited) for child in reversed(body.children)]
    while waiting:
        place, element, kind = waiting.pop()
        if element.tag == "frame":
            inner = place @ document.placement(element)
            own = element.attributes.get("childclass", kind)
            waiting += [(inner, child, own) for child in reversed(element.children)]
        elif element.tag == "body":
            found.bodies.append((place, element, kind))
        elif element.tag in ("joint", "freejoint"):
            found.joints.append((place, document.with_defaults(element, kind) if element.tag == "joint" else element))
        elif element.tag == "geom":
            found.geoms.append((place, document.with_defaults(element, kind)))
        elif element.tag == "site":
            own_site = document.with_defaults(element, kind)
            reader.sites[element.attributes.get("name", "")] = (link, place @ document.placement(own_site))
        elif element.tag not in BODY_PARTS:
            known = element.tag in NOT_SUPPORTED
            advice = "It is not supported; MuJoCo writes the bodies that it stands for by `mujoco.mj_saveLastXML`."
            hint = advice if known else nearest_hint(element.tag, BODY_PARTS)
            raise element.error(f"{body.label} must not have <{element.tag[:60]}>. {hint}")
    return found


def _joints(
    reader: MjcfTree, body: XmlElement, link: str, parent: str, placement: Placement, parts: BodyParts
) -> list[TreeJoint]:
    """Return the joints of a body; several of them act one after the other, with massless links in between."""
    if not parts.joints:
        return [TreeJoint(f"fixed joint of {link}", "fixed", parent, link, body, placement)]
    found: list[TreeJoint] = []
    for k, (place, element) in enumerate(parts.joints):
        is_last = k == len(parts.joints) - 1
        child = link if is_last else f"{link}_{k + 1}"
        if not is_last:
            reader.tree.links[child] = Link(child, NOTHING, body)
        default = f"joint of {link}" if len(parts.joints) == 1 else f"joint {k + 1} of {link}"
        name = element.attributes.get("name") or default
        if name in {joint.name for joint in (*reader.tree.joints, *found)}:
            raise element.error(f"joints must differ in name; `{name[:60]}` is given twice.")
        joint = _joint(reader, element, name)
        if joint.kind == "free" and (len(parts.joints) > 1 or parent != WORLD):
            raise element.error(
                f"{element.label} is free: it must be the only joint of {body.label}, in the world body."
            )
        found.append(
            replace(
                joint,
                parent=parent if k == 0 else found[-1].child,
                child=child,
                placement=placement if k == 0 else AT_ORIGIN,
                axis=place.rotation @ joint.axis,
                anchor=place.point(joint.anchor),
            )
        )
    return found


def _joint(reader: MjcfTree, element: XmlElement, name: str) -> TreeJoint:
    """Return a joint with what its element states, in the axes of its body."""
    tree, document = reader.tree, reader.document
    if element.tag == "freejoint":
        return TreeJoint(name, "free", WORLD, "", element)
    _note_unknown(tree, element, JOINT_ATTRIBUTES_OF_MJCF)
    kind = JOINT_TYPES_OF_MJCF[element.choice("type", tuple(JOINT_TYPES_OF_MJCF), "hinge")]
    axis = np.array(element.numbers("axis", 3, (0, 0, 1)))
    if not axis.any():
        raise element.error(f"`axis` of {element.label} must be a direction; got zero.")
    in_file = document.angle if kind in ("revolute", "ball") else float
    ref, springref = (in_file(element.number(key, 0.0)) for key in ("ref", "springref"))
    if any(element.numbers("springdamper", 2, (0, 0))):
        raise element.error(
            f"`springdamper` of {element.label} is not supported. Give `stiffness` and `damping` instead."
        )
    damping, stiffness, armature = (_one(element, key) for key in ("damping", "stiffness", "armature"))
    _note_joint(tree, element, name, ref)
    if kind == "free":
        if damping or stiffness or armature:
            raise element.error(
                f"{element.label} must have neither damping, stiffness nor armature, since it is free. "
                f"<freejoint/> has none."
            )
        return TreeJoint(name, kind, WORLD, "", element)
    return TreeJoint(
        name,
        kind,
        WORLD,
        "",
        element,
        axis=axis / np.linalg.norm(axis),
        anchor=np.array(element.numbers("pos", 3, (0, 0, 0))),
        damping=damping,
        stiffness=stiffness,
        rest=springref - ref,
        armature=armature,
    )


def _one(element: XmlElement, key: str) -> float:
    """Return a coefficient; those of nonlinear springs and dampers, which are more numbers, are refused."""
    values = element.numbers(key, (1, 2, 3), (0.0,))
    if any(values[1:]):
        raise element.error(f"`{key}` of {element.label} must be one number; a polynomial is not supported.")
    return element.nonnegative(key, 0.0) if len(values) == 1 else values[0]


def _note_joint(tree: RobotTree, element: XmlElement, name: str, ref: float) -> None:
    """Note what a joint states that is not enforced."""
    limited = element.choice("limited", ("true", "false", "auto"), "auto")
    if element.given("range") and limited != "false":
        tree.notes.append(f"limits of joint `{name}` are not enforced: range {element.text('range')[:60]}.")
    if element.numbers("frictionloss", (1, 2, 3), (0.0,))[0]:
        tree.notes.append(
            f"friction {element.text('frictionloss')[:20]} of joint `{name}` is not applied; a law such as "
            f"`da.Coulomb` adds it."
        )
    if ref:
        tree.notes.append(
            f"the position of joint `{name}` is counted from the pose in the file: {ref:.9g} less than `qpos`."
        )


def _set_total_mass(reader: MjcfTree, compiler: XmlElement) -> None:
    """Scale all masses if the compiler element states the total."""
    total = compiler.number("settotalmass", -1.0)
    links = reader.tree.links
    mass = sum(link.inertia.mass for link in links.values())
    if total <= 0 or mass == 0:
        return
    for name, link in links.items():
        own = link.inertia
        scaled = RigidInertia(own.mass * total / mass, own.center, own.inertia * total / mass)
        links[name] = replace(link, inertia=scaled)
