# SPDX-License-Identifier: BSD-3-Clause
"""Whose force does what work: the accounts of a run, from its compiled dynamics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from dalembert.analysis.ledger import Entry, Ledger
from dalembert.analysis.linear_facts import independent_rows
from dalembert.analysis.quadrature import Leg, nodes_along, whole_run
from dalembert.equation.dynamics import Dynamics, damping_rates, stabilised
from dalembert.equation.factored import Factored
from dalembert.equation.formulation import Formulation, solve
from dalembert.integration.compiled import SOON_READY, kept_by_dynamics
from dalembert.integration.drift import Drift
from dalembert.integration.method import Method
from dalembert.integration.native_steps import shortest_multipliers
from dalembert.integration.start import terms_at
from dalembert.integration.trajectory import Trajectory
from dalembert.violation import violated

OPEN = 1e3
"""From how many tolerances on the books are said not to close."""

BATCH = 256
"""States computed side by side; more would only take more memory."""


class Accounts(NamedTuple):
    """Everything at one state, e entries: applied forces, m constraints, l laws, and a compromise if there is one.

    forces (e, n), powers (e,)    generalised force and power of each entry
    kinetic, energy               ½ q̇ᵀM q̇; that and the potential energy, where a Lagrangian is known
    unique (m,)                   which multipliers are determined
    """

    forces: Array
    powers: Array
    kinetic: Array
    energy: Array
    unique: Array


def ledger_of(dynamics: Dynamics, method: Method, p: Any, run: Trajectory, legs: Sequence[Leg] = ()) -> Ledger:
    """The ledger of a run that was done in one way, or in ``legs``."""
    entries = _entries(dynamics, method)
    legs = legs or [whole_run(dynamics, method, p, run, len(entries))]
    increments = np.zeros((len(run.t), len(entries)))
    turnover, last = 0.0, 0.0
    at: list[Any] = []
    for leg in legs:
        nodes = nodes_along(leg, method, run.t)
        between = _accounts(leg.dynamics, method, nodes.q, nodes.qd, nodes.t, leg.p)
        powers = _gathered(between.powers, leg, len(entries))
        np.add.at(increments, nodes.interval + 1, nodes.weight[:, None] * powers)
        turnover += float(nodes.weight @ np.abs(powers).sum(axis=1))
        turnover += float(np.abs(np.diff(between.kinetic, prepend=last)).sum())
        last = between.kinetic[-1]
        mine = (run.t > leg.start) & (run.t <= leg.end) | (run.t == leg.start) & (leg is legs[0])
        if mine.any():
            here = _accounts(leg.dynamics, method, run.q[mine], run.qd[mine], run.t[mine], leg.p)
            forces, powers = _gathered(here.forces, leg, len(entries)), _gathered(here.powers, leg, len(entries))
            unique = here.unique[:, : len(dynamics.constraints)]
            at.append(here._replace(forces=forces, powers=powers, unique=unique))
    forces, powers, kinetic, energy, unique = (np.concatenate(parts) for parts in zip(*at, strict=True))
    work = np.cumsum(increments, axis=0)
    ledger = Ledger(
        t=run.t,
        entries=entries,
        coordinates=dynamics.coordinates,
        force=forces,
        power=powers,
        work=work,
        kinetic=kinetic,
        potential=energy - kinetic if dynamics.knows_energy else None,
        audit=energy - energy[0] - work.sum(axis=1),
        turnover=turnover,
        rtol=method.rtol,
        atol=method.least_atol,
        notes=_notes(dynamics, method, unique),
    )
    more = _start_notes(dynamics, run, p) or _end_notes(ledger)
    return replace(ledger, notes=(*ledger.notes, *more))


def _gathered(values: Any, leg: Leg, entries: int) -> Any:
    """Values (k, e, …) of a leg's own entries, added up by the entries of the run."""
    total = np.zeros((len(values), entries, *values.shape[2:]))
    for own, place in enumerate(leg.places):
        total[:, place] += values[:, own]
    return total


def _accounts(dynamics: Dynamics, method: Method, q: Any, qd: Any, t: Any, p: Any) -> Any:
    """The accounts at k states as NumPy arrays: by machine code where it answers for all of them, else by JAX."""
    known = dynamics.native is not None and dynamics.native.possible
    if known and isinstance(method.formulation, Factored):
        found = _by_machine_code(dynamics, method, q, qd, t, p)
        if found is not None:
            return found
    size = BATCH * max(1, 2 ** int(np.ceil(np.log2(len(t) / BATCH))))  # few sizes, so that programs are found again

    def padded(x: Any) -> Array:
        return jnp.asarray(np.concatenate([x, np.repeat(x[-1:], size - len(x), axis=0)]))

    how = (method.formulation, method.drift)
    found = _computed(dynamics, *how, padded(q), padded(qd), padded(t), p)
    return jax.tree.map(lambda x: np.asarray(x)[: len(t)], found)


def _by_machine_code(dynamics: Dynamics, method: Method, q: Any, qd: Any, t: Any, p: Any) -> Accounts | None:
    """The accounts, or None where the rows that are independent at the first state are not clearly so throughout."""
    count, n = q.shape
    A = np.asarray(terms_at(dynamics, q[0], qd[0], t[0], p).A)
    rows, m = independent_rows(A), len(A)
    rates = damping_rates(dynamics.levels, method.drift.gains())
    books = dynamics.native.books(tuple(rows), rates, np.concatenate([q, qd], axis=1), t, p)
    if not (books["trusted"] == 1.0).all():
        return None
    A, multipliers = books["constraint_matrix"].reshape(count, m, n), books["multipliers"]
    unique = np.ones((count, m), bool)
    if len(rows) < m:
        pushes = shortest_multipliers(A)
        multipliers = np.einsum("kmn,kn->km", pushes, books["ideal_force"])
        # the shortest multipliers of a row's own force are that row alone only if no others can make it
        unique = np.einsum("kmn,kmn->km", pushes, A) > 1 - 1e-9
    forces = np.concatenate(
        [books["applied_force"][:, None], multipliers[..., None] * A, books["law_forces"].reshape(count, -1, n)], axis=1
    )
    powers = np.einsum("ken,kn->ke", forces, qd)
    powers[:, :1] += books["transport"]
    return Accounts(forces, powers, books["kinetic"][:, 0], books["energy"][:, 0], unique)  # pyright: ignore


@kept_by_dynamics(SOON_READY)
def _computed(
    dynamics: Dynamics, formulation: Formulation, drift: Drift, q: Array, qd: Array, t: Array, p: Any
) -> Accounts:
    batches = jax.tree.map(lambda x: x.reshape(-1, BATCH, *x.shape[1:]), (q, qd, t))
    at = jax.vmap(lambda q, qd, t: _at(dynamics, formulation, drift, q, qd, t, p))
    found = lax.map(lambda batch: at(*batch), batches)
    return jax.tree.map(lambda x: x.reshape(len(t), *x.shape[2:]), found)


def _at(dynamics: Dynamics, formulation: Formulation, drift: Drift, q: Array, qd: Array, t: Array, p: Any) -> Accounts:
    terms = dynamics.terms(q, qd, t, p)
    b = stabilised(terms, dynamics.levels, drift.gains())
    motion = solve(formulation, terms.M, terms.Q, terms.A, b, dynamics.law_at(q, qd, t, p))
    forces = [terms.Q[None], motion.multipliers[:, None] * terms.A, motion.law_forces]
    if formulation.compromises:
        forces.append((terms.M @ motion.acceleration - terms.Q - jnp.sum(jnp.concatenate(forces[1:]), axis=0))[None])

    def kinetic(q: Array, t: Array) -> Array:
        return qd @ dynamics.terms(q, qd, t, p).M @ qd / 2

    def energy(q: Array, t: Array) -> Array:
        if dynamics.energy is None:
            return kinetic(q, t)
        return jnp.asarray(dynamics.energy(q, qd, t, p), float)

    # dE/dt is this plus q̇ᵀM q̈, since ∂E/∂q̇ = M q̇: what Q does beyond the potential energy and the change of inertia
    total, transport = jax.jvp(energy, (q, t), (qd, jnp.ones_like(t)))
    stacked = jnp.concatenate(forces)
    powers = (stacked @ qd).at[0].add(transport)
    return Accounts(stacked, powers, kinetic(q, t), total, motion.unique_multipliers)


def _entries(dynamics: Dynamics, method: Method) -> tuple[Entry, ...]:
    entries = [Entry("applied forces", "applied", "")]
    entries += [Entry(name, "ideal", name) for name in dynamics.constraints]
    labels = [f"{constraint}: {law}" if constraint else law for constraint, law in dynamics.laws]
    seen: Counter[str] = Counter()
    for label, (constraint, _) in zip(labels, dynamics.laws, strict=True):
        seen[label] += 1
        numbered = label if seen[label] == 1 else f"{label} ({seen[label]})"
        entries.append(Entry(numbered, "nonideal", constraint))
    if method.formulation.compromises:
        entries.append(Entry("compromise", "compromise", ""))
    return tuple(entries)


def _end_notes(ledger: Ledger) -> list[str]:
    """What to say where the books do not close."""
    if ledger.closure <= OPEN:
        return []
    return [
        f"Energy and work differ by {ledger.closure:.1e} tolerances: the steps did not follow the motion so well, as "
        f"where it grows without bound or forces jump."
    ]


def _start_notes(dynamics: Dynamics, run: Trajectory, p: Any) -> list[str]:
    """What to say of a start that does not satisfy the constraints."""
    q, qd = run.q[0], run.qd[0]
    A = np.asarray(terms_at(dynamics, q, qd, run.t[0], p).A)
    off = violated(run.violation[0], A, q) | violated(run.velocity_violation[0], A, qd, q)
    if not off.any():
        return []
    names = ", ".join(f"`{name}`" for name, is_off in zip(dynamics.constraints, off, strict=True) if is_off)
    return [
        f"The start violates {names}: what brings the motion onto the constraints is the work of no force, so that the "
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
        notes.append("The work of the stabilising terms is part of that of the constraints.")
    if method.formulation.compromises:
        notes.append("The equations of motion are met only as well as possible; what they miss is the compromise.")
    return tuple(notes)
