# SPDX-License-Identifier: BSD-3-Clause
"""The statement of a system by arrays: coordinates, diagonal masses, groups of forces and of constraints.

Nothing is expanded: each group keeps one expression. ``expanded`` makes the same system term by term.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from dalembert.errors import InputError, ModelError
from dalembert.model import graph
from dalembert.model.constraint import Constraint
from dalembert.model.expressions import as_expression
from dalembert.model.input_values import as_numbers
from dalembert.model.ordering import by_name, name_of, name_problems, quoted
from dalembert.model.symbol_arrays import CoordinateArray, ParameterArray, Substitutions
from dalembert.model.symbols import coordinates as new_coordinate
from dalembert.model.symbols import free_parameters, functions_of_time
from dalembert.model.term_groups import AppliedForce, ConstraintGroup
from dalembert.names import LISTED_NAMES

MASS = sp.Symbol("mass")
FORCE = sp.Symbol("force")
"""Placeholders of the numbers of masses and forces that are given as arrays."""

_ELEMENT = re.compile(r"(\w+)\[(\d+)\]")


@dataclass(frozen=True, eq=False)
class LargeStatement:
    """A system stated by arrays.

    pieces         arrays of coordinates and single coordinates, in order
    masses         groups of entries of the diagonal of M, as forces along the coordinates they belong to
    forces         groups of forces
    constraints    groups of constraints, a single one counting as a group of one
    order (m,)     the number of each constraint in the order of the groups; None if they are numbered in that order
    """

    pieces: tuple[Any, ...]
    masses: tuple[AppliedForce, ...]
    forces: tuple[AppliedForce, ...]
    constraints: tuple[ConstraintGroup, ...]
    order: NDArray[np.int64] | None = None

    @cached_property
    def positions(self) -> Positions:
        return Positions(self.pieces)

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
        part = _ELEMENT.fullmatch(name)
        return part is not None and arrays.get(part[1], 0) > int(part[2])

    def groups(self) -> list[tuple[list[Any], Substitutions]]:
        """Return the expressions and substitutions of all groups."""
        forces = [(list(group.components.values()), group.substitutions) for group in (*self.masses, *self.forces)]
        return [*forces, *(([group.template.expression], group.substitutions) for group in self.constraints)]

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
        masses, forces = (self._sums(groups) for groups in (self.masses, self.forces))
        return {
            "coordinates": coordinates,
            "mass_matrix": sp.diag(*masses),
            "applied_force": tuple(forces),
            "constraints": tuple(c for g in self.constraints for c in ([g.template] if is_single(g) else g)),
        }

    def _sums(self, groups: Sequence[AppliedForce]) -> list[Any]:
        """Return the sums of some groups along each coordinate."""
        totals: list[Any] = [sp.S.Zero] * len(self.positions)
        for group in groups:
            targets = {q: self.positions.of(group.substitutions.coordinates[q]) for q in group.components}
            for i in range(len(group)):
                rules = group.substitutions.at(i)
                for q, expression in group.components.items():
                    totals[targets[q][i]] += graph.replace(expression, rules).doit()
        return totals


class Positions:
    """The positions of coordinates in a system stated by arrays."""

    def __init__(self, pieces: Sequence[Any]):
        self._arrays: dict[str, NDArray[np.int64]] = {}
        self._single: dict[str, int] = {}
        self._count = 0
        repeated: list[str] = []
        for piece in pieces:
            if isinstance(piece, CoordinateArray):
                places = self._arrays.setdefault(piece.name, np.full(piece.size, -1))
                if (places[piece.indices] >= 0).any() or len(np.unique(piece.indices)) < len(piece):
                    repeated.append(piece.name)
                places[piece.indices] = self._count + np.arange(len(piece))
                self._count += len(piece)
            else:
                repeated += [name_of(piece)] if name_of(piece) in self._single else []
                self._single[name_of(piece)] = self._count
                self._count += 1
        if repeated:
            raise ModelError([f"`coordinates` must differ from one another; given twice: {quoted(repeated)}."])

    def __len__(self) -> int:
        return self._count

    def of(self, given: Any) -> NDArray[np.int64]:
        """Return the positions of an array or of a sequence of coordinates; raise an error for an unknown one."""
        if not isinstance(given, CoordinateArray):
            return np.array([self._one(q) for q in given], np.int64)
        known = self._arrays.get(given.name, np.zeros(0, np.int64))
        inside = given.indices < len(known)
        if not inside.all() or (known[given.indices] < 0).any():
            raise ModelError(
                [f"terms must be stated over coordinates of the system; `{given.name}` is not among them."]
            )
        return known[given.indices]

    def _one(self, coordinate: Any) -> int:
        name = name_of(coordinate)
        if name in self._single:
            return self._single[name]
        part = _ELEMENT.fullmatch(name)
        known = self._arrays.get(part[1], np.zeros(0, np.int64)) if part else np.zeros(0, np.int64)
        if part is None or int(part[2]) >= len(known) or known[int(part[2])] < 0:
            raise ModelError([f"terms must be stated over coordinates of the system; `{name}` is not among them."])
        return int(known[int(part[2])])


def is_single(group: ConstraintGroup) -> bool:
    """Return whether a group is one constraint that was stated by itself."""
    return not group.substitutions.coordinates and not group.substitutions.numbers


def names_of(group: ConstraintGroup) -> Sequence[str]:
    """Return the names of the constraints of a group."""
    return [str(group.template.name)] if is_single(group) else group.names


def is_stated_by_arrays(coordinates: Any, applied_force: Any, constraints: Any) -> bool:
    """Return whether a system is stated by arrays of coordinates or by groups of terms."""
    given = (_sequence(coordinates), _sequence(applied_force), _sequence(constraints))
    kinds = (CoordinateArray, AppliedForce, ConstraintGroup)
    return any(isinstance(part, kinds) for parts in given for part in parts)


def _sequence(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (tuple, list)) else [] if given is None else [given]


def large_statement(coordinates: Any, mass_matrix: Any, applied_force: Any, constraints: Any) -> LargeStatement:
    """Return a system stated by arrays; raise an error that says what is wrong with it."""
    pieces = tuple(_sequence(coordinates))
    found = LargeStatement(
        pieces,
        tuple(_masses(pieces, mass_matrix)),
        tuple(force for part in _sequence(applied_force) for force in _forces(pieces, part)),
        tuple(_group(constraint) for constraint in _sequence(constraints)),
    )
    _require_known(found)
    return found


def _masses(pieces: tuple[Any, ...], given: Any) -> list[AppliedForce]:
    """Return the diagonal of M from one mass for all, one entry for each piece, or one number for each coordinate."""
    if isinstance(given, tuple) and given and all(isinstance(entry, AppliedForce) for entry in given):
        return list(given)  # of a system that is constrained further
    sizes = [len(piece) if isinstance(piece, CoordinateArray) else 1 for piece in pieces]
    entries: Any = [given] * len(pieces)
    if isinstance(given, np.ndarray) and given.shape == (sum(sizes),):
        entries = np.split(given, np.cumsum(sizes)[:-1])
    elif isinstance(given, (tuple, list)) and len(given) == len(pieces):
        entries = list(given)
    elif isinstance(given, (tuple, list)) or np.ndim(given) > 0:
        raise ModelError(
            [
                f"`mass_matrix` of a system stated by arrays must be diagonal: one mass, one for each of the "
                f"{len(pieces)} entries of `coordinates`, or an array of {sum(sizes)} numbers; got {given!r:.80}."
            ]
        )
    return [along(piece, entry, MASS, "`mass_matrix`") for piece, entry in zip(pieces, entries, strict=True)]


def _forces(pieces: tuple[Any, ...], given: Any) -> list[AppliedForce]:
    if isinstance(given, AppliedForce):
        return [given]
    if isinstance(given, Mapping):
        return [along(piece, force, FORCE, "`applied_force`") for piece, force in given.items()]
    if given == 0:
        return []
    raise ModelError(
        [
            "`applied_force` of a system stated by arrays must be `da.AppliedForce` objects, or mappings from "
            f"coordinates to forces; got {given!r:.80}."
        ]
    )


def along(piece: Any, given: Any, symbol: Any, where: str) -> AppliedForce:
    """Return a term along each coordinate of a piece, from one expression or from an array."""
    many = isinstance(piece, CoordinateArray)
    placeholder = new_coordinate(piece.name if many else name_of(piece))
    places = piece if many else (piece,)
    if isinstance(given, ParameterArray) or np.ndim(given):
        values = given if isinstance(given, ParameterArray) else as_numbers(given, where.strip("`"))
        if len(values) != len(places):
            raise ModelError([f"{where} must have {len(places)} entries for `{placeholder.name}`; got {len(values)}."])
        return AppliedForce({placeholder: symbol}, Substitutions({placeholder: places}, {symbol: values}, len(places)))
    expression = as_expression(given, where)
    return AppliedForce({placeholder: expression}, Substitutions({placeholder: places}, {}, len(places)))


def _group(given: Any) -> ConstraintGroup:
    if isinstance(given, ConstraintGroup):
        return given
    if not isinstance(given, Constraint) or given.nonideal or given.name is None or not given.is_permanent:
        raise ModelError(
            [
                "`constraints` of a system stated by arrays must be ideal equations and have names; got "
                f"{given!r:.80}. Write `da.Constraint.over(expression, {{...}}, name=...)`."
            ]
        )
    return ConstraintGroup(given, Substitutions({}, {}, 1))


def _require_known(found: LargeStatement) -> None:
    """Raise an error for unknown coordinates, or names given twice."""
    problems: list[str] = []
    for expressions, copies in found.groups():
        own = {q for expression in expressions for q in functions_of_time(expression)} - copies.coordinates.keys()
        try:
            for places in (*copies.coordinates.values(), tuple(own)):
                found.positions.of(places)
        except ModelError as error:
            problems += error.problems
    names = Counter(str(group.template.name) for group in found.constraints)
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        problems.append(f"constraint names must be unique; given twice: {quoted(twice[:LISTED_NAMES])}.")
    if problems:
        raise ModelError(list(dict.fromkeys(problems)))
