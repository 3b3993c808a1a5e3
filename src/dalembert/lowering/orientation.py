# SPDX-License-Identifier: BSD-3-Clause
"""The compiled test that constraint rows keep their orientation between successive states.

det(A A'ᵀ) is positive wherever A A'ᵀ + A'Aᵀ is positive definite. With S = A + A' and D = A − A', twice that sum is
S Sᵀ − D Dᵀ: what is left of the motion of 2n coordinates with masses 1 and −1 under the rows (S, D) when the
coordinates are eliminated. So the pivots of a sparse elimination show it, in much less arithmetic than a determinant.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.array_types import Floats
from dalembert.equation import scalar_arithmetic as sl
from dalembert.lowering.batch_program import BatchProgram
from dalembert.lowering.programs import Programs
from dalembert.lowering.recorded_terms import RecordedTerms
from dalembert.native.elimination import eliminate, sparse_order
from dalembert.native.tape import Program


class OrientationTest:
    """Compares the rows in use at successive states, in one call."""

    def __init__(self, programs: Programs):
        self._run = BatchProgram(kept_orientation(programs), 2 * programs.n + 1)

    def __call__(self, y: Floats, t: Floats, p: Floats) -> NDArray[np.bool_]:
        """Return whether the rows clearly keep their orientation between states y (k, 2n) and times (k,): (k − 1,)."""
        states = np.concatenate([y, t[:, None]], axis=1)
        # at each state the program also reads the next one, which follows in memory
        return np.asarray(self._run.computed_at(states[:-1], t[:-1], p).all(axis=1))


def kept_orientation(programs: Programs) -> Program:
    """Record one if the rows in use clearly have the same orientation at two states, else zero.

    In y the first state is followed by its time, the second state and its time.
    """
    first = RecordedTerms(programs)
    n, tape = programs.n, first.tape
    following = [tape.input("y", 2 * n + 1 + i) for i in range(2 * n + 1)]
    second = first.at(following[:n], following[n:-1], following[-1])
    pairs = [(first.row(k), second.row(k)) for k in programs.rows]
    rows = [[*sl.plus(before, after), *sl.minus(before, after)] for before, after in pairs]
    masses = [[(1 if i < n else -1) if i == j else 0 for j in range(2 * n)] for i in range(2 * n)]
    touched = [{i for i, entry in enumerate(row) if not sl.is_number(entry, 0)} for row in rows]
    order = sparse_order([set[int]() for _ in masses], touched, [0] * len(rows))
    found = eliminate(masses, rows, order)
    kept: Any = True
    for unknown, pivot, least in zip(found.order, found.pivots, found.smallest, strict=True):
        if unknown >= 2 * n:  # the pivots of multipliers are negative
            kept = tape.record("and", kept, tape.record("<", least, sl.sub(0, pivot)))
    return Program(tape, [tape.record("select", kept, 1.0, 0.0)])
