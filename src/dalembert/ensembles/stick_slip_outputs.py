# SPDX-License-Identifier: BSD-3-Clause
"""Forces and multipliers of ensemble members under dry friction, by the phase that each output belongs to."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.ensembles.modes_of_many import ModeOfMany
from dalembert.ensembles.stick_slip_transitions import MemberPhases, Transitions, groups
from dalembert.integration.trajectory import Trajectory
from dalembert.integration.trajectory_dataset import PER_CONSTRAINT

FORCE_OUTPUTS = ("acceleration", "ideal_force", "nonideal_force", "multipliers", "reactions", "violation", "energy")


@dataclass
class OutputPhases:
    """The phases of the outputs of N members at T times.

    known         (N, T) whether the phase is known; then ``sticking`` and ``directions`` (N, T, contacts) are its own
    runs          the members that were simulated by themselves
    """

    transitions: Transitions
    known: NDArray[np.bool_]
    sticking: NDArray[np.bool_]
    directions: Floats
    runs: dict[int, Trajectory] = field(default_factory=dict[int, Trajectory])

    def put(self, selection: NDArray[np.intp], part: OutputPhases | None) -> None:
        """Replace the phases of some members."""
        if part is not None:
            self.known[selection], self.sticking[selection] = part.known, part.sticking
            self.directions[selection] = part.directions

    def subset(self, own: slice) -> OutputPhases:
        """Return those of consecutive members."""
        first, last, _ = own.indices(len(self.known))
        runs = {k - first: run for k, run in self.runs.items() if first <= k < last}
        return OutputPhases(self.transitions, self.known[own], self.sticking[own], self.directions[own], runs)

    def forces(self, y: Floats, t: Floats, p: Floats) -> dict[str, Floats]:
        """Return forces and energies at all outputs, states (N T, 2n) with parameters (N T, k); NaN where unknown."""
        found: dict[str, Floats] = {}
        contacts = self.sticking.shape[2]
        sticking, directions = self.sticking.reshape(-1, contacts), self.directions.reshape(-1, contacts)
        places = np.flatnonzero(self.known.ravel() & np.isfinite(y).all(axis=1))
        for inside, kind in groups(sticking[places]):
            own = places[inside]
            odd = np.zeros(len(own), bool)
            part = MemberPhases(y[own], t[own], p[own].T, sticking[own], directions[own], odd)
            mode = self.transitions.mode(kind, part)
            for name, values in forces_of(mode, part).items():
                found.setdefault(name, np.full((len(y), *values.shape[1:]), np.nan))[own] = values
        count = self.known.shape[1]
        for k, run in self.runs.items():
            put_run(found, run, slice(k * count, (k + 1) * count), t)
        return found


def put_run(found: dict[str, Floats], run: Trajectory, own: slice, t: Floats) -> None:
    """Store the forces of a member that was simulated by itself, as far as it was."""
    times = t[own]
    reached = times <= run.t[-1]
    places = np.searchsorted(run.t, times[reached])
    for name in FORCE_OUTPUTS:
        values = getattr(run, name)
        if values is not None:
            values = np.asarray(values)
            whole = found.setdefault(name, np.full((len(t), *values.shape[1:]), np.nan))
            whole[own][reached] = values[places]


def forces_of(mode: ModeOfMany, part: MemberPhases) -> dict[str, Floats]:
    """Return the forces of members in one mode at their states: see ``joined_trajectory``.

    The force that holds a contact is a nonideal one, although it is computed as that of a constraint.
    """
    found, valid = mode.outputs(part.y, part.t, mode.parameters(part.p, part.directions))
    if mode.mode.sticking:
        m = len(mode.mode.system.constraints)
        M, Q, A = mode.terms(part.y, part.t, part.p, part.directions)
        multipliers = _ideal_multipliers(M, Q, A[:, :m], found["acceleration"])
        ideal = np.einsum("kmn,km->kn", A[:, :m], multipliers)
        found |= {
            "nonideal_force": found["ideal_force"] + found["nonideal_force"] - ideal,
            "ideal_force": ideal,
            "multipliers": multipliers,
            **{name: found[name][:, :m] for name in PER_CONSTRAINT if name in found and name != "multipliers"},
        }
    for values in found.values():
        values[~valid] = np.nan
    return found


def _ideal_multipliers(M: Floats, Q: Floats, A: Floats, acceleration: Floats) -> Floats:
    """Return λ (N, m) of A M⁻¹ (Q + Aᵀλ) = A q̈: the forces of the constraints without friction."""
    if not A.shape[1]:
        return np.zeros(A.shape[:2])
    responses = np.linalg.solve(M, np.concatenate([Q[..., None], np.swapaxes(A, 1, 2)], axis=2))
    products = A @ responses
    target = np.einsum("kmn,kn->km", A, acceleration) - products[..., 0]
    return np.linalg.solve(products[..., 1:], target[..., None])[..., 0]
