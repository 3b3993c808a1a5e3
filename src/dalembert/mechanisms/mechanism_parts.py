# SPDX-License-Identifier: BSD-3-Clause
"""The kinds of parts of a mechanism."""

from __future__ import annotations

from typing import Any

from dalembert.mechanisms.couplings import Drive
from dalembert.mechanisms.extra_coordinates import ExtraCoordinates
from dalembert.mechanisms.forces import Applied
from dalembert.mechanisms.frames import MovingBody
from dalembert.mechanisms.joint import Joint
from dalembert.mechanisms.transmission import Transmission
from dalembert.model.constraint import Constraint
from dalembert.model.servo import Actuator, Servo

PARTS: dict[str, tuple[Any, str]] = {
    "bodies": (MovingBody, "`da.Particle`, `da.PlanarBody` or `da.Body` objects"),
    "joints": ((Joint, Drive, Transmission), "joints such as `da.Revolute`, `da.Drive` or `da.Transmission`"),
    "forces": (Applied, "forces such as `da.Gravity` or `da.Spring`"),
    "constraints": (Constraint, "`da.Constraint` objects"),
    "servos": (Servo, "`da.Servo` objects"),
    "extra_coordinates": (ExtraCoordinates, "`da.ExtraCoordinates` objects"),
    "actuators": (Actuator, "`da.Actuator` objects"),
}
"""The classes of each kind of part, and their names in messages."""


def valid_parts(part_of: str, given: Any, problems: list[str]) -> tuple[Any, ...]:
    """Return the parts of one kind as a tuple, without those of a wrong class, which are added to the problems."""
    classes, expected = PARTS[part_of]
    parts = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    problems += [f"`{part_of}` must hold {expected}; got {part!r}." for part in parts if not isinstance(part, classes)]
    return tuple(part for part in parts if isinstance(part, classes))
