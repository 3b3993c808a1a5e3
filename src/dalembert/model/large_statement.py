# SPDX-License-Identifier: BSD-3-Clause
"""The statement of a system by arrays: coordinates, and groups of masses, forces, constraints and nonideal laws.

Nothing is expanded: each group keeps one expression. ``expanded`` makes the same system term by term.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from dalembert.errors import InputError
from dalembert.model import graph
from dalembert.model.control_form import distinct_actuators
from dalembert.model.coordinate_positions import ELEMENT, Positions
from dalembert.model.differentiation import gradient
from dalembert.model.input_values import as_numbers
from dalembert.model.law_groups import PlacedLaws, laws_of_groups
from dalembert.model.laws import Law
from dalembert.model.ordering import by_name, name_of, name_problems
from dalembert.model.servo import Actuator, Servo
from dalembert.model.symbol_arrays import CoordinateArray, ParameterArray, Substitutions
from dalembert.model.symbols import free_parameters, functions_of_time, t
from dalembert.model.term_groups import AppliedForce, ConstraintGroup, LagrangianTerm, MassEntries, RateInertia

MANY_CONTACTS = (
    "contacts that are stated by `da.Constraint.over`, or along with arrays of coordinates, must be simulated by fixed "
    "time steps: `da.simulate(..., solver=da.MoreauJean(step))`. For anything else, state each contact by itself, with "
    "single coordinates."
)
"""The message for functions that follow contacts one by one, or do not support them."""


SINGLE = Substitutions({}, {}, 1)
"""Substitutions of a term that was stated by itself."""


@dataclass(frozen=True, eq=False)
class LargeStatement:
    """A system stated by arrays.

    pieces         arrays of coordinates and single coordinates, in order
    masses         groups of entries of M
    forces         groups of forces
    constraints    groups of constraints, a single one counting as a group of one
    order (m,)     the number of each constraint in the order of the groups; None if they are numbered in that order
    nonideal       laws of the whole system; those of constraints belong to the groups
    lagrangian     groups of terms of the Lagrangian, for the energy; None if it is unknown
    placed         all laws in groups; None if they follow from ``nonideal`` and the constraints
    rates          groups of rates with an inertia of their own, which M contains beside ``masses``
    servos         ``da.Servo`` objects
    """

    pieces: tuple[Any, ...]
    masses: tuple[MassEntries, ...]
    forces: tuple[AppliedForce, ...]
    constraints: tuple[ConstraintGroup, ...]
    order: NDArray[np.int64] | None = None
    nonideal: tuple[Law, ...] = ()
    lagrangian: tuple[LagrangianTerm, ...] | None = None
    placed: PlacedLaws | None = None
    rates: tuple[RateInertia, ...] = ()
    servos: tuple[Servo, ...] = ()

    @cached_property
    def positions(self) -> Positions:
        return Positions(self.pieces)

    @property
    def is_given(self) -> bool:
        """Whether the system was stated by arrays, and not derived from a mechanism or a Lagrangian."""
        return not self.rates and self.placed is None and self.lagrangian is None

    @property
    def has_contacts(self) -> bool:
        """Whether constraints open and close."""
        return any(group.template.one_sided for group in self.constraints)

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        return tuple(
            name for p in self.pieces for name in (p.names if isinstance(p, CoordinateArray) else [name_of(p)])
        )

    @cached_property
    def constraint_names(self) -> tuple[str, ...]:
        names = np.array([name for group in self.constraints for name in names_of(group)], object)
        return tuple(names if self.order is None else names[np.argsort(self.order)])

    @property
    def names_in_arrays(self) -> dict[str, Sequence[str]]:
        """The names of coordinates and of constraints by those of their arrays and groups."""
        arrays = {p.name: p.names for p in self.pieces if isinstance(p, CoordinateArray)}
        groups = {str(g.template.name): names_of(g) for g in self.constraints if not is_single(g)}
        return {**groups, **arrays}

    @property
    def rows(self) -> list[NDArray[np.int64]]:
        """The numbers of the constraints of each group."""
        sizes = np.cumsum([len(group) for group in self.constraints])
        order = np.arange(sizes[-1] if len(sizes) else 0) if self.order is None else self.order
        return np.split(order, sizes[:-1]) if len(sizes) else []

    @cached_property
    def parameters(self) -> dict[str, int]:
        """Names of all constants, sorted, with the number of their values: zero for one that is not an array."""
        found: dict[str, int] = {}
        for expressions, copies in self.groups():
            for values in copies.numbers.values():
                if isinstance(values, ParameterArray):
                    found[values.name] = values.size
            given = [v for values in copies.numbers.values() if isinstance(values, tuple) for v in values]
            for symbol in free_parameters([*expressions, *map(sp.sympify, given)]) - copies.numbers.keys():
                found.setdefault(symbol.name, 0)
        return {name: found[name] for name in sorted(found) if not self._is_element(name, found)}

    def _is_element(self, name: str, arrays: Mapping[str, int]) -> bool:
        part = ELEMENT.fullmatch(name)
        return part is not None and arrays.get(part[1], 0) > int(part[2])

    @cached_property
    def laws(self) -> PlacedLaws:
        """All nonideal laws in groups; an error is raised for one that is not supported."""
        return laws_of_groups(self.constraints, self.nonideal, self.pieces) if self.placed is None else self.placed

    def groups(self, *, laws: bool = True) -> list[tuple[list[Any], Substitutions]]:
        """Return the expressions and substitutions of all groups, with or without those of laws."""
        groups = self.laws.groups if laws else ()
        return [
            *(([*group.components.values()], group.substitutions) for group in (*self.masses, *self.forces)),
            *(([group.rate, group.weight], group.substitutions) for group in self.rates),
            *((_expressions(group), group.substitutions) for group in self.constraints),
            *(([*law.force.components.values(), *law.coefficients], law.force.substitutions) for law in groups),
            *(([term.expression], term.substitutions) for term in self.lagrangian or ()),
            *((list(servo.expressions()), SINGLE) for servo in self.servos),
            *(([*actuator.components(self.coordinate_names).values()], SINGLE) for actuator in self.actuators),
        ]

    def expressions(self) -> Iterator[Any]:
        """Yield the expressions of all groups, and those that stand for symbols in them."""
        for expressions, copies in self.groups():
            yield from expressions
            yield from (own for values in copies.numbers.values() if isinstance(values, tuple) for own in values)

    @property
    def actuators(self) -> list[Actuator]:
        """The actuators of all servos, each once."""
        return distinct_actuators(self.servos)

    def values(self, given: Any) -> NDArray[np.float64]:
        """Return the values of all parameters one after the other, arrays in full, from a mapping by name or symbol."""
        named, problems = by_name({} if given is None else given, "parameters", "parameter")
        if named is None:
            raise InputError(f"`parameters` must be a mapping from names to numbers; got {given!r}.")
        problems += name_problems(list(self.parameters), named, "parameters", "parameter")
        if problems:
            raise InputError(" ".join(problems))
        parts: list[Any] = [np.zeros(0)]
        for name, size in self.parameters.items():
            numbers = as_numbers(named[name], f"parameters[{name}]")
            wanted = (size,) if size else ()
            if numbers.shape not in (wanted, ()):
                raise InputError(f"`parameters` must give `{name}` the shape {wanted}; got {numbers.shape}.")
            if not np.isfinite(numbers).all():
                raise InputError(f"`parameters` must be finite; `{name}` is not.")
            parts.append(np.ravel(np.broadcast_to(numbers, wanted)))
        return np.concatenate(parts)

    def flat_parameters(self, given: Any) -> dict[str, float]:
        """Return the values of parameters by the names of an expanded system, ``m[0]`` and so on for arrays."""
        values = iter(self.values(given).tolist())
        return {
            name: next(values)
            for array, size in self.parameters.items()
            for name in ([f"{array}[{i}]" for i in range(size)] if size else [array])
        }

    def expanded(self) -> dict[str, Any]:
        """Return coordinates, mass matrix, forces and constraints term by term."""
        coordinates = tuple(q for p in self.pieces for q in (p if isinstance(p, CoordinateArray) else (p,)))
        mass = sp.zeros(len(coordinates))
        for (i, j), value in self._sums(self.masses).items():
            mass[i, j] += value
            if i != j:
                mass[j, i] += value
        self._add_rates(mass, coordinates)
        force = [sp.S.Zero] * len(coordinates)
        for (i,), value in self._sums(self.forces).items():
            force[i] = value
        return {
            "coordinates": coordinates,
            "mass_matrix": mass,
            "applied_force": tuple(force),
            "constraints": tuple(c for g in self.constraints for c in ([g.template] if is_single(g) else g)),
        }

    def _add_rates(self, mass: Any, coordinates: Sequence[Any]) -> None:
        """Add the inertia of all rates to a mass matrix."""
        places = {q: i for i, q in enumerate(coordinates)}
        for group in self.rates:
            for k in range(len(group)):
                rules = group.substitutions.at(k)
                rate, weight = (graph.replace(e, rules).doit() for e in (group.rate, group.weight))
                own = sorted(functions_of_time(rate), key=places.__getitem__)
                slopes = list(zip(own, gradient(rate, [q.diff(t) for q in own]), strict=True))
                for first, a in slopes:
                    for second, b in slopes:
                        mass[places[first], places[second]] += weight * (a * b)

    def _sums(self, groups: Sequence[AppliedForce | MassEntries]) -> dict[tuple[int, ...], Any]:
        """Return the sums of some groups along each coordinate, or at each pair of coordinates."""
        totals: dict[tuple[int, ...], Any] = {}
        for group in groups:
            where = {key: self.places(group, key) for key in group.components}
            for i in range(len(group)):
                rules = group.substitutions.at(i)
                for key, expression in group.components.items():
                    place = tuple(int(x) for x in where[key][i])
                    totals[place] = totals.get(place, 0) + graph.replace(expression, rules).doit()
        return totals

    def places(self, group: AppliedForce | MassEntries, key: Any) -> NDArray[np.int64]:
        """Return the positions (copies, 1) or (copies, 2) of the coordinate or pair of one component of a group."""
        pair = key if isinstance(key, tuple) else (key,)
        given = [group.substitutions.coordinates.get(q, (q,) * len(group)) for q in pair]
        return np.stack([self.positions.of(places) for places in given], axis=1)


@lru_cache(maxsize=8)
def with_unit_masses(statement: LargeStatement) -> LargeStatement:
    """Return a statement with the mass one for every coordinate; it is kept for further calls."""
    q = sp.Function("q")(t)
    places = tuple(p for piece in statement.pieces for p in (piece if isinstance(piece, CoordinateArray) else (piece,)))
    ones = MassEntries({(q, q): sp.S.One}, Substitutions({q: places}, {}, len(places)))
    return replace(statement, masses=(ones,), rates=())


def _expressions(group: ConstraintGroup) -> list[Any]:
    own = group.template
    return [own.expression] if own.restitution is None else [own.expression, own.restitution]


def is_single(group: ConstraintGroup) -> bool:
    """Return whether a group is one constraint that was stated by itself."""
    return not group.substitutions.coordinates and not group.substitutions.numbers


def names_of(group: ConstraintGroup) -> Sequence[str]:
    """Return the names of the constraints of a group."""
    return [str(group.template.name)] if is_single(group) else group.names
