# SPDX-License-Identifier: BSD-3-Clause
"""The explicit functions of time in the terms of a large system, whose pulses and breakpoints steps must not miss."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.lowering.batch_program import BatchProgram
from dalembert.lowering.time_functions import decisions_of, functions_of, signals_of
from dalembert.native.tape import Program
from dalembert.native.term_loops import CopiedTerm
from dalembert.numerics.piecewise_polynomial import PiecewisePolynomial

TimeFunctions = Callable[[Floats, Floats], tuple[Floats, Floats]]
"""Functions of time, (k, f) at k times for the numbers of a system, and values (k, d), zero or one, that jump where
these functions may."""

MOST_COPIES = 64
"""Copies of a term, with different numbers, whose functions of time are sampled."""


def large_time_functions(terms: Sequence[CopiedTerm]) -> TimeFunctions | None:
    """Return the functions of time of terms; None if all are steady."""
    found: list[tuple[CopiedTerm, BatchProgram, BatchProgram]] = []
    for term in terms:
        own, steady = functions_of("t", term.program)
        if not steady and term.copies:
            tape, decisions, size = term.program.tape, decisions_of("t", term.program), _size(term)
            functions, jumping = (BatchProgram(Program(tape, [*outputs]), size) for outputs in (own, decisions))
            found.append((term, functions, jumping))
    if not found:
        return None

    def values(t: Floats, numbers: Floats) -> tuple[Floats, Floats]:
        functions = [_sampled(term, program, t, numbers) for term, program, _ in found]
        return np.hstack(functions), np.hstack([_sampled(term, program, t, numbers) for term, _, program in found])

    return values


def _size(term: CopiedTerm) -> int:
    return 2 * term.coordinates.shape[1]


def _sampled(term: CopiedTerm, program: BatchProgram, t: Floats, numbers: Floats) -> Floats:
    own = np.unique(numbers[term.numbers], axis=0) if term.numbers.shape[1] else np.zeros((1, 0))
    # at equal distances among the sorted ones, from the first to the last
    chosen = own[np.unique(np.linspace(0, len(own) - 1, MOST_COPIES).astype(int))]
    # these functions do not depend on the state, for which zeros stand
    y = np.zeros((len(t), _size(term)))
    return np.hstack([program(y, t, np.concatenate([numbers[term.shared], each])) for each in chosen])


def large_signals(terms: Sequence[CopiedTerm]) -> tuple[PiecewisePolynomial, ...]:
    """Return the signals of time in terms."""
    return tuple(dict.fromkeys(signal for term in terms for signal in signals_of("t", term.program)))
