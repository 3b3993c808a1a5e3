# SPDX-License-Identifier: BSD-3-Clause
"""The servo constraints of a system in standard form: A₂ q̈ = b₂ with the force B u, and how errors settle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import sympy as sp

from dalembert.errors import ModelError
from dalembert.model.laws import Coefficient
from dalembert.model.ordering import quoted
from dalembert.model.servo import Actuator, Servo
from dalembert.model.standard_form import ConstraintRow, constraint_row
from dalembert.model.symbols import StateSymbols


@dataclass(frozen=True)
class Requirement:
    """One row of a servo constraint, in plain symbols.

    servo       number of its servo
    name        in messages
    level       position, velocity or acceleration
    row         its gradient, right side and residuals
    settling    (own row, coefficients of β, β̇, …) for each row of the servo whose errors appear in this row's equation
    rate        ω if all poles are at −ω, else None: then the order of the settling polynomial is fixed
    """

    servo: int
    name: str
    level: str
    row: ConstraintRow
    settling: tuple[tuple[int, tuple[Any, ...]], ...]
    rate: Any


@dataclass(frozen=True)
class ControlForm:
    """The servo constraints of a system in plain symbols.

    servos         names
    actuators      names of the r inputs: of a force on every coordinate, then of the actuators
    directions     r tuples of n expressions: the columns of B
    limits         r expressions, or None for no limit
    by_mass        whether the inputs are a force on every coordinate with the cost M⁻¹
    cost           N otherwise
    requirements   the rows of all servos
    euclidean      whether errors settle along the shortest acceleration in the Euclidean metric
    robust         ρ and ε of a robust layer, or None; see ``da.BoundedUncertainty``
    adaptive       k₁ and k₂ if ρ is a state of the controller, or None; see ``da.AdaptiveBound``
    """

    servos: tuple[str, ...]
    actuators: tuple[str, ...]
    directions: tuple[tuple[Any, ...], ...]
    limits: tuple[Any, ...]
    by_mass: bool
    cost: tuple[tuple[Any, ...], ...]
    requirements: tuple[Requirement, ...]
    euclidean: bool
    robust: tuple[Any, Any] | None = None
    adaptive: tuple[Any, Any] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the requirements."""
        return tuple(requirement.name for requirement in self.requirements)

    @cached_property
    def rows_of(self) -> dict[str, list[int]]:
        """The numbers of the rows of each servo, by its name."""
        return {
            name: [i for i, row in enumerate(self.requirements) if row.servo == k] for k, name in enumerate(self.servos)
        }


def control_form(system: Any) -> ControlForm | None:
    """Return the servo constraints of a ``System`` in plain symbols; None if it has none."""
    if not system.servos:
        return None
    symbols, n = StateSymbols(system.coordinates), len(system.coordinates)
    every = [servo for servo in system.servos if servo.by is None]
    by_mass = bool(every) and all(servo.cost is None for servo in every)
    actuators = distinct_actuators(system.servos)
    on_coordinates = [tuple(sp.S.One if i == j else sp.S.Zero for j in range(n)) for i in range(n)] if every else []
    names = (*(system.coordinate_names if every else ()), *(actuator.name for actuator in actuators))
    directions = [tuple(map(symbols.plain, actuator.direction(system.coordinates))) for actuator in actuators]
    limits = [None if actuator.limit is None else symbols.plain(actuator.limit) for actuator in actuators]
    return ControlForm(
        servos=tuple(servo.name for servo in system.servos),
        actuators=names,
        directions=(*on_coordinates, *directions),
        limits=(*[None] * len(on_coordinates), *limits),
        by_mass=by_mass,
        cost=cost_of(system.servos, () if by_mass else names, system.coordinate_names, symbols),
        requirements=tuple(row for k, servo in enumerate(system.servos) for row in _requirements(k, servo, system)),
        euclidean=any(servo.metric == "euclidean" for servo in system.servos),
    )


def distinct_actuators(servos: Sequence[Servo]) -> list[Actuator]:
    """Return the actuators of all servos, each once."""
    return list({actuator.name: actuator for servo in servos for actuator in servo.by or ()}.values())


def servo_coefficients(servos: tuple[Servo, ...]) -> list[tuple[str, Coefficient]]:
    """Return the limits of actuators, which must be positive, and settling rates, which must not be negative."""
    found = [
        (f"actuator `{actuator.name}`", Coefficient("limit", actuator.limit, positive=True))
        for actuator in distinct_actuators(servos)
        if actuator.limit is not None
    ]
    for servo in servos:
        rates = [rate for rate in dict.fromkeys(servo.settle or ()) if not isinstance(rate, sp.MatrixBase)]
        found += [(f"servo `{servo.name}`", Coefficient("settle", rate, otherwise="errors grow")) for rate in rates]
    return found


def servo_problems(
    servos: Sequence[Any], coordinate_names: Sequence[str], constraint_names: Sequence[str]
) -> list[str]:
    """Return the problems of the servos of a system with coordinates and constraints of some names, as sentences."""
    if not servos:
        return []
    wrong = [servo for servo in servos if not isinstance(servo, Servo)]
    if wrong:
        return [f"`servos` must hold `da.Servo` objects; got {wrong[0]!r}."]
    problems: list[str] = []
    known: dict[str, Actuator] = {}
    for actuator in (actuator for servo in servos for actuator in servo.by or ()):
        if known.setdefault(actuator.name, actuator) != actuator:
            problems.append(f"actuator names must be unique; two different actuators are called `{actuator.name}`.")
    for actuator in known.values():
        try:
            actuator.components(coordinate_names)
        except ModelError as error:
            problems += error.problems
    names = [servo.name for servo in servos]
    taken = {*coordinate_names, *constraint_names}
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        problems.append(f"servo names must be unique; given twice: {quoted(repeated)}.")
    clashes = sorted({*names, *known} & taken)
    if clashes:
        problems.append(
            f"a servo or actuator must not have the name of a coordinate or constraint; got {quoted(clashes)}."
        )
    n = len(coordinate_names)
    problems += _sharing_problems(servos)
    for servo in servos:
        if servo.by is None and servo.cost is not None and servo.cost.rows != n:
            problems.append(
                f"`cost` of servo `{servo.name}` must have shape ({n}, {n}), one row per coordinate; got "
                f"{servo.cost.shape}."
            )
    return problems


def _sharing_problems(servos: Sequence[Servo]) -> list[str]:
    """Return the problems of servos that share actuators: all inputs meet all requirements together."""
    every = [servo for servo in servos if servo.by is None]
    if every and len(every) < len(servos):
        others = quoted(servo.name for servo in servos if servo.by is not None)
        return [
            f"servo {quoted(servo.name for servo in every)}, without `by`, must not be combined with {others}, which "
            f"has actuators: a force on every coordinate would do their work. State `by` for all."
        ]
    if len({servo.metric for servo in servos}) > 1:
        return ["all servos of a system must have the same `metric`, since their inputs act together."]
    problems: list[str] = []
    owner: dict[str, str] = {}
    for servo in (servo for servo in servos if servo.cost is not None):
        for name in ["every coordinate"] if servo.by is None else [actuator.name for actuator in servo.by]:
            if owner.setdefault(name, servo.name) != servo.name:
                problems.append(
                    f"`cost` of `{name}` must be stated once; servos `{owner[name]}` and `{servo.name}` both give one. "
                    f"Leave out one of them."
                )
    return problems


def _requirements(k: int, servo: Servo, system: Any) -> list[Requirement]:
    symbols = StateSymbols(system.coordinates)
    rows: list[Requirement] = []
    for i, constraint in enumerate(servo.requirement):
        rate, settling = settling_of(servo, i, symbols)
        rows.append(
            Requirement(k, str(constraint.name), servo.level, constraint_row(constraint, symbols), settling, rate)
        )
    return rows


def settling_of(servo: Servo, i: int, symbols: StateSymbols) -> tuple[Any, tuple[tuple[int, tuple[Any, ...]], ...]]:
    """Return the rate of row i and the settling terms of its equation: see ``Requirement``."""
    order = {"position": 2, "velocity": 1, "acceleration": 0}[servo.level]
    if servo.settle is None:
        return sp.S.Zero, ()
    if not isinstance(servo.settle[0], sp.MatrixBase):
        rate = symbols.plain(servo.settle[i])
        # the polynomial (s + ω)ᵏ without its highest power
        return rate, ((i, tuple(sp.binomial(order, j) * rate ** (order - j) for j in range(order))),)
    matrices = servo.settle[::-1]
    others = range(len(servo.requirement))
    return None, tuple((j, tuple(symbols.plain(matrix[i, j]) for matrix in matrices)) for j in others)


def cost_of(
    servos: tuple[Servo, ...], names: tuple[str, ...], coordinates: tuple[str, ...], symbols: StateSymbols
) -> tuple[tuple[Any, ...], ...]:
    """Return N of the named inputs: the costs of the servos, and the identity over actuators without one."""
    total = sp.eye(len(names))
    for servo in (servo for servo in servos if servo.cost is not None):
        own = coordinates if servo.by is None else tuple(actuator.name for actuator in servo.by)
        places = [names.index(name) for name in own]
        for i, row in enumerate(places):
            for j, column in enumerate(places):
                total[row, column] = symbols.plain(servo.cost[i, j])
    return tuple(tuple(total[i, j] for j in range(len(names))) for i in range(len(names)))
