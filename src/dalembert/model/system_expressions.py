# SPDX-License-Identifier: BSD-3-Clause
"""All expressions of a system."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dalembert.model.control_form import distinct_actuators

if TYPE_CHECKING:
    from dalembert.model.system import System


def expressions_of(system: System) -> tuple[Any, ...]:
    """Return every expression of a system."""
    laws = [component for placed in system.laws for component in placed.law.components(system.coordinates)]
    laws += [placed.law.static_coefficient for placed in system.laws if getattr(placed.law, "can_stick", False)]
    lagrangian = () if system.lagrangian is None else (system.lagrangian,)
    rows = [constraint.expression for constraint in system.constraints]
    rows += [constraint.restitution for constraint in system.constraints if constraint.restitution is not None]
    integrals = () if system.conserved is None else system.conserved.all_expressions()
    return (
        *system.mass_matrix.todok().values(),
        *system.applied_force,
        *rows,
        *laws,
        *lagrangian,
        *_servo_expressions(system),
        *integrals,
    )


def terms_of(system: System) -> tuple[Any, ...]:
    """Return every expression of a system, or of a large one its different terms, in the symbols of one copy."""
    if system.statement is None or not system.is_large:
        return expressions_of(system)
    return tuple(system.statement.expressions())


def _servo_expressions(system: System) -> list[Any]:
    """Return the expressions of servo constraints, their actuators and a controller."""
    directions = [actuator.direction(system.coordinates) for actuator in distinct_actuators(system.servos)]
    own = [servo.expressions() for servo in system.servos]
    directions += [] if system.feedback is None else [system.feedback.expressions]
    return [expression for part in (*directions, *own) for expression in part]
