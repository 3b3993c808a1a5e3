# SPDX-License-Identifier: BSD-3-Clause
"""The contents of a robot description, in any format: links, the joints that make them a tree, loops and motors."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.mechanisms.robots.placement import AT_ORIGIN, Placement
from dalembert.mechanisms.robots.rigid_inertia import RigidInertia
from dalembert.mechanisms.robots.xml_elements import XmlElement

WORLD = ""
"""The name of the parent of a joint that belongs to the ground."""

JointKind = Literal["fixed", "revolute", "prismatic", "ball", "free"]


@dataclass(frozen=True, eq=False)
class Link:
    """A rigid part with its inertia in the axes of its frame, and the share of its weight that is compensated."""

    name: str
    inertia: RigidInertia
    element: XmlElement
    compensated: float = 0.0


@dataclass(frozen=True, eq=False)
class TreeJoint:
    """A joint between a link and its parent.

    placement     of the frame of the child in the axes of the parent where the joint is at zero
    axis, anchor  a direction and a point on the axis, both in the axes of the child
    damping       torque or force per rate
    stiffness     torque or force per motion from ``rest``
    armature      inertia of the motion itself
    """

    name: str
    kind: JointKind
    parent: str
    child: str
    element: XmlElement
    placement: Placement = AT_ORIGIN
    axis: Floats = field(default_factory=lambda: np.array([0.0, 0.0, 1.0]))
    anchor: Floats = field(default_factory=lambda: np.zeros(3))
    damping: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    armature: float = 0.0


@dataclass(frozen=True, eq=False)
class Loop:
    """A connection that closes a loop: of points that coincide ("ball"), or of two links as a whole ("fixed").

    The point is given in the axes of the first link. The place in the second, if it is not given, is where the point is
    when all joints are at zero.
    """

    name: str
    kind: Literal["ball", "fixed"]
    first: str
    second: str
    point: Floats
    element: XmlElement
    other: Placement | None = None


@dataclass(frozen=True, eq=False)
class Coupling:
    """A joint whose motion is a polynomial of that of another, or a constant if there is no other."""

    name: str
    driven: str
    driving: str | None
    coefficients: tuple[float, ...]
    element: XmlElement


@dataclass(frozen=True, eq=False)
class Motor:
    """A motor in a joint, with the largest torque or force along its motion."""

    name: str
    joint: str
    limit: float | None
    element: XmlElement


@dataclass(eq=False)
class RobotTree:
    """A robot description. Each joint comes after the joint of its parent; notes tell what was not read."""

    name: str
    element: XmlElement
    gravity: tuple[float, ...]
    links: dict[str, Link] = field(default_factory=dict[str, Link])
    joints: list[TreeJoint] = field(default_factory=list[TreeJoint])
    loops: list[Loop] = field(default_factory=list[Loop])
    couplings: list[Coupling] = field(default_factory=list[Coupling])
    motors: list[Motor] = field(default_factory=list[Motor])
    notes: list[str] = field(default_factory=list[str])
