# SPDX-License-Identifier: BSD-3-Clause
"""Rolling with or without slip: what joints of rolling bodies have in common."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import sympy as sp

from dalembert.mechanisms.joint import Joint, Rows
from dalembert.mechanisms.vectors import quarter_turn


@dataclass(frozen=True, repr=False)
class RollingContact(Joint):
    """A body that rolls on another: without slip, unless a law such as friction acts at the point of contact.

    A law without a ``velocity`` of its own acts at the point of contact, on the sliding velocity. It takes the place of
    the equations that exclude slip; dry friction then decides when the body rolls and when it slips. The equation
    ``contact`` always holds, and its reaction is the normal force.
    """

    @property
    @abstractmethod
    def contact_rows(self) -> Rows:
        """The equations that keep the bodies in contact."""

    @property
    @abstractmethod
    def slip_components(self) -> Rows:
        """The sliding velocity: label and component along each of some directions tangent to the surface."""

    @property
    def may_slip(self) -> bool:
        """Whether a law acts at the point of contact, where the body may then slip."""
        return any(law.velocity is None for law in self._laws())

    def rows(self) -> Rows:
        return self.contact_rows if self.may_slip else [*self.contact_rows, *self.slip_components]

    @property
    def rate(self) -> Any:
        components = tuple(component for _, component in self.slip_components)
        return components[0] if len(components) == 1 else components

    @property
    def normal_force(self) -> Any:
        return self.force_of("contact")


def carried(marker: Any, place: Any) -> Any:
    """Return the velocity of a marker's body at a position in world axes."""
    away = place - marker.position
    body = marker.body
    if marker.dimension == 2:
        return marker.velocity + body.turning * quarter_turn(away)
    return marker.velocity + sp.Matrix(body.turning).cross(sp.Matrix(away))


def slip(joint: Any, offset: Any) -> Any:
    """Return the velocity of the second body relative to the first at an offset from its point, in world axes."""
    place = joint.second.position + offset
    return carried(joint.second, place) - carried(joint.first, place)
