# SPDX-License-Identifier: BSD-3-Clause
"""Bifurcations of the constraints along the motions of ensemble members.

The compiled integrator does not store the steps of ensemble members. Some members are therefore examined from output to
output, and those whose constraint rows change their orientation are integrated again step by step, as single runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.ensembles.members import Members
from dalembert.equation.dynamics import Dynamics, native_of
from dalembert.integration.bifurcations import crossings
from dalembert.integration.default_tolerances import with_tolerances
from dalembert.integration.integrate import integrate
from dalembert.integration.method import Method
from dalembert.integration.native_steps import in_machine_code
from dalembert.integration.progress import Progress
from dalembert.integration.row_selection import rows_for_many
from dalembert.integration.step_monitor import orientation_changes

MAX_EXAMINED, MAX_REINTEGRATED = 32, 8
"""Largest number of ensemble members that are examined, evenly spaced, and of those that are integrated again."""


@dataclass
class BifurcationFindings:
    """The number of members that were examined, and the times of bifurcations by member."""

    examined: int = 0
    times: dict[int, list[float]] = field(default_factory=dict[int, list[float]])

    def add(self, other: BifurcationFindings) -> None:
        """Add the findings of further members."""
        self.examined += other.examined
        self.times |= other.times

    @property
    def note(self) -> str:
        """A note on the members that passed bifurcations, and when; empty if none of those examined did."""
        if not self.times:
            return ""
        number, times = min(self.times.items(), key=lambda pair: pair[1][0])
        return (
            f"The constraints lose rank along the motions of at least {len(self.times)} of {self.examined} examined "
            f"members, first at t = {times[0]:.6g} (member {number}); other motions may branch off there, and the "
            f"reported ones continue smoothly."
        )


class Bifurcations:
    """Detects bifurcations along the motions of some ensemble members."""

    def __init__(self, dynamics: Dynamics, method: Method, times: Floats, count: int):
        self.dynamics, self.times = dynamics, times
        self.method = replace(method, step=None)  # a member with a fixed step is integrated again with adaptive steps
        possible = bool(dynamics.constraints) and in_machine_code(dynamics, method)
        possible = possible and not native_of(dynamics).constant_rows
        self.selected = np.unique(np.linspace(0, count - 1, MAX_EXAMINED).astype(int)) if possible else np.empty(0, int)
        self.reintegrated = 0
        self.found = BifurcationFindings()

    def examine(self, first: int, members: Members, states: Floats, failed: NDArray[np.bool_]) -> BifurcationFindings:
        """Return the findings of members, from index ``first`` on, with states (N, T, 2n) at all times or the last."""
        self.found = BifurcationFindings()
        own = self.selected[(self.selected >= first) & (self.selected < first + len(members))] - first
        own = own[~failed[own]]
        some = members.subset(own)
        starts, parameters = (np.ascontiguousarray(x.T) for x in (some.y, some.p))
        rows = rows_for_many(self.dynamics, starts, float(self.times[0]), parameters) if len(own) else ()
        for k, start, p, independent in zip(own, starts, parameters, rows, strict=True):
            self.found.examined += 1
            self._examine(int(first + k), start, p, np.flatnonzero(independent), states[k])
        return self.found

    def _examine(self, number: int, start: Floats, p: Floats, rows: NDArray[np.intp], states: Floats) -> None:
        t0, t1 = float(self.times[0]), float(self.times[-1])
        # a single run takes far longer than a member of an ensemble, and a few are enough for a note
        if not len(rows) or self.reintegrated >= MAX_REINTEGRATED:
            return
        seen = (self.times, states) if len(states) == len(self.times) else ([t0, t1], np.vstack([start, states]))
        A = native_of(self.dynamics).rows_of_many(np.asarray(seen[1]), np.asarray(seen[0]), p)
        if not orientation_changes(A[:, rows]).any():
            return
        self.reintegrated += 1
        n = len(start) // 2
        method = with_tolerances(self.dynamics, self.method, start[:n], start[n:], t0, p)
        with Progress(t0, t1, False) as silent:
            path = integrate(self.dynamics, method, start, t0, t1, p, silent, outputs=np.array([t1]))
        times = crossings(self.dynamics, method, path, p)
        if times:
            self.found.times[number] = times
