# SPDX-License-Identifier: BSD-3-Clause
"""The nearest state of a large system where the curvature of the constraints matters.

In a long chain each link may have to move by much more than its own error, and steps to the nearest point of the
linearised constraints then do not converge. Here any state on the constraints is found first. Newton's method then
shortens the distance along the constraints; its equations are solved by conjugate gradients, so that no array of n × n
numbers is needed.

Notation: d = x − x₀, the distance |d| in the mass metric, W = M⁻¹, P = I − W Aᵀ S⁻¹ A, which projects on the directions
that the constraints allow, and multipliers μ = S⁻¹ A d.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.native.sparse_system import LargeDynamics
from dalembert.numerics.constraint_solver import RESOLVED_SLOPE

ON_CONSTRAINTS = 1e-9
"""A point is on the constraints if it misses them by less than this part of its distance."""

LEAST_SLOPE = 1e-12
"""The state is the nearest one if the distance changes along the constraints by less than this part of it."""

MOST_DESCENT_STEPS = 100
"""Most steps towards the constraints, and most towards the nearest point on them."""

MOST_DIRECTIONS = 300
"""Most conjugate directions for one step."""

LEAST_CONJUGATE_CURVATURE = 1e-3
"""Least curvature of the distance in a conjugate direction; after a smaller or a negative one the step is cut there."""

ROW_DIFFERENCE = 1e-3
"""Length of the differences of A, as a part of the distance: they determine only the steps."""

LAST_CORRECTION = 1e-10
"""A correction below this part of the coordinates is the last one: its own error is of the order of its square."""

SHORTEST_PART = 2.0**-30
"""Shortest part of a step that is tried."""


class Descent:
    """Coordinates, or velocities, on the constraints, and steps along these towards a given point."""

    def __init__(self, dynamics: LargeDynamics, q0: Floats, qd0: Floats, t: float, numbers: Floats, level: int):
        self.code, self.level, self.t, self.numbers = dynamics.code, level, t, numbers
        self.rows = dynamics.levels <= level
        self.state, self.start = [q0, qd0], (q0, qd0)[level]
        self.code.evaluate(q0, qd0, t, numbers)  # the metric is that of the given state

    def nearest(self) -> Floats:
        """Return the nearest point on the constraints, or the best approximation that was found."""
        x, before = self.on_constraints_from_start(), np.inf
        for _ in range(MOST_DESCENT_STEPS if self.holds(x) else 0):
            step, slope = self.step(x)
            # the last steps shorten the distance by less than its rounding, but still reduce the slope
            found = self.shorter(x, step) if slope > RESOLVED_SLOPE else self.flatter(x, step, slope, before)
            if found is None:
                break
            x, before = found, slope
        return x

    def on_constraints_from_start(self) -> Floats:
        """Return a point on the constraints near the given one, or the best approximation that was found."""
        elimination = self.code.elimination
        assert elimination is not None
        elimination.used = self.rows
        return self.on_constraints(self.start)

    def evaluate(self, x: Floats) -> None:
        self.state[self.level] = np.ascontiguousarray(x)
        self.code.evaluate(self.state[0], self.state[1], self.t, self.numbers, masses_too=False)

    def size(self, v: Floats) -> float:
        """Return the length of a vector in the mass metric."""
        # rounding may make the square of a vector that nearly vanishes negative
        return float(np.sqrt(max(0.0, v @ self.code.metric_times(v))))

    def missed(self) -> float:
        """Return the size of the residuals of the last evaluation, each relative to the length of its row."""
        return float(np.linalg.norm((self.code.residuals[self.level] / self.code.row_lengths)[self.rows]))

    def holds(self, x: Floats) -> bool:
        """Return whether the point of the last evaluation is on the constraints."""
        return self.missed() <= ON_CONSTRAINTS * self.size(x - self.start)

    def on_constraints(self, x: Floats) -> Floats:
        """Return a point on the constraints, by the shortest steps as long as these reduce the residuals."""
        self.evaluate(x)
        for _ in range(MOST_DESCENT_STEPS):
            self.code.factor()
            missed, step = self.missed(), self.code.correction(self.code.residuals[self.level])[1]
            part = 1.0
            self.evaluate(x - step)
            if np.abs(step).max(initial=0.0) <= LAST_CORRECTION * np.abs(x).max(initial=0.0):
                return x - step
            # a step must reduce the residuals by a quarter of what linear equations promise
            while not self.missed() < (1 - part / 4) * missed and part > SHORTEST_PART:
                part /= 2
                self.evaluate(x - part * step)
            if part <= SHORTEST_PART:
                break
            x = x - part * step
        return x

    def step(self, x: Floats) -> tuple[Floats, float]:
        """Return Newton's step along the constraints, and the slope of the distance along them."""
        code, d = self.code, x - self.start
        self.evaluate(x)
        code.factor()
        # a copy, since each evaluation overwrites the entries
        A = code.A.copy()
        multipliers, across = code.refined_correction(A @ d)
        slope = d - across
        force = A.T @ multipliers
        relative = self.size(slope) / (self.size(d) or 1.0)
        if relative <= LEAST_SLOPE:
            return np.zeros_like(d), relative
        elimination, h = code.elimination, ROW_DIFFERENCE * float(np.abs(d).max())
        assert elimination is not None

        def allowed(v: Floats) -> Floats:
            return v - code.mass.solve(A.T @ elimination.solve(A @ v))

        def curved(v: Floats) -> Floats:
            # the curvature of the constraints, Σ μ ∂²φ v, by a difference of their gradients along v
            part = h / float(np.abs(v).max())
            self.evaluate(x + part * v)
            return allowed(v - code.mass.solve((code.A.T @ multipliers - force) / part))

        # more accurate steps towards the solution only: far from it, the linear equations are a rough model
        return self.conjugate(slope, curved, min(0.1, np.sqrt(relative))), relative

    def conjugate(self, slope: Floats, curved: Callable[[Floats], Floats], tolerance: float) -> Floats:
        """Return a solution of H x = −slope by conjugate gradients, or the last one before the curvature vanishes."""
        times = self.code.metric_times
        x, rest = np.zeros_like(slope), -slope
        direction, square = rest, rest @ times(rest)
        least = tolerance**2 * square
        for _ in range(MOST_DIRECTIONS):
            bent = curved(direction)
            curvature = direction @ times(bent)
            # the distance need not be convex along the constraints
            # where it is not, it decreases along the directions up to this one
            if curvature <= LEAST_CONJUGATE_CURVATURE * (direction @ times(direction)):
                return x if x.any() else direction
            x = x + square / curvature * direction
            rest = rest - square / curvature * bent
            before, square = square, rest @ times(rest)
            if square <= least:
                break
            direction = rest + square / before * direction
        return x

    def shorter(self, x: Floats, step: Floats) -> Floats | None:
        """Return a point on the constraints along a step that is nearer to the start; None if there is none."""
        length, part = self.size(x - self.start), 1.0
        while part > SHORTEST_PART:
            new = self.on_constraints(x + part * step)
            if self.size(new - self.start) < length and self.holds(new):
                return new
            part /= 2
        return None

    def flatter(self, x: Floats, step: Floats, slope: float, before: float) -> Floats | None:
        """Return the point after a step, as long as steps reduce the slope; None if there is none."""
        # steps that no longer halve the slope move by rounding only
        if slope <= LEAST_SLOPE or slope > before / 2:
            return None
        new = self.on_constraints(x + step)
        return new if self.holds(new) else None
