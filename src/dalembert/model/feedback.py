# SPDX-License-Identifier: BSD-3-Clause
"""A controller attached to a plant: a system whose actuators it drives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import sympy as sp

from dalembert.errors import InputError
from dalembert.model.control_form import distinct_actuators
from dalembert.model.ordering import name_of, quoted
from dalembert.model.symbols import t as time
from dalembert.model.system import System

BOUND = "adaptive bound"
"""Name of the coordinate whose velocity is the bound that an adaptive controller estimates."""


@dataclass(frozen=True)
class AttachedController:
    """A controller and its place in a plant.

    controller    a ``da.Controller``
    places        for each coordinate of the controller's model its number in the plant
    directions    r tuples of n expressions: the directions of the inputs in the coordinates of the plant
    limits        of the plant's actuators of these names, r expressions or None
    adaptive      whether the last coordinate of the plant is the integral of the bound that the controller estimates
    """

    controller: Any
    places: tuple[int, ...]
    directions: tuple[tuple[Any, ...], ...]
    limits: tuple[Any, ...]
    adaptive: bool = False

    @property
    def expressions(self) -> tuple[Any, ...]:
        """All expressions, so that their symbols are parameters of the plant."""
        limits = [limit for limit in self.limits if limit is not None]
        return (*(entry for direction in self.directions for entry in direction), *limits)


@dataclass(frozen=True)
class HeldInputs:
    """Inputs of actuators that are parameters of a plant.

    actuators     their names
    parameters    the names of the parameters
    directions, limits    as for ``AttachedController``
    """

    actuators: tuple[str, ...]
    parameters: tuple[str, ...]
    directions: tuple[tuple[Any, ...], ...]
    limits: tuple[Any, ...]

    @property
    def expressions(self) -> tuple[Any, ...]:
        """All expressions, so that their symbols are parameters of the plant."""
        entries = [entry for direction in self.directions for entry in direction]
        entries += [limit for limit in self.limits if limit is not None]
        return (*entries, *(sp.Symbol(name, real=True) for name in self.parameters))


def with_controller(plant: System, controller: Any) -> System:
    """Return the plant with the actuators driven by a controller in the place of its own servos."""
    directions, limits = _directions(plant, controller), plant_limits(plant, controller)
    attached = AttachedController(controller, places_of(plant, controller), directions, limits)
    if controller.adaptive is None:
        return replace(plant, servos=(), feedback=attached)
    # the bound α is the velocity of a further coordinate of unit mass, so that every integrator can follow it
    bound = sp.Function(BOUND)(time)
    directions = tuple((*direction, sp.S.Zero) for direction in attached.directions)
    return replace(
        plant,
        coordinates=(*plant.coordinates, bound),
        mass_matrix=sp.diag(plant.mass_matrix, 1),
        applied_force=(*plant.applied_force, 0),
        servos=(),
        feedback=replace(attached, directions=directions, adaptive=True),
    )


def with_held_inputs(plant: System, controller: Any) -> System:
    """Return the plant with the inputs of a controller as further parameters."""
    names = tuple(f"input({name})" for name in controller.actuators)
    held = HeldInputs(controller.actuators, names, _directions(plant, controller), plant_limits(plant, controller))
    return replace(plant, servos=(), feedback=held)


def plant_limits(plant: System, controller: Any) -> tuple[Any, ...]:
    """Return the limits of a plant's actuators that a controller drives, in its order; None where there is none."""
    own = {actuator.name: actuator.limit for actuator in distinct_actuators(plant.servos)}
    return tuple(own.get(name) for name in controller.actuators)


def places_of(plant: System, controller: Any) -> tuple[int, ...]:
    missing = [name for name in controller.coordinates if name not in plant.coordinate_names]
    if missing:
        raise InputError(
            f"`control` must be a controller for a model with coordinates of the plant "
            f"({quoted(plant.coordinate_names)}); its model has {quoted(missing)}, which the plant has not."
        )
    return tuple(plant.coordinate_names.index(name) for name in controller.coordinates)


def _directions(plant: System, controller: Any) -> tuple[tuple[Any, ...], ...]:
    """Return the directions of a controller's inputs: of the plant's actuators of these names, else of its model's."""
    places, own = places_of(plant, controller), {a.name: a for a in distinct_actuators(plant.servos)}
    model = {a.name: a for a in distinct_actuators(controller.system.servos)}
    found: list[tuple[Any, ...]] = []
    for name in controller.actuators:
        if name in own:
            found.append(own[name].direction(plant.coordinates))
            continue
        coordinates = controller.system.coordinates
        unit = tuple(sp.S.One if name_of(q) == name else sp.S.Zero for q in coordinates)
        direction = model[name].direction(coordinates) if name in model else unit
        entries: list[Any] = [sp.S.Zero] * len(plant.coordinates)
        for place, entry in zip(places, direction, strict=True):
            entries[place] = entry
        found.append(tuple(entries))
    return tuple(found)
