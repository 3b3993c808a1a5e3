# SPDX-License-Identifier: BSD-3-Clause
"""Groups of constraints and of forces: one expression, used at many places of a large system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import sympy as sp

from dalembert.common.names import listed, name_of, summary
from dalembert.errors import ModelError
from dalembert.model import graph
from dalembert.model.constraint import Constraint
from dalembert.model.differentiation import gradient
from dalembert.model.expressions import as_expression
from dalembert.model.symbol_arrays import Substitutions, substitutions
from dalembert.model.symbols import functions_of_time, multiplier, reaction


@dataclass(frozen=True, eq=False)
class ConstraintGroup:
    """Constraints ``rod[0]``, ``rod[1]``, …, which differ only in their coordinates and numbers.

    ``da.Constraint.over`` makes it; ``group[i]`` is one of its constraints.
    """

    template: Constraint
    substitutions: Substitutions
    own_names: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.substitutions.count

    def __getitem__(self, i: int) -> Constraint:
        if not -len(self) <= i < len(self):
            raise IndexError(i)
        i %= len(self)
        rules = self.substitutions.at(i)
        expression = graph.replace(self.template.expression, rules)
        own = {kind(str(self.template.name)): kind(self.name(i)) for kind in (multiplier, reaction)}
        laws = tuple(replaced_law(law, rules | own) for law in self.template.nonideal)
        return replace(
            self.template,
            expression=expression.doit(),
            name=self.name(i),
            nonideal=laws,
            restitution=None if self.template.restitution is None else graph.replace(self.template.restitution, rules),
        )

    def __iter__(self) -> Iterator[Constraint]:
        return (self[i] for i in range(len(self)))

    def name(self, i: int) -> str:
        """Return the name of one constraint."""
        return self.own_names[i] if self.own_names else f"{self.template.name}[{i}]"

    @property
    def names(self) -> Sequence[str]:
        return [self.name(i) for i in range(len(self))]

    def __repr__(self) -> str:
        name, last = self.template.name, len(self) - 1
        return f"<ConstraintGroup of {len(self)}: {name}[0] … {name}[{last}]>"


def replaced_law(law: Any, rules: Mapping[Any, Any]) -> Any:
    """Return a law with symbols replaced in all of its expressions."""

    def replaced(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(replaced(part) for part in value)
        return graph.replace(value, rules).doit() if isinstance(value, sp.Basic) else value

    return replace(law, **{own.name: replaced(getattr(law, own.name)) for own in fields(law)})


def constraint_group(
    expression: Any, over: Any, name: str, nonideal: Any = (), restitution: Any = None, impact: Any = "newton"
) -> ConstraintGroup:
    """Return the constraints that an expression gives with the coordinates and numbers of each copy."""
    if not isinstance(name, str) or not name:
        raise ModelError([f"a group of constraints must have a name; got {name!r}. Pass `name=`."])
    template = Constraint(expression, name=name, nonideal=nonideal, restitution=restitution, impact=impact)
    found = substitutions(over, f"constraint `{name}`")
    _require_placed(template.expression, found, f"constraint `{name}`")
    return ConstraintGroup(template, found)


@dataclass(frozen=True, eq=False)
class AppliedForce:
    """A force law used at many places of a large system, such as a spring between neighbours.

    ``da.AppliedForce.over`` and ``da.AppliedForce.from_potential`` make it; a large ``da.System`` takes several of them
    as its ``applied_force``, which are added.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x", 3)
    >>> u, v = da.coordinates("u v")
    >>> springs = da.AppliedForce.over({u: v - u, v: u - v}, {u: x[:-1], v: x[1:]})
    >>> system = da.System(x, mass_matrix=1, applied_force=springs)
    >>> print(da.motion(system, q=(0, 0, 1), qd=(0, 0, 0)).acceleration)
    [ 0.  1. -1.]
    """

    components: dict[Any, Any]
    substitutions: Substitutions

    @classmethod
    def over(cls, components: Any, over: Any) -> AppliedForce:
        """Return forces along coordinates, by placeholder, with the coordinates and numbers of each copy.

        Parameters
        ----------
        components    a mapping from placeholder coordinates to expressions
        over          a mapping from placeholders to arrays: coordinates to coordinates, symbols to numbers

        Raises
        ------
        ModelError    if a placeholder is unknown, or arrays differ in length
        """
        found = substitutions(over, "an applied force")
        if not isinstance(components, dict) or not components or not components.keys() <= found.coordinates.keys():
            raise ModelError(
                [f"an applied force must have components along coordinates that it is stated over; got {components!r}."]
            )
        return cls({key: as_expression(value, "an applied force") for key, value in components.items()}, found)

    @classmethod
    def from_potential(cls, potential: Any, over: Any) -> AppliedForce:
        """Return the forces −∂V/∂q of a potential V, with the coordinates and numbers of each copy.

        >>> import dalembert as da
        >>> x = da.coordinates("x", 3)
        >>> u, v = da.coordinates("u v")
        >>> springs = da.AppliedForce.from_potential((u - v)**2 / 2, {u: x[:-1], v: x[1:]})
        """
        found = substitutions(over, "a potential")
        energy = as_expression(potential, "a potential")
        own = functions_of_time(energy) & found.coordinates.keys()
        along = [q for q in found.coordinates if q in own]
        return cls.over({q: -slope for q, slope in zip(along, gradient(energy, along), strict=True)}, over)

    def __len__(self) -> int:
        return self.substitutions.count

    def __repr__(self) -> str:
        return summary(f"AppliedForce along {listed(map(name_of, self.components))}", f"{len(self)} copies")


@dataclass(frozen=True, eq=False)
class MassEntries:
    """Entries of a mass matrix used at many places of a large system, such as those of equal bodies.

    ``da.MassEntries.over`` makes it; a large ``da.System`` takes several of them as its ``mass_matrix``, which are
    added.

    Examples
    --------
    >>> import sympy as sp
    >>> import dalembert as da
    >>> x, theta = da.coordinates("x", 3), da.coordinates("theta", 3)
    >>> u, a = da.coordinates("u a")
    >>> carts = da.MassEntries.over({(u, u): 3, (u, a): sp.cos(a), (a, a): 1}, {u: x, a: theta})
    >>> system = da.System((x, theta), mass_matrix=carts, applied_force={x: 2})
    >>> print(da.motion(system, q=(0,) * 6, qd=(0,) * 6).acceleration)
    [ 1.  1.  1. -1. -1. -1.]
    """

    components: dict[tuple[Any, Any], Any]
    substitutions: Substitutions

    @classmethod
    def over(cls, entries: Any, over: Any) -> MassEntries:
        """Return entries of M by pairs of placeholders, with the coordinates and numbers of each copy.

        Parameters
        ----------
        entries    a mapping from pairs of placeholder coordinates to expressions; M is symmetric, and each pair of
                   different ones is given once
        over       a mapping from placeholders to arrays: coordinates to coordinates, symbols to numbers

        Raises
        ------
        ModelError    if a pair is unknown or given twice, or arrays differ in length
        """
        found = substitutions(over, "an entry of a mass matrix")
        known, components = found.coordinates.keys(), dict[tuple[Any, Any], Any]()
        for pair, value in entries.items() if isinstance(entries, dict) else ():
            if not isinstance(pair, tuple) or len(pair) != 2 or not known >= {*pair} or pair[::-1] in components:
                components.clear()
                break
            components[pair] = as_expression(value, "an entry of a mass matrix")
        if not components:
            raise ModelError(
                [
                    "entries of a mass matrix must be a mapping from pairs of coordinates that they are stated over, "
                    f"each pair once; got {entries!r}. Write `{{(u, u): m, (u, v): c}}`."
                ]
            )
        return cls(components, found)

    def __len__(self) -> int:
        return self.substitutions.count

    def __repr__(self) -> str:
        names = listed(f"({', '.join(map(name_of, pair))})" for pair in self.components)
        return summary(f"MassEntries at {names}", f"{len(self)} copies")


@dataclass(frozen=True, eq=False)
class RateInertia:
    """The inertia w of a rate r = aᵀq̇, used at many places of a large system, such as that of rotors on joints.

    It adds w a aᵀ to the mass matrix, which would couple the coordinates of all bodies that joints connect: M is kept
    as the sum of its blocks and of these terms. The force −w a ȧᵀq̇ is stated among the applied forces.
    """

    rate: Any
    weight: Any
    substitutions: Substitutions

    @property
    def kinetic(self) -> Any:
        return self.weight * self.rate**2 / 2

    def __len__(self) -> int:
        return self.substitutions.count


@dataclass(frozen=True, eq=False)
class LagrangianTerm:
    """A term of a Lagrangian that is used at many places of a large system."""

    expression: Any
    substitutions: Substitutions


def _require_placed(expression: Any, found: Substitutions, label: str) -> None:
    """Raise an error if a symbol that is replaced does not occur: a slip of the pen would go unnoticed."""
    used = functions_of_time(expression) | graph.free_symbols(expression)
    if not used & (found.coordinates.keys() | found.numbers.keys()):
        raise ModelError([f"{label} must contain a symbol that it is stated over; got `{graph.shown(expression)}`."])
