# SPDX-License-Identifier: BSD-3-Clause
"""The explicit functions of time in the terms of a large system, whose pulses and breakpoints steps must not miss."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.lowering.batch_program import BatchProgram
from dalembert.lowering.time_functions import functions_of, signals_of
from dalembert.native.tape import Program
from dalembert.native.term_loops import CopiedTerm
from dalembert.numerics.piecewise_polynomial import PiecewisePolynomial

MOST_COPIES = 64
"""Copies of a term, with different numbers, whose functions of time are sampled."""


def large_time_functions(terms: Sequence[CopiedTerm]) -> Callable[[Floats, Floats], Floats] | None:
    """Return the functions of time of terms, (k, f) at k times for the numbers of a system; None if all are steady."""
    found: list[tuple[CopiedTerm, BatchProgram]] = []
    for term in terms:
        own, steady = functions_of("t", term.program)
        if not steady and term.copies:
            found.append((term, BatchProgram(Program(term.program.tape, [*own]), _size(term))))
    if not found:
        return None

    def values(t: Floats, numbers: Floats) -> Floats:
        return np.hstack([_sampled(term, program, t, numbers) for term, program in found])

    return values


def _size(term: CopiedTerm) -> int:
    return 2 * term.coordinates.shape[1]


def _sampled(term: CopiedTerm, program: BatchProgram, t: Floats, numbers: Floats) -> Floats:
    own = np.unique(numbers[term.numbers], axis=0) if term.numbers.shape[1] else np.zeros((1, 0))
    chosen = own[np.unique(np.linspace(0, len(own) - 1, MOST_COPIES).astype(int))]
    y = np.zeros((len(t), _size(term)))
    return np.hstack([program(y, t, np.concatenate([numbers[term.shared], each])) for each in chosen])


def large_signals(terms: Sequence[CopiedTerm]) -> tuple[PiecewisePolynomial, ...]:
    """Return the signals of time in terms."""
    return tuple(dict.fromkeys(signal for term in terms for signal in signals_of("t", term.program)))
