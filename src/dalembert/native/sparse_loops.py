# SPDX-License-Identifier: BSD-3-Clause
"""Compiled loops of sparse elimination: a symmetric matrix with a fixed pattern is factored as LDLᵀ, row by row.

The loops run over index arrays and are the same for all systems, so that they are compiled once.

Notation: S the matrix, m its size; L and D its factors. Columns of S hold the rows up to the diagonal. L is stored by
columns (starts, rows, values); for each of its rows, the columns and the places of their values are stored as well.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Generator
from functools import lru_cache
from typing import Any

from llvmlite import ir

from dalembert.native.assembly import DOUBLE, POINTER, MachineCode, load, number, store
from dalembert.native.writer import LONG, Writer, whole

INDEX = ir.IntType(32)
INDICES = INDEX.as_pointer()

ARGUMENT_KINDS = {LONG: ctypes.c_int64, DOUBLE: ctypes.c_double, POINTER: ctypes.c_void_p, INDICES: ctypes.c_void_p}
"""The types of arguments for ctypes."""


def index_at(w: Writer, array: Any, place: Any) -> Any:
    """Return an element of an array of 32-bit indices as a 64-bit number."""
    return w.b.sext(w.b.load(w.b.gep(array, [place], source_etype=INDEX), typ=INDEX), LONG)


def set_index(w: Writer, array: Any, place: Any, value: Any) -> None:
    w.b.store(w.b.trunc(value, INDEX), w.b.gep(array, [place], source_etype=INDEX))


def between(w: Writer, start: Any, end: Any) -> Generator[Any]:
    """Write a loop over start … end − 1."""
    for i in w.each(w.b.sub(end, start)):
        yield w.b.add(start, i)


def span(w: Writer, starts: Any, i: Any) -> Generator[Any]:
    """Write a loop over the entries of row or column i of a matrix whose rows or columns begin at ``starts``."""
    yield from between(w, index_at(w, starts, i), index_at(w, starts, w.b.add(i, whole(1))))


class _Pattern:
    """Writes rows_of_factor(m, starts, rows, parent, mark, counts, columns), in two passes.

    The first pass finds the elimination tree ``parent`` and the number of entries in each row of L; the second one the
    columns of these entries, in any order, from ``counts`` that hold the start of each row.
    """

    def __init__(self, module: ir.Module, name: str, *, fills: bool):
        self.fills = fills
        self.w = w = Writer(module, name, (LONG, *[INDICES] * 6))
        m, self.starts, self.rows, self.parent, self.mark, self.counts, self.columns = w.function.args
        for k in w.each(m):
            self._write_row(k)
        w.b.ret_void()

    def _write_row(self, k: Any) -> None:
        w = self.w
        # the row itself ends every path along the tree
        set_index(w, self.mark, k, k)
        found = w.variable(LONG, index_at(w, self.counts, k) if self.fills else whole(0))
        if not self.fills:
            set_index(w, self.parent, k, whole(-1))
        for e in span(w, self.starts, k):
            at = w.variable(LONG, index_at(w, self.rows, e))
            # along the tree from each entry of S, until a part that has been visited for this row
            with w.during(lambda at=at: w.b.icmp_signed("!=", index_at(w, self.mark, w.get(at, LONG)), k)):
                self._visit(k, at, found)
        if not self.fills:
            set_index(w, self.counts, k, w.get(found, LONG))

    def _visit(self, k: Any, at: Any, found: Any) -> None:
        w, i, count = self.w, self.w.get(at, LONG), self.w.get(found, LONG)
        set_index(w, self.mark, i, k)
        if self.fills:
            set_index(w, self.columns, count, i)
        else:
            with w.b.if_then(w.b.icmp_signed("<", index_at(w, self.parent, i), whole(0))):
                set_index(w, self.parent, i, k)
        w.b.store(w.b.add(count, whole(1)), found)
        w.b.store(index_at(w, self.parent, i), at)


def _write_assemble(module: ir.Module) -> None:
    """Write assemble(count, starts, first, second, column, terms, weights, S): sums of weighted products of terms."""
    w = Writer(module, "assemble", (LONG, *[INDICES] * 4, *[POINTER] * 3))
    count, starts, first, second, column, terms, weights, S = w.function.args
    for e in w.each(count):
        total = w.variable(DOUBLE, number(0.0))
        for k in span(w, starts, e):
            a, b = (load(w.b, terms, index_at(w, places, k)) for places in (first, second))
            product = w.b.fmul(w.b.fmul(a, b), load(w.b, weights, index_at(w, column, k)))
            w.b.store(w.b.fadd(w.get(total), product, flags=("contract",)), total)
        store(w.b, w.get(total), S, e)
    w.b.ret_void()


def subtract(w: Writer, array: Any, place: Any, a: Any, b: Any) -> None:
    """Write array[place] −= a b."""
    less = w.b.fsub(load(w.b, array, place), w.b.fmul(a, b, flags=("contract",)), flags=("contract",))
    store(w.b, less, array, place)


FACTOR = (LONG, INDICES, INDICES, POINTER, *[INDICES] * 5, *[POINTER] * 3, DOUBLE, INDICES, POINTER)
"""Arguments of ``factor``: m, starts and rows and values of S, starts and columns and places of the rows of L, starts
and rows and values of its columns, 1/D, a column of zeros for work, tolerance, rows in use, pivots."""


def _write_factor(module: ir.Module) -> None:
    """Write factor(…), with arguments as in ``FACTOR``; 1/D is zero for rows left out, so that L has zeros there.

    A row is left out if it is not in use, or if less than ``tolerance`` of its diagonal entry remains: it depends on
    the rows before it. ``pivots`` are the remaining parts.
    """
    w = Writer(module, "factor", FACTOR)
    m, starts, rows, S, row_starts, columns, places, L_starts, L_rows, L, inverse, y, least, used, pivots = (
        w.function.args
    )
    for array in (S, L, inverse, y, pivots):
        array.add_attribute("noalias")
    for k in w.each(m):
        for e in span(w, starts, k):
            store(w.b, load(w.b, S, e), y, index_at(w, rows, e))
        diagonal = load(w.b, y, k)
        store(w.b, number(0.0), y, k)
        pivot = w.variable(DOUBLE, diagonal)
        for r in span(w, row_starts, k):
            j, end = index_at(w, columns, r), index_at(w, places, r)
            above = load(w.b, y, j)
            # the column for work must be zero again for the next row, and clearing it here costs one store per entry of
            # L
            store(w.b, number(0.0), y, j)
            for e in between(w, index_at(w, L_starts, j), end):
                subtract(w, y, index_at(w, L_rows, e), load(w.b, L, e), above)
            entry = w.b.fmul(above, load(w.b, inverse, j))
            w.b.store(w.b.fsub(w.get(pivot), w.b.fmul(entry, above, flags=("contract",)), flags=("contract",)), pivot)
            store(w.b, entry, L, end)
        left = w.get(pivot)
        # relative to its own diagonal entry: independence must not depend on the units of a constraint
        kept = w.b.and_(
            w.b.fcmp_ordered(">", left, w.b.fmul(least, diagonal)),
            w.b.icmp_signed("!=", index_at(w, used, k), whole(0)),
        )
        store(w.b, w.b.select(kept, w.b.fdiv(number(1.0), left), number(0.0)), inverse, k)
        store(w.b, w.b.fdiv(left, diagonal), pivots, k)
    w.b.ret_void()


def _write_solve(module: ir.Module) -> None:
    """Write solve(m, starts, rows, L, inverse, x, left): LDLᵀx = x in place; ``left`` is L⁻¹x."""
    w = Writer(module, "solve", (LONG, INDICES, INDICES, *[POINTER] * 4))
    m, starts, rows, L, inverse, x, left = w.function.args
    for array in (L, inverse, x, left):
        array.add_attribute("noalias")
    for j in w.each(m):
        value = load(w.b, x, j)
        store(w.b, value, left, j)
        for e in span(w, starts, j):
            subtract(w, x, index_at(w, rows, e), load(w.b, L, e), value)
        store(w.b, w.b.fmul(value, load(w.b, inverse, j)), x, j)
    last = w.b.sub(m, whole(1))
    for i in w.each(m):
        j = w.b.sub(last, i)
        total = w.variable(DOUBLE, load(w.b, x, j))
        for e in span(w, starts, j):
            product = w.b.fmul(load(w.b, L, e), load(w.b, x, index_at(w, rows, e)), flags=("contract",))
            w.b.store(w.b.fsub(w.get(total), product, flags=("contract",)), total)
        store(w.b, w.get(total), x, j)
    w.b.ret_void()


class SparseLoops:
    """The compiled loops; each function takes numbers, and addresses of arrays."""

    def __init__(self) -> None:
        module = ir.Module()
        _Pattern(module, "count_rows", fills=False)
        _Pattern(module, "fill_rows", fills=True)
        _write_assemble(module)
        _write_factor(module)
        _write_solve(module)
        self._code = MachineCode(module)  # kept: it owns the memory of the functions
        names = ("count_rows", "fill_rows", "assemble", "factor", "solve")
        self.count_rows, self.fill_rows, self.assemble, self.factor, self.solve = (
            callable_of(self._code, module, name) for name in names
        )


def callable_of(code: MachineCode, module: ir.Module, name: str) -> Callable[..., None]:
    """Return a compiled function without a result, by its name."""
    kinds: Any = [ARGUMENT_KINDS[argument.type] for argument in module.globals[name].args]
    return ctypes.CFUNCTYPE(None, *kinds)(code.address(name))


@lru_cache
def sparse_loops() -> SparseLoops:
    """Return the loops, compiled at the first call."""
    return SparseLoops()
