# SPDX-License-Identifier: BSD-3-Clause
"""Notes on a URDF file: what was assumed, and what was not read."""

from __future__ import annotations

from dalembert.common.names import listed
from dalembert.mechanisms.robots.robot_tree import RobotTree
from dalembert.mechanisms.robots.xml_elements import XmlElement


def note_omissions(
    root: XmlElement, tree: RobotTree, elements: dict[str, XmlElement], base: str, *, floating: bool
) -> None:
    """Note what was assumed and what of the file is not part of the mechanism."""
    x, y, z = tree.gravity
    placed = "moves freely" if floating else "is fixed to the ground; `floating=True` lets it move freely"
    tree.notes.append(f"the root link `{base}` {placed}.")
    tree.notes.append(f"gravity is not in the file; it is ({x:g}, {y:g}, {z:g}).")
    fixed = [joint.name for joint in tree.joints[1:] if joint.kind == "fixed"]
    if fixed:
        tree.notes.append(f"links on fixed joints are part of the body that carries them: {listed(fixed)}.")
    for name, joint in elements.items():
        limit, dynamics = joint.first("limit"), joint.first("dynamics")
        bounds = [] if limit is None else [f"{key} {limit.number(key):g}" for key in LIMITS if limit.given(key)]
        if bounds and joint.text("type") not in ("fixed", "floating"):
            tree.notes.append(f"limits of joint `{name}` are not enforced: {', '.join(bounds)}.")
        if dynamics is not None and dynamics.nonnegative("friction", 0.0):
            tree.notes.append(
                f"friction {dynamics.number('friction'):g} of joint `{name}` is not applied; a law such as "
                f"`da.Coulomb` adds it."
            )
    _note_shapes(root, tree)


LIMITS = ("lower", "upper", "velocity", "effort")
"""Attributes of <limit>; the effort is also the limit of the motor of the joint."""


def _note_shapes(root: XmlElement, tree: RobotTree) -> None:
    shapes = {kind: sum(len(link.all(kind)) for link in root.all("link")) for kind in ("visual", "collision")}
    meshes = [element.attributes.get("filename", "") for element in root.walk() if element.tag == "mesh"]
    if any(shapes.values()):
        files = f", among them {len(meshes)} meshes ({listed(dict.fromkeys(meshes))})" if meshes else ""
        counts = " and ".join(f"{count} {kind}" for kind, count in shapes.items() if count)
        tree.notes.append(f"shapes are not read, and there are no contacts: {counts} ones{files}.")
    others = dict.fromkeys(
        child.tag for child in root.children if child.tag not in ("link", "joint", "material", "transmission")
    )
    if others:
        tree.notes.append(f"not read: {', '.join(f'<{tag[:60]}>' for tag in others)}.")
