# SPDX-License-Identifier: BSD-3-Clause
"""Checks of a state, recorded on a tape: residuals and their limits, scales, finite and symmetric terms."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

from dalembert.common.levels import STATE_LEVELS
from dalembert.equation import scalar_arithmetic as sl
from dalembert.lowering.recorded_terms import RecordedTerms
from dalembert.native.tape import Value
from dalembert.numerics.tolerances import (
    CONSISTENCY_TOLERANCE,
    EXACT,
    LEAST_DISTANCE,
    RANK_TOLERANCE,
    ROUNDING,
    START_TOLERANCE,
    SYMMETRY_TOLERANCE,
)
from dalembert.numerics.violation import DRIFT_FACTOR, REST_RATE


class Residual(NamedTuple):
    """The size of a constraint's residual at a level, the length of its gradient, the allowed size, the size that
    rounding explains, and the size of its constant part."""

    level: str
    size: Any
    length: Any
    allowed: Any
    rounding: Any
    constant: Any


def sized_residuals(recorded: RecordedTerms, rows: Sequence[int]) -> list[Residual]:
    """Record the residuals of constraints at both levels, and the largest that are allowed."""
    of_q, of_qd = scales(recorded, recorded.q, 1.0), scales(recorded, recorded.qd, 0.0)
    unit = [recorded.larger(scale, recorded.absolute(x)) for scale, x in zip(of_q, recorded.q, strict=True)]
    of_level = {"position": unit, "velocity": [recorded.larger(*pair) for pair in zip(unit, of_qd, strict=True)]}
    found: list[Residual] = []
    for k in rows:
        row = recorded.row(k)
        weights = [recorded.absolute(entry) for entry in row]
        length = sl.dot(weights, [1] * recorded.programs.n)
        for level, state in (("position", recorded.q), ("velocity", recorded.qd)):
            (residual,) = recorded.residuals(level, [k])
            # the constant part counts as a term: the length l in x − l sets the scale where x is zero
            rest = recorded.absolute(sl.sub(residual, sl.dot(row, state)))
            own = sl.add(rest, sl.dot(weights, [recorded.absolute(x) for x in state]))
            least = sl.dot(weights, of_level[level])
            allowed = sl.add(sl.mul(START_TOLERANCE, own), sl.mul(LEAST_DISTANCE, least))
            size, rounding = recorded.absolute(residual), sl.mul(EXACT, sl.add(own, least))
            found.append(Residual(level, size, length, allowed, rounding, rest))
    return found


def resolved(recorded: RecordedTerms, residuals: Sequence[Residual]) -> Any:
    """Record that no constraint may be ``violation.unresolved``, as far as one evaluation tells."""
    record, most = recorded.tape.record, 0.0
    for x in recorded.q:
        most = recorded.larger(most, recorded.absolute(x))
    large: Any = record("<", ROUNDING, most)
    fine: Any = True
    for residual in residuals:
        if residual.level == "position":
            own = record("<", sl.mul(ROUNDING, residual.length), residual.constant)
            fine = record("and", fine, record("or", own, record("==", residual.constant, 0.0)))
    return record("or", record("or", large, record("==", most, 0.0)), fine)


def scales(recorded: RecordedTerms, x: sl.Vector, otherwise: float) -> list[Any]:
    """Record ``violation.scales``."""
    record = recorded.tape.record
    sizes = [recorded.absolute(entry) for entry in x]
    weights = [record("sqrt", recorded.absolute(entry)) for entry in recorded.diagonal]
    largest: Any = 0.0
    most: Any = 0.0
    for weight, size in zip(weights, sizes, strict=True):
        largest, most = recorded.larger(largest, sl.mul(weight, size)), recorded.larger(most, size)
    known = record("<", ROUNDING, most)
    found: list[Any] = []
    for weight in weights:
        smaller = record("<", largest, weight)  # false for a coordinate without mass
        own = record("select", smaller, largest / weight, 1.0) if not sl.is_number(weight, 0) else 1.0
        found.append(record("select", known, own, otherwise))
    return found


def state_scales(recorded: RecordedTerms) -> list[Any]:
    """Record ``violation.state_scales``."""
    record, larger = recorded.tape.record, recorded.larger
    q, qd = ([recorded.absolute(x) for x in state] for state in (recorded.q, recorded.qd))
    weights = [record("sqrt", recorded.absolute(entry)) for entry in recorded.diagonal]
    forces = [recorded.absolute(force) for force in recorded.applied_force]
    L = rate = pull = most = 0.0
    for weight, x, v, force in zip(weights, q, qd, forces, strict=True):
        L, rate, most = larger(L, sl.mul(weight, x)), larger(rate, sl.mul(weight, v)), larger(most, x)
        pull = pull if sl.is_number(weight, 0) else larger(pull, force / weight)
    known = record("<", ROUNDING, most)
    # at rest: the speed that the forces reach over a distance of the size of the mechanism
    V = larger(rate, record("sqrt", sl.mul(L, pull)))
    V = record("select", record("<", 0.0, V), larger(V, sl.mul(REST_RATE, L)), L)
    ratio = record("select", known, V, 1.0) / record("select", known, L, 1.0)
    own_q = [larger(1.0, x) for x in q]
    own_qd = [larger(larger(1.0, v), sl.mul(own, ratio)) for v, own in zip(qd, own_q, strict=True)]
    found: list[Any] = []
    for S, sizes in ((L, own_q), (V, own_qd)):
        for weight, own in zip(weights, sizes, strict=True):
            bound = own if sl.is_number(weight, 0) else recorded.smaller(S / weight, own)
            found.append(record("select", known, 1.0 if sl.is_number(weight, 0) else bound, 1.0))
    return found


def finite_and_symmetric(recorded: RecordedTerms) -> Any:
    """Record whether all terms are finite and M is symmetric."""
    record, M = recorded.tape.record, recorded.mass_matrix
    terms = [*(e for row in M for e in row), *recorded.applied_force]
    terms += [e for k in range(recorded.programs.m) for e in (*recorded.row(k), recorded.target(k))]
    terms += [e for level in STATE_LEVELS for e in recorded.residuals(level, range(recorded.programs.m))]
    nothing: Any = 0
    for term in {term.line: term for term in terms if isinstance(term, Value)}.values():
        # zero, or NaN; the difference of a product and itself would not be zero where LLVM fuses the two
        nothing = record("fadd", nothing, record("fmul", term, 0.0))
    valid = record("==", nothing, 0.0)
    for i, j in combinations(range(recorded.programs.n), 2):
        if M[i][j] is not M[j][i]:
            # both sides squared, so that no root is taken
            off, allowed = sl.sub(M[i][j], M[j][i]), sl.mul(SYMMETRY_TOLERANCE**2, sl.mul(M[i][i], M[j][j]))
            valid = record("and", valid, record("<=", sl.mul(off, off), allowed))
    return valid


def agreement(recorded: RecordedTerms) -> Any:
    """Record whether the rows left out, with their right sides, follow from those in use and hold."""
    record, rows, m = recorded.tape.record, recorded.programs.rows, recorded.programs.m
    others = [k for k in range(m) if k not in rows]
    acceleration = recorded.motion().acceleration
    agrees: Any = True
    forces = recorded.applied_force
    driven = sl.dot(forces, [force / M for force, M in zip(forces, recorded.diagonal, strict=True)])
    for k in others:
        row = recorded.row(k)
        # a force along a dependent row moves nothing that the rows in use allow
        left = sl.dot(row, recorded.elimination.solve(row, [0] * len(rows)).acceleration)
        whole = sl.dot(row, [a / M for a, M in zip(row, recorded.diagonal, strict=True)])
        agrees = record("and", agrees, record("<=", left, sl.mul(RANK_TOLERANCE, whole)))
        terms = sl.times(recorded.row(k), acceleration)
        # forces that balance leave rounding errors of their own size, not of that of the acceleration
        scale = sl.add(recorded.absolute(recorded.target(k)), record("sqrt", sl.mul(whole, driven)))
        for term in terms:
            scale = sl.add(scale, recorded.absolute(term))
        off = recorded.absolute(sl.sub(sl.dot(terms, [1] * len(terms)), recorded.target(k)))
        agrees = record("and", agrees, record("<=", off, sl.mul(CONSISTENCY_TOLERANCE, scale)))
    used = sized_residuals(recorded, rows)
    for residual in sized_residuals(recorded, others):  # the rows in use may drift, and the others as far
        drift: Any = 0.0
        for own in used:
            if own.level == residual.level:
                drift = sl.add(drift, own.size / own.length)
        allowed = sl.add(residual.allowed, sl.mul(sl.mul(DRIFT_FACTOR, residual.length), drift))
        agrees = record("and", agrees, record("<=", residual.size, allowed))
    return agrees
