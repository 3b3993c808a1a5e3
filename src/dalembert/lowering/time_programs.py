# SPDX-License-Identifier: BSD-3-Clause
"""Programs of the explicit functions of time in the equations of a system, at whose events integration ends."""

from __future__ import annotations

from typing import Any

from dalembert.common.levels import STATE_LEVELS
from dalembert.lowering.programs import Programs
from dalembert.lowering.recorded_terms import RecordedTerms
from dalembert.lowering.time_decisions import time_decisions
from dalembert.lowering.time_functions import functions_of, signals_of
from dalembert.native.tape import Program, Tape
from dalembert.numerics.piecewise_polynomial import PiecewisePolynomial


def time_function_program(programs: Programs, *, with_signals: bool = False) -> Program | None:
    """Record all functions of time alone in the equations; None if they are known to have no isolated event.

    Sums and products of sines and cosines have no isolated events; jumps and late onsets need other functions.
    Signals of time have events that are known; ``with_signals`` treats them as the other functions.
    """
    program = _equations(programs)
    found, steady = functions_of("t", program)
    if steady and not (with_signals and signals_of("t", program)):
        return None
    return Program(program.tape, [*found, *recorded_decisions(programs, program.tape)])


def recorded_decisions(programs: Programs, tape: Tape) -> list[Any]:
    """Record what decides between the branches of functions of time in the equations."""
    form, laws = programs.source.form, programs.source.laws
    rows = (*form.mass_matrix, *form.constraint_matrix, *(() if laws is None else (*laws.components, laws.mu)))
    vectors = (form.applied_force, form.constraint_rhs, form.position, form.velocity)
    expressions = (entry for part in (*rows, *vectors) for entry in part)
    read = RecordedTerms(programs, tape).read
    return [read(e) for e in time_decisions(expressions, form.symbols.time, programs.source.parameters)]


def signals_in_equations(programs: Programs) -> tuple[PiecewisePolynomial, ...]:
    """Return the signals of time in the equations."""
    return signals_of("t", _equations(programs))


def _equations(programs: Programs) -> Program:
    """Record all parts of the equations that may contain functions of time."""
    recorded = RecordedTerms(programs)
    residuals = [r for level in STATE_LEVELS for r in recorded.residuals(level, range(programs.m))]
    targets = [recorded.target(k) for k in range(programs.m)]  # including those of the rows left out
    # a force that constraints or sticking contacts take up does not accelerate anything, but it may release them
    forces = recorded.applied_force
    return Program(recorded.tape, [*forces, *recorded.motion().acceleration, *targets, *residuals])
