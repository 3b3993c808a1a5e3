# SPDX-License-Identifier: BSD-3-Clause
"""Inertia of MJCF bodies: as stated, or that of the shapes that they consist of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.mechanisms.robots.mesh_inertia import mesh_inertia
from dalembert.mechanisms.robots.mjcf_document import MjcfDocument
from dalembert.mechanisms.robots.placement import Placement, rotation_to
from dalembert.mechanisms.robots.rigid_inertia import NOTHING, RigidInertia, joined
from dalembert.mechanisms.robots.xml_elements import XmlElement

SHAPES = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")

WITHOUT_MASS = ("plane", "hfield")

SIZES = {"sphere": 1, "capsule": 2, "ellipsoid": 3, "cylinder": 2, "box": 3}
"""Number of sizes of each shape; with `fromto` the first one is enough."""

DENSITY = 1000.0
"""The density of shapes that state none, as in MuJoCo."""


@dataclass(frozen=True)
class InertiaRules:
    """Settings of the compiler element about inertia."""

    from_geoms: str
    groups: tuple[float, ...]
    least_mass: float
    least_moment: float
    balance: bool

    @classmethod
    def of(cls, compiler: XmlElement) -> InertiaRules:
        return cls(
            compiler.choice("inertiafromgeom", ("true", "false", "auto"), "auto"),
            tuple(compiler.numbers("inertiagrouprange", 2, (0, 5))),
            compiler.nonnegative("boundmass", 0.0),
            compiler.nonnegative("boundinertia", 0.0),
            compiler.boolean("balanceinertia", False),
        )


def body_inertia(
    document: MjcfDocument, rules: InertiaRules, body: XmlElement, geoms: list[tuple[Placement, XmlElement]]
) -> RigidInertia:
    """Return the inertia of a body, from its <inertial> or from its shapes, which are placed in its frame."""
    stated = body.first("inertial")
    if stated is not None and rules.from_geoms != "true":
        own = _stated(document, stated, body)
    elif rules.from_geoms == "false":
        own = NOTHING
    else:
        counted = [
            (place, geom) for place, geom in geoms if rules.groups[0] <= geom.number("group", 0) <= rules.groups[1]
        ]
        own = joined([_of_geom(document, geom, body).placed(place) for place, geom in counted])
    return _adjusted(own, rules)


def _stated(document: MjcfDocument, element: XmlElement, body: XmlElement) -> RigidInertia:
    mass = element.nonnegative("mass")
    if element.given("fullinertia"):
        xx, yy, zz, xy, xz, yz = element.numbers("fullinertia", 6)
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    elif element.given("diaginertia"):
        tensor = np.diag(element.numbers("diaginertia", 3))
    else:
        raise element.error(f"<inertial> of {body.label} must have `diaginertia` or `fullinertia`; there is none.")
    return RigidInertia(mass, np.zeros(3), tensor).placed(document.placement(element))


def _adjusted(own: RigidInertia, rules: InertiaRules) -> RigidInertia:
    """Return an inertia with the bounds and the balance that the compiler element demands."""
    mass = max(own.mass, rules.least_mass)
    moments, axes = np.linalg.eigh(own.inertia)
    bounded = np.maximum(moments, rules.least_moment)
    if rules.balance and bounded[2] > bounded[0] + bounded[1]:
        bounded = np.full(3, bounded.mean())
    if mass == own.mass and (bounded == moments).all():
        return own
    return RigidInertia(mass, own.center, axes @ np.diag(bounded) @ axes.T)


def _of_geom(document: MjcfDocument, geom: XmlElement, body: XmlElement) -> RigidInertia:
    """Return the inertia of a shape in the frame in which it is placed."""
    shape = geom.choice("type", SHAPES, "mesh" if geom.given("mesh") else "sphere")
    mass = geom.nonnegative("mass") if geom.given("mass") else None
    density = geom.nonnegative("density", DENSITY)
    if shape in WITHOUT_MASS or mass == 0 or (mass is None and density == 0):
        return NOTHING
    if shape == "mesh" and not geom.boolean("shellinertia", False):
        solid = mesh_inertia(document, geom)
        factor = density if mass is None else mass / solid.mass
        scaled = RigidInertia(factor * solid.mass, solid.center, factor * solid.inertia)
        return scaled.placed(document.placement(geom))
    if shape not in SIZES or (geom.given("mesh") and shape in SIZES) or geom.boolean("shellinertia", False):
        what = (
            "a shell" if shape in SIZES and not geom.given("mesh") else f"a {shape if shape not in SIZES else 'mesh'}"
        )
        raise geom.error(
            f"{body.label} must state its inertia, since {geom.label} is {what}, whose volume is not computed here. "
            f'Give the body an <inertial>, or the shape `mass="0"`; MuJoCo writes the inertia of all bodies by '
            f"`mujoco.mj_saveLastXML`."
        )
    placement, sizes = _placed_sizes(document, geom, shape)
    volume, moments = _volume_and_moments(shape, sizes)
    mass = density * volume if mass is None else mass
    return RigidInertia(mass, np.zeros(3), np.diag(mass * moments)).placed(placement)


def _placed_sizes(document: MjcfDocument, geom: XmlElement, shape: str) -> tuple[Placement, list[float]]:
    """Return the placement of a shape and all of its sizes, from `fromto` if it is there."""
    count = SIZES[shape]
    if geom.given("fromto") and shape != "sphere":
        ends = np.array(geom.numbers("fromto", 6)).reshape(2, 3)
        along = ends[1] - ends[0]
        if not along.any():
            raise geom.error(f"`fromto` of {geom.label} must be two different points; got the same twice.")
        first = geom.numbers("size", (1, 2, 3))[0]
        sizes = [first] * (count - 1) + [float(np.linalg.norm(along)) / 2]
        placement = Placement(rotation_to(along), ends.mean(axis=0))
    else:
        sizes = geom.numbers("size", tuple(range(count, 4)))[:count]
        placement = document.placement(geom)
    if not min(sizes) > 0:
        raise geom.error(f"`size` of {geom.label} must be positive; got {sizes}.")
    return placement, sizes


def _volume_and_moments(shape: str, sizes: list[float]) -> tuple[float, Floats]:
    """Return the volume of a shape and its principal moments (3,) for mass one."""
    if shape in ("sphere", "ellipsoid"):
        a = np.array(sizes * 3 if shape == "sphere" else sizes) ** 2
        return float(4 / 3 * np.pi * np.sqrt(a.prod())), (a.sum() - a) / 5
    if shape == "box":
        a = np.array(sizes) ** 2
        return float(8 * np.sqrt(a.prod())), (a.sum() - a) / 3
    r, h = sizes
    cylinder, caps = 2 * np.pi * r**2 * h, 4 / 3 * np.pi * r**3 if shape == "capsule" else 0.0
    part = cylinder / (cylinder + caps)
    # of two half spheres at the ends: their own moments and those of their centres
    across = part * (r**2 / 4 + h**2 / 3) + (1 - part) * (2 / 5 * r**2 + h**2 + 3 / 4 * h * r)
    along = part * r**2 / 2 + (1 - part) * 2 / 5 * r**2
    return cylinder + caps, np.array([across, across, along])
