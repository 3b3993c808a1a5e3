# SPDX-License-Identifier: BSD-3-Clause
"""A test of steps: do they resolve friction whose coefficient changes near rest, on a scale that its law states?

The stages of a long step may lie on both sides of the small speeds at which such friction rises. No estimate of the
error can then notice the rise.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Any

from dalembert.equation import scalar_arithmetic as sl
from dalembert.lowering.recorded_terms import RecordedTerms
from dalembert.native.tape import Program

if TYPE_CHECKING:
    from dalembert.lowering.programs import Programs

SATURATED_SPEED = 6.0
"""Speed, relative to the scale, above which the coefficient no longer changes: e^(-36) is rounding."""

LARGEST_CHANGE_OF_FRICTION = 0.5
"""Change of the velocity in a step near rest, relative to the larger one of the speed before it and the scale."""


def friction_resolution(programs: Programs) -> Program | None:
    """Record one if a step resolves all friction near rest, else zero; None if there is nothing to resolve.

    The inputs are the states at both ends of the step and the time of its end, (4n + 1,), and the time of its start.
    """
    ratios = programs.source.ratios
    if not ratios:
        return None
    before, n = RecordedTerms(programs), programs.n
    tape = before.tape
    q, qd = ([tape.input("y", k * n + i) for i in range(n)] for k in (2, 3))
    after = before.at(q, qd, tape.input("y", 4 * n))
    each = [_is_resolved(before, [before.read(r) for r in own], [after.read(r) for r in own]) for own in ratios]
    resolved = reduce(lambda a, b: tape.record("and", a, b), each)
    return Program(tape, [tape.record("select", resolved, 1.0, 0.0)])


def _is_resolved(terms: RecordedTerms, u: sl.Vector, v: sl.Vector) -> Any:
    """Record whether the step between two relative velocities stays away from rest, or is short."""
    record = terms.tape.record
    change = sl.minus(v, u)
    squares = [sl.dot(x, x) for x in (u, v, change)]
    away = [record("<", SATURATED_SPEED**2, square) for square in squares[:2]]
    # on one side of rest, or nearly so in a plane
    away.append(record("<", 0.0, sl.dot(u, v)))
    most = sl.mul(LARGEST_CHANGE_OF_FRICTION**2, terms.larger(squares[0], 1.0))
    return record("or", reduce(lambda a, b: record("and", a, b), away), record("<=", squares[2], most))
