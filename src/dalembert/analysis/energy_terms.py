# SPDX-License-Identifier: BSD-3-Clause
"""The terms of an energy ledger at many states: force and power of every entry, from the compiled dynamics."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from dalembert.equation.dynamics import Dynamics, damping_rates, native_of, stabilised
from dalembert.equation.formulation import Formulation, solve
from dalembert.integration.compiled import SOON_READY, kept_by_dynamics
from dalembert.integration.drift import Drift
from dalembert.integration.method import Method
from dalembert.integration.native_steps import shortest_multipliers
from dalembert.integration.start_states import terms_at
from dalembert.numerics.linear_algebra import independent_rows

BATCH = 256
"""States evaluated in one vectorized call; larger batches need more memory and are no faster."""

UNIQUE_MARGIN = 1e-9
"""A multiplier is unique if its own force returns it to this accuracy: the shortest multipliers are computed from
states that an integration found, and rounding leaves far less."""


class LedgerTerms(NamedTuple):
    """The terms of the ledger at one state, for e entries: applied forces, m constraints, l laws, r inputs, perhaps a
    compromise.

    forces (e, n), powers (e,)    generalised force and power of each entry: Q, the actual reaction of each constraint,
                                  C of each law
    split (e,)                    powers by the split of Udwadia and Kalaba: of each constraint's ideal force, and of
                                  the nonideal constraint force that follows from each law
    kinetic, energy               ½ q̇ᵀM q̇; that and the potential energy, where a Lagrangian is known
    unique (m,)                   which multipliers are determined
    """

    forces: Array
    powers: Array
    split: Array
    kinetic: Array
    energy: Array
    unique: Array


def ledger_terms(dynamics: Dynamics, method: Method, q: Any, qd: Any, t: Any, p: Any) -> Any:
    """Compute the terms at k states as NumPy arrays, by the compiled code if it handles all of them, else by JAX."""
    if dynamics.machine_code is not None and method.formulation.uses_engine:
        found = _native_terms(dynamics, method, q, qd, t, p)
        if found is not None:
            return found
    # powers of two: few shapes, so that compiled programs are reused
    size = BATCH * max(1, 2 ** int(np.ceil(np.log2(len(t) / BATCH))))

    def padded(x: Any) -> Array:
        return jnp.asarray(np.concatenate([x, np.repeat(x[-1:], size - len(x), axis=0)]))

    options = (method.formulation, method.drift)
    found = _jax_terms(dynamics, *options, padded(q), padded(qd), padded(t), p)
    return jax.tree.map(lambda x: np.asarray(x)[: len(t)], found)


def _native_terms(dynamics: Dynamics, method: Method, q: Any, qd: Any, t: Any, p: Any) -> LedgerTerms | None:
    """Compute the terms with the compiled code; None if the rows independent at the first state do not stay so."""
    # one selection of rows for all states, since each is a program of its own; the flag shows where it fails
    rows = rows_of_ledger(dynamics, np.concatenate([q[0], qd[0]]), t[0], p)
    return compiled_ledger_terms(dynamics, method, rows, np.concatenate([q, qd], axis=1), t, p)


def rows_of_ledger(dynamics: Dynamics, y: Any, t: Any, p: Any) -> tuple[int, ...]:
    """Return the rows of constraints that are independent at a state y (2n,)."""
    q, qd = np.split(y, 2)
    return tuple(independent_rows(np.asarray(terms_at(dynamics, q, qd, t, p).A)))


def compiled_ledger_terms(
    dynamics: Dynamics, method: Method, rows: tuple[int, ...], y: Any, t: Any, p: Any
) -> LedgerTerms | None:
    """Compute the terms at k states y (k, 2n) with the compiled code for independent rows; None if they are dependent.

    The parameters are the same for all states, or p (k, number of parameters).
    """
    count, n, m = len(y), y.shape[1] // 2, len(dynamics.levels)
    qd = y[:, n:]
    rates = damping_rates(dynamics.levels, method.drift.gains())
    terms = native_of(dynamics).energy_terms(rows, rates, y, t, p)
    if not (terms["well_conditioned"] == 1.0).all():
        return None
    A = terms["constraint_matrix"].reshape(count, m, n)
    multipliers, reactions = terms["multipliers"], terms["reactions"]
    law_components, law_forces = (terms[name].reshape(count, -1, n) for name in ("law_nonideal", "law_forces"))
    unique = np.ones((count, m), bool)
    if len(rows) < m:
        inverses = shortest_multipliers(A)
        multipliers = np.einsum("kmn,kn->km", inverses, terms["ideal_force"])
        reaction = terms["ideal_force"] + terms["nonideal_force"] - law_components.sum(axis=1)
        reactions = np.einsum("kmn,kn->km", inverses, reaction)
        # the shortest multipliers of a row's own force are that row alone only if no other rows can replace it
        unique = np.einsum("kmn,kmn->km", inverses, A) > 1 - UNIQUE_MARGIN
    applied, inputs = terms["applied_force"][:, None], terms["input_forces"].reshape(count, -1, n)
    forces = np.concatenate([applied, reactions[..., None] * A, law_components, inputs], axis=1)
    split = np.concatenate([applied, multipliers[..., None] * A, law_forces, inputs], axis=1)
    powers, by_split = (np.einsum("ken,kn->ke", given, qd) for given in (forces, split))
    for given in (powers, by_split):
        given[:, :1] += terms["transport"]
    return LedgerTerms(forces, powers, by_split, terms["kinetic"][:, 0], terms["energy"][:, 0], unique)  # pyright: ignore


@kept_by_dynamics(SOON_READY)
def _jax_terms(
    dynamics: Dynamics, formulation: Formulation, drift: Drift, q: Array, qd: Array, t: Array, p: Any
) -> LedgerTerms:
    batches = jax.tree.map(lambda x: x.reshape(-1, BATCH, *x.shape[1:]), (q, qd, t))
    at = jax.vmap(lambda q, qd, t: _at(dynamics, formulation, drift, q, qd, t, p))
    found = lax.map(lambda batch: at(*batch), batches)
    return jax.tree.map(lambda x: x.reshape(len(t), *x.shape[2:]), found)


def _at(
    dynamics: Dynamics, formulation: Formulation, drift: Drift, q: Array, qd: Array, t: Array, p: Any
) -> LedgerTerms:
    terms = dynamics.terms(q, qd, t, p)
    b = stabilised(terms, dynamics.levels, drift.gains())
    motion = solve(formulation, terms.M, terms.Q, terms.A, b, dynamics.law_at(q, qd, t, p))
    input_function = dynamics.compiled.inputs
    inputs = jnp.zeros((0, len(q))) if input_function is None else input_function(q, qd, t, p)
    applied = (terms.Q - inputs.sum(axis=0))[None]
    forces = [applied, motion.reactions[:, None] * terms.A, motion.law_nonideal, inputs]
    split = [applied, motion.multipliers[:, None] * terms.A, motion.law_forces, inputs]
    if formulation.compromises:
        for given in (forces, split):
            missed = terms.M @ motion.acceleration - jnp.sum(jnp.concatenate(given), axis=0)
            given.append(missed[None])

    def kinetic(q: Array, t: Array) -> Array:
        return qd @ dynamics.mass_matrix(q, qd, t, p) @ qd / 2

    def energy(q: Array, t: Array) -> Array:
        if dynamics.energy is None:
            return kinetic(q, t)
        return jnp.asarray(dynamics.energy(q, qd, t, p), float)

    # Since ∂E/∂q̇ = M q̇, dE/dt is this term plus q̇ᵀM q̈. It is added to the power of Q, so that work done against the
    # potential energy and changes of inertia are not counted twice
    total, transport = jax.jvp(energy, (q, t), (qd, jnp.ones_like(t)))
    stacked = jnp.concatenate(forces)
    powers, by_split = ((given @ qd).at[0].add(transport) for given in (stacked, jnp.concatenate(split)))
    return LedgerTerms(stacked, powers, by_split, kinetic(q, t), total, motion.unique_multipliers)
