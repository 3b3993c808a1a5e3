# SPDX-License-Identifier: BSD-3-Clause
"""A system with contacts as a method with fixed time steps needs it: rows of gaps and slips, and their coefficients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.errors import InputError
from dalembert.model import graph
from dalembert.model.active_system import active_system
from dalembert.model.constraint import Constraint
from dalembert.model.coordinate_positions import Positions
from dalembert.model.friction import Friction
from dalembert.model.friction_contacts import contacts, with_sticking
from dalembert.model.large_statement import LargeStatement, names_of
from dalembert.model.numeric_function import numeric_function
from dalembert.model.ordering import name_of, quoted
from dalembert.model.similar_terms import grouped_terms, reason_against_groups
from dalembert.model.symbol_arrays import ParameterArray, Substitutions
from dalembert.model.symbols import StateSymbols, functions_of_time, multiplier, reaction, real_symbol
from dalembert.model.system import System
from dalembert.model.term_groups import ConstraintGroup


@dataclass(frozen=True, eq=False)
class CopiedCoefficient:
    """An expression with a value in each copy of a group of contacts."""

    expression: Any
    copies: Substitutions
    positions: Positions

    def values(self, t: float, q: Floats, qd: Floats, p: dict[str, Any]) -> Floats:
        """Return the values (copies,) at a state; p has the values of parameters by name."""
        compute, places, constants = self._function
        own = {real_symbol(symbol): _numbers(values, p) for symbol, values in self.copies.numbers.items()}
        numbers = (own[c] if c in own else p[c.name] for c in constants)
        (found,) = compute(t, *(q[x] for x in places), *(qd[x] for x in places), *numbers)
        return np.array(np.broadcast_to(np.asarray(found, float), (self.copies.count,)))

    @cached_property
    def _function(self) -> tuple[Callable[..., Any], list[Any], list[Any]]:
        """The expression as a function of time, coordinates, velocities and constants, with their places and names."""
        used = sorted(functions_of_time(self.expression), key=name_of)
        symbols = StateSymbols(tuple(used))
        plain = symbols.plain(self.expression)
        state = {*symbols.q, *symbols.qd, symbols.time}
        constants = sorted(graph.free_symbols(plain) - state, key=lambda symbol: symbol.name)
        given = self.copies.coordinates
        places = [self.positions.of(given.get(x, (x,) * self.copies.count)) for x in used]
        compute = numeric_function([symbols.time, *symbols.q, *symbols.qd, *constants], [plain], "numpy")
        return compute, places, constants

    @property
    def is_constant(self) -> bool:
        return not functions_of_time(self.expression)


def _numbers(values: Any, p: dict[str, Any]) -> Any:
    if isinstance(values, ParameterArray):
        return np.asarray(p[values.name])[values.indices]
    if isinstance(values, tuple):
        return np.array([p[v.name] if getattr(v, "is_Symbol", False) else float(v) for v in values])
    return np.asarray(values, float)


@dataclass(frozen=True, eq=False)
class ContactGroup:
    """Contacts of one kind: their rows among those of the statement, and their coefficients.

    normals        (k,) rows of the gaps
    slips          (k, c) rows of the components of the sliding velocity; c is zero without friction
    restitution    None for equations, which have friction and hold in any case
    friction       largest tangential force for one unit of normal force; None without friction
    """

    normals: NDArray[np.int64]
    slips: NDArray[np.int64]
    restitution: CopiedCoefficient | None
    friction: CopiedCoefficient | None


@dataclass(frozen=True, eq=False)
class ContactStatement:
    """A system whose constraints are all equations, followed by the slips of its contacts as further equations.

    names        of the m constraints of the system
    one_sided    (m,) which of them are contacts
    laws         constraint and kind of the friction laws, in the order of the contacts that have one
    """

    statement: LargeStatement
    names: tuple[str, ...]
    one_sided: NDArray[np.bool_]
    contacts: tuple[ContactGroup, ...]
    laws: tuple[tuple[str, str], ...]


@lru_cache(maxsize=8)
def contact_statement(system: System) -> ContactStatement:
    """Return the statement of a system for fixed time steps; raise an error for what they do not support."""
    return _of_arrays(system.statement) if system.is_large and system.statement else _of_terms(system)


def _of_terms(system: System) -> ContactStatement:
    for constraint in system.constraints:
        _refuse_unsupported(constraint)
    whole = active_system(system)
    rough = contacts(whole)
    by_name = {contact.name: contact for contact in rough}
    held = with_sticking(whole, rough, rough)
    reason = reason_against_groups(held)
    if reason:
        raise InputError(f"`da.MoreauJean` must have a system that its steps support; {reason}. Leave the solver out.")
    statement, m = grouped_terms(held), len(system.constraints)
    positions, one = statement.positions, Substitutions({}, {}, 1)
    unknown = [contact.name for contact in rough if contact.name not in whole.constraint_names]
    if unknown:
        raise InputError(
            f"dry friction with fixed time steps must belong to a constraint, whose reaction is its normal force; that "
            f"of `{unknown[0]}` does not. Give the law to a constraint."
        )
    starts = dict(zip(by_name, m + np.cumsum([0, *(len(c.velocity) for c in rough)]), strict=False))
    groups: list[ContactGroup] = []
    for row, constraint in enumerate(system.constraints):
        name = str(constraint.name)
        contact = by_name.get(name)
        if contact is None and not constraint.one_sided:
            continue
        count = 0 if contact is None else len(contact.velocity)
        slips = int(starts.get(name, 0)) + np.arange(count)[None]
        friction = None
        if contact is not None:
            law = whole.laws[contact.number].law
            friction = CopiedCoefficient(_per_unit(law, contact.normal_size, name), one, positions)
        restitution = CopiedCoefficient(constraint.restitution, one, positions) if constraint.one_sided else None
        groups.append(ContactGroup(np.array([row]), slips, restitution, friction))
    one_sided = np.array([c.one_sided for c in system.constraints], bool)
    kinds = tuple((c.name, whole.laws[c.number].law.kind) for c in sorted(rough, key=lambda c: starts[c.name]))
    return ContactStatement(statement, system.constraint_names, one_sided, tuple(groups), kinds)


def _of_arrays(stated: LargeStatement) -> ContactStatement:
    m, slips, groups = len(stated.constraint_names), list[ConstraintGroup](), list[ContactGroup]()
    one_sided, kinds, equations = np.zeros(m, bool), list[tuple[str, str]](), list[ConstraintGroup]()
    row = m
    for numbers, group in zip(stated.rows, stated.constraints, strict=True):
        template, copies = group.template, group.substitutions
        _refuse_unsupported(template)
        rough = [law for law in template.nonideal if isinstance(law, Friction) and law.can_stick]
        others = tuple(law for law in template.nonideal if law not in rough)
        own: list[Any] = []
        _refuse_incomplete(rough, str(template.name))
        for law in rough:
            velocity = law.sliding_velocity(())
            for i, component in enumerate(velocity):
                expression = Constraint(component, name=f"{template.name}: slip {i}")
                names = tuple(f"{name}: slip {i}" for name in names_of(group))
                slips.append(ConstraintGroup(expression, copies, names))
                own.append(row + np.arange(len(group)))
                row += len(group)
            kinds += [(name, law.kind) for name in names_of(group)]
        equations.append(replace(group, template=_as_equation(template, others)))
        one_sided[numbers] = template.one_sided
        if not (rough or template.one_sided):
            continue
        friction = _per_unit(rough[0], rough[0].normal_size, str(template.name)) if rough else None
        groups.append(
            ContactGroup(
                numbers,
                np.array(own, np.int64).T.reshape(len(group), -1),
                CopiedCoefficient(template.restitution, copies, stated.positions) if template.one_sided else None,
                None if friction is None else CopiedCoefficient(friction, copies, stated.positions),
            )
        )
    order = np.concatenate([*stated.rows, np.arange(m, row)]).astype(np.int64)
    held = replace(stated, constraints=(*equations, *slips), order=order)
    return ContactStatement(held, stated.constraint_names, one_sided, tuple(groups), tuple(kinds))


def _as_equation(template: Constraint, laws: tuple[Any, ...]) -> Constraint:
    return replace(template, nonideal=laws, restitution=None, impact="newton", one_sided=False)


def _per_unit(law: Friction, normal_size: Any, name: str) -> Any:
    """Return the largest friction for one unit of the reaction of its own constraint."""
    mu, at_rest = law.friction_coefficient(sp.S.Zero), law.static_coefficient
    moving = law.friction_coefficient(sp.Symbol("speed", positive=True))
    if not mu == at_rest == moving:
        raise InputError(
            f"friction with fixed time steps must have one coefficient, whatever the speed; that of `{name}` has "
            f"several. Give it `da.Coulomb(mu)`."
        )
    others = {symbol.name for symbol in graph.atoms(normal_size, multiplier, reaction)} - {name}
    if others or not graph.atoms(normal_size, multiplier, reaction):
        raise InputError(
            f"friction with fixed time steps must be proportional to the reaction of its own constraint; that of "
            f'`{name}` is not. Give `normal_force` by `da.multiplier("{name}")`.'
        )
    return mu * graph.replace(normal_size, {multiplier(name): sp.S.One, reaction(name): sp.S.One})


def _refuse_incomplete(rough: Sequence[Friction], name: str) -> None:
    """Raise an error for friction of a group of contacts that does not say what it needs."""
    for law in rough:
        missing = [part for part in ("velocity", "normal_force") if getattr(law, part) is None]
        if missing:
            raise InputError(
                f"friction of contacts that are stated by `da.Constraint.over` must be given its `velocity` and its "
                f"`normal_force`; that of `{name}` lacks {quoted(missing)}. Write them in the placeholders of the "
                f'group, with `da.multiplier("{name}")`.'
            )


def _refuse_unsupported(constraint: Constraint) -> None:
    """Raise an error for a constraint that velocities at the end of a step do not determine."""
    name = constraint.name
    rough = any(isinstance(law, Friction) and law.can_stick for law in constraint.nonideal)
    if constraint.releases or not constraint.active:
        raise InputError(
            f"constraints with fixed time steps must be equations or inequalities that are never switched; `{name}` "
            f"is released or switched by an event. Leave out `solver`, or write an inequality."
        )
    if constraint.level == "acceleration":
        raise InputError(f"`da.MoreauJean` needs constraints of positions or velocities; `{name}` has accelerations.")
    if constraint.one_sided and (constraint.impact == "poisson" or (rough and constraint.impact != "moreau")):
        raise InputError(
            f"impacts with fixed time steps must follow Moreau's law: restitution of velocities, and friction against "
            f"the slip after the step. `{name}` has `impact={constraint.impact!r}`"
            f'{" with friction" if rough else ""}. Pass `impact="moreau"`, or leave out `solver`.'
        )
    if constraint.one_sided and any(not isinstance(law, Friction) or not law.can_stick for law in constraint.nonideal):
        raise InputError(
            f"a contact with fixed time steps must be ideal, or have dry friction without `smoothing`; `{name}` has "
            f"another law. Replace it by `da.Coulomb(mu)`, or leave out `solver`."
        )
    if len([law for law in constraint.nonideal if isinstance(law, Friction) and law.can_stick]) > 1:
        raise InputError(f"a contact with fixed time steps must have one friction law; `{name}` has several.")
