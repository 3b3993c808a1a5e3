# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of copied terms by their coordinates and velocities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.native.derivatives import along
from dalembert.native.tape import Program
from dalembert.native.term_loops import CopiedTerm, TermLoops, addresses


class TermDerivatives:
    """The derivatives of some terms, compiled."""

    def __init__(self, terms: Sequence[CopiedTerm]):
        self.terms = terms
        self._loops = TermLoops([_differentiated(term) for term in terms])

    def at(self, q: Floats, qd: Floats, t: float, numbers: Floats) -> list[Floats]:
        """Return an array (copies, outputs, 2k) for each term: derivatives by coordinates, then velocities."""
        found = [np.empty((term.copies, term.outputs, 2 * term.coordinates.shape[1])) for term in self.terms]
        at_q, at_qd, at_numbers, *outs = addresses(q, qd, numbers, *found)
        for i, out in enumerate(outs):
            self._loops.run(i, at_q, at_qd, t, at_numbers, out)
        return found


def _differentiated(term: CopiedTerm) -> CopiedTerm:
    tape, outputs = term.program.tape, term.program.outputs
    # one direction for each input, since a term of a large system has few of them
    columns = [along(tape, outputs, {("y", j): 1.0}) for j in range(2 * term.coordinates.shape[1])]
    flat = [column[i] for i in range(len(outputs)) for column in columns]
    return replace(term, program=Program(tape, flat), targets=None)
