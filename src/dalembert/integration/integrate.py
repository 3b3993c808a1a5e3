# SPDX-License-Identifier: BSD-3-Clause
"""Integration of a system in time, batch by batch, so that all steps are kept when a run fails or is interrupted."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from math import ulp
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats, vector_of
from dalembert.common.extras import require
from dalembert.equation.dynamics import Dynamics
from dalembert.integration.abrupt_changes import (
    Jump,
    contradiction_at,
    cross_jump,
    find_abrupt_change,
    kink_ahead,
    kink_beside,
    kink_within,
)
from dalembert.integration.bifurcations import singular_end
from dalembert.integration.coefficient_end import up_to_negative
from dalembert.integration.hand_over import excluded_ahead, has_no_answer, is_stuck
from dalembert.integration.jump_location import MOST_EVENTS
from dalembert.integration.method import Method, StepBatch
from dalembert.integration.native_steps import NativeSteps, native_steps
from dalembert.integration.path import RECENT_STEPS, Path, PathRecorder
from dalembert.integration.progress import Progress
from dalembert.integration.singularity_crossing import cross_singularity
from dalembert.integration.stagnation import LAST_STEPS, coordinate_tolerance, stagnation
from dalembert.integration.step_monitor import StepMonitor
from dalembert.integration.tangent_constraints import only_touching
from dalembert.integration.time_segments import TimeSegment, segments_of, with_stops

NATIVE_BATCH = 16384
"""Compiled steps per batch; between batches the progress bar is updated and the steps are examined."""

FIRST_BATCH = 256
"""Steps of the first batch: most runs need no more, and memory for steps takes time to allocate."""

TESTED_BATCH = 64
"""Steps per batch when a test may stop the run: the steps beyond the stop are wasted."""

SHRINKING_STEPS = 4
"""Last steps before one that no step can follow; they are so short that a kink they end at is near all of them."""

FEW_STEPS = 3
"""Steps from a start at which constraints only touch, before the violation of those left out is noticed, or less."""

LEAST_SEGMENT = 4
"""Shortest segment, in units in the last place of time, that is integrated: the shortest step of the integrators."""

MOVED_FAR = (
    "projection would move the state farther than the next step does: a constraint jumps or has a kink there, or the "
    "step is too long. Adaptive steps find the place."
)

NOT_CONSERVED = (
    "there the compiled integrator hands over to the general one, which does not `conserve` first integrals. End the "
    "motion before, or leave `conserve` out."
)

NO_STEPS = StepBatch(np.empty(0), np.empty((0, 0)), 0, False, False, True, [], [])
"""An empty batch: no integrator can take a step."""

StopTest = Callable[[Floats, Floats, NativeSteps | None], int | None]
"""A function of times (k,) and states (k, 2n) of steps, and of the compiled integrator if it took them, that returns
the index of the step at which to stop, or None."""

JumpTest = Callable[[Floats, float, float], bool]
"""A function of a state (2n,) and of the times just before and after a jump of a function of time, that returns
whether integration ends there."""


def integrate(
    dynamics: Dynamics,
    method: Method,
    y0: Floats,
    t0: float,
    t1: float,
    p: Any,
    progress: Progress,
    stop_test: StopTest | None = None,
    *,
    stops: Sequence[float] = (),
    outputs: Floats | None = None,
    corrected: Floats | None = None,
    jumps: Sequence[tuple[float, float]] = (),
    jump_test: JumpTest | None = None,
) -> Path:
    """Integrate from t0 to t1, or as far as possible, and return the steps.

    The compiled integrator hands over to the general one where it cannot take a step.

    stop_test    is called with every batch of steps and the step before it, and may stop the run: see ``Path.stopped``
    stops        times at which integration ends and restarts, as at the events of explicit functions of time
    outputs      the times at which the motion is needed; of a long run only the steps before these are kept
    corrected    the projected start, if the start is off the constraints; integration continues from it
    jumps        pairs of neighbouring times at which integration ends and restarts, beside those of ``dynamics``
    jump_test    may end the run before such a jump: see ``Path.resumes``
    """
    began = time.perf_counter()
    integration = _Integration(dynamics, method, p, progress, stop_test, outputs, y0, t0, t1)
    integration.jump_test = jump_test
    if corrected is not None:
        integration.record.continue_from(corrected, float(np.nextafter(t0, t1)))
    for segment in with_stops(segments_of(dynamics, p, t0, t1, jumps, is_implicit=method.is_implicit), stops):
        if not integration.follow(segment):
            break
    path = integration.record.finish(method.max_steps)
    path.seconds = time.perf_counter() - began
    return path


class _Integration:
    """The state of an integration: its steps so far, and what to try next."""

    def __init__(
        self,
        dynamics: Dynamics,
        method: Method,
        p: Any,
        progress: Progress,
        stop_test: StopTest | None,
        outputs: Floats | None,
        y0: Floats,
        t0: float,
        t1: float,
    ):
        self.dynamics, self.method, self.p, self.progress, self.stop_test = dynamics, method, p, progress, stop_test
        self.t0, self.t1 = t0, t1
        self.jump_test: JumpTest | None = None
        self.native = native_steps(dynamics, method, p)
        numbers = vector_of(p) if self.native is None else self.native.p
        self.record = PathRecorder(y0, t0, outputs, self.native, StepMonitor(dynamics, method, numbers))
        self.path, self.ts, self.ys = self.record.path, self.record.ts, self.record.ys
        self.crossed = 0
        self.room = FIRST_BATCH if stop_test is None else TESTED_BATCH

    @property
    def last(self) -> tuple[Floats, float]:
        """The last state and its time."""
        return self.record.last

    def follow(self, segment: TimeSegment) -> bool:
        """Integrate over a segment and return whether integration continues after it."""
        path, (y, t) = self.path, self.last
        if segment.start > t:
            if not self._cross(segment.start):
                return False
            y, t = self.last
        if t < segment.end <= t + LEAST_SEGMENT * ulp(t):
            # events of different functions of time may differ by rounding only, and no step is as short as that
            self.record.continue_from(y, segment.end)
        if segment.start == segment.end or self.last[1] == segment.end:
            path.finished = segment.end == self.t1
            return not path.finished
        if self.native is not None:
            # the forces may have changed at the start of the segment, and with them the step size
            self.native.step = 0.0
            self.native.max_step = min(self.method.max_step, segment.max_step)
        while path.steps < self.method.max_steps:
            batch = self._batch(segment)
            if self.stop_test is not None and len(batch.t):
                batch = self._until_stop(batch)
            batch = self._until_negative(batch)
            self._keep(batch)
            if path.refusal:
                return False
            ended = batch.finished and path.steps <= self.method.max_steps
            if self._stagnates(batch, segment.end):
                return False
            path.finished = ended and segment.end == self.t1
            if ended or path.stopped:
                return ended and not path.stopped
            if batch.to_be_continued and len(batch.t) and np.isfinite(self.ys[-1][-1]).all():
                continue
            # no step is short enough: either a jump in time lies ahead and can be crossed, or the run ends here
            if path.refusal or not self._cross_abrupt_change():
                if batch.moved_far and not path.refusal and path.resumes is None:
                    path.refusal = self._singular_end() or MOVED_FAR
                return False
            if self.last[1] >= segment.end:
                return segment.end < self.t1
        return False

    def _singular_end(self) -> str:
        return singular_end(self.dynamics, np.concatenate(self.ts), np.concatenate(self.ys), self.p)

    def _cross_abrupt_change(self) -> bool:
        """Cross a jump in time at which integration has stalled; return whether there was one and it was crossed."""
        after = self._abrupt_change()
        # counted even without success: a run that stalls over and over must end
        self.crossed += 1
        return after is not None and self.crossed <= MOST_EVENTS and self._cross(after)

    def _abrupt_change(self) -> float | None:
        """Return the time just after a jump ahead; None if there is none, or if it cannot be crossed."""
        y, t = self.last
        after = find_abrupt_change(self.dynamics, y, t, self.t1, self.p)
        if after is None:
            found = contradiction_at(self.dynamics, y, t, self.p)
            found = found or kink_ahead(self.dynamics, y, t, self.t1, self.p)
            if not found and self.method.step is None:
                recent = np.concatenate(self.ys[-SHRINKING_STEPS:])[-SHRINKING_STEPS:]
                found = kink_beside(self.dynamics, recent, t, self.p, coordinate_tolerance(self.method, y))
            elif not found and self.method.step is not None:
                found = kink_within(self.dynamics, y, t, min(self.method.step, self.t1 - t), self.p)
            self.path.refusal = found
        return after

    def _batch(self, segment: TimeSegment) -> StepBatch:
        """Take steps towards the end of a segment: compiled, else across a singularity, else by the general integrator.

        The checks in between are ordered by cost: each one avoids the seconds that compiling the next would take.
        """
        (y, t), native, path = self.last, self.native, self.path
        batch = None
        if native is not None:
            batch = native.step_batch(y, t, segment.end, min(self.method.max_steps - path.steps, self.room))
            excluded = batch is None and self._constraints_exclude_motion(native, segment.end)
            stuck = batch is None and not excluded and self._is_stuck(native)
            if stuck or excluded:
                # at a well conditioned state, a fixed step is refused only if its projection moves it far
                projected = native.drift.projections > 0 and bool(self.dynamics.constraints or self.dynamics.integrals)
                moved_far = stuck and native.fixed is not None and projected
                return NO_STEPS._replace(valid=path.steps > 0, moved_far=moved_far)
            if batch is None and path.native is not None and native.fixed is None:
                batch = self._cross_singularity(native, segment.end)
            if batch is None and (self._abrupt_change() is not None or path.refusal):
                return NO_STEPS
            if batch is None and path.steps <= FEW_STEPS and native.fixed is None:
                path.refusal = only_touching(self.dynamics, native, self.ys[0][0], self.t0, self.t1)
                if path.refusal:
                    return NO_STEPS
            if batch is None and has_no_answer(self.dynamics, self.method, y, t, self.p):
                return NO_STEPS._replace(valid=path.steps > 0)
        if batch is None and self.dynamics.integrals:
            path.refusal = NOT_CONSERVED
            return NO_STEPS
        if batch is None:
            # diffrax is slow to import, and most runs do not need it
            require("diffrax")
            from dalembert.integration.general_steps import general_batch

            if path.native is not None:
                path.handed_over, path.native = t, None
            batch = general_batch(self.dynamics, self.method, y, t, segment, self.p)
        return batch

    def _is_stuck(self, native: NativeSteps) -> bool:
        """Whether no step is short enough although the equations are well conditioned."""
        y, t = self.last
        return is_stuck(self.dynamics, native, y, t, (t if self.path.steps else self.t1) - self.t0)

    def _constraints_exclude_motion(self, native: NativeSteps, end: float) -> bool:
        """Whether constraints exclude one another just ahead; this is then why no motion can follow."""
        (y, t), path = self.last, self.path
        if path.steps:
            recent = np.concatenate(self.ts)[-RECENT_STEPS:]
            path.refusal = excluded_ahead(self.dynamics, native, y, t, float(np.diff(recent).max()), end)
        return bool(path.refusal)

    def _stagnates(self, batch: StepBatch, end: float) -> bool:
        """Return whether the last steps made no progress, and set ``Path.refusal`` if so."""
        # not at the end of a segment, which has been reached: there may be thousands of them
        if batch.finished or self.path.steps < LAST_STEPS[0] or not len(batch.t):
            return False
        kept, whole, rest = (self.ts, self.ys), self.t1 - self.t0, end - float(batch.t[-1])
        self.path.refusal = stagnation(
            self.dynamics, self.method, batch, kept, self.p, whole=whole, rest=rest, most=NATIVE_BATCH
        )
        return bool(self.path.refusal)

    def _until_stop(self, batch: StepBatch) -> StepBatch:
        """Return the steps of a batch up to the one at which the test stops the run, or all of them."""
        assert self.stop_test is not None
        y, t = self.last
        last = self.stop_test(np.append(t, batch.t), np.vstack([y, batch.y]), self.path.native)
        self.path.stopped = last is not None
        return (
            batch
            if last is None
            else batch._replace(t=batch.t[:last], y=batch.y[:last], finished=False, from_start=None)
        )

    def _until_negative(self, batch: StepBatch) -> StepBatch:
        """Return the steps before a coefficient of a law becomes negative, and set ``Path.refusal`` if one does."""
        test = self.dynamics.negative_coefficient
        if test is None or not len(batch.t):
            return batch
        y, t = self.last
        times, states = np.append(t, batch.t), np.vstack([y, batch.y])
        # the last step of a run that has been stopped goes beyond its end
        kept = len(times) - 1 if self.path.stopped else len(times)
        found = test(times[:kept], states[:kept], self.p)
        if found is None:
            return batch
        self.path.stopped = False
        whole, self.path.refusal = up_to_negative(found, times, states, self._steps_to)
        return batch._replace(t=whole.t[1:], y=whole.y[1:], finished=False, from_start=None)

    def _steps_to(self, y: Floats, t: float, end: float) -> StepBatch | None:
        """Take the steps from a state to a time just after it."""
        most, native = self.method.max_steps, self.path.native
        if native is not None:
            native.step = 0.0
            return native.step_batch(y, t, end, most)
        from dalembert.integration.general_steps import general_batch

        return general_batch(self.dynamics, self.method, y, t, TimeSegment(t, end), self.p)

    def _keep(self, batch: StepBatch) -> None:
        """Record a batch of steps."""
        self.record.append(batch)
        self.room = NATIVE_BATCH if self.stop_test is None else TESTED_BATCH
        if len(batch.t):
            self.progress.show(float(batch.t[-1]), self.path.steps)

    def _cross(self, start: float) -> bool:
        """Continue at the next number after a jump; return whether that is possible."""
        y, t = self.last
        if self.jump_test is not None and self.jump_test(y, t, start):
            self.path.resumes = start
            return False
        state, notes, refusal = cross_jump(self.dynamics, y, t, start, self.p)
        self.path.notes += notes
        self.path.refusal = refusal
        if refusal:
            return False
        if notes:  # without a jump of the velocities, the step across the event is one like others
            self.path.jumps.append(Jump(start, y, state))
        self.record.continue_from(state, start)
        return True

    def _cross_singularity(self, native: NativeSteps, end: float) -> StepBatch | None:
        """Return the crossing of a singular position as a batch of one step, or None if there is none."""
        found = cross_singularity(native, np.concatenate(self.ts), np.concatenate(self.ys), end)
        if found is None:
            return None
        self.path.crossings.append(found)
        landed = found.states(found.end)[0]
        if native.is_well_conditioned(landed, found.end):
            landed = native.engine.projected(landed, found.end, native.p)
        # the step before the singularity was shrinking: estimate a new one
        native.step = 0.0
        finished = found.end == end
        return StepBatch(np.array([found.end]), landed[None], 0, finished, not finished, True, [len(native.rows)], [])
