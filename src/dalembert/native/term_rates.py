# SPDX-License-Identifier: BSD-3-Clause
"""Time derivatives of copied terms along a motion whose coordinates and their derivatives are given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.native.derivatives import along
from dalembert.native.tape import Program
from dalembert.native.term_loops import CopiedTerm, TermLoops, addresses


class TermRates:
    """The derivatives of some terms of n coordinates, of order zero to a highest one, compiled."""

    def __init__(self, terms: Sequence[CopiedTerm], n: int, highest: int):
        self.terms = terms
        self._loops = [TermLoops([_derived(term, n, order) for term in terms]) for order in range(highest + 1)]

    def at(self, order: int, motion: Floats, t: float, numbers: Floats) -> list[Floats]:
        """Return an array (copies, outputs) of derivatives of one order for each term.

        ``motion`` (d, n) are the derivatives of the coordinates, of which the first ``order`` + 2 are used.
        """
        found = [np.empty((term.copies, term.outputs)) for term in self.terms]
        at_motion, at_numbers, *outs = addresses(motion, numbers, *found)
        for i, out in enumerate(outs):
            # the program reads velocities where it reads coordinates: they are the second row of the motion
            self._loops[order].run(i, at_motion, at_motion, t, at_numbers, out)
        return found


def _derived(term: CopiedTerm, n: int, order: int) -> CopiedTerm:
    """Return the derivative of a term along a motion, whose d-th derivatives are further coordinates at d·n."""
    k, tape, outputs = term.coordinates.shape[1], term.program.tape, list(term.program.outputs)
    for done in range(order):
        # the chain rule: the rate of each derivative is the next one, k places further
        onward = {("y", i): tape.input("y", i + k) for i in range(k * (done + 2))}
        outputs = along(tape, outputs, {**onward, ("t", 0): 1.0})
    places = np.hstack([term.coordinates + d * n for d in range(order + 2)]).astype(np.int32)
    return CopiedTerm(Program(tape, outputs), np.ascontiguousarray(places), term.shared, term.numbers)
