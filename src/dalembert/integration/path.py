# SPDX-License-Identifier: BSD-3-Clause
"""The path of an integration: its accepted steps, recorded batch by batch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.integration.abrupt_changes import Jump
from dalembert.integration.method import StepBatch
from dalembert.integration.native_steps import NativeSteps
from dalembert.integration.singularity_crossing import SingularityCrossing
from dalembert.integration.step_monitor import StepMonitor

RECENT_STEPS = 1024
"""Last steps that are always kept: the crossing of a singular position is extrapolated from them."""


@dataclass
class Path:
    """The accepted steps of a run: times (k,) and states (k, 2n), from the start to where it ended.

    native        the compiled integrator if it took all steps, or None
    handed_over   the time at which the compiled integrator handed over to the general one, or None
    stopped       whether a stop test ended the run
    resumes       the time just after a jump before which a jump test ended the run, or None
    crossings     crossings of singular positions
    jumps         jumps of the velocities, by impulses
    dropped       whether steps of a long run were not kept
    refusal       the reason why the motion cannot continue, if known: for example a constraint whose position jumps
    notes         sentences about events during the run
    monitor       observations of the constraints from step to step
    """

    t: Any
    y: Any
    finished: bool
    valid_start: bool = True
    steps: int = 0
    rejected: int = 0
    seconds: float = 0.0
    ranks: tuple[int, int] = (0, 0)
    rank_changes: list[float] = field(default_factory=list[float])
    native: NativeSteps | None = None
    handed_over: float | None = None
    stopped: bool = False
    resumes: float | None = None
    crossings: list[SingularityCrossing] = field(default_factory=list[SingularityCrossing])
    jumps: list[Jump] = field(default_factory=list[Jump])
    dropped: bool = False
    refusal: str = ""
    notes: list[str] = field(default_factory=list[str])
    monitor: StepMonitor | None = None


class PathRecorder:
    """Collects the steps of an integration; ``ts`` and ``ys`` hold those that are kept, batch by batch.

    ``outputs`` are the times at which the motion is needed: of a long run only the steps before these are kept.
    """

    def __init__(self, y0: Floats, t0: float, outputs: Floats | None, native: NativeSteps | None, monitor: StepMonitor):
        self.ts, self.ys = [np.array([t0])], [np.asarray(y0)[None]]
        self.outputs, self.monitor = outputs, monitor
        self.path = Path(self.ts[0], self.ys[0], finished=False, native=native, monitor=monitor)
        self._ranks: list[int] = []

    @property
    def last(self) -> tuple[Floats, float]:
        """The last state and its time."""
        return self.ys[-1][-1], float(self.ts[-1][-1])

    def append(self, batch: StepBatch) -> None:
        """Append a batch of steps to the path."""
        path, (y, t) = self.path, self.last
        path.valid_start &= path.steps > 0 or batch.valid
        path.steps += len(batch.t)
        path.rejected += batch.rejected
        # a batch knows its own changes only, not the one from the batch before
        if self._ranks and batch.ranks and batch.ranks[0] != self._ranks[-1]:
            path.rank_changes.append(t)
        self._ranks += batch.ranks
        path.rank_changes += batch.rank_changes
        if len(batch.t):
            times, states = batch.from_start or (np.append(t, batch.t), np.concatenate([y[None], batch.y]))
            # now, because most steps of a long run are dropped afterwards
            self.monitor.observe(times, states, None if path.native is None else path.native.rows)
            if len(self.ts) == 1 and len(self.ts[0]) == 1:
                self.ts[0], self.ys[0] = times, states
            else:
                self.ts.append(batch.t)
                self.ys.append(batch.y)
            self._drop_steps()

    def continue_from(self, y: Floats, t: float) -> None:
        """Continue with another state at the next number after the present time."""
        self.ts.append(np.array([t]))
        self.ys.append(y[None])

    def _drop_steps(self) -> None:
        """Drop the steps of a long run that are no longer needed: all but those before outputs and the last ones."""
        if self.outputs is None or sum(map(len, self.ts)) < 2 * RECENT_STEPS + len(self.outputs):
            return
        t, y = np.concatenate(self.ts), np.concatenate(self.ys)
        # an output is reached by one step from the last one before it
        before = t.searchsorted(self.outputs[self.outputs <= t[-1]], side="right") - 1
        kept = np.unique(np.concatenate([before, np.arange(max(len(t) - RECENT_STEPS, 0), len(t))]))
        self.ts[:], self.ys[:] = [t[kept]], [y[kept]]
        self.path.dropped = True

    def finish(self, most: int) -> Path:
        """Return the path, of at most the given number of steps."""
        path = self.path
        beyond = max(path.steps - most, 0)  # a batch may have gone beyond the limit
        if len(self.ts) == 1:
            t, y = self.ts[0], self.ys[0]
        else:
            t, y = np.concatenate(self.ts), np.concatenate(self.ys)
        path.t, path.y = (t[:-beyond], y[:-beyond]) if beyond else (t, y)
        path.steps = min(path.steps, most)
        path.ranks = (min(self._ranks), max(self._ranks)) if self._ranks else (0, 0)
        return path
