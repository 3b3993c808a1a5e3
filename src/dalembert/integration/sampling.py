# SPDX-License-Identifier: BSD-3-Clause
"""The motion at the requested times, from the steps that were taken: states, forces, violations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dalembert.equation.dynamics import Dynamics
from dalembert.integration.compiled import SOON_READY, kept_by_dynamics
from dalembert.integration.general_steps import guarded
from dalembert.integration.guarded_solver import vector_field
from dalembert.integration.method import Method, Tolerances, restore_tolerances, split_state, strip_tolerances
from dalembert.integration.native_steps import at_own_level
from dalembert.lazy_jax import refuse_forked_process
from dalembert.native.step_control import INACCURATE

SHEET = 256
"""Times computed in one call; more would only take more memory."""

SIDE_BY_SIDE = 8
"""Of these, how many at once: no more is computed in vain where few times are asked for."""


def sample(dynamics: Dynamics, method: Method, t0: Any, y0: Any, times: Any, p: Any) -> dict[str, Any]:
    """States and all that follows from them at T times reached by one step each, by the names of ``Trajectory``."""
    refuse_forked_process()
    parts: list[dict[str, Any]] = []
    for first in range(0, len(times), SHEET):
        mine = slice(first, first + SHEET)
        # filled up to one size: what is compiled does not depend on the number of times and serves the next run
        count = len(times[mine])
        starts, states, ends = (
            jnp.asarray(np.concatenate([x[mine], np.repeat(x[-1:], SHEET - count, axis=0)])) for x in (t0, y0, times)
        )
        found = _sample(dynamics, *strip_tolerances(method), starts, states, ends, jnp.asarray(count), p)
        parts.append({name: np.asarray(values)[:count] for name, values in found.items()})
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


@kept_by_dynamics(SOON_READY)
def _sample(
    dynamics: Dynamics, shape: Method, numbers: Tolerances, t0: Array, y0: Array, times: Array, count: Array, p: Any
) -> dict[str, Array]:
    """The first ``count`` times of a batch; what stands below them means nothing."""
    method = restore_tolerances(shape, numbers)
    advance = _one_step(dynamics, method, p)

    @jax.jit  # traced once, for its shapes and for the loop
    def at(t0: Array, y0: Array, t: Array) -> dict[str, Array]:
        state, accurate = advance(t0, y0, t)
        return _described(dynamics, method, state, t, p) | {"accurate": accurate}

    def some(k: Array, recorded: dict[str, Array]) -> dict[str, Array]:
        first = k * SIDE_BY_SIDE
        mine = (jax.lax.dynamic_slice_in_dim(x, first, SIDE_BY_SIDE) for x in (t0, y0, times))
        found = jax.vmap(at)(*mine)
        return {name: jax.lax.dynamic_update_slice_in_dim(recorded[name], found[name], first, 0) for name in recorded}

    kinds = jax.eval_shape(at, t0[0], y0[0], times[0])
    empty = {name: jnp.zeros((SHEET, *kind.shape), kind.dtype) for name, kind in kinds.items()}
    return jax.lax.fori_loop(0, (count + SIDE_BY_SIDE - 1) // SIDE_BY_SIDE, some, empty)


def _one_step(dynamics: Dynamics, method: Method, p: Any) -> Callable[[Array, Array, Array], tuple[Array, Array]]:
    """The state (2n,) at time t by one step from the accepted step before it, (t0, y0), and if that is accurate.

    Interpolating would lose several orders: the polynomials that come with a high-order method are of lower order than
    its steps. Outputs do not shorten the steps, and being independent of one another they are computed side by side.
    """
    term = vector_field(dynamics, method.formulation, method.drift)
    solver = guarded(dynamics, method)

    def advance(t0: Array, y0: Array, t: Array) -> tuple[Array, Array]:
        # at the start itself there is no step to take; any length will do for the branch that is thrown away
        t1 = jnp.where(t > t0, t, t0 + 1e-3)
        watch = dynamics.engine.watch(*split_state(y0), t0, p)
        state = solver.init(term, t0, t1, y0, (p, watch))
        y1, error, *_ = solver.step(term, t0, t1, y0, (p, watch), state, made_jump=False)
        accurate = jnp.array(True)
        if method.step is None and error is not None:
            share = error / (method.atol + method.rtol * jnp.maximum(jnp.abs(y0), jnp.abs(y1)))
            accurate = (t <= t0) | (jnp.sqrt(jnp.mean(share**2)) <= INACCURATE)
        return jnp.where(t > t0, y1, y0), accurate

    return advance


def _described(dynamics: Dynamics, method: Method, state: Array, t: Array, p: Any) -> dict[str, Array]:
    q, qd = split_state(state)
    # the forces of the equation that was integrated, with its stabilising terms
    answer = dynamics.answer(q, qd, t, p, method.formulation, method.drift.gains())
    terms = dynamics.terms(q, qd, t, p)
    residual = terms.A @ answer.acceleration - terms.b
    described = {
        "q": q,
        "qd": qd,
        "acceleration": answer.acceleration,
        "ideal_force": answer.ideal_force,
        "nonideal_force": answer.nonideal_force,
        "multipliers": answer.multipliers,
        "reactions": answer.reactions,
        "rank": answer.rank,
        "inconsistency": answer.inconsistency,
        "violation": at_own_level(dynamics.levels, terms.position, terms.velocity, residual),
        "velocity_violation": terms.velocity,
    }
    if dynamics.energy is not None:
        described["energy"] = jnp.asarray(dynamics.energy(q, qd, t, p), float)
    return described
