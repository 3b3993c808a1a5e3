# SPDX-License-Identifier: BSD-3-Clause
"""Motors: actuators that act on a joint, along its motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dalembert.mechanisms.couplings import Drive
from dalembert.mechanisms.joint import Joint
from dalembert.model.ordering import name_of
from dalembert.model.servo import Actuator, Servo
from dalembert.model.symbols import functions_of_time, t


def motors(servos: Sequence[Servo]) -> tuple[Actuator, ...]:
    """Return the actuators that act on joints, each once."""
    given = [actuator for servo in servos for actuator in servo.by or ()]
    return on_joints(given)


def on_joints(given: Sequence[Actuator]) -> tuple[Actuator, ...]:
    """Return the actuators among the given ones that act on joints, each once."""
    return tuple(dict.fromkeys(actuator for actuator in given if isinstance(actuator.along, (Joint, Drive))))


def motor_problems(given: Sequence[Actuator], joints: Sequence[Any]) -> list[str]:
    """Return the problems of motors in a mechanism with these joints as sentences."""
    problems: list[str] = []
    names = [joint.name for joint in joints]
    for motor in given:
        joint = motor.along
        if isinstance(joint, Drive) or joint.motion_rate is None:
            problems.append(
                f"actuator `{motor.name}` must act on a joint with one motion, such as `da.Revolute` or "
                f"`da.Prismatic`; got `{joint.name}`, a `da.{type(joint).__name__}`."
            )
        elif joint not in joints:
            problems.append(
                f"actuator `{motor.name}` must act on a joint of the mechanism; `{joint.name}` is not among its "
                f"`joints`."
            )
        if motor.name in names:  # reactions are listed by name
            problems.append(f"an actuator must not have the name of a joint; got `{motor.name}`.")
    return problems


def unit_force(joint: Joint, coordinates: Sequence[Any]) -> tuple[Any, ...]:
    """Return the n generalised forces of a unit torque or force along the motion of a joint.

    It acts on the second body, and the opposite one on the first. Its power is the rate of the joint, so that its
    components are the derivatives of that rate by the velocities.
    """
    return tuple(joint.motion_rate.diff(q.diff(t)) for q in coordinates)


def with_directions(servos: Sequence[Servo], coordinates: Sequence[Any] | None = None) -> tuple[Servo, ...]:
    """Return the servos with the generalised force of each motor in place of its joint.

    Without ``coordinates`` it is a mapping from those of the joint, which suits large mechanisms.
    """
    forces: dict[Actuator, Any] = {}
    for motor in motors(servos):
        own = sorted(functions_of_time(motor.along.motion_rate), key=name_of) if coordinates is None else coordinates
        force = unit_force(motor.along, own)
        forces[motor] = force if coordinates is not None else dict(zip(own, force, strict=True))

    def resolved(actuator: Actuator) -> Actuator:
        return replace(actuator, along=forces[actuator]) if actuator in forces else actuator

    return tuple(
        servo if servo.by is None else replace(servo, by=tuple(resolved(actuator) for actuator in servo.by))
        for servo in servos
    )
