# SPDX-License-Identifier: BSD-3-Clause
"""MJCF files as documents: included files, default classes, and the conventions of the compiler element."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.mechanisms.robots.placement import (
    Placement,
    rotation_about,
    rotation_of,
    rotation_of_angles,
    rotation_of_axes,
    rotation_to,
)
from dalembert.mechanisms.robots.xml_elements import XmlElement, nearest_hint, read_xml

SECTIONS = (
    *("compiler", "option", "size", "visual", "statistic", "default", "custom", "asset", "worldbody", "contact"),
    *("equality", "tendon", "actuator", "sensor", "keyframe", "extension", "deformable", "include"),
)

ACTUATORS = (
    *("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion", "plugin"),
    "dcmotor",
)

ORIENTATIONS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")

MAIN_CLASS = "main"
"""The name of the outermost default class."""

Defaults = dict[str, dict[str, str]]
"""Attributes by the tag of the elements that they belong to."""


@dataclass
class MjcfDocument:
    """The elements of a file with those that it includes, and the conventions that they follow."""

    root: XmlElement
    degrees: bool = True
    sequence: str = "xyz"
    classes: dict[str, Defaults] = field(default_factory=lambda: {MAIN_CLASS: {}})

    def sections(self, tag: str) -> list[XmlElement]:
        """Return the elements of all sections of one name, in the order of the file."""
        return [child for section in self.root.all(tag) for child in section.children]

    def compiler(self) -> XmlElement:
        """Return the compiler element; of several, the last ones take precedence."""
        return self._joined("compiler")

    def option(self) -> XmlElement:
        """Return the option element, with its flags as attributes."""
        found = self._joined("option")
        flags = {f"flag {k}": v for child in found.children if child.tag == "flag" for k, v in child.attributes.items()}
        return replace(found, attributes=found.attributes | flags)

    def _joined(self, tag: str) -> XmlElement:
        found = self.root.all(tag)
        attributes = {key: value for element in found for key, value in element.attributes.items()}
        children = [child for element in found for child in element.children]
        return replace(found[-1] if found else self.root, tag=tag, attributes=attributes, children=children)

    def with_defaults(self, element: XmlElement, inherited: str, tag: str | None = None) -> XmlElement:
        """Return an element with the attributes of its default class, or of the one that it inherits."""
        name = element.attributes.get("class", inherited)
        if name not in self.classes:
            raise element.error(
                f"`class` of {element.label} must be a default class of the file; `{name[:60]}` is unknown. "
                f"{nearest_hint(name, list(self.classes))}"
            )
        own = self.classes[name].get(tag or element.tag, {})
        clashing = set(ORIENTATIONS) & set(element.attributes)
        kept = {key: value for key, value in own.items() if not (clashing and key in ORIENTATIONS)}
        return replace(element, attributes=kept | element.attributes)

    def asset_path(self, element: XmlElement) -> Path:
        """Return the path of the file of a mesh, which is relative to the folder of the model and of its meshes."""
        compiler = self.compiler()
        given = Path(element.text("file"))
        if compiler.boolean("strippath", False):
            given = Path(given.name)
        folder = compiler.attributes.get("meshdir", compiler.attributes.get("assetdir", ""))
        return Path(self.root.path).resolve().parent / folder / given

    def angle(self, value: float) -> float:
        """Return an angle of the file in radians."""
        return float(np.deg2rad(value)) if self.degrees else value

    def placement(self, element: XmlElement) -> Placement:
        """Return the placement that an element states by its position and one of the forms of an orientation."""
        return Placement(self.rotation(element), np.array(element.numbers("pos", 3, (0, 0, 0))))

    def rotation(self, element: XmlElement) -> Floats:
        given = [name for name in ORIENTATIONS if element.given(name)]
        if len(given) > 1:
            raise element.error(f"{element.label} must state its orientation once; got `{given[0]}` and `{given[1]}`.")
        if not given:
            return np.eye(3)
        name = given[0]
        values = np.array(element.numbers(name, {"quat": 4, "axisangle": 4, "euler": 3, "xyaxes": 6, "zaxis": 3}[name]))
        if name == "euler":
            return rotation_of_angles([self.angle(value) for value in values], self.sequence)
        directions = {
            "quat": [values],
            "axisangle": [values[:3]],
            "xyaxes": [values[:3], values[3:]],
            "zaxis": [values],
        }
        parallel = name == "xyaxes" and not np.cross(values[:3], values[3:]).any()
        if parallel or not all(direction.any() for direction in directions[name]):
            raise element.error(f"`{name}` of {element.label} must state directions that are not zero; got {values}.")
        if name == "quat":
            return rotation_of(values)
        if name == "axisangle":
            return rotation_about(values[:3], self.angle(float(values[3])))
        return rotation_of_axes(values[:3], values[3:]) if name == "xyaxes" else rotation_to(values)


def read_document(path: str | Path) -> MjcfDocument:
    """Return the document of a file, with all files that it includes."""
    root = read_xml(path)
    if root.tag != "mujoco":
        hint = " Read it with `da.Mechanism.from_urdf`." if root.tag == "robot" else ""
        raise root.error(f"an MJCF file must begin with <mujoco>; got <{root.tag[:60]}>.{hint}")
    _include(root, Path(str(path)).resolve().parent, {Path(str(path)).resolve()})
    for section in root.children:
        if section.tag not in SECTIONS:
            raise section.error(f"<mujoco> has no section <{section.tag[:60]}>. {nearest_hint(section.tag, SECTIONS)}")
    document = MjcfDocument(root)
    _read_conventions(document)
    for section in root.all("default"):
        _read_defaults(document, section)
    return document


def _include(element: XmlElement, folder: Path, known: set[Path]) -> None:
    """Replace each <include> by the contents of its file, which may be included once."""
    children: list[XmlElement] = []
    for child in element.children:
        if child.tag != "include":
            _include(child, folder, known)
            children.append(child)
            continue
        path = (folder / child.text("file")).resolve()
        beside = (Path(child.path).resolve().parent / child.text("file")).resolve()
        path = path if path.is_file() else beside
        if not path.is_file():
            raise child.error(f"`file` of <include> must name a file; there is no `{folder / child.text('file')}`.")
        if path in known:
            raise child.error(f"a file must be included once; `{path}` is included again.")
        known.add(path)
        inner = read_xml(path)
        _include(inner, folder, known)
        children += inner.children
    element.children = children


def _read_conventions(document: MjcfDocument) -> None:
    compiler = document.compiler()
    document.degrees = compiler.choice("angle", ("degree", "radian"), "degree") == "degree"
    document.sequence = compiler.text("eulerseq", "xyz")
    if len(document.sequence) != 3 or set(document.sequence.lower()) - set("xyz"):
        raise compiler.error(f"`eulerseq` must be three letters out of xyzXYZ; got `{document.sequence[:60]}`.")
    if compiler.choice("coordinate", ("local", "global"), "local") == "global":
        raise compiler.error(
            '`coordinate="global"` is not supported, as in MuJoCo since version 2.3.4. Save the model with an earlier '
            "MuJoCo, which writes local coordinates."
        )


def _read_defaults(document: MjcfDocument, top: XmlElement) -> None:
    """Add the default classes of a section; each has the attributes of the class around it unless it states others."""
    waiting = [(top, top.attributes.get("class", MAIN_CLASS), document.classes[MAIN_CLASS])]
    while waiting:
        element, name, around = waiting.pop()
        own = {tag: dict(attributes) for tag, attributes in around.items()}
        for child in element.children:
            if child.tag != "default":
                tag = "actuator" if child.tag in ACTUATORS else child.tag
                own[tag] = own.get(tag, {}) | child.attributes
        document.classes[name] = own
        if element is top:
            document.classes[MAIN_CLASS] = own
        waiting += [(child, child.text("class"), own) for child in element.children if child.tag == "default"]
