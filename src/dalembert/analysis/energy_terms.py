# SPDX-License-Identifier: BSD-3-Clause
"""Computation of the energy ledger of a run: the power and work of every force, from the compiled dynamics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from dalembert.analysis.applied_parts import AppliedParts
from dalembert.analysis.ledger import Entry, Ledger, entries_of
from dalembert.analysis.quadrature import Leg, nodes_along, whole_run
from dalembert.array_types import Floats
from dalembert.equation.dynamics import Dynamics, damping_rates, stabilised
from dalembert.equation.formulation import Formulation, solve
from dalembert.integration.abrupt_changes import impulse_work
from dalembert.integration.compiled import SOON_READY, kept_by_dynamics
from dalembert.integration.drift import Drift
from dalembert.integration.method import Method
from dalembert.integration.native_steps import native_of, shortest_multipliers
from dalembert.integration.start_states import terms_at
from dalembert.integration.trajectory import Trajectory
from dalembert.linear_algebra import independent_rows
from dalembert.violation import violated

CLOSURE_LIMIT = 1e3
"""Tolerances by which energy and work may differ before the ledger says so. The errors of single steps add up over a
run, and an ordinary run stays well below this."""

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


def ledger_of(
    dynamics: Dynamics,
    method: Method,
    p: Any,
    run: Trajectory,
    legs: Sequence[Leg] = (),
    *,
    events: Sequence[str] = (),
    impulses: Sequence[tuple[float, Floats]] = (),
    parts: AppliedParts | None = None,
) -> Ledger:
    """Compute the ledger of a run, which may consist of several ``legs``.

    ``events`` are the names of further entries, the last ones; ``impulses`` are works (2, e) at times between
    legs, of the entries and by the split of Udwadia and Kalaba. ``parts`` splits the entry of the applied forces.
    """
    entries = (*_entries(dynamics, method), *(Entry(name, "event", "") for name in events))
    legs = legs or [whole_run(dynamics, method, p, run, len(entries))]
    increments = np.zeros(
        (2, len(run.t), len(entries))
    )  # of the work of the entries, and by the split of Udwadia and Kalaba
    turnover, last = 0.0, 0.0
    for t, work in impulses:
        # an output at the time of an impulse is the state before it
        increments[:, np.searchsorted(run.t, t, side="right") :][:, :1] += work[:, None]
        turnover += float(np.abs(work[0]).sum())
    at: list[Any] = []
    for leg in legs:
        nodes = nodes_along(leg, method, run.t)
        between = _gathered(_ledger_terms(leg.dynamics, method, nodes.q, nodes.qd, nodes.t, leg.p), leg, len(entries))
        for total, powers in zip(increments, (between.powers, between.split), strict=True):
            np.add.at(total, nodes.interval + 1, nodes.weight[:, None] * powers)
        turnover += float(nodes.weight @ np.abs(between.powers).sum(axis=1))
        turnover += float(np.abs(np.diff(between.kinetic, prepend=last)).sum())
        if parts is not None:
            parts.add_nodes(leg, nodes)
        for jump in leg.path.jumps:
            place = leg.places[1 : 1 + len(leg.dynamics.constraints)]
            for total in increments:  # impulses of the constraints are ideal, so both splits agree
                np.add.at(total[np.searchsorted(run.t, jump.t)], place, impulse_work(leg.dynamics, jump, leg.p))
        last = between.kinetic[-1]
        in_leg = (run.t > leg.start) & (run.t <= leg.end) | (run.t == leg.start) & (leg is legs[0])
        if in_leg.any():
            here = _ledger_terms(leg.dynamics, method, run.q[in_leg], run.qd[in_leg], run.t[in_leg], leg.p)
            unique = _unique_of_run(here.unique, leg, len(dynamics.constraints))
            at.append(_gathered(here, leg, len(entries))._replace(unique=unique))
            if parts is not None:
                parts.add_outputs(leg, run.t[in_leg], run.q[in_leg], run.qd[in_leg])
    forces, powers, split, kinetic, energy, unique = (np.concatenate(parts) for parts in zip(*at, strict=True))
    work, split_work = np.cumsum(increments, axis=1)
    ledger = Ledger(
        t=run.t,
        entries=entries,
        coordinates=dynamics.coordinates,
        force=forces,
        power=powers,
        work=work,
        split_power=split,
        split_work=split_work,
        kinetic=kinetic,
        potential=energy - kinetic if dynamics.knows_energy else None,
        audit=energy - energy[0] - work.sum(axis=1),
        turnover=turnover,
        rtol=method.rtol,
        atol=method.least_atol,
        notes=_notes(dynamics, method, unique),
    )
    projected = method.drift.projections and not legs[0].path.jumps
    further = (_start_notes(dynamics, run, p) if projected else []) or _end_notes(ledger)
    ledger = replace(ledger, notes=(*ledger.notes, *further))
    return ledger if parts is None else parts.split(ledger)


def _unique_of_run(own: Any, leg: Leg, constraints: int) -> Any:
    """Return which multipliers (T, m) of the constraints of a run are determined, from those of a leg."""
    found = np.ones((len(own), constraints), bool)
    for k, place in enumerate(leg.places[1 : 1 + own.shape[1]]):
        if place <= constraints:  # others are those that hold a sticking contact
            found[:, place - 1] = own[:, k]
    return found


def _gathered(ledger_source: Any, leg: Leg, entries: int) -> Any:
    """Sum the terms of a leg's entries into the entries of the whole run."""

    def by_entry(values: Any) -> Any:
        total = np.zeros((len(values), entries, *values.shape[2:]))
        for own, place in enumerate(leg.places):
            total[:, place] += values[:, own]
        return total

    of_entries = ("forces", "powers", "split")
    return ledger_source._replace(**{name: by_entry(getattr(ledger_source, name)) for name in of_entries})


def _ledger_terms(dynamics: Dynamics, method: Method, q: Any, qd: Any, t: Any, p: Any) -> Any:
    """Compute the terms at k states as NumPy arrays, by the compiled code if it handles all of them, else by JAX."""
    if dynamics.machine_code is not None and method.formulation.uses_engine:
        found = _native_terms(dynamics, method, q, qd, t, p)
        if found is not None:
            return found
    size = BATCH * max(
        1, 2 ** int(np.ceil(np.log2(len(t) / BATCH)))
    )  # powers of two: few shapes, so that compiled programs are reused

    def padded(x: Any) -> Array:
        return jnp.asarray(np.concatenate([x, np.repeat(x[-1:], size - len(x), axis=0)]))

    options = (method.formulation, method.drift)
    found = _jax_terms(dynamics, *options, padded(q), padded(qd), padded(t), p)
    return jax.tree.map(lambda x: np.asarray(x)[: len(t)], found)


def _native_terms(dynamics: Dynamics, method: Method, q: Any, qd: Any, t: Any, p: Any) -> LedgerTerms | None:
    """Compute the terms with the compiled code; None if the rows independent at the first state do not stay so."""
    count, n = q.shape
    A = np.asarray(terms_at(dynamics, q[0], qd[0], t[0], p).A)
    rows, m = independent_rows(A), len(A)
    rates = damping_rates(dynamics.levels, method.drift.gains())
    terms = native_of(dynamics).energy_terms(tuple(rows), rates, np.concatenate([q, qd], axis=1), t, p)
    if not (terms["well_conditioned"] == 1.0).all():
        return None
    A, multipliers, reactions = (
        terms["constraint_matrix"].reshape(count, m, n),
        terms["multipliers"],
        terms["reactions"],
    )
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
        return qd @ dynamics.terms(q, qd, t, p).M @ qd / 2

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


def entry_count(dynamics: Dynamics) -> int:
    """Return the number of entries of a ledger without a compromise."""
    return 1 + len(dynamics.constraints) + len(dynamics.laws) + len(dynamics.actuators)


def _entries(dynamics: Dynamics, method: Method) -> tuple[Entry, ...]:
    entries = entries_of(dynamics.constraints, dynamics.laws, dynamics.actuators)
    if method.formulation.compromises:
        entries.append(Entry("compromise", "compromise", ""))
    return tuple(entries)


def _end_notes(ledger: Ledger) -> list[str]:
    """Return a note if energy and work differ by more than ``CLOSURE_LIMIT`` tolerances."""
    if ledger.closure <= CLOSURE_LIMIT:
        return []
    return [
        f"Energy and work differ by {ledger.closure:.1e} tolerances: the integration is inaccurate, as for "
        f"motions that grow without bound or forces that jump."
    ]


def _start_notes(dynamics: Dynamics, run: Trajectory, p: Any) -> list[str]:
    """Return a note if the initial state does not satisfy the constraints."""
    q, qd = run.q[0], run.qd[0]
    A = np.asarray(terms_at(dynamics, q, qd, run.t[0], p).A)
    off = violated(run.violation[0], A, q) | violated(run.velocity_violation[0], A, qd, q)
    if not off.any():
        return []
    names = ", ".join(f"`{name}`" for name, is_off in zip(dynamics.constraints, off, strict=True) if is_off)
    return [
        f"The initial state violates {names}. The projection onto the constraints is not the work of any force, so the "
        f"audit need not vanish."
    ]


def _notes(dynamics: Dynamics, method: Method, unique: Any) -> tuple[str, ...]:
    notes = list(dynamics.law_remarks)
    shared = [name for name, column in zip(dynamics.constraints, unique.T, strict=True) if not column.all()]
    if shared:
        names = ", ".join(f"`{name}`" for name in shared)
        notes.append(
            f"The split between {names} is not unique, since they are redundant; it is the one of the shortest λ."
        )
    if method.drift.gains() is not None:
        notes.append("The work of the stabilising terms is counted as work of the constraints.")
    if method.formulation.compromises:
        notes.append(
            "The equations of motion hold in the least-squares sense; their residual is the entry `compromise`."
        )
    return tuple(notes)
