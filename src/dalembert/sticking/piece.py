# SPDX-License-Identifier: BSD-3-Clause
"""One piece of a run: from one change between sticking and sliding to the next, which is found exactly.

Over a piece friction is smooth: a contact slides one way, and its law goes on smoothly beyond the instant at which it
has come to rest. That instant can thus be found as exactly as the motion itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dalembert.integration.integrate import Path, integrate
from dalembert.integration.native_steps import NativeSteps
from dalembert.integration.progress import Progress
from dalembert.integration.run import refuse_start
from dalembert.model.sticking import Contact
from dalembert.sticking.phase import Phase

Floats = NDArray[np.float64]

AT_REST = 1e-10
"""What is slower than this part of its largest speed, when a piece ends, has come to rest."""

SLOWED = 0.1
"""A piece ends where a contact that can turn aside has slowed down to this part of its speed. Its direction may change
ever faster before it comes to rest: piece by piece the steps keep up with that."""

LOOKS = 4
"""How often at least within a step it is asked whether something has changed: it may change to and fro in one."""

MOST_LOOKS = 2**15
"""And how often at most."""

ROUGH, CLOSE = 0.05, 1e-4
"""By how much a margin may bend between two looks, anywhere, and where it comes near to a change. Steps alone do not
see how the forces change on what is held: nothing moves."""

SECTIONS = 64
"""Into how many parts the time of a change is narrowed down at once."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Motion in one phase, up to a time."""

    phase: Phase
    path: Path
    end: float

    @cached_property
    def last(self) -> tuple[Floats, Floats]:
        """State and reactions at the end."""
        before = int(np.searchsorted(self.path.t, self.end, side="right")) - 1
        here = slice(before, before + 1)
        y, reactions = self.phase.at(self.path.native, self.path.t[here], self.path.y[here], np.array([self.end]))
        return y[0], reactions[0]

    def freed(self) -> set[Contact]:
        """The contacts that cannot be held any more."""
        y, reactions = self.last
        return {c for c in self.phase.mode.sticking if self.phase.load(c, self.end, y, reactions).excess > 0}

    @cached_property
    def fastest(self) -> dict[Contact, float]:
        """The largest speed of each contact since it began to slide."""
        path, phase = self.path, self.phase
        return {c: max(phase.fastest[c], float(phase.speed(c, path.t, path.y).max())) for c in phase.directions}

    def stopped(self) -> set[Contact]:
        """The contacts that have come to rest."""
        y, _ = self.last
        return {c for c in self.phase.directions if self._rests(c, y)}

    def _rests(self, contact: Contact, y: Floats) -> bool:
        if len(contact.velocity) == 1 and self.phase.turned(contact, self.end, y):
            return True  # on a line there is no other way to turn
        return bool(self.phase.speed(contact, self.end, y) <= AT_REST * self.fastest[contact])


def next_piece(phase: Phase, y: Floats, t: float, t1: float, look: float, most: int, bar: Progress) -> Piece:
    """Integrate until something changes, in so many steps at most, and find out when exactly.

    ``look`` is the longest time that goes by without asking whether something has changed.
    """

    turning = [c for c in phase.directions if len(c.velocity) > 1]
    fastest = dict.fromkeys(turning, 0.0)
    finest = [SECTIONS]

    def watch(times: Floats, states: Floats, native: NativeSteps | None) -> int | None:
        counts = np.maximum(np.ceil(np.diff(times) / look), LOOKS).astype(int)
        while True:
            step, between = _looks(times, counts)
            y, reactions = phase.at(native, times[step], states[step], between)
            over = phase.over(between, y, reactions)
            rough = _rough(phase.margins(between, y, reactions), step, counts)
            if over.any():
                rough[step[np.argmax(over)] + 1 :] = False  # what comes later does not matter
            if not rough.any():
                break
            counts[rough] *= 2
            counts = counts[: int(step[np.argmax(over)]) + 1] if over.any() else counts
        for contact in turning:
            speeds = np.maximum.accumulate(phase.speed(contact, times, states)).clip(fastest[contact])
            over |= phase.speed(contact, between, y) < SLOWED * speeds[step]
            fastest[contact] = speeds[int(step[np.argmax(over)]) if over.any() else -1]
        if not over.any():
            return None
        last = int(step[np.argmax(over)])
        finest[0] = int(counts[last])
        return last + 1

    dynamics = phase.mode.dynamics
    method = replace(phase.method, max_steps=max(most, 0))
    path = integrate(dynamics, method, y, t, t1, phase.values, bar, watch)
    if not path.sound_start:
        q, qd = np.split(y, 2)
        refuse_start(dynamics, phase.method, q, qd, t, phase.values)
    return Piece(phase, path, _located(phase, path, fastest, finest[0]) if path.stopped else float(path.t[-1]))


def _looks(times: Floats, counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], Floats]:
    """Times within steps, so many in each, the last one its end; and the number of the step of each."""
    step = np.repeat(np.arange(len(counts)), counts)
    place = np.concatenate([np.arange(1, count + 1) / count for count in counts])
    return step, np.where(place == 1, times[step + 1], times[step] + place * (times[step + 1] - times[step]))


def _rough(margins: Floats, step: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """In which steps margins (contacts, k) bend so much from look to look that a change may go by unseen."""
    found = np.zeros(len(counts), bool)
    bend = np.abs(margins[:, 1:-1] - (margins[:, :-2] + margins[:, 2:]) / 2)
    near = (margins[:, 1:-1] > 0) & (margins[:, 1:-1] <= 2 * bend)
    alike = (step[:-2] == step[2:]) & (counts[step[2:]] < MOST_LOOKS)
    found[step[1:-1][(((bend > ROUGH) | near & (bend > CLOSE)) & alike).any(axis=0)]] = True
    return found


def _located(phase: Phase, path: Path, fastest: dict[Contact, float], count: int) -> float:
    """The first time at which something has changed, in the last step of a path.

    ``fastest`` are speeds before it, ``count`` how often to look at first.
    """
    early, late = start, end = float(path.t[-2]), float(path.t[-1])
    while late - early > 4e-16 * max(abs(start), abs(end), np.ptp(path.t)):
        times = np.linspace(early, late, count + 1)[1:]
        ones = np.ones(count)
        y, reactions = phase.at(path.native, start * ones, path.y[-2] * ones[:, None], times)
        over = phase.over(times, y, reactions)
        for contact, speed in fastest.items():
            over |= phase.speed(contact, times, y) < SLOWED * speed
        first = int(np.argmax(over)) if over.any() else count - 1
        if first == count - 1 and times[:-1].max() <= early:
            break  # no time in between
        early, late, count = float(times[first - 1]) if first else early, float(times[first]), SECTIONS
    return late
