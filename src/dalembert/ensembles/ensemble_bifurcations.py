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
from dalembert.ensembles.native_members import NativeMembers
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
    """Detects bifurcations along the motions of some ensemble members.

    ``native`` has integrated them; it is None if their motions cannot be integrated again.
    """

    def __init__(self, dynamics: Dynamics, method: Method, times: Floats, count: int, native: NativeMembers | None):
        self.dynamics, self.times, self.native = dynamics, times, native
        self.method = replace(method, step=None)  # a member with a fixed step is integrated again with adaptive steps
        possible = native is not None and bool(dynamics.constraints) and in_machine_code(dynamics, method)
        possible = possible and not native_of(dynamics).constant_rows
        self.selected = np.unique(np.linspace(0, count - 1, MAX_EXAMINED).astype(int)) if possible else np.empty(0, int)
        self.reintegrated = 0
        self.found = BifurcationFindings()

    def examine(self, first: int, members: Members, states: Floats, failed: NDArray[np.bool_]) -> BifurcationFindings:
        """Return the findings of members, from index ``first`` on, with states (N, T, 2n) at all times or the last."""
        self.found = BifurcationFindings()
        own = self.selected[(self.selected >= first) & (self.selected < first + len(members))] - first
        own = own[~failed[own]]
        self.found.examined = len(own)
        some = members.subset(own)
        starts, parameters = (np.ascontiguousarray(x.T) for x in (some.y, some.p))
        for k in self._turning(starts, parameters, states[own]):
            # a single run takes far longer than a member of an ensemble, and a few are enough for a note
            if self.reintegrated < MAX_REINTEGRATED:
                self._integrate_again(int(first + own[k]), starts[k], parameters[k])
        return self.found

    def _turning(self, starts: Floats, parameters: Floats, states: Floats) -> NDArray[np.intp]:
        """Return those of the members whose independent rows change their orientation between outputs."""
        if not len(starts):
            return np.empty(0, int)
        t, y = self.times, states
        if y.shape[1] < len(t):  # only the last states are known
            t, y = t[[0, -1]], np.stack([starts, y[:, -1]], axis=1)
        at_all = y.reshape(-1, y.shape[2]), np.tile(t, len(y)), np.repeat(parameters, len(t), axis=0)
        A = native_of(self.dynamics).rows_of_many(*at_all).reshape(*y.shape[:2], len(self.dynamics.levels), -1)
        assert self.native is not None
        if self.native.has_all_rows:
            rows = np.ones((len(y), A.shape[2]), bool)
        else:
            rows = rows_for_many(self.dynamics, starts, float(t[0]), parameters)
        turned = np.zeros(len(y), bool)
        for independent in np.unique(rows[rows.any(axis=1)], axis=0):
            own = (rows == independent).all(axis=1)
            of_members = A[own][:, :, independent]
            changes = np.append(orientation_changes(of_members.reshape(-1, *of_members.shape[2:])), False)
            # what lies between the last output of one member and the first of the next is left out
            turned[own] = changes.reshape(-1, len(t))[:, :-1].any(axis=1)
        return np.flatnonzero(turned)

    def _integrate_again(self, number: int, start: Floats, p: Floats) -> None:
        t0, t1 = float(self.times[0]), float(self.times[-1])
        self.reintegrated += 1
        n = len(start) // 2
        method = with_tolerances(self.dynamics, self.method, start[:n], start[n:], t0, p)
        with Progress(t0, t1, False) as silent:
            path = integrate(self.dynamics, method, start, t0, t1, p, silent, outputs=np.array([t1]))
        times = crossings(self.dynamics, method, path, p)
        if times:
            self.found.times[number] = times
