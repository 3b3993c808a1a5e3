# SPDX-License-Identifier: BSD-3-Clause
"""States, forces and violations at the requested times, computed from the accepted steps by the general integrator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.common.lazy_jax import refuse_forked_process
from dalembert.common.stabilisation import Gains
from dalembert.equation.dynamics import Dynamics
from dalembert.equation.formulation import Formulation
from dalembert.integration.compiled import SOON_READY, kept_by_dynamics
from dalembert.integration.general_steps import BATCH_STEPS, Solved, solve
from dalembert.integration.method import Method, split_state, strip_tolerances
from dalembert.integration.native_steps import at_own_level, by_coordinates
from dalembert.integration.state_answer import answers_by_numpy, numpy_outputs
from dalembert.native.step_control import INACCURACY_FACTOR

BATCH_TIMES = 256
"""Times per call of the compiled program; larger batches need more memory and are no faster."""

SIDE_BY_SIDE = 8
"""Times that are vectorised within a batch: few, so that little is wasted when few times are requested."""


def sample(
    dynamics: Dynamics, method: Method, t0: Any, y0: Any, times: Any, p: Any, *, states_only: bool = False
) -> dict[str, Any]:
    """Return all outputs at T times reached by one step each, by the names of ``Trajectory``; or q and qd only."""
    refuse_forked_process()
    states, accurate = _states(dynamics, method, t0, y0, times, p)
    if states_only:
        return by_coordinates(states)
    if not answers_by_numpy(dynamics):
        found = _in_batches(_all_outputs, dynamics, (method.formulation, method.drift.gains()), times, states, p)
    else:
        found = numpy_outputs(dynamics, method, times, states, p)
        if dynamics.knows_energy:
            found |= _in_batches(_energies, dynamics, (), times, states, p)
    return found | {"accurate": accurate}


def _states(
    dynamics: Dynamics, method: Method, t0: Floats, y0: Floats, times: Floats, p: Any
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the states (T, 2n) at the given times, by one step from the accepted step before each, (t0, y0).

    The function also returns whether those steps are accurate. Interpolation would lose several orders: the dense
    output of a high-order method is of lower order than its steps. Outputs do not shorten the steps.
    """
    # an output at a step itself needs no further step
    states, accurate = np.array(y0), np.ones(len(times), bool)
    fixed = strip_tolerances(method, BATCH_STEPS)
    for k in np.flatnonzero(times > t0):
        start = (y0[k], t0[k], times[k], times[k], 1)
        found: Solved = solve(dynamics, *fixed, *map(np.asarray, start), p)
        states[k] = found.progress.ys[0]
        if method.step is None:
            # the error norm of diffrax: the root mean square relative to the tolerances
            share = found.progress.error / (method.atol + method.rtol * np.maximum(np.abs(y0[k]), np.abs(states[k])))
            accurate[k] = np.sqrt(np.mean(share**2)) <= INACCURACY_FACTOR
    return states, accurate


def _in_batches(
    program: Any, dynamics: Dynamics, choices: Any, times: Floats, states: Floats, p: Any
) -> dict[str, Any]:
    """Return the outputs of a program at all states; batches have one size, so that it serves any number of times."""
    parts: list[dict[str, Any]] = []
    for first in range(0, len(times), BATCH_TIMES):
        t, y = times[first : first + BATCH_TIMES], states[first : first + BATCH_TIMES]
        # padded with a valid state: at zeros the equations may have no solution
        padded = (np.concatenate([x, np.repeat(x[-1:], BATCH_TIMES - len(t), axis=0)]) for x in (t, y))
        found = program(dynamics, *choices, *padded, np.asarray(len(t)), p)
        parts.append({name: np.asarray(values)[: len(t)] for name, values in found.items()})
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _mapped(
    outputs_at: Callable[[Array, Array], dict[str, Array]], t: Array, y: Array, count: Array
) -> dict[str, Array]:
    """Return the outputs at the first ``count`` of a batch of times and states; the entries below are padding."""

    def fill(k: Array, outputs: dict[str, Array]) -> dict[str, Array]:
        first = k * SIDE_BY_SIDE
        block = (jax.lax.dynamic_slice_in_dim(x, first, SIDE_BY_SIDE) for x in (t, y))
        found = jax.vmap(outputs_at)(*block)
        return {name: jax.lax.dynamic_update_slice_in_dim(outputs[name], found[name], first, 0) for name in outputs}

    kinds = jax.eval_shape(outputs_at, t[0], y[0])
    empty = {name: jnp.zeros((BATCH_TIMES, *kind.shape), kind.dtype) for name, kind in kinds.items()}
    return jax.lax.fori_loop(0, (count + SIDE_BY_SIDE - 1) // SIDE_BY_SIDE, fill, empty)


@kept_by_dynamics(SOON_READY)
def _energies(dynamics: Dynamics, t: Array, y: Array, count: Array, p: Any) -> dict[str, Array]:
    energy = dynamics.energy
    assert energy is not None
    return _mapped(lambda t, y: {"energy": jnp.asarray(energy(*split_state(y), t, p), float)}, t, y, count)


@kept_by_dynamics(SOON_READY)
def _all_outputs(
    dynamics: Dynamics, formulation: Formulation, gains: Gains | None, t: Array, y: Array, count: Array, p: Any
) -> dict[str, Array]:
    # compiled, so that it is traced once, for its shapes and for the loop
    return _mapped(jax.jit(lambda t, y: _outputs(dynamics, formulation, gains, y, t, p)), t, y, count)


def _outputs(
    dynamics: Dynamics, formulation: Formulation, gains: Gains | None, state: Array, t: Array, p: Any
) -> dict[str, Array]:
    """Return all outputs at one state, by the names of ``Trajectory``."""
    q, qd = split_state(state)
    # forces are those of the integrated equation, stabilising terms included
    answer = dynamics.answer(q, qd, t, p, formulation, gains)
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
