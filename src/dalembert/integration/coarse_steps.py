# SPDX-License-Identifier: BSD-3-Clause
"""Fixed steps that pass over the rise of friction near rest, on which adaptive steps are shortened."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats, vector_of
from dalembert.common.names import counted
from dalembert.equation.dynamics import Dynamics

PASSES_OVER = "too long for friction near rest"
"""Part of the note on such steps."""


@dataclass
class CoarseSteps:
    """The number of fixed steps of a run that do not resolve friction near rest, and the time of the first one."""

    count: int = 0
    first: float = np.inf

    def observe(self, dynamics: Dynamics, step: float | None, times: Floats, states: Floats, p: Any) -> None:
        """Examine the steps between times (k,), with states (k, 2n); adaptive steps resolve friction."""
        if step is None or not dynamics.has_friction_near_rest:
            return
        resolved = _resolved(dynamics, times, states, vector_of(p))
        if not resolved.all():
            self.count += int((~resolved).sum())
            self.first = min(self.first, float(times[:-1][~resolved][0]))


def _resolved(dynamics: Dynamics, t: Floats, y: Floats, p: Floats) -> Any:
    """Return which steps resolve friction near rest."""
    if dynamics.machine_code is not None:
        return dynamics.machine_code.resolves_friction(t, y, p)
    resolve = dynamics.resolve
    assert resolve is not None
    return np.broadcast_to(np.asarray(resolve(t[:-1], y[:-1].T, t[1:], y[1:].T, p)), len(t) - 1)


def coarse_step_notes(step: float | None, found: Iterable[CoarseSteps]) -> list[str]:
    """Return a note on the fixed steps of all parts of a run that do not resolve friction near rest."""
    parts = [own for own in found if own.count]
    if not parts:
        return []
    steps = counted(sum(own.count for own in parts), "step")
    return [
        f"Steps of {step:.6g} are {PASSES_OVER} ({steps}, the first at t = "
        f"{min(own.first for own in parts):.6g}): `da.Stribeck` changes there on the scale of its `speed`, and a step "
        f"should change the sliding velocity by at most half of that. Pass a shorter `step`, or leave `step` out: "
        f"adaptive steps become as short as needed."
    ]
