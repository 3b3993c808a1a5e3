# SPDX-License-Identifier: BSD-3-Clause
"""The parts of a mechanism as a table for notebooks."""

from __future__ import annotations

from typing import Any

from dalembert.common.notebook_html import block, paragraph, table
from dalembert.mechanisms.transmission import Transmission
from dalembert.model.representation import short


def table_of(mechanism: Any) -> str:
    """Return the parts of a mechanism as HTML: bodies with their masses, joints with their points, forces."""
    rows = [(body.name, type(body).__name__, f"mass {short(body.mass)}") for body in mechanism.bodies]
    for joint in mechanism.joints:
        rows.append((joint.name, type(joint).__name__, _connection(joint)))
    rows += [("", type(force).__name__, repr(force)) for force in mechanism.forces]
    rows += [(str(constraint.name), "Constraint", short(constraint.expression)) for constraint in mechanism.constraints]
    rows += [(servo.name, "Servo", repr(servo)) for servo in mechanism.servos]
    rows += [(extra.name, "ExtraCoordinates", ", ".join(extra.names)) for extra in mechanism.extra_coordinates]
    rows += [(actuator.name, "Actuator", repr(actuator)) for actuator in mechanism.actuators]
    rows += [("", "note", note) for note in mechanism.notes]
    plane = "the plane" if mechanism.dimension == 2 else "space"
    system = mechanism.system
    counts = f"{len(system.coordinate_names)} coordinates, {len(system.constraint_names)} constraints"
    heading = paragraph(f"Mechanism in {plane}: {counts}", strong=True)
    return block(heading, table(("name", "kind", ""), rows, words=3))


def _connection(joint: Any) -> str:
    """Return the points that a joint joins, or the joint that a drive moves."""
    driven = getattr(joint, "joint", None)
    if driven is not None:
        return f"{driven.name} by {short(joint.motion)}"
    if isinstance(joint, Transmission):
        return f"{joint.driven.name} by {joint.driving.name}"
    laws = f", {short(joint.nonideal)}" if joint.nonideal else ""
    return f"{joint.first!r} to {joint.second!r}{laws}"
