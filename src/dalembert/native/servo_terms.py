# SPDX-License-Identifier: BSD-3-Clause
"""The terms of servo constraints of a large system at one state: A₂ q̈ = b₂ with the force B u, and their gains.

Notation: A₂, b₂, B, N as in ``docs/notation.md``; k requirements, r inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.native.nonideal_terms import LawTerm, NonidealTerms, fixed_pattern
from dalembert.native.row_layout import RowLayout, last_outputs, row_layout
from dalembert.native.term_loops import CopiedTerm, TermLoops, addresses


@dataclass(frozen=True, eq=False)
class ServoLayout:
    """The parts of servo constraints that do not depend on the state.

    servos         the numbers of the requirements of each servo, by its name
    actuators      names of the inputs
    levels (k,)    of the requirements, as indices in ``levels.LEVELS``
    settling       (s, 3) for each coefficient of the settling law: the requirement in whose equation it is, the one
                   whose error it multiplies, and the order of the derivative of that error
    gains          of each requirement, the number of its matrices; None if all poles of the error are at −ω
    limited        numbers of the inputs that have a limit
    constant       the ones among these whose limit is a constant, which must be positive
    has_cost       whether N is given; else it is the identity, or M⁻¹ of a force on every coordinate
    everywhere     whether the inputs are a force on every coordinate
    euclidean      whether errors settle along the shortest acceleration in the Euclidean metric
    """

    servos: Mapping[str, tuple[int, ...]]
    actuators: tuple[str, ...]
    levels: NDArray[np.int64]
    settling: NDArray[np.int64]
    gains: tuple[int | None, ...]
    limited: NDArray[np.int64]
    constant: NDArray[np.int64]
    has_cost: bool
    everywhere: bool
    euclidean: bool


@dataclass(frozen=True)
class RowStructure:
    """The way in which inputs act on the requirements, as in ``lowering.control_structure``.

    differentiations    row and basis of each: the row, or a combination of it with those of the basis that contains no
                        inputs, is differentiated; it takes the place of the row, or is a further one if it has a basis
    redundant           rows that follow from others
    owners, orders      for each row the number of its requirement, and the order of its derivative of that requirement
    """

    differentiations: tuple[tuple[int, tuple[int, ...]], ...] = ()
    redundant: tuple[int, ...] = ()
    owners: tuple[int, ...] = ()
    orders: tuple[int, ...] = ()

    @property
    def used(self) -> NDArray[np.int64]:
        """The rows that do not follow from others."""
        return np.array([i for i in range(len(self.owners)) if i not in self.redundant], np.int64)

    @property
    def differentiated(self) -> NDArray[np.int64]:
        """The rows that are derivatives of others."""
        further = sum(bool(basis) for _, basis in self.differentiations)
        # combinations of several rows follow all others, in the order in which they were added
        own = {i for i, basis in self.differentiations if not basis}
        return np.array(sorted(own | {*range(len(self.owners) - further, len(self.owners))}), np.int64)


class ServoTerms:
    """The terms of servo constraints at one state at a time.

    Parameters
    ----------
    n               number of coordinates
    layout          what does not depend on the state
    requirements    one term for each group, with the outputs of a group of constraints
    numbers         the number of each requirement, for every group
    directions      the columns of B, as laws are; none for a force on every coordinate
    gains           one copy, whose outputs are the coefficients of the settling law, the rates (k,), the entries of N
                    if it is given, and the limits
    """

    def __init__(
        self,
        n: int,
        layout: ServoLayout,
        requirements: Sequence[CopiedTerm],
        numbers: Sequence[NDArray[np.int64]],
        directions: Sequence[LawTerm],
        gains: CopiedTerm,
    ):
        self.n, self.layout = n, layout
        k, r = len(layout.levels), len(layout.actuators)
        self.terms = (*requirements, gains)
        self._loops = TermLoops(self.terms)
        sizes = [term.copies * term.outputs for term in self.terms]
        self._offsets = [0, *np.cumsum(sizes, dtype=np.int64).tolist()]
        self._values = np.zeros(max(self._offsets[-1], 1))
        rows, columns, self._places = row_layout(requirements, numbers, self._offsets)
        self.A, _ = fixed_pattern((k, n), rows, columns)
        self._last = last_outputs(requirements, numbers, self._offsets, k)
        self._directions = NonidealTerms((r, n), directions) if directions else None
        self._no_directions = fixed_pattern((r, n), np.zeros(0, np.int64), np.zeros(0, np.int64))[0]
        s, costs = len(layout.settling), r * r if layout.has_cost else 0
        self._parts = np.cumsum([s, k, costs])
        self.structure: RowStructure | None = None
        """None until it is known."""
        self.direction_terms = tuple(directions)
        self.rows = RowLayout(requirements, numbers, (k, n))

    def evaluate(self, q: Floats, qd: Floats, t: float, numbers: Floats) -> None:
        """Evaluate all terms at a state; the attributes hold them until the next evaluation."""
        at_q, at_qd, at_numbers, out = addresses(q, qd, numbers, self._values)
        for i, offset in enumerate(self._offsets[:-1]):
            self._loops.run(i, at_q, at_qd, t, at_numbers, out + 8 * offset)
        # in place: the pattern of A does not change
        np.take(self._values, self._places, out=self.A.data)
        if self._directions is not None:
            self._directions.evaluate(q, qd, t, numbers)

    @property
    def directions(self) -> Any:
        """Bᵀ (r, n), a sparse matrix; None for a force on every coordinate."""
        if self.layout.everywhere:
            return None
        return self._no_directions if self._directions is None else self._directions.C

    @property
    def rhs(self) -> Floats:
        """b₂ (k,), without settling terms."""
        return self._values[self._last[0]]

    @property
    def errors(self) -> tuple[Floats, Floats]:
        """Errors (k,) at position and at velocity level; zero where a level has none."""
        return self._values[self._last[1]], self._values[self._last[2]]

    @property
    def error(self) -> Floats:
        """The error (k,) of each requirement at its own level; zero at acceleration level."""
        position, velocity = self.errors
        return np.select([self.layout.levels == 0, self.layout.levels == 1], [position, velocity], 0.0)

    @property
    def _gains(self) -> list[Floats]:
        return self.gains_of(self._values[self._offsets[-2] : self._offsets[-1]])

    def gains_of(self, outputs: Floats) -> list[Floats]:
        """Return coefficients of the settling law, rates, entries of N and limits from the outputs of their program."""
        return np.split(outputs, self._parts)

    @property
    def settling(self) -> Floats:
        """The coefficients (s,) of the settling law."""
        return self._gains[0]

    @property
    def rates(self) -> Floats:
        """ω (k,) of each requirement; zero where matrices are given."""
        return self._gains[1]

    @property
    def cost(self) -> Floats | None:
        """N (r, r); None where it is the identity or M⁻¹."""
        r = len(self.layout.actuators)
        return self._gains[2].reshape(r, r) if self.layout.has_cost else None

    @property
    def limits(self) -> Floats:
        """The largest size (r,) of each input; infinite without a limit, zero where an expression is negative."""
        found = np.full(len(self.layout.actuators), np.inf)
        # NaN stays
        found[self.layout.limited] = np.maximum(self._gains[3], 0.0)
        return found
