# SPDX-License-Identifier: BSD-3-Clause
"""One segment of a stick-slip motion: integration up to the next transition, whose time is located.

Within a segment friction is smooth: a contact slides in one direction, and its law is continued smoothly beyond the
instant at which it comes to rest. That instant can therefore be located as accurately as the motion is integrated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.integration.integrate import integrate
from dalembert.integration.native_steps import NativeSteps
from dalembert.integration.path import Path
from dalembert.integration.progress import Progress
from dalembert.integration.run import refuse_start
from dalembert.model.friction_contacts import Contact
from dalembert.native.guard_checks import (
    BEND_LIMIT,
    BEND_LIMIT_NEAR_ZERO,
    CHECKS_PER_STEP,
    MAX_CHECKS_PER_STEP,
    TIME_RESOLUTION,
)
from dalembert.stick_slip.guards import Guard
from dalembert.stick_slip.phases import Phase
from dalembert.stick_slip.trial_phases import phase_with
from dalembert.stick_slip.velocity_jumps import is_interrupted

Indices = NDArray[np.int64]

REST_SPEED_RATIO = 1e-10
"""A contact has come to rest at the end of a segment if it is slower than this fraction of its peak speed."""

SLOWDOWN_RATIO = 0.1
"""A segment ends where a contact that slides in a plane has slowed down to this fraction of its speed. Its direction
may change ever faster before it comes to rest; shorter segments keep the steps short enough."""

LINGERING = 0.5
"""Ratio of the speeds at the end and at the start of a segment above which a contact does not come to rest."""

LARGEST_MARGIN = 1e6
"""Bound of margins where their bending is examined; those of contacts and guards without poles are at most one."""

BEFORE_POLE, POLE_GROWTH = (1e-3, 1e-6), 5.0
"""Times before the end of a segment, relative to its length, between which an expression grows by this factor and more
towards a pole, also where it is as slow as that of a cube root."""

BRACKET_DIVISIONS = 64
"""Number of parts into which the bracket of a transition is divided at once."""

UNLOADED = 1e-10
"""Reaction of a contact that shares its load, relative to the largest one, that is rounding where others open."""


@dataclass(frozen=True, eq=False)
class Segment:
    """Motion in one phase, up to the time ``end``; ``path.resumes`` is the time after a jump that has ended it."""

    phase: Phase
    path: Path
    end: float

    @property
    def last(self) -> float:
        """The last time at which the phase may be evaluated: the end, or a margin before the jump there."""
        return self.end if self.path.resumes is None else float(self.path.t[-1])

    @cached_property
    def final(self) -> tuple[Floats, Floats]:
        """State and reactions at the last time."""
        before = int(np.searchsorted(self.path.t, self.last, side="right")) - 1
        here = slice(before, before + 1)
        t0, y0 = self.path.t[here], self.path.y[here]
        y, reactions = self.phase.outputs_at(self.path.native, t0, y0, np.array([self.last]))
        return y[0], reactions[0]

    def released(self) -> set[Contact]:
        """The contacts whose static limit is exceeded at the end."""
        y, reactions = self.final
        phase = self.phase
        found = {c for c in phase.determined if phase.load(c, self.last, y, reactions).excess > 0}
        if phase.undetermined and phase.holding(np.array([self.last]), y[None], reactions[None]).margin[0] < 0:
            found |= {*phase.undetermined}
        return found

    @cached_property
    def peak_speeds(self) -> dict[Contact, float]:
        """The largest speed of each sliding contact since it began to slide."""
        path, phase = self.path, self.phase
        return {c: max(phase.peak_speeds[c], float(phase.speed(c, path.t, path.y).max())) for c in phase.directions}

    @cached_property
    def fired(self) -> tuple[Guard, ...]:
        """The guards that are negative at the end; none if friction alone has ended the phase."""
        if not self.path.stopped or not self.phase.guards:
            return ()
        values = self._guard_values
        found = tuple(guard for guard, value in zip(self.phase.guards, values, strict=True) if value < 0)
        if not found and not self.phase.mode.contacts:
            # one state and many may round differently, and nothing else ends a phase without friction
            found = (self.phase.guards[int(np.argmin(values))],)
        if any(self.phase.is_shared(guard) for guard in found):
            unloaded = zip(self.phase.guards, self._unloaded(values), strict=True)
            found = (*found, *(guard for guard, opens in unloaded if opens and guard not in found))
        return found

    def _unloaded(self, values: Floats) -> NDArray[np.bool_]:
        """Return which guards are negative, or of contacts that share their load and have none but for rounding."""
        shared = np.array([self.phase.is_shared(guard) for guard in self.phase.guards])
        return (values < 0) | (shared & (values <= UNLOADED * np.abs(values[shared]).max(initial=0.0)))

    @cached_property
    def poles(self) -> tuple[Guard, ...]:
        """The guards that grow towards infinity at the end: if they change their sign there, it is not through zero."""
        began, length = float(self.path.t[0]), self.end - float(self.path.t[0])
        times = self.end - length * np.array(BEFORE_POLE)
        if not self.phase.guards or self.end - times[-1] <= TIME_RESOLUTION / BEFORE_POLE[-1] * max(
            abs(began), abs(self.end)
        ):
            return ()  # too short to tell
        before = np.searchsorted(self.path.t, times, side="right") - 1
        y, reactions = self.phase.outputs_at(self.path.native, self.path.t[before], self.path.y[before], times)
        far, near = np.abs(self.phase.guard_values(times, y, reactions)).T
        grown = near > POLE_GROWTH * far
        return tuple(guard for guard, pole in zip(self.phase.guards, grown, strict=True) if pole)

    @cached_property
    def redistributes(self) -> bool:
        """Whether contacts that share their load come to rest or slip at the end, or their friction is undetermined."""
        if self.phase.sharing is None or not self.path.stopped:
            return False
        here = np.array([self.last]), self.final[0][None]
        return bool(self.stopped() or self.released() or self.phase.friction_differs(*here)[0])

    @property
    def undefined(self) -> tuple[Guard, ...]:
        """The guards that are not a number at the end."""
        if not self.path.stopped or not self.phase.guards:
            return ()
        return tuple(g for g, value in zip(self.phase.guards, self._guard_values, strict=True) if np.isnan(value))

    @cached_property
    def _guard_values(self) -> Floats:
        return self.phase.guard_values(self.last, *self.final)

    def stopped(self) -> set[Contact]:
        """The contacts that have come to rest at the end."""
        y, _ = self.final
        return {c for c in self.phase.directions if self._has_stopped(c, y)}

    def _has_stopped(self, contact: Contact, y: Floats) -> bool:
        if len(contact.velocity) == 1 and self.phase.has_turned(contact, self.last, y):
            return True  # on a line, a velocity can leave its direction only through zero
        if self.phase.speed(contact, self.last, y) <= REST_SPEED_RATIO * self.peak_speeds[contact]:
            return True
        return bool(self.phase.directions[contact].any()) and self._lingers(contact, y) and self._is_held(contact, y)

    def _lingers(self, contact: Contact, y: Floats) -> bool:
        """Return whether a slip in a plane is as small as errors of the integration, and has not become smaller."""
        phase, end, start = self.phase, (self.last, y), (float(self.path.t[0]), self.path.y[0])
        slows = phase.speed(contact, *end) < LINGERING * phase.speed(contact, *start)
        several = len(contact.velocity) > 1
        return several and not slows and phase.is_unresolved(contact, *start) and phase.is_unresolved(contact, *end)

    def _is_held(self, contact: Contact, y: Floats) -> bool:
        """Return whether friction would hold a contact at the end; one that begins to slide as slowly is not held."""
        others = {c: direction for c, direction in self.phase.directions.items() if c != contact}
        held = replace(phase_with(self.phase, (*self.phase.mode.sticking, contact), others), undetermined=())
        here = np.array([self.last])
        reactions = held.outputs_at(None, here, y[None], here)[1][0]
        return bool(held.load(contact, self.last, y, reactions).excess <= 0)


def integrate_segment(
    phase: Phase,
    y: Floats,
    t: float,
    t1: float,
    max_interval: float,
    max_steps: int,
    bar: Progress,
    jumps: Sequence[tuple[float, float]] = (),
    margin: float = 0.0,
) -> Segment:
    """Integrate from (t, y) up to the next transition, or to t1, and locate the transition.

    ``max_interval`` is the longest time between two checks for a transition; ``jumps`` are pairs of neighbouring times
    between which functions of time jump, at which steps end, a ``margin`` before them.
    """
    monitor = _TransitionMonitor(phase, max_interval)
    dynamics = phase.mode.dynamics
    method = replace(phase.method, max_steps=max(max_steps, 0))
    watched = bool(phase.mode.contacts or phase.guards)
    path = integrate(
        *(dynamics, method, y, t, t1, phase.values, bar, monitor if watched else None),
        jumps=[(max(before - margin, t), after) for before, after in jumps if before >= t],
        jump_test=lambda y, before, after: is_interrupted(phase, y, before, after + margin),
    )
    if not path.valid_start:
        q, qd = np.split(y, 2)
        refuse_start(dynamics, phase.method, q, qd, t, phase.values)
    if path.resumes is not None:  # all times before the jump belong to this segment, also those within the margin
        return Segment(phase, path, float(np.nextafter(path.resumes, -np.inf)))
    return Segment(phase, path, monitor.locate(path) if path.stopped else float(path.t[-1]))


class _TransitionMonitor:
    """Checks the steps of a phase for a transition, at as many times within each as the margins need.

    speeds    largest speed so far of each contact that slides in a plane
    checks    number of checks in the step of the transition
    """

    def __init__(self, phase: Phase, max_interval: float) -> None:
        self.phase, self.max_interval = phase, max_interval
        self.speeds = {c: 0.0 for c in phase.directions if len(c.velocity) > 1}
        self.checks = BRACKET_DIVISIONS

    def __call__(self, times: Floats, states: Floats, native: NativeSteps | None) -> int | None:
        """Return the number of steps up to the first transition, None if there is none."""
        counts, step, between, y, ended = self._checked(times, states, native)
        for contact, before in self.speeds.items():
            speeds = np.maximum.accumulate(self.phase.speed(contact, times, states)).clip(before)
            ended |= self.phase.speed(contact, between, y) < SLOWDOWN_RATIO * speeds[step]
            self.speeds[contact] = speeds[int(step[np.argmax(ended)]) if ended.any() else -1]
            # many steps have not made it slower or faster: at the end it is asked whether friction holds it
            ended[-1] |= all(self.phase.is_unresolved(contact, times[k], states[k]) for k in (0, -1))
        if not ended.any():
            return None
        last = int(step[np.argmax(ended)])
        self.checks = int(counts[last])
        return last + 1

    def _checked(
        self, times: Floats, states: Floats, native: NativeSteps | None
    ) -> tuple[Indices, Indices, Floats, Floats, NDArray[np.bool_]]:
        """Double the checks in each step until the margins are resolved up to the first transition.

        Return the number of checks in each step; then, for each check, the index of its step, its time, its state,
        and whether the phase has ended there.
        """
        phase = self.phase
        # while all contacts stick, steps may be as long as the run
        counts = np.maximum(np.ceil(np.diff(times) / self.max_interval), CHECKS_PER_STEP).astype(int)
        while True:
            step, between = _check_times(times, counts)
            y, reactions = phase.outputs_at(native, times[step], states[step], between)
            ended = phase.has_ended(between, y, reactions)
            coarse = _under_resolved(phase.margins(between, y, reactions), step, counts)
            if ended.any():
                coarse[step[np.argmax(ended)] + 1 :] = False  # later steps do not matter
            if not coarse.any():
                return counts, step, between, y, ended
            counts[coarse] *= 2
            counts = counts[: int(step[np.argmax(ended)]) + 1] if ended.any() else counts

    def locate(self, path: Path) -> float:
        """Return the first time after the transition, in the last step of a path."""
        phase, count = self.phase, self.checks
        early, late = start, end = float(path.t[-2]), float(path.t[-1])
        while late - early > TIME_RESOLUTION * max(abs(start), abs(end), np.ptp(path.t)):
            # many times at once instead of bisection: a call costs more than a few states
            times = np.linspace(early, late, count + 1)[1:]
            ones = np.ones(count)
            y, reactions = phase.outputs_at(path.native, start * ones, path.y[-2] * ones[:, None], times)
            ended = phase.has_ended(times, y, reactions)
            for contact, speed in self.speeds.items():
                ended |= phase.speed(contact, times, y) < SLOWDOWN_RATIO * speed
            first = int(np.argmax(ended)) if ended.any() else count - 1
            if first == count - 1 and times[:-1].max() <= early:
                break  # no floating-point number in between
            early, late, count = float(times[first - 1]) if first else early, float(times[first]), BRACKET_DIVISIONS
        return late


def _check_times(times: Floats, counts: Indices) -> tuple[Indices, Floats]:
    """Return the step of each check and its time: equally spaced in each step, the last one at its end."""
    step = np.repeat(np.arange(len(counts)), counts)
    place = np.concatenate([np.arange(1, count + 1) / count for count in counts])
    # exactly the end of a step, which the sum may miss by rounding
    return step, np.where(place == 1, times[step + 1], times[step] + place * (times[step + 1] - times[step]))


def _under_resolved(margins: Floats, step: Indices, counts: Indices) -> NDArray[np.bool_]:
    """Return in which steps margins (contacts, k) bend so much between checks that a transition may be missed."""
    found = np.zeros(len(counts), bool)
    margins = np.clip(margins, -LARGEST_MARGIN, LARGEST_MARGIN)  # infinite at poles
    bend = np.abs(margins[:, 1:-1] - (margins[:, :-2] + margins[:, 2:]) / 2)
    near = (margins[:, 1:-1] > 0) & (margins[:, 1:-1] <= 2 * bend)
    same_step = (step[:-2] == step[2:]) & (counts[step[2:]] < MAX_CHECKS_PER_STEP)
    found[step[1:-1][(((bend > BEND_LIMIT) | near & (bend > BEND_LIMIT_NEAR_ZERO)) & same_step).any(axis=0)]] = True
    return found
