# SPDX-License-Identifier: BSD-3-Clause
"""A wrapper of diffrax solvers that selects constraint rows before each step and applies the drift cure after it."""

# diffrax's own wrapped solvers override class variables by properties, and so does this one.
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import diffrax
import equinox as eqx
import jax.numpy as jnp
from jax import Array

from dalembert.equation.dynamics import Dynamics
from dalembert.equation.formulation import Formulation
from dalembert.integration.drift import Drift
from dalembert.integration.method import split_state
from dalembert.native.step_control import ABRUPT, FIXED_ABRUPT, FIXED_ROUNDING

TOO_LARGE = 1e30
"""Error reported for a step that must be repeated with a shorter length."""

SHORTEST = 1e-12
"""Length of a step, relative to time, below which it is not repeated: time has only a few digits left to resolve it."""


class Record(NamedTuple):
    """The current, lowest and highest rank of the constraint rows, the time of its last change, and whether projection
    moved a state farther than its step did."""

    rank: Array
    lowest: Array
    highest: Array
    changed_at: Array
    moved_far: Array


class GuardedSolver(diffrax.AbstractWrappedSolver[Any]):
    """Selects independent constraint rows at each step, applies the drift cure, and stops at an invalid equation.

    The state is q and qd in one array of length 2n; the arguments of the vector field are (p, row selection).

    tolerances    rtol and atol of adaptive steps, or None; a step whose drift cure moves the state by far more than
                  these is rejected
    strict        whether contradictory constraints end the integration; off for formulations that compromise
    slides        a function of both ends of a step, (t0, y0, t1, y1, p), that returns whether every contact under dry
                  friction kept its direction of sliding, or None. Other steps are repeated with a shorter length; if
                  that is impossible, the integration ends
    fixed         whether steps have a fixed length; the integration then ends at a step that the drift cure moves
                  farther than the step itself, unless the solver is ``lenient``
    """

    solver: diffrax.AbstractSolver[Any]
    tolerances: Any
    dynamics: Dynamics = eqx.field(static=True)
    drift: Drift = eqx.field(static=True)
    strict: bool = eqx.field(static=True)
    slides: Callable[..., Array] | None = eqx.field(static=True, default=None)
    fixed: bool = eqx.field(static=True, default=False)
    lenient: bool = eqx.field(static=True, default=False)

    @property
    def term_structure(self) -> Any:
        return self.solver.term_structure

    @property
    def interpolation_cls(self) -> Any:
        return self.solver.interpolation_cls

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
        selection = self.dynamics.engine.watch(*split_state(y0), t0, p)
        y1, error, dense, inner, result = self.solver.step(terms, t0, t1, y0, (p, selection), inner, made_jump)
        reached: Array = y1
        y1 = jnp.concatenate(self.drift.correct(self.dynamics, *split_state(reached), t1, p, selection.rows))
        if self.tolerances is not None and error is not None:
            error = jnp.where(self._far(reached, y1), REJECTED * self._allowed(reached, y1), error)
        moved_far = jnp.asarray(False)
        # fixed steps have no error estimate that would reject a step across a jump of a constraint
        if self.fixed and not self.lenient:
            moved_far = self._moves_far(y0, reached, y1)
            result = diffrax.RESULTS.where(moved_far, diffrax.RESULTS.internal_error, result)
        if self.strict:
            # any result other than success ends the integration; the cause is determined afterwards from the state
            stop = diffrax.RESULTS.internal_error
            result = diffrax.RESULTS.where(selection.valid, result, stop)
        if self.slides is not None:
            one_way = self.slides(t0, y0, t1, y1, p)
            if self.fixed:
                # friction that reverses between the stages may leave a velocity of the same sign at the end
                straight = y0 + (t1 - t0) * terms.vf(t0, y0, (p, selection))
                one_way &= self.slides(t0, y0, t1, straight, p)
            short = self.fixed | (t1 - t0 <= SHORTEST * jnp.maximum(jnp.abs(t1), 1.0))
            if not self.fixed and error is not None:
                error = jnp.where(one_way, error, TOO_LARGE)
            result = diffrax.RESULTS.where(one_way | ~short, result, diffrax.RESULTS.internal_error)
        rank = selection.rank
        record = Record(
            rank,
            jnp.minimum(record.lowest, rank),
            jnp.maximum(record.highest, rank),
            jnp.where(rank != record.rank, t0, record.changed_at),
            moved_far,
        )
        return y1, error, dense, (inner, record), result

    def _allowed(self, reached: Array, y1: Array) -> Array:
        rtol, atol = self.tolerances
        return atol + rtol * jnp.maximum(jnp.abs(reached), jnp.abs(y1))

    def _far(self, reached: Array, y1: Array) -> Array:
        """Return whether the drift cure moved the state by far more than the tolerance, or to a state not finite."""
        return ~jnp.all(jnp.abs(y1 - reached) <= ABRUPT * self._allowed(reached, y1))

    def _moves_far(self, y0: Array, reached: Array, y1: Array) -> Array:
        """Return whether the drift cure moved the state farther than a fixed step did, which truncation never does."""
        moved, step = jnp.sum((y1 - reached) ** 2), jnp.sum((reached - y0) ** 2)
        # not `>`, which would accept a state that is not finite
        return ~(moved <= FIXED_ABRUPT * step + FIXED_ROUNDING * jnp.sum(reached**2))


REJECTED = 1e6
"""Error of a rejected step, in tolerances: large enough that the controller shortens the step as much as it can."""


def vector_field(dynamics: Dynamics, formulation: Formulation, drift: Drift) -> diffrax.ODETerm:
    """Return ẏ = (q̇, q̈) as a function of the state y = (q, q̇)."""
    gains = drift.gains()

    def field(t: Any, y: Array, args: Any) -> Array:
        p, selection = args
        q, qd = split_state(y)
        return jnp.concatenate([qd, dynamics.acceleration(q, qd, t, p, selection.rows, gains, formulation)])

    return diffrax.ODETerm(field)
