# SPDX-License-Identifier: BSD-3-Clause
"""Gaps of contacts of many ensemble members, and the ends of their series of impacts: the rules of ``hybrid``."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.ensembles.stick_slip_transitions import groups
from dalembert.ensembles.switching_members import Flags, Numbers, SwitchingMembers, SwitchingModel
from dalembert.equation.dynamics import Terms
from dalembert.hybrid.accumulation import FLIGHTS, LARGEST_RATIO, LATEST_IMPACTS, LEAST_IMPACTS
from dalembert.hybrid.gaps import AT_REST, FRESH_GAP, RESOLVED_HEIGHT, START_AT_REST, TOUCHING
from dalembert.impacts.impulses import response, sizes_with_rounding
from dalembert.numerics.violation import own_size


@dataclass(frozen=True, eq=False)
class GapsOfMany:
    """The gaps (N, m) of all constraints, their rates, sizes, and velocities that are rounding: see ``Gaps``."""

    model: SwitchingModel
    terms: Terms
    size: Floats
    part: SwitchingMembers
    speeds: Floats

    @classmethod
    def at(cls, model: SwitchingModel, part: SwitchingMembers, speeds: Floats | None = None) -> GapsOfMany:
        terms, (q, qd) = model.terms.at(*part.at), np.split(part.y, 2, axis=1)
        lengths = np.split(part.scales, 2, axis=1)[0]
        # with the scales of the start: at the origin all terms of a gap may vanish, and no gap would touch
        size = own_size(terms.position, terms.A, q) + _times(np.abs(terms.A), lengths)
        return cls(model, terms, size, part, np.abs(qd) if speeds is None else np.maximum(speeds, np.abs(qd)))

    @cached_property
    def resting(self) -> Floats:
        """The velocities (N, m) of gaps that are rounding."""
        # the scale of the start is bounded, since a fast start must not make slow contacts rest
        started = np.minimum(np.split(self.part.scales, 2, axis=1)[1], 1.0)
        fastest = sizes_of_members(self.speeds, self.terms, self.part)
        return _times(np.abs(self.terms.A), AT_REST * fastest + START_AT_REST * started)

    @property
    def gap(self) -> Floats:
        return self.terms.position

    @property
    def rate(self) -> Floats:
        return self.terms.velocity

    def touching(self, closed: Flags) -> Flags:
        """Return the one-sided constraints that touch; those that are closed do so in any case."""
        return self.model.terms.one_sided & ((self.gap <= TOUCHING * self.size) | closed)

    def approaching(self, touching: Flags) -> Flags:
        """Return the contacts that close."""
        return touching & (self.rate < -self.resting)

    def together(self, touching: Flags, speed: Floats | float = 0.0) -> Flags:
        """Return the contacts that move apart by no more than a speed, or rounding."""
        return touching & (np.abs(self.rate) <= np.maximum(speed, self.resting))

    def penetrated(self) -> Flags:
        """Return the members in which bodies penetrate one another."""
        return np.asarray((self.model.terms.one_sided & (self.gap < -TOUCHING * self.size)).any(axis=1))

    def offsets(self) -> Floats:
        """Return what is to be added to gaps, so that those that have just opened are not negative by rounding."""
        slow = FRESH_GAP * self.size * (np.abs(self.rate) <= self.resting)
        return np.where(self.gap <= TOUCHING * self.size, np.maximum(-self.gap, 0.0) + slow, 0.0)

    def close_up(self, part: SwitchingMembers, arrived: Flags) -> None:
        """Move members such that the gaps of contacts that have just closed are zero; rounding leaves them negative."""
        n = part.y.shape[1] // 2
        inverse = np.linalg.inv(self.terms.M)
        # together with the equations in use, which the correction of a gap must not violate
        rows = (part.active | arrived) & arrived.any(axis=1, keepdims=True)
        for own, kind in groups(rows):
            if kind.any():
                moved = response(self.terms.A[own][:, kind], inverse[own])
                part.y[own, :n] -= _times(moved, self.gap[own][:, kind])


def sizes_of_members(sizes: Floats, terms: Terms, part: SwitchingMembers, offsets: Floats | None = None) -> Floats:
    """Return sizes (N, n) of velocities or accelerations with those that their equations couple them to."""
    active = part.active
    own = None if offsets is None else np.where(active, offsets, 0.0)
    # rows of zeros do not change the others
    return sizes_with_rounding(sizes, np.where(active[..., None], terms.A, 0.0), np.linalg.inv(terms.M), own)


def _times(A: Floats, x: Floats) -> Floats:
    return (A @ x[..., None])[..., 0]


class SeriesEnds(NamedTuple):
    """The contacts (N, m) whose series of impacts end, the times of rest, and the speeds that are not followed."""

    ends: Flags
    times: Floats
    speeds: Floats


@dataclass
class ImpactHistories:
    """The times (N, m, 4) of the last impacts of each contact; times and speeds (N, 50, 2) of the last ones of all."""

    members: int
    constraints: int
    times: Floats = field(init=False)
    latest: Floats = field(init=False)
    count: Numbers = field(init=False)

    def __post_init__(self) -> None:
        self.times = np.full((self.members, self.constraints, FLIGHTS + 1), np.nan)
        self.latest = np.zeros((self.members, LATEST_IMPACTS, 2))
        self.count = np.zeros(self.members, np.intp)

    def record(self, numbers: Numbers, t: Floats, hit: Flags, speeds: Floats) -> None:
        """Record impacts of members at contacts (N, m)."""
        own = self.times[numbers]
        later = np.concatenate([own[..., 1:], np.broadcast_to(t[:, None, None], (*own.shape[:2], 1))], axis=2)
        self.times[numbers] = np.where(hit[..., None], later, own)
        fastest = np.where(hit, speeds, 0.0).max(axis=1)
        self.latest[numbers] = np.roll(self.latest[numbers], -1, axis=1)
        self.latest[numbers, -1] = np.stack([t, fastest], axis=1)
        self.count[numbers] += 1

    def are_endless(self, numbers: Numbers, end: float, most: int) -> Flags:
        """Return which members have impacts that follow one another too fast to reach the end: see ``is_endless``."""
        t, speed = self.latest[numbers, :, 0], self.latest[numbers, :, 1]
        span, half = t[:, -1] - t[:, 0], LATEST_IMPACTS // 2
        fast = (span > 0) & (span * most < (end - t[:, -1]) * LATEST_IMPACTS)
        lasting = speed[:, half:].max(axis=1) >= speed[:, :half].max(axis=1)
        return (self.count[numbers] >= LEAST_IMPACTS) & fast & lasting

    def series_ends(self, numbers: Numbers, gaps: GapsOfMany, hit: Flags, e: Floats) -> SeriesEnds:
        """Return which series of impacts end at contacts that are hit, with restitution e (N, m): see ``rest``."""
        times, speed = self.times[numbers], -gaps.rate
        flights = np.diff(times, axis=2)
        first, middle, last = (flights[..., k] for k in range(FLIGHTS))
        with np.errstate(all="ignore"):  # flights that are not known are not numbers, and compare as false
            low = (e > 0) & (e < LARGEST_RATIO) & (e**2 * speed * last / 4 <= FRESH_GAP * gaps.size)
            ratio = last / middle
            shorter = (first > middle) & (middle > last) & (last > 0) & (ratio <= LARGEST_RATIO)
            small = shorter & (speed * last / 4 <= RESOLVED_HEIGHT * gaps.size)
            factor = np.where(low, e, ratio)
            rest = times[..., -1] + last * factor / (1 - factor)
        return SeriesEnds(hit & (low | small), rest, np.where(low, e * speed, speed))
