# SPDX-License-Identifier: BSD-3-Clause
"""The joints of a mechanism in space as a tree: each body is placed by one joint on a body before it, or is free."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import InputError
from dalembert.mechanisms.frames import Ground
from dalembert.mechanisms.joints import Prismatic, Revolute, Weld
from dalembert.mechanisms.spatial_joints import Spherical
from dalembert.mechanisms.transmission import Transmission
from dalembert.mechanisms.vectors import evaluate, rotation

TREE_JOINTS = (Revolute, Prismatic, Spherical, Weld)
"""Joints that place a body on another, given their angle, displacement or orientation."""


class PlacedBody(NamedTuple):
    """A body and the joint that places it on the joint's first body; no joint for a free body."""

    body: Any
    joint: Any

    @property
    def key(self) -> str | None:
        """The name of its motion: that of the joint, for a free body its own; None for a weld, which has no motion."""
        if self.joint is None:
            return self.body.name
        return None if isinstance(self.joint, Weld) else self.joint.name


def joint_tree(mechanism: Any) -> list[PlacedBody]:
    """Return the bodies of a mechanism, each after the body that carries it."""
    if mechanism.dimension != 3:
        raise InputError(
            "joint coordinates are those of mechanisms in space; this one is in the plane. Give the poses of its "
            "bodies, and use `assemble(keep=...)`."
        )
    joints = [joint for joint in mechanism.joints if isinstance(joint, TREE_JOINTS)]
    found: dict[str, PlacedBody] = {}
    while len(found) < len(mechanism.bodies):
        progress = len(found)
        for joint in joints:
            first, second = joint.first.body, joint.second.body
            is_ready = isinstance(first, Ground) or first.name in found
            if is_ready and not isinstance(second, Ground) and second.name not in found:
                found[second.name] = PlacedBody(second, joint)
        if len(found) == progress:
            carried = {joint.second.body.name for joint in joints if joint.first.body.name != joint.second.body.name}
            left = [body for body in mechanism.bodies if body.name not in found]
            free = next((body for body in left if body.name not in carried), left[0])
            found[free.name] = PlacedBody(free, None)
    return list(found.values())


def loop_joints(mechanism: Any, tree: list[PlacedBody]) -> list[Any]:
    """Return the joints and constraints that the tree does not satisfy by itself."""
    placing = [id(placed.joint) for placed in tree]
    others = [j for j in mechanism.joints if id(j) not in placing and not isinstance(j, Transmission)]
    return [*others, *mechanism.constraints]


class JointGeometry(NamedTuple):
    """The numbers of a joint: its points and its axis in body axes, and the second body's axes in those of the first.

    first, second, axis (3,), turned (3, 3) in the given poses
    """

    first: Floats
    second: Floats
    axis: Floats
    turned: Floats

    @classmethod
    def of(cls, joint: Any, parameters: Any) -> JointGeometry:
        one, other = (np.asarray(rotation(marker.body.orientation)) for marker in joint.markers)
        axis = {Revolute: lambda: joint.axis[0], Prismatic: lambda: joint.axis}.get(type(joint), lambda: (0, 0, 1))()
        return cls(
            evaluate(joint.first.point, parameters),
            evaluate(joint.second.point, parameters),
            evaluate(axis, parameters),
            one.T @ other,
        )
