# SPDX-License-Identifier: BSD-3-Clause
"""Steps of a large system: a Runge–Kutta method, explicit or implicit, with a projection after each step.

Step control and its constants are those of the compiled integrator in ``native/stepper.py``. Here the vectors are
long, so that NumPy is as fast as machine code; the terms and the elimination are machine code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.integration.method import Method, split_state
from dalembert.integration.sparse_implicit import SparseImplicit
from dalembert.integration.sparse_motion import acceleration
from dalembert.integration.sparse_step_check import reason_unreached
from dalembert.integration.time_segments import TimeSegment, events_of, segments
from dalembert.native.collocation import Collocation
from dalembert.native.initial_step import DEFAULT_FIRST_STEP, LEAST_DERIVATIVE, LEAST_SIZE
from dalembert.native.sparse_system import LargeDynamics
from dalembert.native.step_control import ABRUPT_DISTANCE, SAFETY_FACTOR, settings_of
from dalembert.native.stepper import LAST_STEP_SLACK, LEAST_RATIO, MOST_RATIO, MOST_RATIO_AT_REST
from dalembert.native.tableau import Factors, Tableau
from dalembert.numerics.tolerances import ROUNDING


class SparseStep(NamedTuple):
    """An accepted step, from ``start`` at ``before`` to ``state`` at ``t``."""

    before: float
    start: Floats
    t: float
    state: Floats


class NoStepError(Exception):
    """No step can be taken; the message says why, and ``t`` is the time reached."""

    def __init__(self, t: float, reason: str):
        self.t = t
        Exception.__init__(self, reason)


class SparseSteps:
    """Takes steps of a large system.

    ``rows`` is a mask of the independent constraints. They are chosen at states on the constraints and kept within a
    step: off the constraints, redundant rows are almost dependent, and would imply arbitrarily large accelerations.
    """

    def __init__(self, dynamics: LargeDynamics, method: Method, numbers: Floats):
        tableau = method.tableau
        assert tableau is not None
        self.dynamics, self.method, self.numbers, self.tableau = dynamics, method, numbers, tableau
        self.code, self.gains = dynamics.code, method.drift.gains()
        self.rows: NDArray[np.bool_] = np.ones(self.code.m, bool)
        self.only_positions = bool((dynamics.levels == 0).all())
        is_projected = method.drift.projections > 0 and bool((dynamics.levels == 0).any())
        self._is_projected_fixed = method.step is not None and is_projected
        self.slopes = np.zeros((len(tableau.nodes), 2 * self.code.n))
        self.rejected = self._taken = 0
        self.rtol, self._atol = tableau.step_tolerances(method.rtol, method.atol)
        self._implicit = SparseImplicit(self, tableau) if isinstance(tableau, Collocation) else None
        self._is_factored = False

    def _evaluate(self, y: Floats, t: float) -> None:
        q, qd = split_state(y)
        self.code.evaluate(q, qd, t, self.numbers)

    def _factor(self, rows: NDArray[np.bool_]) -> None:
        elimination = self.code.elimination
        if elimination is not None:
            elimination.used = rows
            self.code.factor()

    def choose_rows(self, y: Floats, t: float) -> None:
        """Choose independent constraints at a state on the constraints."""
        self._evaluate(y, t)
        self._choose(2)
        self._is_factored = self.only_positions

    def factor_at(self, y: Floats, t: float) -> None:
        """Evaluate a state, and factor S with the present rows."""
        self._evaluate(y, t)
        self._factor(self.rows)
        self._is_factored = False

    def restart(self) -> None:
        """Forget the factors of the last state, because another one was evaluated since."""
        self._is_factored = False

    def _choose(self, level: int) -> None:
        """Choose independent rows up to a level at the last evaluation; those of higher levels are all kept."""
        considered = self.dynamics.levels <= level
        self._factor(considered)
        elimination = self.code.elimination
        if elimination is not None:
            self.rows = ~elimination.left_out | ~considered

    def slope(self, y: Floats, t: float) -> Floats:
        """Return ẏ (2n,) at a state."""
        self._evaluate(y, t)
        # after a projection the factors are those of this state already
        if not self._is_factored:
            self._factor(self.rows)
        self._is_factored = False
        # factors are those of one state: the next slope needs its own
        return np.concatenate([split_state(y)[1], acceleration(self.dynamics, self.gains)])

    def projected(self, y: Floats, t: float) -> Floats:
        """Return the state on the constraints near y, and choose independent rows there."""
        count, levels = self.method.drift.projections, self.dynamics.levels
        if not count or not self.code.m:
            return y
        q, qd = (np.array(x) for x in split_state(y))
        if (levels == 0).any():
            for i in range(count):
                self.code.evaluate(q, qd, t, self.numbers)
                if not i:  # the factors are close enough for the second iteration: it need not converge quadratically
                    self._factor(self.rows & (levels == 0))
                q -= self.code.correction(self.code.residuals.position)[1]
        self.code.evaluate(q, qd, t, self.numbers)
        # rows may have become dependent at the new positions, and velocities are the next to need them
        self._choose(1)
        qd -= self.code.correction(self.code.residuals.velocity)[1]
        if not self.only_positions:  # ψ need not be linear in the velocities
            for _ in range(count - 1):
                self.code.evaluate(q, qd, t, self.numbers)
                qd -= self.code.correction(self.code.residuals.velocity)[1]
            if (levels == 2).any():
                self._choose(2)
        self._is_factored = self.only_positions
        return np.concatenate([q, qd])

    def stepped(self, y: Floats, t: float, h: float) -> Floats:
        """Return the state after one step from y, of which the first slope is known, before its projection."""
        if self._implicit is not None:
            return self._implicit.stepped(y, t, h)
        tableau = self._explicit
        for s in range(1, len(self.slopes)):
            self.slopes[s] = self.slope(y + h * self.blend(tableau.stages[s]), t + tableau.nodes[s] * h)
        return y + h * self.blend(tableau.result)

    @property
    def _explicit(self) -> Tableau:
        assert isinstance(self.tableau, Tableau)
        return self.tableau

    def quadrature(self, y: Floats, t: float, h: float) -> list[tuple[Floats, float, float]]:
        """Return states, times and weights of the stages of the last step, which was one from y of length h."""
        if self._implicit is not None:
            stages, method = self._implicit.z.copy(), self._implicit.method
            weights = zip(stages, method.fractions, method.matrix[-1], strict=True)
            return [(y + z, t + c * h, weight) for z, c, weight in weights]
        tableau = self._explicit
        return [
            (y + h * self.blend(tableau.stages[s]), t + tableau.nodes[s] * h, weight)
            for s, weight in tableau.result.items()
        ]

    def blend(self, factors: Factors) -> Floats:
        """Return a linear combination of the slopes of all stages."""
        total = np.zeros(self.slopes.shape[1])
        for stage, factor in factors.items():
            total += factor * self.slopes[stage]
        return total

    def between(self, step: SparseStep, t: float) -> Floats:
        """Return the state at a time within the last step, by a shorter step from its start; ``slopes`` are its own."""
        if t >= step.t:
            return step.state
        rows = self.rows
        self._is_factored = False
        found = self.projected(self.stepped(step.start, step.before, t - step.before), t)
        # the next step continues with its own rows, whatever the output has needed
        self.rows, self._is_factored = rows, False
        return found

    def all_steps(self, y: Floats, t: float, end: float) -> Iterator[SparseStep]:
        """Take steps from a state to a time; ``slopes[0]`` is that of the start of each step when it is returned."""
        self._taken, functions = 0, self.dynamics.time_functions
        sampled = None if functions is None else lambda at: np.hstack(functions(at, self.numbers))
        decisions = 0 if functions is None else functions(np.array([t]), self.numbers)[1].shape[1]
        events, is_implicit = events_of(self.dynamics.signals, t, end), self._implicit is not None
        for segment in segments(sampled, t, end, events, decisions=decisions, is_implicit=is_implicit):
            for step in self._steps_within(y, segment):
                yield step
                y = step.state

    def _steps_within(self, y: Floats, segment: TimeSegment) -> Iterator[SparseStep]:
        """Take the steps of one segment, within which functions of time neither jump nor begin suddenly."""
        method, (t, end, most) = self.method, segment
        longest = min(method.max_step, most)
        settings = settings_of(t, end, self.rtol, self._atol, longest, len(y))
        self.choose_rows(y, t)
        self.slopes[0] = self.slope(y, t)
        h = method.step if method.step is not None else self._first_step(y, t, end, settings[1])
        growth = MOST_RATIO
        while t < end:
            if h < settings[1] or not np.isfinite(h):
                raise NoStepError(t, self._why_no_step(y))
            # counted over all segments, since the limit is one of the whole run
            if self._taken >= method.max_steps:
                raise NoStepError(
                    t, f"`max_steps` ({method.max_steps}) steps were taken. Pass more, or larger tolerances"
                )
            # a remainder that is much shorter than a step would be a step of rounding only
            is_last = min(h, longest) * (1 + LAST_STEP_SLACK) >= end - t
            size, reached = (end - t, end) if is_last else (min(h, longest), t + min(h, longest))
            arrived = self.stepped(y, t, size)
            error = 0.0 if method.step is not None else self._error(y, arrived, size)
            ratio = step_ratio(error, self.tableau.order)
            state, rows = arrived, self.rows
            if error < 1.0:
                state = self.projected(arrived, reached)
                # a projection far beyond the error estimate may have jumped to another branch of the constraints
                if not self._moved(arrived, state) <= ABRUPT_DISTANCE:
                    error, ratio = np.inf, 0.0
            if not error < 1.0 and method.step is None:
                self.rejected, growth, self.rows, self._is_factored = self.rejected + 1, 1.0, rows, False
                h = size * max(ratio, LEAST_RATIO)
                continue
            if not np.isfinite(state).all():
                raise NoStepError(t, "the step leads to numbers that are not finite. Pass a smaller `step`")
            if self._is_projected_fixed:
                reason = reason_unreached(self.dynamics, y, state, reached, self.numbers)
                if reason:
                    raise NoStepError(t, reason)
            h = method.step if method.step is not None else size * min(ratio, growth)
            growth, self._taken = MOST_RATIO, self._taken + 1
            yield SparseStep(t, y, reached, state)
            t, y = reached, state
            self.slopes[0] = self.slope(y, t)

    def _why_no_step(self, y: Floats) -> str:
        """Return why no step is short enough at a state."""
        largest, least = float(np.abs(split_state(y)[0]).max(initial=0.0)), self.allowed(np.abs(y)).min(initial=np.inf)
        if ROUNDING * largest > least:
            return (
                f"no step is short enough for the tolerances: that of a coordinate or velocity near 0 is {least:.1e}, "
                f"which is below the rounding of coordinates up to {largest:.1e}. Pass a larger `atol`"
            )
        return "no step is short enough for the tolerances: forces or constraints are singular"

    def allowed(self, size: Floats) -> Floats:
        """Return the tolerances of components of given sizes."""
        return self._atol + self.rtol * size

    def _moved(self, before: Floats, after: Floats) -> float:
        """Return the largest distance of a projection in tolerances; steps of fixed length are not judged by it."""
        if self.method.step is not None:
            return 0.0
        return float(
            (np.abs(after - before) / self.allowed(np.maximum(np.abs(before), np.abs(after)))).max(initial=0.0)
        )

    def _error(self, y: Floats, y1: Floats, h: float) -> float:
        """Return the error of a step relative to the tolerance, as ``step_control.write_error`` does."""
        if not np.isfinite(y1).all():
            return np.nan
        allowed = self.allowed(np.maximum(np.abs(y), np.abs(y1)))
        sums = [float(np.sum((self.blend(factors) / allowed) ** 2)) for factors in self.tableau.errors]
        if len(sums) == 1:
            found = abs(h) * float(np.sqrt(sums[0] / len(y)))
            # slow convergence of the stages limits the next step as well
            return found if self._implicit is None or found > self._implicit.slowness else self._implicit.slowness
        fifth, third = sums
        return 0.0 if fifth == 0 else abs(h) * fifth / float(np.sqrt((fifth + 0.01 * third) * len(y)))

    def _first_step(self, y: Floats, t: float, end: float, shortest: float) -> float:
        """Return the first step to try, as ``native/initial_step.py`` does."""
        allowed, left, least = self.allowed(np.abs(y)), end - t, 2 * shortest
        size, speed = (_rms(x / allowed) for x in (y, self.slopes[0]))
        if not np.isfinite(speed):
            return min(max(DEFAULT_FIRST_STEP, least), left)
        # the algorithm of Hairer, Nørsett and Wanner, Solving ODEs I, section II.4
        rough = 0.01 * size / speed if min(size, speed) > LEAST_SIZE else DEFAULT_FIRST_STEP
        trial = min(max(rough, least), left)
        change = _rms((self.slope(y + trial * self.slopes[0], t + trial) - self.slopes[0]) / allowed)
        steepest = max(speed, change / trial)
        if not np.isfinite(steepest):
            return trial
        flat = max(DEFAULT_FIRST_STEP, 1e-3 * trial)
        guess = (0.01 / steepest) ** (1 / self.tableau.order) if steepest > LEAST_DERIVATIVE else flat
        return min(max(min(guess, 100 * trial), least), left)


def step_ratio(error: float, order: int) -> float:
    """Return the next step over the last one, whose error is relative to the tolerance."""
    # NaN means that a stage has left the domain of the equations, or that Newton's method has not converged
    if not np.isfinite(error):
        return 0.0
    return SAFETY_FACTOR / error ** (1 / order) if error > 0 else MOST_RATIO_AT_REST


def _rms(x: Floats) -> float:
    return float(np.sqrt(np.mean(x**2))) if len(x) else 0.0
