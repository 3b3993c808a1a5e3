# SPDX-License-Identifier: BSD-3-Clause
"""A plant under a controller: the system to simulate, and the inputs and errors of its run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.control.controller import Controller
from dalembert.control.held_plants import RoughPlant, SmoothPlant
from dalembert.control.sampled import SampledSimulation
from dalembert.equation.dynamics import Dynamics
from dalembert.errors import InputError
from dalembert.integration.control_outputs import errors, with_control
from dalembert.integration.method import Method
from dalembert.integration.trajectory import Trajectory
from dalembert.integration.trajectory_dataset import PER_COORDINATE
from dalembert.lowering.build import build
from dalembert.model.feedback import with_controller, with_held_inputs
from dalembert.model.input_values import state_values
from dalembert.model.ordering import by_name
from dalembert.model.system import System, kind_of_object
from dalembert.stick_slip.simulation import StickSlipSimulation


class ControlledPlant(NamedTuple):
    """The arguments of a simulation of a plant under a controller."""

    system: System
    q0: Any
    qd0: Any
    parameters: Any


def controlled(plant: Any, control: Any, q0: Any, qd0: Any, parameters: Any) -> ControlledPlant:
    """Return a plant under a controller, with the start and the parameters that it needs."""
    _require_controller(plant, control)
    q0, qd0 = state_values(plant.coordinate_names, q0, "q0"), state_values(plant.coordinate_names, qd0, "qd0")
    if control.period is not None:
        system = with_held_inputs(plant, control)
        given = _needed(plant, system, parameters)
        return ControlledPlant(system, q0, qd0, given | dict.fromkeys(system.feedback.parameters, 0.0))
    system = with_controller(plant, control)
    if control.adaptive is not None:
        q0, qd0 = np.append(q0, 0.0), np.append(qd0, float(control.adaptive.start))
    return ControlledPlant(system, q0, qd0, _needed(plant, system, parameters))


def controlled_members(plant: System, control: Any, parameters: Any) -> tuple[System, Any]:
    """Return a plant under a continuous controller and its parameters, for the members of an ensemble."""
    _require_controller(plant, control)
    system = with_controller(plant, control)
    return system, _needed(plant, system, parameters)


def is_integrated_with_plant(control: Controller) -> bool:
    """Return whether a controller is a function of the plant's state alone, so that it is compiled with the plant."""
    return control.period is None and control.adaptive is None


def under_control(plant: Any, control: Any) -> tuple[System, tuple[str, ...]]:
    """Return a plant under a controller, with held inputs if it is sampled, and the parameters that it is given."""
    _require_controller(plant, control)
    system = with_controller(plant, control) if control.period is None else with_held_inputs(plant, control)
    held = () if control.period is None else system.feedback.parameters
    return system, tuple(name for name in system.parameter_names if name not in held)


def _require_controller(plant: Any, control: Any) -> None:
    if not isinstance(control, Controller):
        raise InputError(f"`control` must be a controller made by `da.controller`; got {control!r}.")
    if not isinstance(plant, System):
        raise InputError(f"`system` must be a `da.System` for a controller to act on; got {kind_of_object(plant)}.")


def _needed(plant: System, system: System, parameters: Any) -> Any:
    """Return the given parameters without those that only the plant's own servos need."""
    named, problems = by_name({} if parameters is None else parameters, "parameters", "parameter")
    if named is None or problems:
        return parameters
    unused = set(plant.parameter_names) - set(system.parameter_names)
    return {name: value for name, value in named.items() if name not in unused}


def sampled_simulation(
    system: Any, dynamics: Dynamics, control: Controller, method: Method, p: Any, stick_slip: StickSlipSimulation | None
) -> SampledSimulation | None:
    """Return the simulation of a plant under a sampled controller; None if the controller is continuous."""
    if control.period is None:
        return None
    values = dict(zip(dynamics.parameters, map(float, p), strict=True))
    held = tuple(f"input({name})" for name in control.actuators)
    places = tuple(dynamics.coordinates.index(name) for name in control.coordinates)
    plant = SmoothPlant(dynamics, method, tuple(values.values())) if stick_slip is None else RoughPlant(stick_slip)
    return SampledSimulation(plant, dynamics, control, method, values, held, places, system.feedback.limits)


def with_controlled(dynamics: Dynamics, run: Trajectory, p: Any, control: Controller) -> Trajectory:
    """Return the trajectory of a plant with inputs, and with errors by the requirements of the controller."""
    bound = None
    if control.period is None:
        run = with_control(dynamics, run, p)
        if control.adaptive is not None:
            run, bound = _without_bound(run)
    places = [run.coordinates.index(name) for name in control.coordinates]
    y = np.concatenate([run.q[:, places], run.qd[:, places]], axis=1)
    model = build(control.system)
    assert model.native is not None
    found = errors(model, model.native.control(y, run.t, control.values).errors)
    return replace(run, servo_error=found, estimated_bound=run.estimated_bound if bound is None else bound)


def _without_bound(run: Trajectory) -> tuple[Trajectory, Floats]:
    """Return the trajectory without the coordinate of the estimated bound, and the bound."""
    bound = run.qd[:, -1]
    kept = {name: getattr(run, name)[:, :-1] for name in PER_COORDINATE}
    force = None if run.input_force is None else run.input_force[:, :-1]
    return replace(run, **kept, input_force=force, coordinates=run.coordinates[:-1]), bound
