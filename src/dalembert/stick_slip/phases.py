# SPDX-License-Identifier: BSD-3-Clause
"""Phases of a stick-slip motion: a mode with parameter values and slip directions, and the test for its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.integration.method import Method
from dalembert.integration.native_steps import NativeSteps
from dalembert.integration.path_outputs import outputs_at
from dalembert.model.expression_values import expression_values
from dalembert.model.friction_contacts import Contact
from dalembert.numerics.tolerances import TINY
from dalembert.stick_slip.guards import Guard
from dalembert.stick_slip.load_distribution import Holding, holding
from dalembert.stick_slip.modes import LOAD_ROUNDING, FrictionLoad, Mode
from dalembert.stick_slip.shared_contacts import SharedContacts

TURNING_COSINE = 0.25
"""Cosine of the angle by which a sliding velocity may turn before a new slip direction is taken."""

UNRESOLVED_SPEED = 10.0
"""Sliding speed, relative to the tolerance of a step, that may be an error of the integration: steps across the instant
of rest leave such a slip, which does not slow down."""

DEPARTURE_SPEED = 1e-9
"""Sliding speed, relative to all velocities, at which a contact that constraints kept at rest has begun to move."""


@dataclass(frozen=True, eq=False)
class Phase:
    """Some contacts stick, the others slide, each in its own direction.

    p               values of the system's own parameters, by name
    directions      for each sliding contact a unit vector with the components of its sliding velocity; zero where
                    constraints keep it at rest, or it has no friction
    peak_speeds     for each of them the largest speed before this phase, since it began to slide
    load_sharing    for each sticking contact the others that hold the same motion
    undetermined    sticking contacts whose friction forces, or the limits of these, are not determined
    frictionless    contacts whose coefficient is zero, which neither stick nor slide
    pressing        names of constraints whose reactions must not be negative
    guards          further functions of the motion that end the phase
    sharing         closed contacts that share their load in a way that is not determined; None if there are none
    """

    mode: Mode
    method: Method
    p: dict[str, float]
    directions: Mapping[Contact, Floats]
    peak_speeds: Mapping[Contact, float]
    load_sharing: Mapping[Contact, tuple[Contact, ...]] = field(default_factory=dict[Contact, tuple[Contact, ...]])
    guards: tuple[Guard, ...] = ()
    undetermined: tuple[Contact, ...] = ()
    frictionless: tuple[Contact, ...] = ()
    pressing: tuple[str, ...] = ()
    sharing: SharedContacts | None = None
    _held: dict[Any, Holding] = field(default_factory=dict[Any, Holding], init=False, repr=False)

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """The values of the mode's parameters in its order; as arrays, because new Python numbers recompile."""
        given = dict(self.p)
        for contact, direction in self.directions.items():
            given |= zip((symbol.name for symbol in contact.direction), direction, strict=True)
        return tuple(np.asarray(given[name], float) for name in self.mode.dynamics.parameters)

    def outputs_at(self, native: NativeSteps | None, t0: Floats, y0: Floats, times: Floats) -> tuple[Floats, Floats]:
        """Return states and reactions at times, each reached by one step from its (t0, y0)."""
        found = outputs_at(self.mode.dynamics, self.method, native, t0, y0, times, self.values)
        y = np.concatenate([found["q"], found["qd"]], axis=1)
        return y, self.admissible(times, y, found["reactions"])

    def admissible(self, t: Floats, y: Floats, reactions: Floats) -> Floats:
        """Return reactions (T, rows) with the load of undetermined contacts shared within their limits, if possible."""
        if self.sharing is not None:
            reactions = self.sharing.in_mode(self.mode, self.distributed(t, y, reactions))
        return self.holding(t, y, reactions).reactions if self.undetermined else reactions

    def distributed(self, t: Floats, y: Floats, reactions: Floats) -> Floats:
        """Return the reactions (T, rows) of all closed contacts, those included that the mode leaves out."""
        assert self.sharing is not None
        return self.sharing.distributed(self.mode, self.values, t, y, reactions)

    def holding(self, t: Floats, y: Floats, reactions: Floats) -> Holding:
        """Return whether undetermined contacts hold their load at times (T,)."""
        # the same states are asked for several times: for outputs, for margins and for the end of the phase
        key = (t.tobytes(), y.tobytes())
        if key not in self._held:
            self._held.clear()
            given = (self.p, self.values)
            self._held[key] = holding(self.mode, self.undetermined, self.pressing, (t, y), given, reactions)
        return self._held[key]

    def velocity(self, contact: Contact, t: Any, y: Floats) -> Floats:
        return self.mode.velocity(contact, t, y, self.p)

    def speed(self, contact: Contact, t: Any, y: Floats) -> Floats:
        return np.linalg.norm(self.velocity(contact, t, y), axis=-1)

    def has_turned(self, contact: Contact, t: Any, y: Floats) -> NDArray[np.bool_]:
        """Return whether a contact has left its slip direction: it has reversed, turned aside, or begun to move."""
        v, direction = self.velocity(contact, t, y), self.directions[contact]
        if contact in self.frictionless:
            return np.zeros(np.shape(t), bool)
        speed = np.linalg.norm(v, axis=-1)
        if not direction.any():
            return np.asarray(speed > DEPARTURE_SPEED * (1 + np.abs(y[..., y.shape[-1] // 2 :]).max(axis=-1)))
        # in a plane the direction changes continuously: a new one is taken before friction along the old one is far off
        return np.asarray(v @ direction <= TURNING_COSINE * speed)

    def is_unresolved(self, contact: Contact, t: Any, y: Floats) -> bool:
        """Return whether the sliding velocity at a state is so small that it may be an error of the integration."""
        n, method = len(y) // 2, self.method
        atol = np.broadcast_to(np.asarray(method.atol, float), y.shape)[n:]
        J = np.abs(self.mode.velocity_jacobian(contact, t, y, self.p))
        # the error that the tolerances of the velocities allow in the slip
        error = float(np.linalg.norm(J @ (atol + method.rtol * np.abs(y[n:]))))
        return bool(self.speed(contact, t, y) <= UNRESOLVED_SPEED * error)

    def load(self, contact: Contact, t: Any, y: Floats, reactions: Floats) -> FrictionLoad:
        """Return the friction force that holding a contact requires, and the static limit."""
        return self.mode.load(contact, self.load_sharing.get(contact, ()), t, y, self.p, reactions)

    def guard_values(self, t: Any, y: Floats, reactions: Floats) -> Floats:
        """Return the values (guards, …) of the guards: positive during the phase."""
        system = self.mode.system
        # sorted, since sets have another order in each process
        further = tuple(sorted({*self.p} - {*system.parameter_names}))
        values = expression_values(system, tuple(guard.expression for guard in self.guards), further)
        with np.errstate(all="ignore"):  # values that are not numbers end the phase, with an error
            found = values(t, y, self.p, reactions=reactions)
        if self.sharing is not None:
            for i, forces in self._shared_forces(t, y, reactions).items():
                found[..., i] = forces
        return np.stack([guard.sign * found[..., i] + guard.offset for i, guard in enumerate(self.guards)])

    def _shared_forces(self, t: Any, y: Floats, reactions: Floats) -> dict[int, Floats]:
        """Return the reactions (…) of closed contacts that share their load, by the numbers of their guards.

        They are those of the distribution whose least one is largest: one is negative only if no distribution presses.
        """
        assert self.sharing is not None
        states = (np.atleast_1d(t), np.atleast_2d(y), np.atleast_2d(reactions))
        forces = self.sharing.least_reactions(self.mode, self.values, *states)
        columns = {name: forces[:, k].reshape(np.shape(t)) for k, name in enumerate(self.sharing.closed)}
        return {i: columns[guard.name] for i, guard in enumerate(self.guards) if self.is_shared(guard)}

    def is_shared(self, guard: Guard) -> bool:
        """Return whether a guard is the reaction of a closed contact that shares its load with others."""
        return self.sharing is not None and guard.kind == "force" and guard.name in self.sharing.shared

    def friction_differs(self, t: Floats, y: Floats) -> NDArray[np.bool_]:
        """Return at which times (k,) friction depends on how closed contacts share their load."""
        if self.sharing is None:
            return np.zeros(len(t), bool)
        fastest = max(self.peak_speeds.values(), default=0.0)
        return self.sharing.friction_differs(self.mode, self.values, t, y, fastest)

    def margins(self, t: Floats, y: Floats, reactions: Floats) -> Floats:
        """Return the distances of contacts and guards from a transition, (contacts + guards, k), at most one."""
        directed = {c: direction for c, direction in self.directions.items() if c not in self.frictionless}
        watched = [self.velocity(c, t, y) @ direction for c, direction in directed.items()]
        watched += self._guard_margins(t, y, reactions)
        found = np.array(
            [
                # relative to the largest one, so that the resolution of a transition does not depend on units
                *(v / max(np.abs(v[np.isfinite(v)]).max(initial=0.0), TINY) for v in watched),
                *(self.load(c, t, y, reactions).margin for c in self.determined),
                *([self.holding(t, y, reactions).margin] if self.undetermined else []),
            ]
        )
        return found.reshape(-1, len(t))  # where no contact has friction, there is nothing to watch

    def _guard_margins(self, t: Floats, y: Floats, reactions: Floats) -> list[Floats]:
        """Return the values of the guards, and the least one in place of those of contacts that share their load."""
        if not self.guards:
            return []
        values, shared = self.guard_values(t, y, reactions), [self.is_shared(guard) for guard in self.guards]
        own = [value for value, together in zip(values, shared, strict=True) if not together]
        return [*own, values[shared].min(axis=0)] if any(shared) else own

    @property
    def determined(self) -> tuple[Contact, ...]:
        """The sticking contacts whose friction forces and limits are determined."""
        return tuple(c for c in self.mode.sticking if c not in self.undetermined)

    def has_ended(self, t: Floats, y: Floats, reactions: Floats) -> NDArray[np.bool_]:
        """Return whether a contact has passed a transition, or a guard is not a number, at each of the times (k,)."""
        found = np.zeros(len(t), bool)
        for contact in self.directions:
            found |= self.has_turned(contact, t, y)
        for contact in self.determined:
            found |= self.load(contact, t, y, reactions).excess > 0
        if self.undetermined:
            found |= self.holding(t, y, reactions).margin < -LOAD_ROUNDING
        if self.guards:
            # written so that NaN ends the phase
            found |= ~(self.guard_values(t, y, reactions) >= 0).all(axis=0)
        return found | self.friction_differs(t, y)
