# SPDX-License-Identifier: BSD-3-Clause
"""Monitoring of the constraints from step to step, for changes of their orientation and for kinks.

Steps are examined batch by batch, while all of them are in memory: of a long run most are not kept.
"""

from __future__ import annotations

from functools import lru_cache
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Dynamics, damping_rates, native_of
from dalembert.integration.coarse_steps import CoarseSteps
from dalembert.integration.integral_checks import refuse_changing
from dalembert.integration.method import Method
from dalembert.integration.row_selection import rows_for
from dalembert.native.step_control import ABRUPT_DISTANCE
from dalembert.numerics.linear_algebra import unit_rows

LONG_STEP = 3.0
"""Ratio of a step to the median of its batch above which the step counts as doubtful."""

MOST_WORK_OF_CHECKS = 1e9
"""Multiplications in determinants beyond which monitoring of orientations ends: it must not take longer than the
integration."""

MOST_STEPS = 1000
"""Largest number of doubtful steps that are kept for a closer examination."""

PARTS_OF_STEP = 8
"""Most parts into which a long step is divided to look for changes of orientation inside it; there are fewer where
steps of median length resolve it."""


class DoubtfulStep(NamedTuple):
    """A step between two times, from a state (2n,), with the constraint rows that were independent there."""

    start: float
    end: float
    y: Floats
    rows: list[int]


class StepMonitor:
    """Observations of the steps of one run.

    doubtful    steps that may have crossed a bifurcation of the constraints
    kinks       times at which a constraint was left at a kink because no projection keeps it satisfied, by its number
    coarse      fixed steps that do not resolve friction near rest
    """

    def __init__(self, dynamics: Dynamics, method: Method, p: Floats):
        self.dynamics, self.method = dynamics, method
        self.doubtful: list[DoubtfulStep] = []
        self.kinks: dict[int, list[float]] = {}
        self.coarse = CoarseSteps()
        native = dynamics.machine_code
        self.p = p
        m, n = len(dynamics.constraints), len(dynamics.coordinates)
        self.work, self.work_of_determinant = 0.0, m * m * n
        possible = m > 0 and native is not None
        uncorrected = method.drift.in_machine_code and not method.drift.projections
        self.checks_kinks = possible and method.step is None and uncorrected
        self.checks_rows = possible and not native_of(dynamics).constant_rows

    def observe(self, times: Floats, states: Floats, rows: tuple[int, ...] | None) -> None:
        """Examine the steps between times (k,), with states (k, 2n); ``rows`` are those in use, if known."""
        refuse_changing(self.dynamics, states[1:], times[1:], self.p)
        self.coarse.observe(self.dynamics, self.method.step, times, states, self.p)
        if not self.checks_rows and not self.checks_kinks:
            return
        rows = rows_for(self.dynamics, states[0], float(times[0]), self.p) if rows is None else rows
        if self.checks_rows and len(self.doubtful) < MOST_STEPS:
            self._check_rows(times, states, rows)
        if self.checks_kinks:
            self._check_residuals(times, states, rows)

    def _check_rows(self, t: Floats, y: Floats, rows: tuple[int, ...]) -> None:
        """Collect the steps in which the rows change their orientation."""
        if not rows:
            return
        longest, parts = self._division(t)
        uncertain = native_of(self.dynamics).orientation_test(rows)(y, t, self.p, longest, parts)
        if not len(uncertain):
            return
        turned = self._turned(t, y, uncertain, 1, rows)
        long = uncertain[t[uncertain + 1] - t[uncertain] > longest][:MOST_STEPS]
        if len(long):
            turned = np.union1d(turned, self._turned(t, y, long, parts, rows))
        found = map(int, turned[:MOST_STEPS])
        self.doubtful += [DoubtfulStep(float(t[k]), float(t[k + 1]), y[k].copy(), list(rows)) for k in found]

    def _turned(
        self, t: Floats, y: Floats, steps: NDArray[np.int64], parts: int, rows: tuple[int, ...]
    ) -> NDArray[np.int64]:
        """Return those of the given steps in which the rows change their orientation from the end of a part to the
        next one."""
        self.work += steps.size * parts * self.work_of_determinant
        if self.work > MOST_WORK_OF_CHECKS:
            return steps[:0]
        # undivided steps, some of length zero, are compared at their ends as they are
        ends = np.stack([steps, steps + 1], axis=1)
        times, states = (t[ends], y[ends]) if parts == 1 else interpolated(t, y, steps, parts)
        A = native_of(self.dynamics).rows_of_many(states.reshape(times.size, -1), times.ravel(), self.p)[:, list(rows)]
        # what lies between the end of one step and the start of the next is left out
        changes = np.append(orientation_changes(A), False).reshape(times.shape)[:, :-1]
        return steps[changes.any(axis=1)]

    def _division(self, t: Floats) -> tuple[float, int]:
        """Return above which length steps are examined inside, and into how many parts they are divided.

        Two changes of orientation within one step cancel at its ends.
        """
        steps = t[1:] - t[:-1]
        longest = float(steps[steps.argmax()])  # in a third of the time of ``max``
        if longest <= LONG_STEP * (t[-1] - t[0]) / len(steps):  # the mean, in less time than the median
            return np.inf, 1
        median = _median(steps)
        # the median is zero where steps have shrunk to nothing before a singular position
        parts = PARTS_OF_STEP if longest >= PARTS_OF_STEP * median else ceil(longest / median)
        return LONG_STEP * median, parts

    def _check_residuals(self, t: Floats, y: Floats, rows: tuple[int, ...]) -> None:
        """Collect abrupt changes of the residuals, which without projection only a jump or a kink can cause.

        Only constraints in use are considered: redundant ones are not stabilised by their own rates.
        """
        terms = native_of(self.dynamics).terms_of_many(y, t, np.broadcast_to(self.p, (len(t), len(self.p))))
        A, position, velocity = np.abs(terms[2]), terms[4], terms[5]
        n = A.shape[2]
        allowed = ABRUPT_DISTANCE * (np.asarray(self.method.atol) + self.method.rtol * np.abs(y))
        h = np.diff(t)[:, None]
        rates = damping_rates(self.dynamics.levels, self.method.drift.gains())
        of_velocity, of_position = np.array(rates or [(0.0, 0.0)] * A.shape[1], float).T
        sizes = [np.maximum(np.abs(x[1:]), np.abs(x[:-1])) for x in (position, velocity)]
        tolerances = [np.einsum("kmn,kn->km", A[1:], part[1:]) for part in (allowed[:, :n], allowed[:, n:])]
        # a smooth residual changes by its rate times the step, up to the error of the integration
        left = np.abs(np.diff(position, axis=0)) > tolerances[0] + 4 * h * sizes[1]
        expected = h * (of_velocity * sizes[1] + of_position * sizes[0])
        left |= np.abs(np.diff(velocity, axis=0)) > tolerances[1] + 4 * expected
        for k in (k for k in rows if left[:, k].any()):
            self.kinks.setdefault(int(k), []).extend(map(float, t[1:][left[:, k]]))


def _median(values: Floats) -> float:
    """Return the median of numbers (k,), in a tenth of the time of NumPy's, which checks for NaN."""
    middle = (len(values) - 1) // 2, len(values) // 2
    ordered = np.partition(values, middle)
    return float(ordered[middle[0]] + ordered[middle[1]]) / 2


def interpolated(t: Floats, y: Floats, steps: NDArray[np.int64], parts: int) -> tuple[Floats, Floats]:
    """Return times (k, parts + 1) and states within steps, by the cubics through coordinates and velocities at their
    ends."""
    n, h = y.shape[1] // 2, (t[steps + 1] - t[steps])[:, None]
    before, after = y[steps], y[steps + 1]
    given = np.stack([before[:, :n], h * before[:, n:], after[:, :n], h * after[:, n:]], axis=1)
    s, of_position, of_velocity = _hermite_basis(parts)
    states = np.concatenate([of_position @ given, of_velocity @ given / h[:, None]], axis=2)
    return t[steps, None] + h * s, states


@lru_cache(maxsize=8)
def _hermite_basis(parts: int) -> tuple[Floats, Floats, Floats]:
    """Return places s in a step of length one, and there the cubics, and their slopes, whose value at the start, slope
    at the start, value at the end or slope at the end is one and the others zero: (parts + 1, 4)."""
    s = np.linspace(0.0, 1.0, parts + 1)
    cubics = np.array([(1, 0, -3, 2), (0, 1, -2, 1), (0, 0, 3, -2), (0, 0, -1, 1)], float)
    slopes = cubics[:, 1:] * (1, 2, 3)
    return s, s[:, None] ** np.arange(4) @ cubics.T, s[:, None] ** np.arange(3) @ slopes.T


def orientation_changes(rows: Floats) -> NDArray[np.bool_]:
    """Return whether the rows (k, r, n) change orientation between successive states: det(A A'ᵀ) < 0, (k − 1,)."""
    if rows.shape[1] == 1:
        return np.einsum("kij,kij->k", rows[:-1], rows[1:]) < 0
    with np.errstate(over="ignore", invalid="ignore"):
        found = _determinants(rows[:-1] @ rows[1:].transpose(0, 2, 1))
    if not ((np.abs(found) > LEAST_SIGNIFICANT) & (np.abs(found) < 1 / LEAST_SIGNIFICANT)).all():
        # unit rows have the same sign, and their determinant neither overflows nor underflows
        unit = unit_rows(rows)[0]
        found = _determinants(unit[:-1] @ unit[1:].transpose(0, 2, 1))
    return found < 0


LEAST_SIGNIFICANT = 1e-200
"""Determinants outside this number and its inverse may have overflowed or underflowed."""


def _determinants(matrices: Floats) -> Floats:
    if matrices.shape[1] == 2:
        (a, b), (c, d) = matrices.transpose(1, 2, 0)
        return a * d - b * c
    return np.asarray(np.linalg.det(matrices))


def kink_notes(dynamics: Dynamics, monitor: StepMonitor | None) -> list[str]:
    """Return notes on constraints that the motion left at a jump or a kink, because no projection was used."""
    return [
        f"By t = {times[0]:.6g} the motion has met a jump or a kink of `{dynamics.constraints[k]}`, which it does not "
        f"follow without projection: see `violation`. Smooth the constraint, or split the motion there."
        for k, times in (monitor.kinks if monitor is not None else {}).items()
    ]
