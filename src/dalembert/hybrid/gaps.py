# SPDX-License-Identifier: BSD-3-Clause
"""Gaps of contacts at a state: which contacts touch, which move together, and which bodies penetrate."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Terms
from dalembert.errors import StateError
from dalembert.impacts.contact_terms import ContactTerms
from dalembert.impacts.impulses import response, sizes_with_rounding
from dalembert.integration.start_states import violated_rows
from dalembert.numerics.violation import own_size

TOUCHING = 1e-11
"""Gap, relative to its terms and to the coordinates, at which a contact is closed: events are located to rounding."""

RESOLVED_HEIGHT = 1e-10
"""Height of a rebound, relative likewise, below which further rebounds are not followed."""

AT_REST = 1e-12
"""Velocity of a gap, relative to the velocities before and after an impact, that is rounding."""

START_AT_REST = 1e-13
"""The same relative to the scale of the velocities, which is at most one."""

FRESH_GAP = 1e-15
"""Rounding of a gap that opens from rest, relative to its terms."""


@dataclass(frozen=True, eq=False)
class Gaps:
    """The gaps of all constraints at a state, and their rates; those of equations are residuals.

    active          names of the equations that hold
    speeds (n,)     the largest velocities of the instant
    terms           of all constraints at the state
    size (m,)       of the terms of a gap, relative to which it is zero
    """

    model: ContactTerms
    y: Floats
    t: float
    active: Collection[str]
    speeds: Floats
    terms: Terms
    size: Floats

    @classmethod
    def at(
        cls, model: ContactTerms, y: Floats, t: float, active: Collection[str], speeds: Floats | None = None
    ) -> Gaps:
        terms, (q, qd) = model.at(y, t), np.split(y, 2)
        lengths = np.split(model.scales, 2)[0]
        # with the scales of the start: at the origin all terms of a gap may vanish, and no gap would touch
        size = own_size(terms.position, terms.A, q) + np.abs(terms.A) @ lengths
        fastest = np.abs(qd) if speeds is None else np.maximum(speeds, np.abs(qd))
        return cls(model, y, t, active, fastest, terms, size)

    @property
    def gap(self) -> Floats:
        return self.terms.position

    @property
    def rate(self) -> Floats:
        return self.terms.velocity

    @cached_property
    def resting(self) -> Floats:
        """The velocities (m,) of gaps that are rounding."""
        # the scale of the start is bounded, since a fast start must not make slow contacts rest
        started = np.minimum(np.split(self.model.scales, 2)[1], 1.0)
        equations = self.terms.A[list(self._named(self.active).values())]
        fastest = sizes_with_rounding(self.speeds, equations, np.linalg.inv(self.terms.M))
        return np.abs(self.terms.A) @ (AT_REST * fastest + START_AT_REST * started)

    def _named(self, names: Iterable[str]) -> dict[str, int]:
        return {name: self.model.row(name) for name in names}

    def touching(self, closed: Collection[str]) -> list[str]:
        """Return the one-sided constraints that touch; those that are closed do so in any case."""
        rows = self._named(self.model.one_sided)
        return [name for name, i in rows.items() if self.gap[i] <= TOUCHING * self.size[i] or name in closed]

    def approaching(self, names: Iterable[str]) -> dict[str, float]:
        """Return the speeds of the contacts that close."""
        rows = self._named(names)
        return {name: -float(self.rate[i]) for name, i in rows.items() if self.rate[i] < -self.resting[i]}

    def together(self, names: Iterable[str], speed: float = 0.0) -> list[str]:
        """Return the contacts that move apart by no more than a speed, or rounding."""
        return [name for name, i in self._named(names).items() if abs(self.rate[i]) <= max(speed, self.resting[i])]

    def resolution(self, name: str) -> float:
        """Return the height of rebounds that is not followed any more."""
        return RESOLVED_HEIGHT * float(self.size[self.model.row(name)])

    def rounding(self, name: str) -> float:
        """Return the height of rebounds that cannot be distinguished from zero."""
        return FRESH_GAP * float(self.size[self.model.row(name)])

    def offsets(self, open_contacts: Iterable[str]) -> dict[str, float]:
        """Return what is to be added to gaps, so that those that have just opened are not negative by rounding."""
        found: dict[str, float] = {}
        for name, i in self._named(open_contacts).items():
            # a contact that opens at rest needs more: its gap stays at zero for the first steps
            fresh = self.gap[i] <= TOUCHING * self.size[i]
            slow = FRESH_GAP * self.size[i] * (abs(self.rate[i]) <= self.resting[i])
            found[name] = float(max(-self.gap[i], 0.0) + slow) if fresh else 0.0
        return found

    def closed_up(self, names: Collection[str]) -> Floats:
        """Return the state with the gaps of contacts that have just closed at zero, which rounding leaves negative."""
        # together with the equations in use, which the correction of a gap must not violate
        rows = [*self._named(self.active).values(), *self._named(names).values()]
        q, qd = np.split(self.y, 2)
        return np.concatenate([q - response(self.terms.A[rows], np.linalg.inv(self.terms.M)) @ self.gap[rows], qd])

    def refuse_penetration(self) -> None:
        """Raise an error if a one-sided constraint is penetrated."""
        rows = self._named(self.model.one_sided)
        deep = {name: self.gap[i] for name, i in rows.items() if self.gap[i] < -TOUCHING * self.size[i]}
        if deep:
            listed = ", ".join(f"`{name}`, whose gap is {gap:.3g}" for name, gap in deep.items())
            raise StateError(
                f"bodies must not penetrate one another; at t = {self.t:.6g} they do at {listed}. Start with gaps that "
                f"are zero or positive."
            )

    def refuse_positions(self) -> None:
        """Raise an error if equations do not hold at the positions where they are switched on."""
        off = self._violated("position")
        missed = {name: self.gap[i] for name, i in self._named(sorted(self.active)).items() if off[i]}
        if missed:
            listed = ", ".join(f"`{name}` by {abs(float(miss)):.3g}" for name, miss in missed.items())
            raise StateError(
                f"constraints must hold at the positions where they are switched on; at t = {self.t:.6g} these are "
                f"violated: {listed}. No impulse changes positions: switch on where the expression is zero, or set new "
                f"positions."
            )

    def follow(self) -> bool:
        """Return whether the velocities satisfy equations."""
        off = self._violated("velocity")
        return not any(off[i] for i in self._named(self.active).values())

    def _violated(self, level: str) -> NDArray[np.bool_]:
        q, qd = np.split(self.y, 2)
        return violated_rows(self.terms, q, qd)[level]
