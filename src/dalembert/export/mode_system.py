# SPDX-License-Identifier: BSD-3-Clause
"""The system of one contact mode, and the names that its parameters and constraints have in an exported file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import InputError
from dalembert.model.active_system import active_system
from dalembert.model.constraint import Constraint
from dalembert.model.contact_mode import ContactMode
from dalembert.model.expression_values import expression_values
from dalembert.model.friction_contacts import Contact, contacts, with_sticking
from dalembert.model.ordering import quoted, unknown_names
from dalembert.model.system import System
from dalembert.stick_slip.transitions import is_at_rest


@dataclass(frozen=True, eq=False)
class ModeSystem:
    """A system in one contact mode.

    whole       the system as it was stated
    mode        which contacts are closed, and which of them stick
    contacts    those under dry friction that are closed, by their labels
    """

    whole: System
    mode: ContactMode
    contacts: Mapping[str, Contact]

    @property
    def sticking(self) -> dict[str, Contact]:
        return {label: own for label, own in self.contacts.items() if own.name in self.mode.sticking}

    @property
    def sliding(self) -> dict[str, Contact]:
        return {label: own for label, own in self.contacts.items() if own.name not in self.mode.sticking}

    @property
    def open(self) -> list[Constraint]:
        """The one-sided constraints that are open."""
        return [own for own in self.whole.constraints if own.one_sided and own.name not in self.mode.closed]

    @property
    def closed(self) -> list[str]:
        """The one-sided constraints that are closed."""
        return [str(own.name) for own in self.whole.constraints if own.one_sided and own.name in self.mode.closed]

    @cached_property
    def system(self) -> System:
        """The closed contacts as equations, sticking ones held by further equations, the others sliding one way."""
        active = active_system(self.whole, _active(self.whole, self.mode))
        return with_sticking(active, tuple(self.contacts.values()), tuple(self.sticking.values()))

    def held_rows(self, contact: Contact) -> list[int]:
        """Return the numbers of the constraints that hold a sticking contact."""
        names = [str(row.name) for row in contact.rows()]
        return [self.system.constraint_names.index(name) for name in names]

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters of the file: the same for all modes, so that a program can switch between their files."""
        labelled = _labelled(contacts(active_system(self.whole)))
        directions = (name for label, own in labelled.items() for name in _components("direction", label, own))
        return (*self.whole.parameter_names, *directions)

    @property
    def public_names(self) -> dict[str, str]:
        """The names in the file of slip directions and of constraints that hold a contact."""
        found: dict[str, str] = {}
        for label, own in self.contacts.items():
            along = (symbol.name for symbol in own.direction)
            found |= zip(along, _components("direction", label, own), strict=True)
            held = (str(row.name) for row in own.rows())
            found |= zip(held, _components("sticking", label, own), strict=True)
        return found

    @property
    def sliding_velocities(self) -> dict[str, str]:
        """The sliding velocities as text: they tell what a direction means."""
        readable = self.whole.symbols.readable
        return {label: ", ".join(map(readable, own.velocity)) for label, own in self.contacts.items()}

    def directions(self, t: float, y: Floats, p: dict[str, float]) -> dict[str, float]:
        """Return the slip directions of all contacts at the start; zero for those that do not slide."""
        found = dict.fromkeys(self.parameters[len(self.whole.parameter_names) :], 0.0)
        resting: list[str] = []
        for label, own in self.sliding.items():
            v = expression_values(self.whole, own.velocity)(t, y, p)
            if own.name in self.mode.sliding:
                v = _direction(self.mode.sliding[own.name], own)
            elif is_at_rest(v, y):
                resting.append(own.name)
                continue
            found |= zip(_components("direction", label, own), v / np.linalg.norm(v), strict=True)
        if resting:
            raise InputError(
                f"`mode` must give the directions of contacts that start to slide from rest; missing: "
                f'{quoted(dict.fromkeys(resting))}. Write `da.ContactMode(..., sliding={{"{resting[0]}": 1}})`.'
            )
        return found


def mode_system(system: System, mode: Any) -> ModeSystem:
    """Return a system in a contact mode, or raise an error for names that the system does not have."""
    if not isinstance(mode, ContactMode):
        raise InputError(f'`mode` must be a contact mode such as `da.ContactMode(sticking="rail")`; got {mode!r}.')
    opening = [str(own.name) for own in system.constraints if not own.is_permanent]
    rough = list(dict.fromkeys(own.name for own in contacts(active_system(system))))
    if not opening and not rough:
        raise InputError("`mode` must belong to a system with contacts; this one has none. Leave it out.")
    problems = unknown_names(opening, mode.closed, "closed", "contact")
    problems += unknown_names(rough, mode.sticking, "sticking", "contact under dry friction that can stick, one")
    problems += unknown_names(rough, mode.sliding, "sliding", "contact under dry friction that can stick, one")
    if problems:
        raise InputError(" ".join(problems))
    own = contacts(active_system(system, _active(system, mode)))
    known = {contact.name for contact in own}
    distant = [name for name in (*mode.sticking, *mode.sliding) if name not in known]
    if distant:
        raise InputError(f"contacts that stick or slide must be closed; {quoted(distant)} is not in `closed`.")
    return ModeSystem(system, mode, _labelled(own))


def _active(system: System, mode: ContactMode) -> frozenset[str]:
    return frozenset(str(own.name) for own in system.constraints if own.is_permanent or own.name in mode.closed)


def _labelled(own: Sequence[Contact]) -> dict[str, Contact]:
    """Return contacts by their names; several of one name are numbered."""
    count = Counter(contact.name for contact in own)
    seen: Counter[str] = Counter()
    found: dict[str, Contact] = {}
    for contact in own:
        seen[contact.name] += 1
        found[contact.name if count[contact.name] == 1 else f"{contact.name} {seen[contact.name]}"] = contact
    return found


def _components(kind: str, label: str, own: Contact) -> list[str]:
    """Return one name for each component of a sliding velocity."""
    count = len(own.velocity)
    return [f"{kind}({label})" if count == 1 else f"{kind}({label})[{i}]" for i in range(count)]


def _direction(given: Any, own: Contact) -> Floats:
    """Return a direction that was given, or raise an error."""
    try:
        found = np.atleast_1d(np.asarray(given, float))
    except (TypeError, ValueError):
        found = np.zeros(0)
    if found.shape != (len(own.velocity),) or not np.isfinite(found).all() or not found.any():
        raise InputError(
            f"`sliding` must give each contact a direction with {len(own.velocity)} components, not all of them zero; "
            f"got {given!r} for `{own.name}`."
        )
    return found
