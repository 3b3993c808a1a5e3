# SPDX-License-Identifier: BSD-3-Clause
"""Placements of frames: a rotation and a position, as arrays of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats

ROUNDED_ENTRY = 1e-15
"""Entries of rotations below this are rounding of cos(π/2) and the like, and are set to zero."""


@dataclass(frozen=True, eq=False)
class Placement:
    """The placement of a frame in another: directions (3, 3) from the frame's axes to the other's, and its origin."""

    rotation: Floats
    position: Floats

    def __matmul__(self, inner: Placement) -> Placement:
        """Return the placement of a frame that is placed in this one."""
        return Placement(self.rotation @ inner.rotation, self.point(inner.position))

    def point(self, own: Any) -> Floats:
        """Return a point of this frame in the axes of the other."""
        return self.position + self.rotation @ np.asarray(own, float)


AT_ORIGIN = Placement(np.eye(3), np.zeros(3))


def rotation_about(axis: Any, angle: float) -> Floats:
    """Return the rotation (3, 3) about an axis, which need not have length one."""
    a = np.asarray(axis, float)
    a = a / np.linalg.norm(a)
    cross = np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
    return without_rounding(np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross)


def rotation_of(quaternion: Any) -> Floats:
    """Return the rotation (3, 3) of a quaternion, scalar part first, which need not have length one."""
    w, *v = np.asarray(quaternion, float) / np.linalg.norm(quaternion)
    x, y, z = v
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return without_rounding(np.eye(3) + 2 * w * cross + 2 * cross @ cross)


def quaternion_of(rotation: Floats) -> Floats:
    """Return the unit quaternion (4,) of a rotation, scalar part first and not negative."""
    R = rotation
    # rows of 4 e eᵀ; the one with the largest diagonal entry loses no digits
    columns = np.array(
        [
            [1 + R[0, 0] + R[1, 1] + R[2, 2], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
            [R[2, 1] - R[1, 2], 1 + R[0, 0] - R[1, 1] - R[2, 2], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]],
            [R[0, 2] - R[2, 0], R[0, 1] + R[1, 0], 1 - R[0, 0] + R[1, 1] - R[2, 2], R[1, 2] + R[2, 1]],
            [R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], 1 - R[0, 0] - R[1, 1] + R[2, 2]],
        ]
    )
    found = columns[int(np.argmax(np.diag(columns)))]
    found = found / np.linalg.norm(found)
    return -found if found[0] < 0 else found


def rotation_of_angles(angles: Sequence[float], sequence: str) -> Floats:
    """Return the rotation of three angles about x, y or z axes: of the moving frame, or fixed ones in capitals."""
    found = np.eye(3)
    for letter, angle in zip(sequence, angles, strict=True):
        own = rotation_about(np.eye(3)["xyz".index(letter.lower())], angle)
        found = own @ found if letter.isupper() else found @ own
    return found


def rotation_of_axes(x: Any, y: Any) -> Floats:
    """Return the rotation whose first column is along x and whose second is y made perpendicular to it."""
    first = np.asarray(x, float) / np.linalg.norm(x)
    second = np.asarray(y, float) - first * (first @ np.asarray(y, float))
    second = second / np.linalg.norm(second)
    return without_rounding(np.column_stack([first, second, np.cross(first, second)]))


def rotation_to(z: Any) -> Floats:
    """Return the shortest rotation that turns the z axis into a direction."""
    direction = np.asarray(z, float) / np.linalg.norm(z)
    axis = np.cross([0, 0, 1], direction)
    if np.linalg.norm(axis) < ROUNDED_ENTRY:
        return np.eye(3) if direction[2] > 0 else rotation_about((1, 0, 0), np.pi)
    return rotation_about(axis, np.arctan2(np.linalg.norm(axis), direction[2]))


def without_rounding(values: Any) -> Floats:
    """Return an array whose entries that are mere rounding are zero, so that they drop out of expressions."""
    values = np.asarray(values, float)
    return np.where(np.abs(values) < ROUNDED_ENTRY, 0.0, values)
