# SPDX-License-Identifier: BSD-3-Clause
"""Forces and multipliers of ensemble members with events and contacts, by the phase that each output belongs to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.ensembles.stick_slip_outputs import forces_of, put_run
from dalembert.ensembles.stick_slip_transitions import MemberPhases, groups
from dalembert.ensembles.switching_members import SwitchingMembers, SwitchingModel
from dalembert.integration.trajectory import Trajectory
from dalembert.integration.trajectory_dataset import PER_CONSTRAINT


@dataclass
class SwitchedPhases:
    """The phases of the outputs of N members at T times: see ``SwitchingMembers``.

    known                 (N, T) whether the phase is known; then the others are its own
    holding               (N, T, m) the constraints that hold, closed contacts included
    sticking, directions  (N, T, f)
    p                     (N, T, k) parameters, which events may change
    runs                  the members that were simulated by themselves
    """

    model: SwitchingModel
    known: NDArray[np.bool_]
    holding: NDArray[np.bool_]
    sticking: NDArray[np.bool_]
    directions: Floats
    p: Floats
    runs: dict[int, Trajectory] = field(default_factory=dict[int, Trajectory])

    @classmethod
    def unknown(cls, model: SwitchingModel, shape: tuple[int, ...]) -> SwitchedPhases:
        """Return the phases of outputs (N, T), none of which is known yet."""
        m, f, k = model.count, len(model.friction), len(model.terms.names)
        known, holding, sticking = (np.zeros(size, bool) for size in (shape, (*shape, m), (*shape, f)))
        return cls(model, known, holding, sticking, np.zeros((*shape, f)), np.full((*shape, k), np.nan))

    def record(self, own: NDArray[np.intp], part: SwitchingMembers, first: NDArray[np.intp]) -> None:
        """Record the phases of members from their output ``first`` (N,) on; later phases replace them."""
        later = np.arange(self.known.shape[1]) >= first[:, None]
        self.known[own] |= later
        given = (part.active | part.closed, part.sticking, part.directions, part.p)
        for whole, values in zip((self.holding, self.sticking, self.directions, self.p), given, strict=True):
            whole[own] = np.where(later[..., None], values[:, None], whole[own])

    def put(self, own: NDArray[np.intp], part: SwitchedPhases | None) -> None:
        """Replace the phases of some members."""
        if part is not None:
            for name in ("known", "holding", "sticking", "directions", "p"):
                getattr(self, name)[own] = getattr(part, name)

    def subset(self, own: slice) -> SwitchedPhases:
        """Return those of consecutive members."""
        first, last, _ = own.indices(len(self.known))
        runs = {k - first: run for k, run in self.runs.items() if first <= k < last}
        of_contacts = self.holding[own], self.sticking[own], self.directions[own]
        return SwitchedPhases(self.model, self.known[own], *of_contacts, self.p[own], runs)

    def forces(self, y: Floats, t: Floats, _: Floats) -> dict[str, Floats]:
        """Return forces and energies at all outputs, states (N T, 2n); NaN where unknown.

        The forces of constraints that do not hold are zero, and so is their violation, except that of an open contact
        that is penetrated.
        """
        found: dict[str, Floats] = {}
        flat: dict[str, Any] = {
            name: getattr(self, name).reshape(len(y), -1) for name in ("holding", "sticking", "directions", "p")
        }
        places = np.flatnonzero(self.known.ravel() & np.isfinite(y).all(axis=1))
        for inside, both in groups(np.hstack([flat["holding"], flat["sticking"]])[places]):
            own, active = places[inside], self.model.active_set(both[: self.model.count])
            sticking, directions = (flat[name][own][:, active.places] for name in ("sticking", "directions"))
            p = flat["p"][own]
            part = MemberPhases(y[own], t[own], p[:, active.columns].T, sticking, directions, np.zeros(len(own), bool))
            values = forces_of(active.transitions.mode(sticking[0], part), part)
            for name, own_values in self._spread(values, active.rows, part.y, part.t, p).items():
                found.setdefault(name, np.full((len(y), *own_values.shape[1:]), np.nan))[own] = own_values
        count = self.known.shape[1]
        for k, run in self.runs.items():
            put_run(found, run, slice(k * count, (k + 1) * count), t)
        return found

    def _spread(self, values: dict[str, Floats], rows: list[int], y: Floats, t: Floats, p: Floats) -> dict[str, Floats]:
        """Return forces of members in one mode, with columns for all constraints."""
        for name in PER_CONSTRAINT:
            if name in values:
                whole = np.zeros((len(y), self.model.count))
                whole[:, rows] = values[name]
                values[name] = whole
        opened = np.flatnonzero(self.model.terms.one_sided & ~np.isin(np.arange(self.model.count), rows))
        expressions = tuple(self.model.system.constraints[i].expression for i in opened)
        if "violation" in values and len(opened):
            values["violation"][:, opened] = np.minimum(self.model.terms.values(expressions, y, t, p), 0.0)
        return values
