# SPDX-License-Identifier: BSD-3-Clause
"""Inputs of actuators and errors of servo constraints of ensemble members."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.array_types import Floats
from dalembert.control.controller import Controller
from dalembert.ensembles.members import Members
from dalembert.integration.control_outputs import errors
from dalembert.integration.native_steps import native_of
from dalembert.lowering.build import build
from dalembert.model.friction_contacts import contacts
from dalembert.model.system import System


class EnsembleControl:
    """Computes inputs and errors of members at their outputs, and notes which inputs are at their limits there.

    If contacts of the model can stick, inputs depend on whether they do. They are left out then, because the states of
    members do not tell.
    """

    def __init__(self, system: System, control: Controller | None, times: Floats):
        self.dynamics, self.times = build(system), times
        model = system if control is None else control.system
        self.sticks = bool(self.dynamics.actuators and contacts(model))
        self.found: dict[str, list[Floats]] = {}
        self.limited: dict[str, list[int]] = {}  # members by the actuator that is at its limit

    def examine(self, first: int, members: Members, y: Floats, *, keep: bool) -> None:
        """Evaluate the states (N, T, 2n) of members, which are numbered from ``first``."""
        if not self.dynamics.actuators:
            return
        N, T = y.shape[:2]
        times, p = np.tile(self.times[-T:], N), np.repeat(members.p.T, T, axis=0)
        at = native_of(self.dynamics).control(y.reshape(N * T, -1), times, p)
        own = {f"error({name})": values for name, values in errors(self.dynamics, at.errors).items()}
        if not self.sticks:
            own |= {f"input({name})": at.inputs[:, j] for j, name in enumerate(self.dynamics.actuators)}
            above = (at.excess > 0).reshape(N, T, -1).any(axis=1)
            for k, j in np.argwhere(above):
                self.limited.setdefault(self.dynamics.actuators[j], []).append(first + int(k))
        for name, values in own.items() if keep else ():
            self.found.setdefault(name, []).append(values.reshape(N, T, *values.shape[1:]))

    @property
    def variables(self) -> dict[str, Any]:
        """The variables of a dataset, with the names that they have in that of a single run."""
        found = {name: np.concatenate(parts) for name, parts in self.found.items()}
        labels = {name: f"requirement of {name[len('error(') : -1]}" for name in found}
        return {
            name: (("member", "time") if values.ndim == 2 else ("member", "time", labels[name]), values)
            for name, values in found.items()
        }

    @property
    def notes(self) -> list[str]:
        """One sentence for each input that is at its limit at outputs, and one if inputs are left out."""
        notes = [
            f"The input of `{name}` was at its limit at outputs of {len(members)} members, first of member "
            f"{min(members)}: the requirement was not met there."
            for name, members in self.limited.items()
        ]
        if self.sticks:
            notes.append(
                "Inputs are not reported, because they depend on which contacts stick; simulate members one by one "
                "with `da.simulate` to see them."
            )
        return notes
