# SPDX-License-Identifier: BSD-3-Clause
"""Mass, centre of mass and inertia of rigid parts, and of parts that are joined rigidly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.mechanisms.robots.placement import Placement


@dataclass(frozen=True, eq=False)
class RigidInertia:
    """A mass, the centre of mass (3,) in the axes of a frame, and the inertia (3, 3) about it in these axes."""

    mass: float
    center: Floats
    inertia: Floats

    def placed(self, placement: Placement) -> RigidInertia:
        """Return the same part in the axes of the frame in which its own is placed."""
        R = placement.rotation
        turned = R @ self.inertia @ R.T
        return RigidInertia(self.mass, placement.point(self.center), (turned + turned.T) / 2)

    @property
    def is_nothing(self) -> bool:
        return self.mass == 0 and not self.inertia.any()


NOTHING = RigidInertia(0.0, np.zeros(3), np.zeros((3, 3)))


def joined(parts: Sequence[RigidInertia]) -> RigidInertia:
    """Return the inertia of several parts in one frame."""
    parts = [part for part in parts if not part.is_nothing]
    if len(parts) == 1:
        return parts[0]
    mass = sum(part.mass for part in parts)
    if mass == 0:
        return RigidInertia(0.0, np.zeros(3), sum((part.inertia for part in parts), np.zeros((3, 3))))
    center = sum((part.mass * part.center for part in parts), np.zeros(3)) / mass
    inertia = sum((part.inertia + part.mass * _steiner(part.center - center) for part in parts), np.zeros((3, 3)))
    return RigidInertia(mass, center, inertia)


def _steiner(away: Floats) -> Floats:
    return away @ away * np.eye(3) - np.outer(away, away)
