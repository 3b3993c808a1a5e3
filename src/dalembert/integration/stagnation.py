# SPDX-License-Identifier: BSD-3-Clause
"""Steps that make no progress: the search for the kink or the jump that holds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Dynamics
from dalembert.integration.abrupt_changes import kink_beside
from dalembert.integration.force_jumps import chatter_of_forces
from dalembert.integration.method import Method, StepBatch

LAST_STEPS = (64, 256, 1024)
"""Numbers of last steps whose pace is examined: if the run cannot finish at that pace, a kink is searched for."""

LEAST_REACH = 1e-2
"""Part of the rest of a segment that all steps of a run would cover at the pace of a force that jumps to and fro, below
which the run ends."""

LEAST_BATCH_PROGRESS = 1e-9
"""The fraction of the run that a full batch of steps must cover: at a slower pace no limit on steps is ever reached."""

Kept = tuple[Sequence[Floats], Sequence[Floats]]
"""Times and states of the steps so far, batch by batch."""


def stagnation(
    dynamics: Dynamics, method: Method, batch: StepBatch, kept: Kept, p: Any, *, whole: float, rest: float, most: int
) -> str:
    """Return the reason why the last steps make no progress; empty if they do.

    whole, rest    the time of the whole run, and that from the last step to the end of the segment
    most           steps of a full batch
    """
    if not np.isfinite(batch.y[-1]).all():
        return ""
    return _held(dynamics, method, batch, kept, p, whole, rest) or _stagnant(batch, whole, most)


def _held(dynamics: Dynamics, method: Method, batch: StepBatch, kept: Kept, p: Any, whole: float, rest: float) -> str:
    """Return a message that names a kink or a jump beside the last steps, if these are too short to finish the run."""
    t, y = batch.t, batch.y
    for count in LAST_STEPS:
        if len(t) <= count and t is batch.t:  # then nothing of the last steps has been dropped
            t, y = (np.concatenate(parts)[-LAST_STEPS[-1] - 1 :] for parts in kept)
        if len(t) <= count:
            break
        reach = float(t[-1] - t[-count - 1]) / count * method.max_steps
        if reach > whole:
            break
        found = kink_beside(dynamics, y[-count:], float(t[-1]), p, coordinate_tolerance(method, y[-1]))
        # not if the segment may end before the steps do, or if somewhat more steps would help
        if not found and count == LAST_STEPS[0] and reach < LEAST_REACH * rest:
            found = chatter_of_forces(dynamics, method, t[-count:], y[-count:], p)
        if found:
            return found
    return ""


def _stagnant(batch: StepBatch, whole: float, most: int) -> str:
    """Return a message on a full batch of steps that covers next to nothing of the run."""
    ahead = float(batch.t[-1] - batch.t[0])
    if len(batch.t) < most or ahead > LEAST_BATCH_PROGRESS * whole:
        return ""
    return (
        f"the last {len(batch.t)} steps took it only {ahead:.1e} farther. A force or a constraint jumps back and forth "
        f"there: smooth it, or end the motion before."
    )


def coordinate_tolerance(method: Method, y: Floats) -> Floats:
    """Return the tolerances (n,) of the coordinates of a state."""
    n = len(y) // 2
    return np.broadcast_to(method.atol, len(y))[:n] + method.rtol * np.abs(y[:n])
