# SPDX-License-Identifier: BSD-3-Clause
"""Nonideal laws of a large system: the components of C of each law, by loops over the copies of its kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.native.term_loops import CopiedTerm, TermLoops, addresses

Dependence = Literal["state", "ideal", "actual"]
DEPENDENCES: tuple[Dependence, ...] = ("state", "ideal", "actual")
"""Besides the state, laws depend on nothing, on forces of the ideal problem, or on the reactions that they change."""


@dataclass(frozen=True, eq=False)
class LawTerm:
    """Components of C of laws of one kind, along the coordinates ``term.targets``.

    numbers         (copies,) number of the law that each copy belongs to
    depends         on which forces
    coefficients    number of further outputs of the program, which must not be negative
    what            the law and its coefficients, for messages
    """

    term: CopiedTerm
    numbers: NDArray[np.int64]
    depends: Dependence
    coefficients: int = 0
    what: str = ""


class NonidealTerms:
    """The laws of a large system: ``C`` (l, n) has a row for each law, and ``total`` (n,) is their sum.

    Programs read the forces on which they depend from the beginning of the numbers that they take: multipliers (m,),
    ideal force (n,) and reactions (m,).
    """

    def __init__(self, shape: tuple[int, int], laws: Sequence[LawTerm]):
        self.kinds = laws
        self.depends = max((law.depends for law in laws), key=DEPENDENCES.index)
        self._loops = TermLoops([_stored(law.term) for law in laws])
        sizes = [law.term.copies * law.term.outputs for law in laws]
        self._offsets = [0, *np.cumsum(sizes, dtype=np.int64).tolist()]
        self._values = np.zeros(max(self._offsets[-1], 1))
        parts = [_places(law, offset) for law, offset in zip(laws, self._offsets, strict=False)]
        rows, columns, places = (np.concatenate([part[k] for part in parts]) for k in range(3))
        # the order that compressed rows of SciPy need
        order = np.lexsort((columns, rows))
        self._places = places[order]
        self.C, self._transposed = fixed_pattern(shape, rows[order], columns[order])
        self._ones = np.ones(shape[0])

    @property
    def needs_forces(self) -> bool:
        return self.depends != "state"

    def evaluate(self, q: Floats, qd: Floats, t: float, numbers: Floats) -> Floats:
        """Evaluate all laws; return their sum (n,)."""
        at_q, at_qd, at_numbers, out = addresses(q, qd, numbers, self._values)
        for i, offset in enumerate(self._offsets[:-1]):
            self._loops.run(i, at_q, at_qd, t, at_numbers, out + 8 * offset)
        np.take(self._values, self._places, out=self.C.data)
        return self._transposed @ self._ones

    def negative_coefficients(self) -> list[tuple[str, float]]:
        """Return laws with a negative coefficient at the last evaluation, and the smallest one of each kind."""
        found: list[tuple[str, float]] = []
        for law, start, end in zip(self.kinds, self._offsets, self._offsets[1:], strict=False):
            own = self._values[start:end].reshape(law.term.copies, -1)[:, law.term.outputs - law.coefficients :]
            if (own < 0).any():
                found.append((law.what, float(own.min())))
        return found


def _places(law: LawTerm, offset: int) -> tuple[Any, Any, Any]:
    """Return law, coordinate and place among the values of each component of a group."""
    targets: Any = law.term.targets
    copies, k = targets.shape
    places = offset + np.arange(copies)[:, None] * law.term.outputs + np.arange(k)
    return np.repeat(law.numbers, k), targets.ravel().astype(np.int64), places.ravel()


def _stored(term: CopiedTerm) -> CopiedTerm:
    """Return a term whose outputs are stored one after the other, not added."""
    return CopiedTerm(term.program, term.coordinates, term.shared, term.numbers)


def fixed_pattern(shape: tuple[int, int], rows: Any, columns: Any) -> tuple[Any, Any]:
    """Return a sparse matrix with entries in the order of sorted rows, and its transpose, which shares its values."""
    from scipy.sparse import csc_array, csr_array

    starts = np.searchsorted(rows, np.arange(shape[0] + 1)).astype(np.int32)
    matrix: Any = csr_array((np.zeros(len(columns)), columns.astype(np.int32), starts), shape=shape)
    transposed: Any = csc_array((matrix.data, matrix.indices, matrix.indptr), shape=shape[::-1])
    for one in (matrix, transposed):  # SciPy must not rearrange the entries, which have their places
        one.has_sorted_indices = one.has_canonical_format = True
    return matrix, transposed
