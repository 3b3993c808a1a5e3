# SPDX-License-Identifier: BSD-3-Clause
"""Nonideal laws of a large system in groups: one expression for each component of C, used by many laws."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import ModelError
from dalembert.model import graph
from dalembert.model.differentiation import gradient
from dalembert.model.expressions import as_expression
from dalembert.model.friction import Friction, as_normal_force
from dalembert.model.laws import Law, Prescribed, Proportional, SlidingLaw, Viscous
from dalembert.model.ordering import name_of
from dalembert.model.symbol_arrays import CoordinateArray, Substitutions
from dalembert.model.symbols import coordinates as new_coordinate
from dalembert.model.symbols import functions_of_time, ideal_force, multiplier, reaction, t
from dalembert.model.term_groups import AppliedForce, ConstraintGroup


@dataclass(frozen=True, eq=False)
class LawGroup:
    """Components of C of many laws.

    force           the components, along placeholder coordinates, with the substitutions of each copy
    numbers         (copies,) the number of the law that each copy belongs to
    coefficients    expressions that must not be negative
    what            the law, for messages
    sticks          whether it is dry friction that holds surfaces at rest
    """

    force: AppliedForce
    numbers: NDArray[np.int64]
    coefficients: tuple[Any, ...] = ()
    what: str = ""
    sticks: bool = False

    @property
    def depends(self) -> Literal["state", "ideal", "actual"]:
        """The quantities besides the state on which C depends."""
        parts = self.force.components.values()
        if any(graph.has_kind(part, reaction) for part in parts):
            return "actual"
        return "ideal" if any(graph.has_kind(part, multiplier, ideal_force) for part in parts) else "state"


@dataclass(frozen=True, eq=False)
class PlacedLaws:
    """All laws of a large system in groups, with constraint and kind of each law; the former may be empty."""

    groups: tuple[LawGroup, ...] = ()
    names: tuple[tuple[str, str], ...] = ()

    @cached_property
    def needs_forces(self) -> bool:
        """Whether a law depends on the forces of constraints."""
        return any(group.depends != "state" for group in self.groups)


def laws_of_groups(
    constraints: Sequence[ConstraintGroup], nonideal: Sequence[Law], pieces: Iterable[Any]
) -> PlacedLaws:
    """Return the laws of groups of constraints and of the whole system; raise an error for those not supported."""
    groups: list[LawGroup] = []
    names: list[tuple[str, str]] = []
    for law in nonideal:  # in the order of ``law_placement.placed_laws``
        groups += _of_system(law, pieces, len(names))
        names.append(("", law.kind))
    for group in constraints:
        for law in group.template.nonideal:
            groups.append(_of_constraints(law, group, len(names)))
            own = group.names if _has_copies(group) else [str(group.template.name)]
            names += [(name, law.kind) for name in own]
    return PlacedLaws(tuple(groups), tuple(names))


def _has_copies(group: ConstraintGroup) -> bool:
    return bool(group.substitutions.coordinates or group.substitutions.numbers)


def _of_constraints(law: Law, group: ConstraintGroup, first: int) -> LawGroup:
    """Return one law of each constraint of a group, numbered from ``first`` on."""
    copies, name = group.substitutions, str(group.template.name)
    where = f"{law.kind} of `{name}`"
    own = {name: group.names} if _has_copies(group) else {}
    along = sorted(functions_of_time(group.template.expression) | _coordinates_in(law), key=name_of)
    if isinstance(law, Proportional):
        slopes = gradient(group.template.expression, _rates(group.template.level, along))
        factor = -as_expression(law.coefficient, "`coefficient`") * multiplier(name)
        components = {q: factor * slope for q, slope in zip(along, slopes, strict=True)}
    else:
        components = dict(zip(along, _placed(law, where).components(along), strict=True))
    force = AppliedForce(
        {q: c for q, c in components.items() if c != 0},
        Substitutions(copies.coordinates, copies.numbers, copies.count, own),
    )
    return LawGroup(force, first + np.arange(len(group)), *_details(law, where))


def _rates(level: str, coordinates: Sequence[Any]) -> list[Any]:
    order = {"position": 0, "velocity": 1, "acceleration": 2}[level]
    return [q.diff(t, order) if order else q for q in coordinates]


def _of_system(law: Law, pieces: Iterable[Any], number: int) -> list[LawGroup]:
    """Return the components of one law of the whole system."""
    if isinstance(law, Viscous) and law.velocity is None:
        found: list[LawGroup] = []
        for piece in pieces:
            many = isinstance(piece, CoordinateArray)
            places, q = (piece, new_coordinate(piece.name)) if many else ((piece,), new_coordinate(name_of(piece)))
            drag = -as_expression(law.coefficient, "`coefficient`") * q.diff(t)
            force = AppliedForce({q: drag}, Substitutions({q: places}, {}, len(places)))
            found.append(LawGroup(force, np.full(len(places), number), *_details(law, law.kind)))
        return found
    along = sorted(_coordinates_in(law), key=name_of)
    components = dict(zip(along, _placed(law, f"{law.kind} in `nonideal`").components(along), strict=True))
    force = AppliedForce({q: c for q, c in components.items() if c != 0}, Substitutions({}, {}, 1))
    return [LawGroup(force, np.array([number]), *_details(law, law.kind))]


def _details(law: Law, where: str) -> tuple[tuple[Any, ...], str, bool]:
    coefficients = tuple(as_expression(one.value, "a coefficient") for one in law.coefficients)
    return coefficients, where, isinstance(law, Friction) and law.can_stick


def _coordinates_in(law: Law) -> set[Any]:
    """Return the coordinates along which a law may act: those of its velocity, or those that it names."""
    if isinstance(law, SlidingLaw):
        return {q for v in law.velocity or () for q in functions_of_time(v)}
    if isinstance(law, Prescribed) and all(isinstance(key, str) for key, _ in law.expressions):
        return {new_coordinate(key) for key, _ in law.expressions}
    return set()


def _placed(law: Law, where: str) -> Law:
    """Return a law of the actual reactions as one of ``da.reaction``; raise an error if an argument is missing."""
    missing = ["velocity"] if isinstance(law, SlidingLaw) and law.velocity is None else []
    missing += ["normal_force"] if isinstance(law, Friction) and law.normal_force is None else []
    if missing:
        names = " and ".join(f"`{name}`" for name in missing)
        raise ModelError(
            [f"the nonideal law {where} must be given its {names}: a system stated by arrays does not derive them."]
        )
    by_name = isinstance(law, Prescribed) and all(isinstance(key, str) for key, _ in law.expressions)
    if law.scaled or (isinstance(law, Prescribed) and not by_name):
        raise ModelError(
            [f"the nonideal law {where} of a system stated by arrays must map coordinates to components of C."]
        )
    if isinstance(law, Friction) and law.normal == "actual":
        known = {node: reaction(node.name) for part in law.normal_components for node in graph.atoms(part, multiplier)}
        parts = [graph.replace(part, known) for part in law.normal_components]
        return replace(law, normal_force=as_normal_force(parts))  # pyright: ignore  (all sliding laws are dataclasses)
    return law
