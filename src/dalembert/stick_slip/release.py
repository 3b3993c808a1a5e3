# SPDX-License-Identifier: BSD-3-Clause
"""Release of contacts at rest: which of them slip, because friction cannot hold their load."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations, product

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import ConstraintError
from dalembert.integration.start_states import terms_at
from dalembert.model.friction_contacts import Contact
from dalembert.model.ordering import quoted
from dalembert.stick_slip.load_sharing import sharing_of
from dalembert.stick_slip.modes import LOAD_ROUNDING, FrictionLoad
from dalembert.stick_slip.phases import Phase
from dalembert.stick_slip.trial_phases import acceleration_of, geometry, phase_with, unit_vector

MOST_COMBINED_SLIPS = 4
"""Number of contacts of undetermined friction up to which all combinations of sticking and slipping are tried; of more,
those in which all of them slip."""

SLIP_ROUNDING = 1e-9
"""Slip acceleration, relative to its terms, that is rounding."""

Directions = dict[Contact, Floats]


@dataclass
class Release:
    """The search for contacts that slip at a state y at time t.

    before         the phase before
    resting        the contacts at rest, which are held unless they slip
    sliding        the directions of all others
    released       contacts that slip in any case
    peak_speeds    of the contacts before
    """

    before: Phase
    resting: tuple[Contact, ...]
    sliding: Directions
    y: Floats
    t: float
    released: Collection[Contact]
    peak_speeds: Mapping[Contact, float]

    def found(self) -> tuple[Phase, Directions]:
        """Return the phase, and the directions in which released contacts start to slide.

        Contacts whose static limit is exceeded are released one by one, the largest excess first, and start to slide
        against the force that held them. Where forces or limits are not determined, contacts stick if any distribution
        of the load is within all limits; otherwise the consistent way of slipping is searched for.

        Raises
        ------
        ConstraintError    if no way of slipping is consistent, or the contacts are of a kind that is not searched
        """
        phase, slipping = self._one_by_one({})
        if not phase.undetermined or self._holds(phase):
            return phase, slipping
        self._refuse_unless_searched(phase)
        if any(len(c.velocity) > 1 for c in phase.undetermined):
            # in a plane, directions are corrected afterwards so that accelerations agree with them
            return self._one_by_one(slipping | self._along_load(phase))
        for more in _ways_to_slip(phase.undetermined):
            other = self._one_by_one(slipping | more)
            if self._is_consistent(*other):
                return other
        self._refuse(phase.undetermined, "no way of slipping agrees with friction")
        raise AssertionError  # never reached

    def _along_load(self, phase: Phase) -> Directions:
        """Return the directions of undetermined contacts that all begin to slide where the whole load drives them."""
        reactions = self._reactions(phase)
        loads = [reactions[phase.mode.rows(c)] for c in phase.undetermined]
        size = max(map(len, loads))
        whole = -np.sum([load for load in loads if len(load) == size], axis=0)
        # a load that is balanced turns the body: each contact follows its own share
        balanced = np.linalg.norm(whole) <= SLIP_ROUNDING * np.linalg.norm(np.concatenate(loads))
        return {
            c: unit_vector(-load if balanced or len(load) < size else whole)
            for c, load in zip(phase.undetermined, loads, strict=True)
        }

    def _one_by_one(self, slipping: Directions) -> tuple[Phase, Directions]:
        """Return the phase after the release of all contacts whose force and limit are determined, and exceed."""
        slipping = dict(slipping)
        while True:
            phase = self._trial(slipping)
            loads = {c: phase.load(c, self.t, self.y, self._reactions(phase)) for c in phase.determined}
            self._refuse_negative(loads)
            excess = {c: np.inf if c in self.released else float(load.excess) for c, load in loads.items()}
            worst = max(excess, key=lambda c: excess[c], default=None)
            if worst is None or excess[worst] <= 0:
                return phase, slipping
            # one at a time: releasing one contact changes the load on all others
            slipping[worst] = unit_vector(-loads[worst].required)

    def _refuse_negative(self, loads: Mapping[Contact, FrictionLoad]) -> None:
        """Raise an error if a coefficient of friction has become negative during sticking."""
        negative = [c.name for c, load in loads.items() if load.capacity < 0]
        if negative:
            raise ConstraintError(
                f"the static coefficient of friction must not be negative; at t = {self.t:.6g} that of "
                f"{quoted(negative)} is. Write a coefficient that stays positive, with `sympy.Max` if need be."
            )

    def _trial(self, slipping: Directions) -> Phase:
        held = [c for c in self.resting if c not in slipping]
        phase = phase_with(self.before, held, self.sliding | slipping)
        # a contact that begins to slip has no speed to compare with yet
        speeds = {c: self.peak_speeds.get(c, 0.0) if c in self.sliding else 0.0 for c in phase.directions}
        sharing = sharing_of(phase, self.y, self.t)
        shares = {"load_sharing": sharing.same_motion, "undetermined": sharing.undetermined}
        return replace(phase, peak_speeds=speeds, **shares)

    def _reactions(self, phase: Phase) -> Floats:
        here = np.array([self.t])
        # without the undetermined contacts: outputs would ask for the distribution that is searched here
        return replace(phase, undetermined=()).outputs_at(None, here, self.y[None], here)[1][0]

    def _holds(self, phase: Phase) -> bool:
        """Return whether undetermined contacts hold their load, in some distribution."""
        if any(c in self.released for c in phase.undetermined):
            return False
        self._refuse_unless_searched(phase)
        held = phase.holding(np.array([self.t]), self.y[None], self._reactions(phase)[None])
        return bool(held.margin[0] >= -LOAD_ROUNDING)

    def _is_consistent(self, phase: Phase, slipping: Directions) -> bool:
        """Return whether released contacts accelerate in their directions, and those that stick hold."""
        if phase.undetermined and not self._holds(phase):
            return False
        all_held = geometry(self.before, self.resting, self.sliding)
        q, qd = np.split(self.y, 2)
        terms = terms_at(all_held.mode.dynamics, q, qd, self.t, all_held.values)
        acceleration = acceleration_of(phase, self.y, self.t)
        # balanced forces leave a rounding error in proportion to their size
        size = np.linalg.norm([acceleration, np.linalg.lstsq(np.asarray(terms.M), np.asarray(terms.Q))[0]])
        for contact, direction in slipping.items():
            rows = all_held.mode.rows(contact)
            A, b = np.asarray(terms.A)[rows], np.asarray(terms.b)[rows]
            scale = np.linalg.norm(A) * size + np.linalg.norm(b)
            if not (A @ acceleration - b) @ direction >= -SLIP_ROUNDING * scale:
                return False
        return True

    def _refuse_unless_searched(self, phase: Phase) -> None:
        """Raise an error for contacts for which distributions of their load are not searched."""
        laws = phase.mode.system.laws
        planar = [c for c in phase.undetermined if len(c.velocity) > 1 and c.name not in phase.pressing]
        ideal = [c for c in phase.undetermined if laws[c.number].law.normal != "actual"]
        if planar:
            self._refuse(
                phase.undetermined,
                f"the `velocity` of {quoted(c.name for c in planar)} has several components. If the contact can slide "
                f"along one line only, pass one expression: the component along that line, t · v with its unit "
                f"tangent t",
            )
        if ideal:
            self._refuse(phase.undetermined, f'{quoted(c.name for c in ideal)} have `normal="ideal"`')

    def _refuse(self, contacts: Collection[Contact], why: str) -> None:
        names = quoted(dict.fromkeys(contact.name for contact in contacts))
        raise ConstraintError(
            f"the friction forces of sticking contacts must be determined; at t = {self.t:.6g} those of {names} are "
            f"not: constraints and friction can share the load in more than one way, on which static limits depend, "
            f"and {why}. Or start with a small sliding velocity if the contacts slide, or pass `smoothing` for some of "
            f"them, so that they creep."
        )


def _ways_to_slip(contacts: tuple[Contact, ...]) -> Iterator[Directions]:
    """Return which of some contacts slip, and in which direction of their lines: all of them first."""
    sizes = range(len(contacts), 0 if len(contacts) <= MOST_COMBINED_SLIPS else len(contacts) - 1, -1)
    for size in sizes:
        for some in combinations(contacts, size):
            for signs in product((1.0, -1.0), repeat=size):
                yield {c: np.array([sign]) for c, sign in zip(some, signs, strict=True)}
