# SPDX-License-Identifier: BSD-3-Clause
"""The energy ledger of a large system: powers at the stages of the steps, summed with the weights of the method.

Work is thus a further unknown of the integration, with the order and the accuracy of the states.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.analysis.ledger import Ledger, inaccurate_work
from dalembert.analysis.ledger_entries import entries_of
from dalembert.analysis.quadrature import LEAST_INTERVALS
from dalembert.common.array_types import Floats
from dalembert.common.names import LISTED_NAMES, quoted
from dalembert.integration.method import Method, split_state
from dalembert.integration.sparse_control import input_forces
from dalembert.integration.sparse_dependencies import Dependencies, shortest
from dalembert.integration.sparse_motion import SparseSolution, solution
from dalembert.integration.sparse_steps import SparseStep, SparseSteps
from dalembert.integration.trajectory import Trajectory
from dalembert.native.sparse_system import LargeDynamics


class Powers(NamedTuple):
    """Powers (2, e) of all entries as they act and by the split of Udwadia and Kalaba, kinetic and whole energy.

    force     (e, n), sparse; None unless asked for
    unique    (m,) which multipliers are determined; None unless asked for
    """

    values: Floats
    kinetic: float
    energy: float
    force: Any = None
    unique: Any = None


def _powers(steps: SparseSteps, y: Floats, t: float, *, details: bool = False) -> Powers:
    """Return the powers at a state at which S is factored."""
    dynamics, code = steps.dynamics, steps.code
    q, qd = (np.ascontiguousarray(x) for x in split_state(y))
    found, dependencies = solution(dynamics, steps.gains), Dependencies(code)
    energies = code.energies(q, qd, t, steps.numbers)
    # not zero: prescribed motions, and the drift that is left
    rates = code.A @ qd
    ideal = shortest(dependencies, found.multipliers)
    actual = ideal if code.laws is None else shortest(dependencies, found.multipliers + found.effect)
    applied = code.force @ qd + energies.transport
    # the nonideal force of a law is C less the part that constraints balance: its power is that of C on the velocity
    # without the part that violates the constraints
    virtual = qd - code.correction(rates)[1]
    of_laws = [np.zeros(0)] * 2 if code.laws is None else [code.laws.C @ qd, code.laws.C @ virtual]
    inputs = _input_forces(code, found)
    of_inputs = inputs @ qd
    values = [
        np.concatenate([[applied], lam * rates, own, of_inputs])
        for lam, own in zip((actual, ideal), of_laws, strict=True)
    ]
    if not details:
        return Powers(np.array(values), energies.kinetic, energies.energy)
    forces = _forces(code, actual, inputs)
    return Powers(np.array(values), energies.kinetic, energies.energy, forces, dependencies.unique())


def _input_forces(code: Any, found: SparseSolution) -> Any:
    """Return the force (r, n) of each input of servo constraints."""
    return np.zeros((0, code.n)) if found.control is None else input_forces(code.servos, found.control)


def _forces(code: Any, reactions: Floats, inputs: Any) -> Any:
    """Return the forces (e, n) of all entries."""
    from scipy.sparse import csr_array, diags_array, vstack

    parts = [csr_array(code.force[None, :]), csr_array(diags_array(reactions) @ code.A)]
    parts += [] if code.laws is None else [code.laws.C.copy()]
    parts += [csr_array(inputs)]
    return vstack(parts, format="csr")


def large_ledger(dynamics: LargeDynamics, method: Method, numbers: Floats, run: Trajectory) -> Ledger:
    """Compute the ledger of a run, which is integrated once more."""
    # a smooth motion has few steps, between which powers could vary unseen
    longest = float(run.t[-1] - run.t[0]) / LEAST_INTERVALS
    steps = SparseSteps(dynamics, replace(method, max_step=min(method.max_step, longest)), numbers)
    work, turnover, error = _integrated(steps, run)
    at = [_at_output(steps, y, float(t)) for y, t in zip(np.concatenate([run.q, run.qd], axis=1), run.t, strict=True)]
    power = np.stack([one.values for one in at], axis=1)
    kinetic, energy = (np.array([getattr(one, name) for one in at]) for name in ("kinetic", "energy"))
    unique = np.all([one.unique for one in at], axis=0)
    ledger = Ledger(
        t=run.t,
        entries=tuple(entries_of(dynamics.constraints, dynamics.laws, _actuators(dynamics))),
        coordinates=dynamics.coordinates,
        force=tuple(one.force for one in at),
        power=power[0],
        work=work[0],
        split_power=power[1],
        split_work=work[1],
        kinetic=kinetic,
        potential=energy - kinetic if dynamics.code.knows_energy else None,
        audit=energy - energy[0] - work[0].sum(axis=1),
        turnover=turnover,
        rtol=method.rtol,
        atol=method.least_atol,
        notes=_notes(dynamics, method, unique),
    )
    return replace(ledger, notes=(*ledger.notes, *inaccurate_work(ledger, error)))


def _actuators(dynamics: LargeDynamics) -> tuple[str, ...]:
    servos = dynamics.code.servos
    return () if servos is None else servos.layout.actuators


def _at_output(steps: SparseSteps, y: Floats, t: float) -> Powers:
    steps.choose_rows(y, t)
    return _powers(steps, y, t, details=True)


def _integrated(steps: SparseSteps, run: Trajectory) -> tuple[Floats, float, float]:
    """Return the work (2, T, e) of all entries from the first time of a run, the energy exchanged, and the error."""
    t0, y = float(run.t[0]), np.concatenate([run.q[0], run.qd[0]])
    steps.choose_rows(y, t0)
    before = _powers(steps, y, t0)
    rows, total, turnover, error = steps.rows, np.zeros_like(before.values), 0.0, 0.0
    work = np.zeros((2, len(run.t), before.values.shape[1]))
    count = 1
    for step in steps.all_steps(y, t0, float(run.t[-1])):
        after_rows = steps.rows
        whole, missed = _along(steps, step, step.t, rows, before.values)
        error += missed
        # outputs within a step have a shorter step of their own: there is no dense output of the work
        while count < len(run.t) and run.t[count] <= step.t:
            t = float(run.t[count])
            part = whole if t >= step.t else _partial(steps, step, t, rows, before.values)
            work[:, count] = total + part
            count += 1
        total = total + whole
        steps.rows = after_rows
        steps.factor_at(step.state, step.t)
        after = _powers(steps, step.state, step.t)
        # the trapezoidal rule is enough, since only the order of magnitude is used
        exchanged = np.abs(before.values[0]).sum() + np.abs(after.values[0]).sum()
        turnover += (step.t - step.before) / 2 * exchanged + abs(after.kinetic - before.kinetic)
        rows, before = after_rows, after
    return work, turnover, error


def _along(
    steps: SparseSteps, step: SparseStep, end: float, rows: NDArray[np.bool_], before: Floats
) -> tuple[Floats, float]:
    """Return the work (2, e) from the start of a step to its end, and its error.

    The slopes of the last step must be its own. ``before`` are the powers at the start.
    """
    h, slopes = end - step.before, steps.slopes.copy()
    steps.rows = rows
    places, weights, powers = [0.0], [0.0], [before]
    for y, t, weight in steps.quadrature(step.start, step.before, h):
        steps.factor_at(y, t)
        places.append((t - step.before) / h)
        weights.append(weight)
        powers.append(_powers(steps, y, t).values)
    # the loop has overwritten the stages, which the next part of the same step needs
    steps.slopes[:] = slopes
    values = np.array(powers)
    # where powers vary faster than the state, two rules on the same nodes disagree
    off = h * np.tensordot(np.array(weights) - _lower_rule(np.array(places)), values[:, 0], 1)
    return h * np.tensordot(weights, values, 1), float(np.abs(off).sum())


def _lower_rule(places: Floats) -> Floats:
    """Return weights for values at places in [0, 1] that integrate polynomials of a lower degree than they could."""
    powers = np.arange(max(1, len(np.unique(places.round(12))) - 1))
    moments = places[None, :] ** powers[:, None]
    # least squares, since places of stages may coincide, and the shortest weights are as good as any
    return np.asarray(np.linalg.lstsq(moments, 1 / (1 + powers), rcond=None)[0], float)


def _partial(steps: SparseSteps, step: SparseStep, t: float, rows: NDArray[np.bool_], before: Floats) -> Floats:
    """Return the work (2, e) from the start of a step to a time within it, by a shorter step."""
    steps.rows = rows
    steps.restart()
    steps.stepped(step.start, step.before, t - step.before)
    return _along(steps, step, t, rows, before)[0]


def _notes(dynamics: LargeDynamics, method: Method, unique: NDArray[np.bool_]) -> tuple[str, ...]:
    notes: list[str] = []
    shared = [dynamics.constraints[i] for i in np.flatnonzero(~unique)]
    if shared:
        more = f" and {len(shared) - LISTED_NAMES} more" if len(shared) > LISTED_NAMES else ""
        notes.append(
            f"The split between {quoted(shared[:LISTED_NAMES])}{more} is not unique, since they are redundant; it is "
            f"the one of the shortest λ."
        )
    if method.drift.gains() is not None:
        notes.append("The work of the stabilising terms is counted as work of the constraints.")
    return tuple(notes)
