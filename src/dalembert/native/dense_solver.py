# SPDX-License-Identifier: BSD-3-Clause
"""Compiled solution of small dense linear equations: LU factors with partial pivoting."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from dalembert.native.assembly import DOUBLE, POINTER, load, number, store
from dalembert.native.writer import LONG, Writer, whole


def write_factor(module: ir.Module, n: int) -> ir.Function:
    """Write lu_factor(a, pivots): the factors replace a (n, n), by rows; ``pivots`` are indices, kept as doubles."""
    w = Writer(module, f"lu_factor_{n}", (POINTER, POINTER))
    a, pivots = w.function.args
    for k in w.each(n):
        pivot = _largest(w, a, k, n)
        store(w.b, w.b.sitofp(pivot, DOUBLE), pivots, k)
        # whole rows, the factors before column k as well: the solution then exchanges entries once, at its beginning
        for j in w.each(n):
            above, below = _at(w, k, j, n), _at(w, pivot, j, n)
            first, second = load(w.b, a, above), load(w.b, a, below)
            store(w.b, second, a, above)
            store(w.b, first, a, below)
        # a singular matrix gives values that are not finite, with which the iteration fails and the step is repeated
        inverse = w.b.fdiv(number(1.0), load(w.b, a, _at(w, k, k, n)))
        following = w.b.add(k, whole(1))
        left = w.b.sub(whole(n), following)
        for below in w.each(left):
            i = w.b.add(following, below)
            factor = w.b.fmul(load(w.b, a, _at(w, i, k, n)), inverse)
            store(w.b, factor, a, _at(w, i, k, n))
            for beyond in w.each(left):
                j = w.b.add(following, beyond)
                product = w.b.fmul(factor, load(w.b, a, _at(w, k, j, n)), flags=("contract",))
                rest = w.b.fsub(load(w.b, a, _at(w, i, j, n)), product, flags=("contract",))
                store(w.b, rest, a, _at(w, i, j, n))
    w.b.ret_void()
    return w.function


def write_solve(module: ir.Module, n: int) -> ir.Function:
    """Write lu_solve(a, pivots, x): the solution replaces the right side x (n,)."""
    w = Writer(module, f"lu_solve_{n}", (POINTER, POINTER, POINTER))
    a, pivots, x = w.function.args
    for k in w.each(n):
        # exchanges in the order in which the factorisation made them
        pivot = w.b.fptosi(load(w.b, pivots, k), LONG)
        first, second = load(w.b, x, k), load(w.b, x, pivot)
        store(w.b, second, x, k)
        store(w.b, first, x, pivot)
    for i in w.each(n):
        store(w.b, w.b.fsub(load(w.b, x, i), _product(w, a, x, i, whole(0), i, n)), x, i)
    for from_end in w.each(n):
        i = w.b.sub(whole(n - 1), from_end)
        rest = w.b.fsub(load(w.b, x, i), _product(w, a, x, i, w.b.add(i, whole(1)), from_end, n))
        store(w.b, w.b.fdiv(rest, load(w.b, a, _at(w, i, i, n))), x, i)
    w.b.ret_void()
    return w.function


def _at(w: Writer, i: Any, j: Any, n: int) -> Any:
    return w.b.add(w.b.mul(i, whole(n)), j)


def _largest(w: Writer, a: Any, k: Any, n: int) -> Any:
    """Return the row from k on with the largest entry in column k."""
    # below every absolute value, so that a column of NaN keeps its own row
    row, largest = w.variable(LONG, k), w.variable(DOUBLE, number(-1.0))
    for further in w.each(w.b.sub(whole(n), k)):
        i = w.b.add(k, further)
        size = w.intrinsic("fabs", load(w.b, a, _at(w, i, k, n)))
        is_larger = w.b.fcmp_ordered(">", size, w.get(largest))
        w.b.store(w.b.select(is_larger, i, w.get(row, LONG)), row)
        w.b.store(w.b.select(is_larger, size, w.get(largest)), largest)
    return w.get(row, LONG)


def _product(w: Writer, a: Any, x: Any, i: Any, start: Any, count: Any, n: int) -> Any:
    """Return the product of ``count`` entries of row i, from column ``start`` on, and those of x."""
    total = w.variable(DOUBLE, number(0.0))
    for further in w.each(count):
        j = w.b.add(start, further)
        term = w.b.fmul(load(w.b, a, _at(w, i, j, n)), load(w.b, x, j), flags=("contract",))
        w.b.store(w.b.fadd(w.get(total), term, flags=("contract",)), total)
    return w.get(total)
