# SPDX-License-Identifier: BSD-3-Clause
"""A wrapper of diffrax solvers that selects constraint rows before each step and applies the drift cure after it."""

# diffrax's own wrapped solvers override class variables by properties, and so does this one.
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
from jax import Array, lax

from dalembert.equation.dynamics import Dynamics
from dalembert.equation.formulation import Formulation
from dalembert.integration.drift import Drift
from dalembert.integration.method import split_state
from dalembert.native.step_control import ABRUPT_DISTANCE, FIXED_ABRUPT, FIXED_ROUNDING
from dalembert.numerics.violation import violated

REJECTED = 1e6
"""Error of a rejected step, in tolerances: large enough that the controller shortens the step as much as it can."""

SHORTEST_REPEATED = 1e-12
"""Length of a step, relative to time, below which it is not repeated: time has only a few digits left to resolve it."""


IMPULSE_STEPS = 8
"""Gauss–Newton iterations to the velocities after an impulse; one is exact if the constraint is linear in them."""


class Record(NamedTuple):
    """The current, lowest and highest rank of the constraint rows, the time of its last change, and whether the drift
    cure ended the integration by moving the state farther than a fixed step did."""

    rank: Array
    lowest: Array
    highest: Array
    changed_at: Array
    moved_far: Array


class CorrectedStep(diffrax.AbstractLocalInterpolation):
    """The states between which a step goes, the second one after the drift cure.

    The interpolation of a solver ends in the state before the drift cure. Outputs of a flow are at ends of steps.
    """

    t0: Any
    t1: Any
    y0: Array
    y1: Array

    def evaluate(self, t0: Any, t1: Any = None, left: bool = True) -> Array:
        assert t1 is None
        missing = jnp.where(t0 == self.t1, 0.0, (self.t1 - t0) / (self.t1 - self.t0))
        return self.y1 - missing * (self.y1 - self.y0)


class GuardedSolver(diffrax.AbstractWrappedSolver[Any]):
    """Selects independent constraint rows at each step, applies the drift cure, and stops at an invalid equation.

    The state is q and qd in one array of length 2n; the arguments of the vector field are (p, row selection).

    tolerances    rtol and atol of adaptive steps, None for fixed steps
    strict        whether contradictory constraints end the integration; off for formulations that compromise
    slides        a function of both ends of a step, (t0, y0, t1, y1, p), that returns whether every contact under dry
                  friction kept its direction of sliding, or None
    lenient       whether the drift cure may move the state by any distance
    jumps         times just after jumps of functions of time; velocities follow those of the constraints by an ideal
                  impulse, whatever the drift cure is

    An adaptive step is rejected if the drift cure moves the state by far more than the tolerance, if a contact did not
    keep its direction of sliding, or if it does not resolve friction near rest. Fixed steps cannot be repeated: such a
    step ends the integration, unless it is friction near rest that it does not resolve.
    """

    solver: diffrax.AbstractSolver[Any]
    tolerances: Any
    dynamics: Dynamics = eqx.field(static=True)
    drift: Drift = eqx.field(static=True)
    strict: bool = eqx.field(static=True)
    slides: Callable[..., Array] | None = eqx.field(static=True, default=None)
    lenient: bool = eqx.field(static=True, default=False)
    jumps: tuple[float, ...] = eqx.field(static=True, default=())

    @property
    def term_structure(self) -> Any:
        return self.solver.term_structure

    @property
    def interpolation_cls(self) -> Any:
        return CorrectedStep

    @property
    def term_compatible_contr_kwargs(self) -> Any:
        return self.solver.term_compatible_contr_kwargs

    @property
    def root_finder(self) -> Any:
        """The root finder of an implicit solver, through which diffrax sets its tolerances."""
        return self.solver.root_finder  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def scan_kind(self) -> Any:
        """The kind of loop over the stages of a Runge–Kutta method, which decides how they can be differentiated."""
        return getattr(self.solver, "scan_kind", "bounded")

    def order(self, terms: Any) -> Any:
        return self.solver.order(terms)

    def strong_order(self, terms: Any) -> Any:
        return self.solver.strong_order(terms)

    def error_order(self, terms: Any) -> Any:
        return self.solver.error_order(terms)

    def func(self, terms: Any, t0: Any, y0: Any, args: Any) -> Any:
        return self.solver.func(terms, t0, y0, args)

    def init(self, terms: Any, t0: Any, t1: Any, y0: Array, args: Any) -> Any:
        rank = args[1].rank
        record = Record(rank, rank, rank, jnp.asarray(jnp.nan), jnp.asarray(False))
        return self.solver.init(terms, t0, t1, y0, args), record

    def step(self, terms: Any, t0: Any, t1: Any, y0: Array, args: Any, solver_state: Any, made_jump: Any) -> Any:
        p, _ = args
        inner, record = solver_state
        selection = self.dynamics.engine.select_rows(*split_state(y0), t0, p)
        # a solver may reuse the last stage of the step before, from the other side of a jump
        made_jump = made_jump | self._is_after_jump(t0) if self.jumps else made_jump
        y1, error, _, inner, result = self.solver.step(terms, t0, t1, y0, (p, selection), inner, made_jump)
        reached: Array = self._after_impulse(y1, t0, t1, p, selection.rows)
        y1 = jnp.concatenate(self.drift.correct(self.dynamics, *split_state(reached), t1, p, selection.rows))
        moved_far = jnp.asarray(False) if self.lenient else self._moved_far(y0, reached, y1)
        turned = self._turned(terms, t0, t1, y0, y1, (p, selection))
        coarse = jnp.asarray(False) if self.dynamics.resolve is None else ~self.dynamics.resolve(t0, y0, t1, y1, p)
        if self.tolerances is None:
            ends = moved_far | turned
        else:
            error: Any = jnp.where(moved_far | turned | coarse, REJECTED * self._allowed(reached, y1), error)
            # at the instant of a reversal no step is short enough
            ends = turned & (t1 - t0 <= SHORTEST_REPEATED * jnp.maximum(jnp.abs(t1), 1.0))
        if self.strict:
            ends |= ~selection.valid
        # any result other than success ends the integration; the cause is determined afterwards from the state
        result = diffrax.RESULTS.where(ends, diffrax.RESULTS.internal_error, result)
        rank = selection.rank
        record = Record(
            rank,
            jnp.minimum(record.lowest, rank),
            jnp.maximum(record.highest, rank),
            jnp.where(rank != record.rank, t0, record.changed_at),
            moved_far & ends,
        )
        return y1, error, {"y0": y0, "y1": y1}, (inner, record), result

    def _is_after_jump(self, t: Any) -> Array:
        return jnp.any(jnp.asarray(self.jumps, float) == t)

    def _after_impulse(self, y: Array, t0: Any, t1: Any, p: Any, rows: Any) -> Array:
        """Return the state at the end of a step, with the velocities after it if a prescribed velocity jumps there."""
        if not self.jumps or "velocity" not in self.dynamics.levels:
            return y
        q, qd = split_state(y)
        off = [
            violated(at.velocity, at.A, qd, q, xp=jnp) for at in (self.dynamics.terms(q, qd, t, p) for t in (t0, t1))
        ]
        jumped = self._is_after_jump(t1) & jnp.any(off[1] & ~off[0])
        engine = self.dynamics.engine
        after = lax.fori_loop(0, IMPULSE_STEPS, lambda _, v: v + engine.velocity_step(q, v, t1, p, rows), qd)
        return jnp.concatenate([q, jnp.where(jumped, after, qd)])

    def _allowed(self, reached: Array, y1: Array) -> Array:
        rtol, atol = self.tolerances
        return atol + rtol * jnp.maximum(jnp.abs(reached), jnp.abs(y1))

    def _moved_far(self, y0: Array, reached: Array, y1: Array) -> Array:
        """Return whether the drift cure moved the state farther than truncation errors would, as at a jump.

        That is by far more than the tolerance or, for fixed steps, which have no error estimate, farther than the step
        itself. The comparisons are negated because a state that is not finite counts as well.
        """
        if self.tolerances is not None:
            return ~jnp.all(jnp.abs(y1 - reached) <= ABRUPT_DISTANCE * self._allowed(reached, y1))
        moved, step = jnp.sum((y1 - reached) ** 2), jnp.sum((reached - y0) ** 2)
        return ~(moved <= FIXED_ABRUPT * step + FIXED_ROUNDING * jnp.sum(reached**2))

    def _turned(self, terms: Any, t0: Any, t1: Any, y0: Array, y1: Array, args: Any) -> Array:
        """Return whether a contact under dry friction did not keep its direction of sliding."""
        if self.slides is None:
            return jnp.asarray(False)
        p, _ = args
        kept = self.slides(t0, y0, t1, y1, p)
        if self.tolerances is None:
            # friction that reverses between the stages may leave a velocity of the same sign at the end
            straight = y0 + (t1 - t0) * terms.vf(t0, y0, args)
            kept &= self.slides(t0, y0, t1, straight, p)
        return ~kept


def vector_field(dynamics: Dynamics, formulation: Formulation, drift: Drift) -> diffrax.ODETerm:
    """Return ẏ = (q̇, q̈) as a function of the state y = (q, q̇)."""
    gains = drift.gains()

    @jax.jit  # so that it is traced once for all places where a solver calls it
    def field(t: Any, y: Array, args: Any) -> Array:
        p, selection = args
        q, qd = split_state(y)
        return jnp.concatenate([qd, dynamics.acceleration(q, qd, t, p, selection.rows, gains, formulation)])

    return diffrax.ODETerm(field)
