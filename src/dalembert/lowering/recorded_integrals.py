# SPDX-License-Identifier: BSD-3-Clause
"""First integrals of a motion on a tape: their rates of change, and the shortest way back to their initial values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import sympy as sp

from dalembert.equation import scalar_arithmetic as sl
from dalembert.lowering.integral_derivatives import FirstIntegral
from dalembert.model.differentiation import gradient
from dalembert.model.first_integrals import TIME_SCALE
from dalembert.numerics.tolerances import DEPENDENT_PIVOT

if TYPE_CHECKING:
    from dalembert.lowering.recorded_terms import RecordedTerms


INTEGRAL_ROUNDING = 4 * float(np.finfo(float).eps)
"""A first integral that differs from its initial value by less than this fraction of its size is left as it is. Near an
equilibrium its gradient is so small that a correction of rounding errors would move the state visibly."""


class _Direction(NamedTuple):
    """A gradient (2n) of a first integral and the change of the state (2n) that follows it, orthogonal to earlier ones.

    reciprocal    of their product; zero if the gradient vanishes or depends on earlier ones
    shares        the multiples of earlier gradients that were removed
    """

    gradient: sl.Vector
    change: sl.Vector
    reciprocal: Any
    shares: list[Any]


def restored(recorded: RecordedTerms, q: sl.Vector, qd: sl.Vector, iterations: int) -> tuple[sl.Vector, sl.Vector]:
    """Record the state on the constraints at which all first integrals have their initial values, near (q, q̇).

    The change is the shortest one in the mass metric, of q divided by the time scale and of q̇, among changes along the
    constraints; the part of q̇ that follows q on the constraints is not counted. Coordinates and velocities both change
    because one of them may not suffice: the energy of a pendulum does not depend on its velocity at a turning point,
    nor on its angle at the lowest point.
    """
    integrals, n = recorded.source.integrals, recorded.programs.n
    directions = _directions(recorded)
    sizes = [recorded.read(integral.size) for integral in integrals]
    for _ in range(iterations):
        here = recorded.at(q, qd)
        misses: list[Any] = []
        for integral, size, direction in zip(integrals, sizes, directions, strict=True):
            miss = sl.sub(recorded.read(integral.initial), here.read(integral.value))
            large = recorded.tape.record("<", sl.mul(INTEGRAL_ROUNDING, size), recorded.absolute(miss))
            miss = recorded.tape.record("select", large, miss, 0.0)
            # the corrections for earlier integrals change this one too, by these shares
            misses.append(sl.sub(miss, sl.dot(direction.shares, misses)))
        for miss, direction in zip(misses, directions, strict=True):
            factor = sl.mul(miss, direction.reciprocal)
            q, qd = sl.plus(q, direction.change[:n], factor), sl.plus(qd, direction.change[n:], factor)
        # a tangential change leaves curved constraints by its square
        q, qd = _on_constraints(recorded, q, qd)
    return q, qd


def _on_constraints(recorded: RecordedTerms, q: sl.Vector, qd: sl.Vector) -> tuple[sl.Vector, sl.Vector]:
    """Record one more step of the projection: positions, then velocities."""
    at_position, at_velocity = recorded.programs.rows_of_state
    at_rest, solve = [0] * recorded.programs.n, recorded.elimination.solve
    if at_position:
        off = recorded.at(q, qd).residuals("position", at_position)
        q = sl.minus(q, solve(at_rest, off, len(at_position)).acceleration)
    if at_velocity:
        off = recorded.at(q, qd).residuals("velocity", at_velocity)
        qd = sl.minus(qd, solve(at_rest, off, len(at_velocity)).acceleration)
    return q, qd


def _directions(recorded: RecordedTerms) -> list[_Direction]:
    """Record the directions of all first integrals, orthogonalised one after another."""
    record, found = recorded.tape.record, list[_Direction]()
    for integral in recorded.source.integrals:
        slope, change = _tangential(recorded, integral)
        whole, shares = sl.dot(slope, change), list[Any]()
        for other in found:
            share = sl.mul(sl.dot(slope, other.change), other.reciprocal)
            slope, change = sl.minus(slope, other.gradient, share), sl.minus(change, other.change, share)
            shares.append(share)
        left = sl.dot(slope, change)
        independent = record("<", sl.mul(DEPENDENT_PIVOT, whole), left)  # false also if the gradient vanishes
        # both sides of a select are computed, and a division by zero would give NaN
        safe = record("select", independent, left, 1.0)
        found.append(_Direction(slope, change, record("select", independent, 1.0 / safe, 0.0), shares))
    return found


def _tangential(recorded: RecordedTerms, integral: FirstIntegral) -> tuple[sl.Vector, sl.Vector]:
    """Record the gradient of a first integral by the state on the constraints, and the change of the state along it.

    A change of q violates the velocity constraints ψ by ψ_q δq, and q̇ follows by M⁻¹Aᵀμ, which changes the integral
    too: with λ the multipliers of the force ∂I/∂q̇, by λᵀψ_q δq.
    """
    (*_, rows), symbols = recorded.programs.rows_of_state, recorded.source.form.symbols
    of_q, of_qd = ([recorded.read(e) for e in part] for part in (integral.of_q, integral.of_qd))
    zeros = [0] * len(recorded.programs.rows)
    velocities = recorded.elimination.solve(of_qd, zeros, len(rows))
    for k, multiplier in zip(rows, velocities.multipliers, strict=False):
        slopes = [recorded.read(e) for e in gradient(recorded.source.form.velocity[k], symbols.q)]
        of_q = sl.plus(of_q, slopes, multiplier)
    scale = recorded.read(sp.Symbol(TIME_SCALE, real=True))
    # in the metric M/τ² of positions, with τ the time scale, the direction of steepest change has the factor τ²
    positions = recorded.elimination.solve(of_q, zeros, len(rows)).acceleration
    return [*of_q, *of_qd], [*(sl.mul(sl.mul(scale, scale), x) for x in positions), *velocities.acceleration]


def values_and_rates(recorded: RecordedTerms) -> list[Any]:
    """Record value, size, rate of change along the motion, and size of the rate, of each first integral."""
    acceleration = recorded.motion().acceleration
    outputs: list[Any] = []
    for integral in recorded.source.integrals:
        slopes = [recorded.read(e) for e in (*integral.of_q, *integral.of_qd, integral.of_t)]
        terms = sl.times(slopes, [*recorded.qd, *acceleration, 1])
        size: Any = sl.dot([recorded.absolute(term) for term in terms], [1] * len(terms))
        outputs += [recorded.read(integral.value), recorded.read(integral.size), sl.dot(terms, [1] * len(terms)), size]
    return outputs


def rows_of_state(rows: Sequence[int], levels: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return the rows that constrain positions, and those that constrain velocities."""
    return [k for k in rows if levels[k] == "position"], [k for k in rows if levels[k] != "acceleration"]
