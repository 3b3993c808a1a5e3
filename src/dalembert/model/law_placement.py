# SPDX-License-Identifier: BSD-3-Clause
"""Placement of laws: the sliding velocity and the normal force of a law from its constraint."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import sympy as sp

from dalembert.model import graph
from dalembert.model.constraint import Constraint
from dalembert.model.expressions import as_expression
from dalembert.model.friction import Friction, as_normal_force
from dalembert.model.laws import Law, Prescribed, Proportional, SlidingLaw
from dalembert.model.ordering import name_of, quoted
from dalembert.model.standard_form import constraint_gradient, gradient
from dalembert.model.symbols import StateSymbols, functions_of_time, multiplier, plain_multiplier, reaction, t


@dataclass(frozen=True)
class PlacedLaw:
    """A law with its velocity and normal force, of one constraint, or of the system if ``constraint`` is empty.

    kind       the name of the law as it was given
    assumed    the coordinates assumed to be the Cartesian ones of a particle, for arguments that were not given
    """

    constraint: str
    kind: str
    law: Any
    assumed: tuple[str, ...] = ()

    @property
    def described(self) -> str:
        return f"{self.kind} of `{self.constraint}`" if self.constraint else self.kind

    @property
    def remark(self) -> str:
        """The assumption about coordinates as a sentence; empty if there is none."""
        if not self.assumed:
            return ""
        return f"{self.described} takes {quoted(self.assumed)} for the Cartesian coordinates of one particle."

    @property
    def actual(self) -> bool:
        """True if the law depends on the reaction that it changes."""
        law = self.law
        return isinstance(law, Friction) and law.normal == "actual" and any(map(_multipliers, law.normal_components))


def placed_laws(system: Any) -> tuple[tuple[PlacedLaw, ...], list[str]]:
    """Return all laws of a system with their places, and the problems with them as sentences."""
    n = len(system.coordinates)
    given = [(None, law) for law in system.nonideal]
    given += [(constraint, law) for constraint in system.constraints for law in constraint.nonideal]
    if system.mass_matrix.shape != (n, n) or _unknown_functions(system, [c for c, _ in given if c]):
        return (), []  # reported already, and no law can be placed
    laws: list[PlacedLaw] = []
    problems: list[str] = []
    for constraint, law in given:
        placed, found = _placed(law, constraint, system)
        problems += found
        laws += [] if found else [_with_components(placed)]
    return tuple(laws), problems


def general_components(placed: PlacedLaw, coordinates: Sequence[Any]) -> tuple[Any, ...]:
    """Return C of a law by its components, with ``da.reaction`` where it depends on the reactions that it changes."""
    components = placed.law.components(coordinates)
    if not placed.actual:
        return components
    known = {node: reaction(node.name) for component in components for node in _multipliers(component)}
    return tuple(graph.replace(component, known) for component in components)


def _with_components(placed: PlacedLaw) -> PlacedLaw:
    """Return the law with its actual normal force as a vector, if the force is the length of one."""
    if not placed.actual:
        return placed
    return replace(placed, law=replace(placed.law, normal_force=as_normal_force(_components(placed.law))))


def _components(law: Friction) -> tuple[Any, ...]:
    """Return the components of the normal force; those of √(a² + b² + …) are a, b, …"""
    parts = law.normal_components
    root = parts[0]
    if len(parts) > 1 or not (isinstance(root, sp.Pow) and root.exp == sp.S.Half):
        return parts
    roots = (sp.sqrt(term) for term in sp.Add.make_args(root.base))
    return tuple(map(_without_bars, roots))


def _without_bars(expression: Any) -> Any:
    return graph.mapped(
        expression,
        lambda node, parts: parts[0] if isinstance(node, sp.Abs) else node.func(*parts) if parts else node,
        {},
    )


def _multipliers(expression: Any) -> set[Any]:
    return graph.atoms(expression, multiplier)


def _unknown_functions(system: Any, constraints: list[Constraint]) -> set[Any]:
    return {f for c in constraints for f in functions_of_time(c.expression)} - set(system.coordinates)


def _placed(law: Law, constraint: Constraint | None, system: Any) -> tuple[PlacedLaw, list[str]]:
    name = "" if constraint is None else str(constraint.name)
    placed = PlacedLaw(name, law.kind, _of_actual_multipliers(law))
    law = placed.law
    if constraint is None:
        return placed, _missing(law, placed.described) or _sliding_problems(law, placed.described, system)
    row = _Contact.of(constraint, system)
    if isinstance(law, Proportional):
        force = [-as_expression(law.coefficient, "`coefficient`") * multiplier(name) * slope for slope in row.gradient]
        return replace(placed, law=Prescribed(force)), []
    known: dict[str, Any] = {}
    problems: list[str] = []
    if isinstance(law, SlidingLaw) and law.velocity is None:
        problems += row.velocity_problems(placed.described)
        known["velocity"] = row.velocity
    if isinstance(law, Friction) and law.normal_force is None:
        problems += row.normal_problems(placed.described)
        known["normal_force"] = multiplier(name) * row.length
    if problems or not known:
        return placed, problems or _sliding_problems(law, placed.described, system)
    law = replace(law, **known)  # pyright: ignore  (all sliding laws are dataclasses)
    assumed = tuple(name_of(q) for q in row.particle)
    return replace(placed, law=law, assumed=assumed), _sliding_problems(law, placed.described, system)


def _of_actual_multipliers(law: Law) -> Law:
    """Return friction whose normal force is one of multipliers, which ``normal="actual"`` makes reactions."""
    if not (isinstance(law, Friction) and law.normal == "actual" and law.normal_force is not None):
        return law
    parts = [
        graph.replace(part, {node: multiplier(node.name) for node in graph.atoms(part, reaction)})
        for part in law.normal_components
    ]
    return replace(law, normal_force=as_normal_force(parts))  # pyright: ignore  (all sliding laws are dataclasses)


@dataclass(frozen=True)
class _Contact:
    """The properties of a constraint that its laws depend on.

    gradient    the row of A
    particle    the coordinates of the particle on which it acts; empty if they cannot be identified
    affected    the coordinates on which its force acts
    moving      whether it depends on time explicitly
    surface_motion    how another constraint moves the surface, as a clause; empty if none does
    """

    constraint: Constraint
    gradient: tuple[Any, ...]
    particle: tuple[Any, ...]
    affected: tuple[Any, ...]
    moving: bool
    surface_motion: str

    @classmethod
    def of(cls, constraint: Constraint, system: Any) -> _Contact:
        symbols = StateSymbols(system.coordinates)
        row = constraint_gradient(constraint, symbols)
        affected = [i for i, slope in enumerate(row) if slope != 0]
        particle = _particle(system.mass_matrix, affected)
        mine, own = (tuple(system.coordinates[i] for i in places) for places in (particle, affected))
        surface_motion = _motion_of_surface(constraint, set(particle), system) if particle else ""
        return cls(constraint, row, mine, own, _moves(constraint, symbols), surface_motion)

    @property
    def velocity(self) -> tuple[Any, ...]:
        return tuple(q.diff(t) for q in self.particle)

    @property
    def length(self) -> Any:
        """|∂φ/∂q|."""
        return sp.sqrt(sp.Add(*(slope**2 for slope in self.gradient)))

    def velocity_problems(self, where: str) -> list[str]:
        if not self.particle:
            return [self._unknown(where, "velocity", "the sliding velocity, linear in the velocities")]
        if self.moving:
            return [
                f"the nonideal law {where} must be given its `velocity` relative to the surface, because the surface "
                f"moves with time."
            ]
        if self.surface_motion:
            return [
                f"the nonideal law {where} must be given its `velocity`, relative to the surface on which it slides: "
                f"{self.surface_motion}."
            ]
        return []

    def normal_problems(self, where: str) -> list[str]:
        what = f'the normal force as an expression of `da.multiplier("{self.constraint.name}")`'
        return [] if self.particle else [self._unknown(where, "normal_force", what)]

    def _unknown(self, where: str, argument: str, what: str) -> str:
        names = quoted(name_of(q) for q in self.affected)
        return (
            f"the nonideal law {where} must be given its `{argument}`: {what}. It can be left out only on one particle "
            f"in Cartesian coordinates, two or three that share one constant mass; {names} cannot be identified as "
            f"such."
        )


def _moves(constraint: Constraint, symbols: StateSymbols) -> bool:
    """Return whether a constraint depends on time explicitly."""
    return symbols.time in graph.free_symbols(symbols.plain(constraint.expression))


def _motion_of_surface(own: Constraint, particle: set[int], system: Any) -> str:
    """Return how another constraint moves a particle; both then define the surface, which may move."""
    symbols = StateSymbols(system.coordinates)
    for other in system.constraints:
        if other is own or _unknown_functions(system, [other]):
            continue
        affected = {i for i, slope in enumerate(constraint_gradient(other, symbols)) if slope != 0}
        if not affected & particle:
            continue
        if _moves(other, symbols):
            return f"`{other.name}`, which holds the same particle, moves with time"
        if affected - particle:
            names = quoted(name_of(system.coordinates[i]) for i in sorted(affected - particle))
            return f"`{other.name}`, which holds the same particle, depends on {names} too"
    return ""


def _particle(M: Any, affected: list[int]) -> list[int]:
    """Return the two or three coordinates of one particle: equal constant mass, and coupled to no others."""

    def alone(i: int) -> bool:
        return all(M[i, j] == 0 for j in range(M.cols) if j != i)

    def constant(mass: Any) -> bool:
        return not functions_of_time(mass) and t not in graph.free_symbols(mass)

    if not affected or not constant(M[affected[0], affected[0]]):
        return []
    group = [i for i in range(M.rows) if alone(i) and M[i, i] == M[affected[0], affected[0]]]
    return group if 2 <= len(group) <= 3 and set(affected) <= set(group) else []


def _missing(law: Law, where: str) -> list[str]:
    """Return the problems of friction that belongs to the whole system, which has no constraint to derive from."""
    if not isinstance(law, Friction):
        return []
    missing = [name for name in ("velocity", "normal_force") if getattr(law, name) is None]
    if not missing:
        return []
    return [
        f"the nonideal law {where} must be given its {quoted(missing)}, or be the law of a constraint, as in "
        f"`da.Constraint(..., nonideal=da.{type(law).__name__}(...))`."
    ]


def _sliding_problems(law: Law, where: str, system: Any) -> list[str]:
    """Return the problems of a law: velocity and actual normal force must be linear."""
    if not isinstance(law, SlidingLaw):
        return []
    symbols = StateSymbols(system.coordinates)
    problems: list[str] = []
    for component in law.sliding_velocity(system.coordinates):
        slopes = gradient(symbols.plain(component), symbols.qd)
        if graph.free_symbols(*slopes) & set(symbols.qd) or not any(slopes):
            problems.append(
                f"the `velocity` of the nonideal law {where} must be linear in the velocities; "
                f"`{symbols.readable(component)}` is not."
            )
    if isinstance(law, Friction):
        problems += _normal_problems(law, where, symbols)
    return problems


def _normal_problems(law: Friction, where: str, symbols: StateSymbols) -> list[str]:
    """Return the problems of an actual normal force: its components must be linear in multipliers."""
    if law.normal == "ideal" or not any(map(_multipliers, law.normal_components)):
        return []
    for component in _components(law):
        normal = symbols.plain(component)
        multipliers = [plain_multiplier(m.name) for m in _multipliers(component)]
        slopes = gradient(normal, multipliers)
        curved = graph.free_symbols(*slopes) & set(multipliers)
        if curved or graph.free_symbols(normal) & set(symbols.ideal_force):
            text = symbols.readable(sp.Tuple(*law.normal_components) if len(law.normal_components) > 1 else component)
            return [
                f"the `normal_force` of the nonideal law {where} must be linear in `da.multiplier`s, or the length of "
                f"a vector whose components are; `{text}` is not. Give the components as a tuple, or use "
                f'`normal="ideal"`.'
            ]
    return []
