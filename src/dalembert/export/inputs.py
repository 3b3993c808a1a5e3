# SPDX-License-Identifier: BSD-3-Clause
"""Inputs of an exported model: actuators that are driven from outside, and parameters that may change."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dalembert.common.levels import STATE_LEVELS
from dalembert.errors import InputError
from dalembert.model import graph
from dalembert.model.control_form import distinct_actuators
from dalembert.model.feedback import HeldInputs
from dalembert.model.ordering import by_name, name_of, quoted, unknown_names
from dalembert.model.system import System


def with_inputs(system: System, parameters: Any, inputs: Any) -> tuple[System, Any, tuple[str, ...]]:
    """Return a system, its parameters, and the names of those that are inputs.

    Actuators named as inputs become parameters of the system in the place of its servos, zero at the start.
    """
    given = [inputs] if isinstance(inputs, str) else list(inputs)
    names = list(dict.fromkeys(map(name_of, given)))
    actuators = {actuator.name: actuator for actuator in distinct_actuators(system.servos)}
    driven = [name for name in names if name in actuators]
    problems = unknown_names([*system.parameter_names, *actuators], names, "inputs", "parameters and actuator")
    if problems:
        raise InputError(" ".join(problems))
    _refuse_prescribed(system, names)
    if not driven:
        return system, parameters, tuple(names)
    missing = [name for name in actuators if name not in driven]
    if missing:
        raise InputError(
            f"`inputs` must name all actuators or none, since they replace the servos; missing: {quoted(missing)}."
        )
    own = tuple(f"input({name})" for name in actuators)
    directions = tuple(tuple(actuator.direction(system.coordinates)) for actuator in actuators.values())
    held = HeldInputs(tuple(actuators), own, directions, (None,) * len(own))
    plant = replace(system, servos=(), feedback=held)
    return plant, _values(system, plant, parameters, own), (*own, *(name for name in names if name not in actuators))


def _values(system: System, plant: System, parameters: Any, own: tuple[str, ...]) -> Any:
    """Return the values of the plant's parameters: zero for its inputs, and without those that only servos need."""
    named, problems = by_name({} if parameters is None else parameters, "parameters", "parameter")
    if parameters is None or named is None or problems:
        return parameters
    unused = set(system.parameter_names) - set(plant.parameter_names)
    return dict.fromkeys(own, 0.0) | {name: value for name, value in named.items() if name not in unused}


def _refuse_prescribed(system: System, names: list[str]) -> None:
    """Raise an error if an input occurs in a constraint that would have to be differentiated."""
    for constraint in system.constraints:
        symbols = {symbol.name for symbol in graph.free_symbols(constraint.expression)}
        found = [name for name in names if name in symbols]
        if found and constraint.level in STATE_LEVELS:
            raise InputError(
                f"`inputs` must not occur in constraints on positions or velocities, which would need the derivatives "
                f"of the inputs; {quoted(found)} occurs in `{constraint.name}`. State that constraint for the "
                f"accelerations, with an acceleration as the input."
            )
