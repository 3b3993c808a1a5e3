# SPDX-License-Identifier: BSD-3-Clause
"""Powers of all forces of a large system, and their work: powers at the stages of the steps, summed with the weights of
the method.

Work is thus a further unknown of the integration, with the order and the accuracy of the states. Steps whose powers
vary faster than the state are divided.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.analysis.quadrature import ROUNDING_OF_ENERGY, SHARE_OF_ANY_INTERVAL
from dalembert.common.array_types import Floats
from dalembert.integration.method import split_state
from dalembert.integration.sparse_control import input_forces
from dalembert.integration.sparse_dependencies import Dependencies, shortest
from dalembert.integration.sparse_motion import SparseSolution, solution
from dalembert.integration.sparse_steps import SparseStep, SparseSteps
from dalembert.integration.trajectory import Trajectory

MOST_DIVISIONS = 2048
"""Most divisions of steps in a run."""

MOST_HALVINGS = 12
"""Times that a step is divided in two at most."""

ROUNDED_SHARE = 1e-6
"""Relative errors of the work in an interval below this are rounding if they do not decrease with its length."""


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


def powers_at(steps: SparseSteps, y: Floats, t: float, *, details: bool = False) -> Powers:
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
    of_laws = [np.zeros(0)] * 2
    if code.laws is not None:
        # the nonideal force of a law is C less the part that constraints balance: its power is that of C on the
        # velocity without the part that violates the constraints
        of_laws = [code.laws.C @ qd, code.laws.C @ (qd - code.correction(rates)[1])]
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


class WorkIntegral:
    """The work (2, T, e) of all entries of a run, from its first time.

    turnover    energy exchanged
    error       estimated error of the work, in sum over all entries
    """

    def __init__(self, steps: SparseSteps, run: Trajectory):
        self.steps, self.turnover, self.error = steps, 0.0, 0.0
        self._span, self._divisions = float(run.t[-1] - run.t[0]), 0
        self._power = self._energy = 0.0
        self.work = self._along(run)

    def _along(self, run: Trajectory) -> Floats:
        steps = self.steps
        t0, y = float(run.t[0]), np.concatenate([run.q[0], run.qd[0]])
        steps.choose_rows(y, t0)
        before = powers_at(steps, y, t0)
        rows, total = steps.rows, np.zeros_like(before.values)
        work = np.zeros((2, len(run.t), before.values.shape[1]))
        count, reached = 1, t0
        for step in steps.all_steps(y, t0, float(run.t[-1])):
            after_rows, slope = steps.rows, steps.slopes[0].copy()
            if step.before > reached:  # something has jumped, and powers with it
                steps.choose_rows(step.start, step.before)
                rows, before = steps.rows, powers_at(steps, step.start, step.before)
            reached = step.t
            whole, missed = self._of(step, rows, before.values)
            self.error += missed
            # outputs within a step have a shorter step of their own: there is no dense output of the work
            while count < len(run.t) and run.t[count] <= step.t:
                t = float(run.t[count])
                if t >= step.t:
                    work[:, count] = total + whole
                else:
                    part, _ = self._stepped(step._replace(t=t), rows, slope)
                    work[:, count] = total + self._of(part, rows, before.values)[0]
                count += 1
            total = total + whole
            steps.rows = after_rows
            steps.factor_at(step.state, step.t)
            after = powers_at(steps, step.state, step.t)
            # the trapezoidal rule is enough, since only the order of magnitude is used
            exchanged = np.abs(before.values[0]).sum() + np.abs(after.values[0]).sum()
            self.turnover += (step.t - step.before) / 2 * exchanged + abs(after.kinetic - before.kinetic)
            self._energy = max(self._energy, after.kinetic)
            rows, before = after_rows, after
        return work

    def _stepped(
        self, step: SparseStep, rows: NDArray[np.bool_], slope: Floats
    ) -> tuple[SparseStep, NDArray[np.bool_]]:
        """Take a step with the start and the times of the given one; return it and the rows to continue with.

        ``slopes`` are then those of this step.
        """
        steps = self.steps
        steps.rows, steps.slopes[0] = rows, slope
        steps.restart()
        arrived = steps.stepped(step.start, step.before, step.t - step.before)
        return step._replace(state=steps.projected(arrived, step.t)), steps.rows

    def _of(
        self,
        step: SparseStep,
        rows: NDArray[np.bool_],
        before: Floats,
        halvings: int = MOST_HALVINGS,
        undivided: float = np.inf,
    ) -> tuple[Floats, float]:
        """Return the work (2, e) in a step, whose slopes are known, and its error.

        ``before`` are the powers at its start, ``undivided`` is the relative error in the step that this is a half of.
        """
        steps, h, slope = self.steps, step.t - step.before, self.steps.slopes[0].copy()
        steps.rows = rows
        places, weights, powers = [0.0], [0.0], [before]
        for y, t, weight in steps.quadrature(step.start, step.before, h):
            steps.factor_at(y, t)
            places.append((t - step.before) / h)
            weights.append(weight)
            powers.append(powers_at(steps, y, t).values)
        values = np.array(powers)
        # where powers vary faster than the state, two rules on the same nodes disagree
        off = np.tensordot(np.array(weights) - _lower_rule(np.array(places)), values[:, 0], 1)
        work, error = h * np.tensordot(weights, values, 1), h * float(np.abs(off).sum())
        power = np.abs(values[:, 0]).sum(axis=1)
        self._power = max(self._power, float(power.max()))
        share = h / self._span + SHARE_OF_ANY_INTERVAL
        scale = h * float(power.mean()) + self._power * self._span * share
        allowed = steps.method.rtol * scale + ROUNDING_OF_ENERGY * self._energy * share
        relative = error / scale if scale else 0.0
        rounded = undivided / 4 <= relative < ROUNDED_SHARE
        if error <= allowed or rounded or not halvings or self._divisions >= MOST_DIVISIONS:
            return work, error
        self._divisions += 1
        middle = (step.before + step.t) / 2
        first, next_rows = self._stepped(step._replace(t=middle), rows, slope)
        found = [self._of(first, rows, before, halvings - 1, relative)]
        steps.rows = next_rows
        steps.factor_at(first.state, middle)
        after = powers_at(steps, first.state, middle).values
        steps.restart()
        last = SparseStep(middle, first.state, step.t, step.state)
        self._stepped(last, next_rows, steps.slope(first.state, middle))
        found.append(self._of(last, next_rows, after, halvings - 1, relative))
        return found[0][0] + found[1][0], found[0][1] + found[1][1]


def _lower_rule(places: Floats) -> Floats:
    """Return weights for values at places in [0, 1] that integrate polynomials of a lower degree than they could."""
    powers = np.arange(max(1, len(np.unique(places.round(12))) - 1))
    moments = places[None, :] ** powers[:, None]
    # least squares, since places of stages may coincide, and the shortest weights are as good as any
    return np.asarray(np.linalg.lstsq(moments, 1 / (1 + powers), rcond=None)[0], float)
