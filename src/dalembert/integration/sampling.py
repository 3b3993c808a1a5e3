# SPDX-License-Identifier: BSD-3-Clause
"""States, forces and violations at the requested times, computed from the accepted steps by the general integrator."""

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

BATCH_TIMES = 256
"""Times per call of the compiled program; larger batches need more memory and are no faster."""

SIDE_BY_SIDE = 8
"""Times that are vectorised within a batch: few, so that little is wasted when few times are requested."""

PLACEHOLDER_STEP = 1e-3
"""Length of the step in the discarded branch where no step is needed; any positive length keeps it finite."""


def sample(dynamics: Dynamics, method: Method, t0: Any, y0: Any, times: Any, p: Any) -> dict[str, Any]:
    """Return all outputs at T times reached by one step each, by the names of ``Trajectory``."""
    refuse_forked_process()
    parts: list[dict[str, Any]] = []
    for first in range(0, len(times), BATCH_TIMES):
        batch = slice(first, first + BATCH_TIMES)
        # padded to one size, so that the compiled program serves any number of times
        count = len(times[batch])
        starts, states, ends = (
            jnp.asarray(np.concatenate([x[batch], np.repeat(x[-1:], BATCH_TIMES - count, axis=0)]))
            for x in (t0, y0, times)
        )
        found = _sample(dynamics, *strip_tolerances(method), starts, states, ends, jnp.asarray(count), p)
        parts.append({name: np.asarray(values)[:count] for name, values in found.items()})
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


@kept_by_dynamics(SOON_READY)
def _sample(
    dynamics: Dynamics, shape: Method, numbers: Tolerances, t0: Array, y0: Array, times: Array, count: Array, p: Any
) -> dict[str, Array]:
    """Compute the outputs at the first ``count`` times of a batch; the entries below are padding."""
    method = restore_tolerances(shape, numbers)
    advance = _one_step(dynamics, method, p)

    @jax.jit  # so that it is traced once, for its shapes and for the loop
    def outputs_at(t0: Array, y0: Array, t: Array) -> dict[str, Array]:
        state, accurate = advance(t0, y0, t)
        return _outputs(dynamics, method, state, t, p) | {"accurate": accurate}

    def fill(k: Array, outputs: dict[str, Array]) -> dict[str, Array]:
        first = k * SIDE_BY_SIDE
        block = (jax.lax.dynamic_slice_in_dim(x, first, SIDE_BY_SIDE) for x in (t0, y0, times))
        found = jax.vmap(outputs_at)(*block)
        return {name: jax.lax.dynamic_update_slice_in_dim(outputs[name], found[name], first, 0) for name in outputs}

    kinds = jax.eval_shape(outputs_at, t0[0], y0[0], times[0])
    empty = {name: jnp.zeros((BATCH_TIMES, *kind.shape), kind.dtype) for name, kind in kinds.items()}
    return jax.lax.fori_loop(0, (count + SIDE_BY_SIDE - 1) // SIDE_BY_SIDE, fill, empty)


def _one_step(dynamics: Dynamics, method: Method, p: Any) -> Callable[[Array, Array, Array], tuple[Array, Array]]:
    """Return a function for the state (2n,) at time t, by one step from the accepted step before it, (t0, y0).

    The function also returns whether that step is accurate. Interpolation would lose several orders: the dense output
    of a high-order method is of lower order than its steps. Outputs do not shorten the steps, and since they are
    independent of one another they are vectorised.
    """
    term = vector_field(dynamics, method.formulation, method.drift)
    solver = guarded(dynamics, method)

    def advance(t0: Array, y0: Array, t: Array) -> tuple[Array, Array]:
        # both branches of `where` are computed, so that the step is needed at the start itself too
        t1 = jnp.where(t > t0, t, t0 + PLACEHOLDER_STEP)
        selection = dynamics.engine.select_rows(*split_state(y0), t0, p)
        state = solver.init(term, t0, t1, y0, (p, selection))
        y1, error, *_ = solver.step(term, t0, t1, y0, (p, selection), state, made_jump=False)
        accurate = jnp.array(True)
        if method.step is None and error is not None:
            # the error norm of diffrax: the root mean square relative to the tolerances
            share = error / (method.atol + method.rtol * jnp.maximum(jnp.abs(y0), jnp.abs(y1)))
            accurate = (t <= t0) | (jnp.sqrt(jnp.mean(share**2)) <= INACCURATE)
        return jnp.where(t > t0, y1, y0), accurate

    return advance


def _outputs(dynamics: Dynamics, method: Method, state: Array, t: Array, p: Any) -> dict[str, Array]:
    """Return all outputs at one state, by the names of ``Trajectory``."""
    q, qd = split_state(state)
    # forces are those of the integrated equation, stabilising terms included
    answer = dynamics.answer(q, qd, t, p, method.formulation, method.drift.gains())
    terms = dynamics.terms(q, qd, t, p)
    residual = terms.A @ answer.acceleration - terms.b
    outputs = {
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
        outputs["energy"] = jnp.asarray(dynamics.energy(q, qd, t, p), float)
    return outputs
