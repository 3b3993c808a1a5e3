# SPDX-License-Identifier: BSD-3-Clause
"""Ensemble members whose constraints change at events: their states, and the systems that are active in turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.ensembles.modes_of_many import ModeOfMany
from dalembert.ensembles.stick_slip_transitions import MemberPhases, Transitions, groups
from dalembert.equation.dynamics import native_of
from dalembert.impacts.contact_terms_of_many import ContactTermsOfMany
from dalembert.integration.method import Method
from dalembert.lowering.build import build
from dalembert.model import graph
from dalembert.model.active_system import active_system
from dalembert.model.event import Event, further_parameters
from dalembert.model.expression_values import expression_values
from dalembert.model.friction_contacts import Contact, contacts
from dalembert.model.symbols import multiplier, reaction
from dalembert.model.system import System

Flags = NDArray[np.bool_]
Numbers = NDArray[np.intp]


@dataclass
class SwitchingMembers:
    """N members of a system with m constraints, E events, and f contacts under dry friction.

    number                  (N,) of each member among those of its block
    y, t, p, scales         states (N, 2n), times (N,), values of parameters (N, k), and scales of the start (N, 2n)
    active, closed          (N, m) equations that hold, and contacts that are closed
    sticking, directions    (N, f) contacts that stick, and slip directions of the others
    signs, offsets          (N, E + m) of the guards of events and constraints
    watched                 (N, E) events that occur at their next zero; others must change their sign first
    releases                (N, m) signs of the forces of constraints that are released when these change
    odd                     (N,) members that must be simulated by themselves
    """

    number: Numbers
    y: Floats
    t: Floats
    p: Floats
    scales: Floats
    active: Flags
    closed: Flags
    sticking: Flags
    directions: Floats
    signs: Floats
    offsets: Floats
    watched: Flags
    releases: Floats
    odd: Flags

    def __len__(self) -> int:
        return len(self.t)

    @property
    def at(self) -> tuple[Floats, Floats, Floats]:
        """States, times and parameters."""
        return self.y, self.t, self.p

    def subset(self, own: Any) -> SwitchingMembers:
        return SwitchingMembers(*(getattr(self, name.name)[own] for name in fields(self)))

    def put(self, own: Any, part: SwitchingMembers) -> None:
        """Replace some members."""
        for name in fields(self):
            getattr(self, name.name)[own] = getattr(part, name.name)


@dataclass(eq=False)
class ActiveSet:
    """The system in which some constraints hold as equations, for all members in which they do.

    rows       the numbers of these constraints
    guarded    the numbers of the guards: events, then E + i for constraint i
    """

    model: SwitchingModel
    active: Flags

    @cached_property
    def system(self) -> System:
        names = zip(self.model.system.constraint_names, self.active, strict=True)
        return active_system(self.model.system, frozenset(name for name, own in names if own))

    @cached_property
    def rows(self) -> list[int]:
        return np.flatnonzero(self.active).tolist()

    @cached_property
    def contacts(self) -> tuple[Contact, ...]:
        return contacts(self.system)

    @cached_property
    def places(self) -> list[int]:
        """The numbers of its contacts among those of the whole system, whose laws are numbered otherwise."""
        known = [(c.name, c.velocity) for c in self.model.friction]
        return [known.index((c.name, c.velocity)) for c in self.contacts]

    @cached_property
    def columns(self) -> list[int]:
        return self.model.terms.columns(self.system.parameter_names)

    @cached_property
    def further(self) -> tuple[str, ...]:
        """The names of parameters that this system does not have."""
        return tuple(name for name in self.model.terms.names if name not in self.system.parameter_names)

    @cached_property
    def event_expressions(self) -> tuple[Any, ...]:
        """The expressions of events; the force of a constraint that does not hold is zero."""
        return tuple(self._known_forces(event.expression) for event in self.model.events)

    def _known_forces(self, expression: Any) -> Any:
        # without nonideal laws a multiplier is the actual reaction, and with them an event has none
        forces, names = graph.atoms(expression, multiplier, reaction), self.system.constraint_names
        return graph.replace(expression, {f: reaction(f.name) if f.name in names else sp.S.Zero for f in forces})

    @cached_property
    def guards(self) -> dict[int, Any]:
        """The expressions of the guards, by their numbers: events, gaps of open contacts, and forces."""
        found = dict(enumerate(self.event_expressions))
        for i, constraint in enumerate(self.model.system.constraints):
            if constraint.one_sided and not self.active[i]:
                found[len(self.model.events) + i] = constraint.expression
            elif self.active[i] and (constraint.one_sided or constraint.releases):
                found[len(self.model.events) + i] = reaction(str(constraint.name))
        return found

    @cached_property
    def transitions(self) -> Transitions:
        numbers = [name for i in self.guards for name in _guard_parameters(i)]
        functions = tuple((e, *_guard_symbols(i)) for i, e in self.guards.items())
        return Transitions(self.system, self.contacts, self.model.method, functions, (*self.further, *numbers))

    def phases(self, part: SwitchingMembers) -> MemberPhases:
        """Return the members as those of dry friction see them."""
        own = part.sticking[:, self.places], part.directions[:, self.places]
        return MemberPhases(part.y, part.t, part.p[:, self.columns].T, *own, part.odd)

    def put_phases(self, part: SwitchingMembers, own: Numbers, phases: MemberPhases) -> None:
        """Store states and contacts that stick or slide."""
        part.y[own], part.odd[own] = phases.y, phases.odd
        part.sticking[own], part.directions[own] = False, 0.0
        part.sticking[own[:, None], self.places] = phases.sticking
        part.directions[own[:, None], self.places] = phases.directions

    def mode(self, part: SwitchingMembers) -> ModeOfMany:
        """Return the mode of members with the same sticking contacts."""
        phases = self.phases(part)
        return self.transitions.mode(phases.sticking[0], phases)

    def parameters(self, mode: ModeOfMany, part: SwitchingMembers, *, of_guards: bool = False) -> Floats:
        """Return the values (N, …) of the parameters of a mode, or of these and those that its guards have."""
        further = self.model.terms.named(part.p)
        for i in self.guards:
            sign, offset = _guard_parameters(i)
            further |= {sign: part.signs[:, i], offset: part.offsets[:, i]}
        own = part.p[:, self.columns].T, part.directions[:, self.places]
        return mode.parameters(*own, of_guards=of_guards, further=further)

    def motion(
        self, part: SwitchingMembers, y: Floats | None = None, t: Floats | None = None
    ) -> tuple[Floats, Floats, Flags]:
        """Return accelerations (N, n), reactions (N, m) and which are valid (N,), of members in one mode."""
        mode = self.mode(part)
        states = part.y if y is None else y, part.t if t is None else t
        found, valid = mode.outputs(*states, self.parameters(mode, part))
        reactions = np.zeros((len(part), len(self.active)))
        reactions[:, self.rows] = found["reactions"][:, : len(self.rows)]
        return found["acceleration"], reactions, valid

    def values(self, expressions: tuple[Any, ...], y: Floats, t: Floats, p: Floats, reactions: Floats) -> Floats:
        """Return expressions (N, …) at states; reactions (N, m) are those of all constraints, and their multipliers."""
        compute, forces = expression_values(self.system, expressions, self.further), reactions[:, self.rows]
        with np.errstate(all="ignore"):  # values that are not numbers are refused where they are used
            return compute(t, y, self.model.terms.named(p), forces, forces)


def _guard_symbols(i: int) -> tuple[sp.Symbol, sp.Symbol]:
    sign, offset = _guard_parameters(i)
    return sp.Symbol(sign, real=True), sp.Symbol(offset, real=True)


def _guard_parameters(i: int) -> tuple[str, str]:
    """Return the names of the parameters for sign and offset of a guard."""
    return f"guard {i}: sign", f"guard {i}: offset"


@dataclass(eq=False)
class SwitchingModel:
    """A system with events, or with contacts that open and close, for all its members."""

    system: System
    events: Sequence[Event]
    method: Method
    _sets: dict[tuple[bool, ...], ActiveSet] = field(default_factory=dict[tuple[bool, ...], ActiveSet])

    @cached_property
    def terms(self) -> ContactTermsOfMany:
        names = (*self.system.parameter_names, *further_parameters(self.system, self.events))
        return ContactTermsOfMany(self.system, names)

    @cached_property
    def friction(self) -> tuple[Contact, ...]:
        return contacts(self.terms.whole)

    @property
    def count(self) -> int:
        """The number of constraints."""
        return len(self.system.constraints)

    def active_set(self, active: Flags) -> ActiveSet:
        """Return the system in which some constraints (m,) hold."""
        key = tuple(map(bool, active))
        if key not in self._sets:
            self._sets[key] = ActiveSet(self, np.array(active, bool))
        return self._sets[key]

    def by_set(self, part: SwitchingMembers, closed: Flags | None = None) -> Iterator[tuple[Numbers, ActiveSet]]:
        """Return the members in which the same constraints hold; ``closed`` (N, m) replaces the closed contacts."""
        holding = part.active | (part.closed if closed is None else closed)
        yield from ((own, self.active_set(kind)) for own, kind in groups(holding))

    def by_mode(self, part: SwitchingMembers) -> Iterator[tuple[Numbers, ActiveSet]]:
        """Return the members in which the same constraints hold and the same contacts stick."""
        for own, active in self.by_set(part):
            yield from ((own[inside], active) for inside, _ in groups(part.sticking[own]))


def starts_of_members(
    model: SwitchingModel, system: System, y: Floats, t: Floats, p: Floats
) -> tuple[Any, Any, Floats]:
    """Return which states satisfy the constraints of an active system, which exactly, and the scales (N, 2n)."""
    dynamics = build(system)
    own = np.ascontiguousarray(p[:, model.terms.columns(dynamics.parameters)])
    return native_of(dynamics).starts_of_many(y, t, own)
