# SPDX-License-Identifier: BSD-3-Clause
"""Starts of ensemble members that miss the constraints by more than rounding, so that projection moves them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.common.levels import STATE_LEVELS
from dalembert.ensembles.members import Members
from dalembert.equation.dynamics import Dynamics
from dalembert.integration.method import Method
from dalembert.integration.start_states import first_correction, inexact_rows, terms_of_states
from dalembert.numerics.terms import Terms
from dalembert.numerics.tolerances import EXACT

MEMBERS_AT_ONCE = 4096
"""Starts that are evaluated at once, to bound the memory for their mass matrices."""

MAX_CORRECTED = 32
"""Largest number of starts in a block whose corrections are computed: those that miss the constraints most."""


def terms_of_members(dynamics: Dynamics, y: Floats, p: Floats, t0: float) -> Terms:
    """Return the terms at the states y (N, 2n) of members with parameters p (N, k), each with a leading axis N."""
    return terms_of_states(dynamics, y, np.full(len(y), t0), p)


@dataclass
class StartFindings:
    """The number of members whose starts are projected, and the largest change and its coordinate at each level."""

    examined: int = 0
    count: int = 0
    largest: dict[str, tuple[float, str]] = field(default_factory=dict[str, tuple[float, str]])

    def add(self, other: StartFindings) -> None:
        """Add the findings of further members."""
        self.examined, self.count = self.examined + other.examined, self.count + other.count
        for level, found in other.largest.items():
            self.largest[level] = max(self.largest.get(level, found), found)

    @property
    def note(self) -> str:
        """A note on the members whose starts were projected, and the largest change; empty if there are none."""
        if not self.count:
            return ""
        changes = " and ".join(f"{change:.1e} in `{name}`" for change, name in self.largest.values())
        return (
            f"The initial states of {self.count} of {self.examined} members miss the constraints by more than "
            f"rounding; projection onto the constraints moves them, by up to {changes}."
        )


class ProjectedStarts:
    """Finds the members whose starts are projected."""

    def __init__(self, dynamics: Dynamics, method: Method, t0: float):
        self.dynamics, self.t0 = dynamics, t0
        self.possible = bool(dynamics.constraints) and method.drift.projections > 0
        self.found = StartFindings()

    def examine(self, members: Members, failed: NDArray[np.bool_], exact: NDArray[np.bool_]) -> StartFindings:
        """Return the findings of some members, except those that failed or whose starts are known to be exact."""
        self.found = StartFindings()
        self.found.examined += len(members)
        left = np.flatnonzero(~(failed | exact)) if self.possible and not exact.all() else np.empty(0, int)
        for first in range(0, len(left), MEMBERS_AT_ONCE):
            own = left[first : first + MEMBERS_AT_ONCE]
            some = members.subset(own)
            self._examine(np.ascontiguousarray(some.y.T), np.ascontiguousarray(some.p.T))
        return self.found

    def _examine(self, y: Floats, p: Floats) -> None:
        terms, (q, qd) = terms_of_members(self.dynamics, y, p, self.t0), np.split(y, 2, axis=1)
        residuals = np.abs(terms.position), np.abs(terms.velocity)
        # the usual case, residuals of rounding only, is decided by a lower bound of what ``inexact_rows`` allows
        least = EXACT * np.einsum("kmn,kn->km", np.abs(terms.A), np.abs(q))
        doubtful = np.flatnonzero(((residuals[0] > least) | (residuals[1] > least)).any(axis=1))
        if len(doubtful):
            terms, q, qd = Terms(*(values[doubtful] for values in terms)), q[doubtful], qd[doubtful]
            levels = zip(STATE_LEVELS, (q, qd), strict=True)
            off = {level: inexact_rows(terms, level, q, x) for level, x in levels}
            for level in STATE_LEVELS:
                self._correct(terms, level, off[level])
            self.found.count += int((off["position"] | off["velocity"]).any(axis=1).sum())

    def _correct(self, terms: Terms, level: str, off: NDArray[np.bool_]) -> None:
        """Update the largest change at a level."""
        lengths = np.linalg.norm(terms.A, axis=2)
        sizes = (off * np.abs(getattr(terms, level)) / np.where(lengths > 0, lengths, 1.0)).max(axis=1, initial=0.0)
        for k in np.argsort(sizes)[::-1][:MAX_CORRECTED]:
            if sizes[k] > 0:
                move = np.abs(first_correction(Terms(*(values[k] for values in terms)), level))
                i = int(np.argmax(move))
                prime = "" if level == "position" else "'"
                found = float(move[i]), f"{self.dynamics.coordinates[i]}{prime}"
                self.found.largest[level] = max(self.found.largest.get(level, found), found)
