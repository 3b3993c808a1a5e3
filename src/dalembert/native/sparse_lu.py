# SPDX-License-Identifier: BSD-3-Clause
"""A sparse matrix of fixed pattern, real or complex, factored as LU by compiled loops, without an exchange of rows.

The order is given, and found once. No pivot may vanish in it.

Notation: L has a diagonal of ones and is stored by rows; U is stored by rows, and has the pattern of Lᵀ.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from dalembert.native.assembly import POINTER, MachineCode, load, number, store
from dalembert.native.elimination_order import postorder
from dalembert.native.factor_pattern import address, as_index_array, elimination_tree, factor_pattern, starts_of
from dalembert.native.sparse_loops import INDICES, callable_of, index_at, span
from dalembert.native.writer import LONG, Writer, whole

Order = NDArray[np.int64]


class SparseLU:
    """The factors of a matrix (size, size) whose entries are at fixed places.

    Parameters
    ----------
    order            of elimination
    rows, columns    of entries; entries at the same place are added. ``slots`` are their numbers in ``values``
    """

    def __init__(self, order: Order, rows: Any, columns: Any):
        self.size = len(order)
        parents, _ = elimination_tree(*_lower(self.size, self._keys(order, rows, columns)))
        # neighbours in the tree become neighbours in memory; the entries stay those of the given order
        self.order = order[postorder(parents.tolist())]
        keys = self._keys(self.order, rows, columns)
        self.slots = self._places(keys, rows, columns)
        self.row, self.column = keys // self.size, keys % self.size
        self.starts, self.columns = starts_of(self.row, self.size), as_index_array(self.column)
        self.pattern = factor_pattern(*_lower(self.size, keys))
        self._keys_of_entries = keys

    def _keys(self, order: Order, rows: Any, columns: Any) -> Any:
        """Return size·row + column of all entries in an order, with their transposes and the diagonal, sorted."""
        self._rank = np.empty(self.size, np.int64)
        self._rank[order] = np.arange(self.size)
        i, j = self._rank[rows], self._rank[columns]
        return np.unique(np.concatenate([i * self.size + j, j * self.size + i, np.arange(self.size) * (self.size + 1)]))

    def _places(self, keys: Any, rows: Any, columns: Any) -> Any:
        return np.searchsorted(keys, self._rank[rows] * self.size + self._rank[columns])

    def slots_of(self, rows: Any, columns: Any) -> Any:
        """Return the numbers of entries in ``values``; None if one of them has no place."""
        keys, wanted = self._keys_of_entries, self._rank[rows] * self.size + self._rank[columns]
        found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return found if (keys[found] == wanted).all() else None

    def factored(self, values: Any) -> Factors:
        """Return the factors for the values of all entries, in the order of ``slots``."""
        return Factors(self, np.ascontiguousarray(values))


class Factors:
    """L and U for some values."""

    def __init__(self, matrix: SparseLU, values: Any):
        self._size, kind = matrix.size, values.dtype
        self._kind = kind
        pattern, entries = matrix.pattern, len(matrix.pattern.rows)
        self._L, self._U = np.empty(entries, kind), np.empty(entries, kind)
        self._inverse, work = np.empty(self._size, kind), np.zeros(self._size, kind)
        given = (matrix.starts, matrix.columns, values, *pattern[2:4], *pattern[:2])
        arrays = (*given, self._L, self._U, self._inverse, work)
        self._loops = lu_loops(np.iscomplexobj(values))
        self._loops.factor(self._size, *map(address, arrays))
        self._solving = (*pattern[2:4], *pattern[:2], self._L, self._U, self._inverse)
        self._addresses = [address(x) for x in self._solving]

    def solve(self, right: Any) -> Any:
        """Return x for a right side, both in the order of elimination; not finite if a pivot vanished."""
        # a copy, which the loops replace by the solution
        x = np.array(right, self._kind)
        self._loops.solve(self._size, *self._addresses, address(x))
        return x


def _lower(size: int, keys: Any) -> tuple[Any, Any]:
    """Return starts and columns of the entries up to the diagonal."""
    rows, columns = keys // size, keys % size
    below = columns <= rows
    return starts_of(rows[below], size), as_index_array(columns[below])


class Arithmetic(Protocol):
    """Loads, stores and operations of one kind of numbers; a value is a tuple of its real parts."""

    def parts(self) -> int:
        """Return the number of real parts."""
        ...

    def less_product(self, w: Writer, c: Any, a: Any, b: Any) -> Any:
        """Return c − a b."""
        ...

    def inverse(self, w: Writer, a: Any) -> Any:
        """Return 1 / a."""
        ...


class RealArithmetic:
    """Real numbers."""

    def parts(self) -> int:
        return 1

    def less_product(self, w: Writer, c: Any, a: Any, b: Any) -> Any:
        return (_less(w, c[0], a[0], b[0]),)

    def inverse(self, w: Writer, a: Any) -> Any:
        return (w.b.fdiv(number(1.0), a[0]),)


class ComplexArithmetic:
    """Complex numbers, whose real and imaginary parts are next to one another."""

    def parts(self) -> int:
        return 2

    def less_product(self, w: Writer, c: Any, a: Any, b: Any) -> Any:
        real = _less(w, _less(w, c[0], a[0], b[0]), w.b.fneg(a[1]), b[1])
        return real, _less(w, _less(w, c[1], a[0], b[1]), a[1], b[0])

    def inverse(self, w: Writer, a: Any) -> Any:
        square = w.b.fadd(w.b.fmul(a[0], a[0]), w.b.fmul(a[1], a[1]))
        return w.b.fdiv(a[0], square), w.b.fdiv(w.b.fneg(a[1]), square)


def _less(w: Writer, c: Any, a: Any, b: Any) -> Any:
    # fused where the processor can, which is faster and rounds once
    return w.b.fsub(c, w.b.fmul(a, b, flags=("contract",)), flags=("contract",))


class _Numbers:
    """Reads and writes elements of arrays of one kind of numbers."""

    def __init__(self, w: Writer, kind: Arithmetic):
        self.w, self.kind = w, kind

    def get(self, array: Any, place: Any) -> Any:
        count = self.kind.parts()
        first = self.w.b.mul(place, whole(count))
        return tuple(load(self.w.b, array, self.w.b.add(first, whole(k))) for k in range(count))

    def set(self, array: Any, place: Any, value: Any) -> None:
        first = self.w.b.mul(place, whole(self.kind.parts()))
        for k, part in enumerate(value):
            store(self.w.b, part, array, self.w.b.add(first, whole(k)))

    def zero(self) -> Any:
        return (number(0.0),) * self.kind.parts()

    def subtract(self, array: Any, place: Any, a: Any, b: Any) -> None:
        """Write array[place] −= a b."""
        self.set(array, place, self.kind.less_product(self.w, self.get(array, place), a, b))

    def product(self, a: Any, b: Any) -> Any:
        """Return a b."""
        return tuple(self.w.b.fneg(part) for part in self.kind.less_product(self.w, self.zero(), a, b))


def _write_factor(module: ir.Module, kind: Arithmetic) -> None:
    """Write factor(size, starts, columns, values, starts and columns of L, starts and columns of U, L, U, 1/D, y).

    Row by row: y holds a row of the matrix, from which multiples of the rows of U before it are subtracted.
    """
    w = Writer(module, "factor", (LONG, *[INDICES] * 2, POINTER, *[INDICES] * 4, *[POINTER] * 4))
    size, starts, columns, values, L_starts, L_columns, U_starts, U_columns, L, U, inverse, y = w.function.args
    for array in (values, L, U, inverse, y):
        array.add_attribute("noalias")
    x = _Numbers(w, kind)
    for k in w.each(size):
        for e in span(w, starts, k):
            x.set(y, index_at(w, columns, e), x.get(values, e))
        for r in span(w, L_starts, k):
            j = index_at(w, L_columns, r)
            # columns in ascending order: entry j is complete when all rows before it have been subtracted
            entry = x.product(x.get(y, j), x.get(inverse, j))
            x.set(y, j, x.zero())
            x.set(L, r, entry)
            for e in span(w, U_starts, j):
                x.subtract(y, index_at(w, U_columns, e), entry, x.get(U, e))
        # without an exchange of rows the pattern is known beforehand; a solution by a vanishing pivot is not finite
        x.set(inverse, k, kind.inverse(w, x.get(y, k)))
        x.set(y, k, x.zero())
        for e in span(w, U_starts, k):
            place = index_at(w, U_columns, e)
            x.set(U, e, x.get(y, place))
            x.set(y, place, x.zero())
    w.b.ret_void()


def _write_solve(module: ir.Module, kind: Arithmetic) -> None:
    """Write solve(size, starts and columns of L, starts and columns of U, L, U, 1/D, x): x is replaced."""
    w = Writer(module, "solve", (LONG, *[INDICES] * 4, *[POINTER] * 4))
    size, L_starts, L_columns, U_starts, U_columns, L, U, inverse, found = w.function.args
    for array in (L, U, inverse, found):
        array.add_attribute("noalias")
    x = _Numbers(w, kind)
    for k in w.each(size):
        for r in span(w, L_starts, k):
            x.subtract(found, k, x.get(L, r), x.get(found, index_at(w, L_columns, r)))
    last = w.b.sub(size, whole(1))
    for i in w.each(size):
        k = w.b.sub(last, i)
        for e in span(w, U_starts, k):
            x.subtract(found, k, x.get(U, e), x.get(found, index_at(w, U_columns, e)))
        x.set(found, k, x.product(x.get(found, k), x.get(inverse, k)))
    w.b.ret_void()


class LULoops:
    """The compiled loops for one kind of numbers; each function takes the size, and addresses of arrays."""

    def __init__(self, kind: Arithmetic):
        module = ir.Module()
        _write_factor(module, kind)
        _write_solve(module, kind)
        self._code = MachineCode(module)  # kept: it owns the memory of the functions
        self.factor, self.solve = (callable_of(self._code, module, name) for name in ("factor", "solve"))


@lru_cache
def lu_loops(is_complex: bool) -> LULoops:
    """Return the loops for real or complex numbers, compiled at the first call."""
    return LULoops(ComplexArithmetic() if is_complex else RealArithmetic())
