# SPDX-License-Identifier: BSD-3-Clause
"""Implicit steps of a large system: Newton's method for the stages of a method of collocation, with sparse equations.

The derivatives of q̈ are those of M q̈ − Aᵀλ = Q, A q̈ = b, so that an equation of a stage with g = h/μ becomes

    (M − g Kv − g² Kq) dv − Aᵀν = g (M s + g Kq r),    (A − g Bv − g² Bq) dv = g (A s + g Bq r),    dq = g (r + dv)

with Kq = ∂(Q + Aᵀλ)/∂q and Bq = ∂(b − A q̈)/∂q, Kv and Bv by the velocities. Derivatives of M and of laws that
depend on reactions are left out: they slow the iteration down where they matter, and do not change its result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.common.levels import LEVELS
from dalembert.common.stabilisation import damping
from dalembert.integration.method import split_state
from dalembert.integration.sparse_motion import solution
from dalembert.integration.stage_equations import Solve, StageEquations
from dalembert.native.collocation import STAGES, Collocation
from dalembert.native.newton_convergence import STATE_ROUNDING, NewtonConvergence

if TYPE_CHECKING:
    from dalembert.integration.sparse_steps import SparseSteps


class SparseImplicit:
    """Takes the steps of ``SparseSteps`` by a method of collocation; ``z`` (3, 2n) are the stages of the last one."""

    def __init__(self, steps: SparseSteps, method: Collocation):
        self.steps, self.method, self.code = steps, method, steps.code
        self.z = np.zeros((STAGES, 2 * self.code.n))
        self.slowness = 0.0
        self._start: tuple[Any, float] = (None, 0.0)
        self._equations: StageEquations | None = None

    def stepped(self, y: Floats, t: float, h: float) -> Floats:
        """Return the state after one step from y, not finite if the iteration fails; the last slope is error / h."""
        # a rejected step begins at the same state, whose derivatives are known
        if self._start[0] is not y or self._start[1] != t:
            self._linearise(y, t)
            self._start = y, t
        # the stages decouple into one real and one complex system of the size of a single stage
        real, pair = self.method.eigenvalues
        values = np.array([real, pair.conjugate()])
        assert self._equations is not None
        of_real, of_pair = (self._equations.solver(h / value) for value in (real, pair.conjugate()))
        if not self._iterate(y, t, h, values, (of_real, of_pair)):
            return np.full_like(y, np.nan)
        self._estimate(y, h, of_real)
        return y + self.z[-1]

    def _iterate(self, y: Floats, t: float, h: float, values: Any, solve: Any) -> bool:
        """Solve the equations of the stages; return whether the iteration converged."""
        forward, backward = self.method.transformation
        steps, slopes = self.steps, self.steps.slopes
        # from zero rather than from an extrapolation, so that a step does not depend on the one before it
        self.z[:], w = 0.0, np.zeros_like(self.z)
        allowed, converged = steps.allowed(np.abs(y)), None
        iteration = NewtonConvergence(steps.rtol, self.method.order)
        while converged is None:
            for s in range(STAGES):
                slopes[s + 1] = steps.slope(y + self.z[s], t + self.method.fractions[s] * h)
            f = backward @ slopes[1 : STAGES + 1]
            # the second and third transformed stages are the real and imaginary part of one unknown
            pair = (f[1] + 1j * f[2]) - values[1] / h * (w[1] + 1j * w[2])
            found = solve[1](pair)
            change = np.stack([solve[0](f[0] - values[0].real / h * w[0]), found.real, found.imag])
            w += change
            self.z[:] = forward @ w
            converged = iteration.after(float(np.sqrt(np.mean((change / allowed) ** 2))))
        self.slowness = iteration.slowness
        return converged

    def _estimate(self, y: Floats, h: float, solve: Solve) -> None:
        """Store the error estimate as in ``collocation_step``."""
        found = stiff = solve(self.steps.slopes[0] + self.method.error_weights @ self.z / h)
        rate = self.method.eigenvalues[0] / h
        # twice: directions that are not stiff, in which hJ/γ is small, then contribute its square only
        for _ in range(2):
            stiff = stiff - rate * solve(stiff)
        rounding = STATE_ROUNDING * np.abs(np.array(split_state(y))[0])
        stiff = np.maximum(np.abs(stiff) - np.concatenate([rounding, rate * rounding]), 0.0)
        factor, least = self.method.stiff_weights()
        self.steps.slopes[-1] = np.maximum(np.abs(found), factor / max(self.steps.rtol, least) ** 0.5 * stiff) / h

    def _linearise(self, y: Floats, t: float) -> None:
        """Compute the derivatives of forces and constraints at the start of a step."""
        steps, code = self.steps, self.code
        q, qd = (np.array(x) for x in split_state(y))
        steps.factor_at(y, t)
        found = solution(steps.dynamics, steps.gains)
        gains = [(0.0, 0.0) if steps.gains is None else damping(level, steps.gains) for level in LEVELS]
        factors = np.array(gains, float)[steps.dynamics.levels]
        values = code.derivatives.at(q, qd, t, steps.numbers)
        by_positions: list[Floats] = [np.zeros(0)]
        by_velocities: list[Floats] = [np.zeros(0)]

        def add(slopes: Any) -> None:
            k = slopes.shape[-1] // 2
            by_positions.append(slopes[..., :k].ravel())
            by_velocities.append(slopes[..., k:].ravel())

        groups = len(code.constraint_numbers)
        for term, own, slopes in zip(code.differentiable_terms, code.constraint_numbers, values, strict=False):
            k, columns = term.coordinates.shape[1], term.coordinates
            rows, accelerations = slopes[:, :k], found.acceleration[columns]
            # Baumgarte's terms are part of b, so that their derivatives are part of its derivative
            right = slopes[:, k] - factors[own, :1] * slopes[:, k + 2] - factors[own, 1:] * slopes[:, k + 1]
            # the derivative of b − A q̈ at constant q̈, which the linearised constraint must cancel
            add(right - np.einsum("ckj,ck->cj", rows, accelerations))
            add(found.multipliers[own][:, None, None] * rows)
        for term, slopes in zip(code.differentiable_terms[groups:], values[groups:], strict=True):
            assert term.targets is not None
            add(slopes[:, : term.targets.shape[1]])
        # where M is singular, Newton's method converges to the same result with a little more of it
        mass = code.metric_matrix().tocoo()
        given = code.A.data, np.concatenate(by_positions), np.concatenate(by_velocities), steps.rows
        # entries of M that were zero at the states before need a place
        if self._equations is None or not self._equations.assemble(mass, *given):
            self._equations = StageEquations(code, mass)
            self._equations.assemble(mass, *given)
