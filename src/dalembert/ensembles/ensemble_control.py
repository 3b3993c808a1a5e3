# SPDX-License-Identifier: BSD-3-Clause
"""Inputs of actuators and errors of servo constraints of ensemble members."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.control.controller import Controller
from dalembert.ensembles.members import Members
from dalembert.equation.dynamics import native_of
from dalembert.integration.control_outputs import errors
from dalembert.lowering.build import build
from dalembert.model.friction_contacts import contacts
from dalembert.model.system import System


class EnsembleControl:
    """Computes inputs and errors of members at their outputs, and which inputs are at their limits there.

    If contacts of the model can stick, inputs depend on whether they do. They are left out then, because the states of
    members do not tell.
    """

    def __init__(self, system: System, control: Controller | None, times: Floats):
        self.dynamics, self.times = build(system), times
        model = system if control is None else control.system
        self.sticks = bool(self.dynamics.actuators and contacts(model))

    def examine(self, first: int, members: Members, y: Floats) -> tuple[dict[str, Floats], dict[str, list[int]]]:
        """Return inputs and errors by the names that they have in the dataset of a run, and limited members.

        ``y`` holds states (N, T, 2n) of members, which are numbered from ``first``. The limited members are those
        with an input at its limit, by actuator.
        """
        if not self.dynamics.actuators:
            return {}, {}
        N, T = y.shape[:2]
        times, p = np.tile(self.times[-T:], N), np.repeat(members.p.T, T, axis=0)
        at = native_of(self.dynamics).control(y.reshape(N * T, -1), times, p)
        own = {f"error({name})": values for name, values in errors(self.dynamics, at.errors).items()}
        limited: dict[str, list[int]] = {}
        if not self.sticks:
            own |= {f"input({name})": at.inputs[:, j] for j, name in enumerate(self.dynamics.actuators)}
            above = (at.excess > 0).reshape(N, T, -1).any(axis=1)
            for k, j in np.argwhere(above):
                limited.setdefault(self.dynamics.actuators[j], []).append(first + int(k))
        return {name: values.reshape(N, T, *values.shape[1:]) for name, values in own.items()}, limited

    def notes(self, limited: Mapping[str, list[int]]) -> list[str]:
        """Return one sentence for each input that is at its limit at outputs, and one if inputs are left out."""
        notes = [
            f"The input of `{name}` was at its limit at outputs of {len(members)} members, first of member "
            f"{min(members)}: the requirement was not met there."
            for name, members in limited.items()
        ]
        if self.sticks:
            notes.append(
                "Inputs are not reported, because they depend on which contacts stick; simulate members one by one "
                "with `da.simulate` to see them."
            )
        return notes
