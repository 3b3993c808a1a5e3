# SPDX-License-Identifier: BSD-3-Clause
"""Compiled loops over the blocks of a mass matrix: factors, solutions and the rows of A L⁻ᵀ."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from llvmlite import ir

from dalembert.native.assembly import DOUBLE, POINTER, MachineCode, load, number, store
from dalembert.native.sparse_loops import INDICES, between, callable_of, index_at, span, subtract
from dalembert.native.writer import LONG, Writer, whole

LARGEST_MASS_BLOCK = 200
"""Most coordinates that the mass matrix may couple with one another; larger blocks would be dense matrices."""


def _entry(w: Writer, size: Any, i: Any, j: Any) -> Any:
    """Return the place of entry (i, j) of a square array."""
    return w.b.add(w.b.mul(i, size), j)


def _shifted(w: Writer, array: Any, offset: Any) -> Any:
    return w.b.gep(array, [offset], source_etype=DOUBLE)


def _write_factor(module: ir.Module) -> None:
    """Write factor(count, sizes, offsets, firsts, members, values, factors, pivots): L by blocks, with 1/Lⱼⱼ.

    A block that is not positive definite gives numbers that are not finite.
    """
    w = Writer(module, "factor", (LONG, *[INDICES] * 4, *[POINTER] * 3))
    count, sizes, offsets, firsts, members, values, factors, pivots = w.function.args
    for block in w.each(count):
        size, offset, first = (index_at(w, x, block) for x in (sizes, offsets, firsts))
        M, L = _shifted(w, values, offset), _shifted(w, factors, offset)
        for j in w.each(size):
            for i in between(w, j, size):
                place = _entry(w, size, i, j)
                store(w.b, load(w.b, M, place), L, place)
                for k in w.each(j):
                    subtract(w, L, place, load(w.b, L, _entry(w, size, i, k)), load(w.b, L, _entry(w, size, j, k)))
            own = _entry(w, size, j, j)
            left = load(w.b, L, own)
            store(w.b, w.b.fdiv(left, load(w.b, M, own)), pivots, index_at(w, members, w.b.add(first, j)))
            # the reciprocal is stored, because solving multiplies faster than it divides
            root = w.b.fdiv(number(1.0), w.intrinsic("sqrt", left))
            store(w.b, root, L, own)
            for i in between(w, w.b.add(j, whole(1)), size):
                place = _entry(w, size, i, j)
                store(w.b, w.b.fmul(load(w.b, L, place), root), L, place)
    w.b.ret_void()


def _write_forward(w: Writer, size: Any, L: Any, z: Any) -> None:
    """Write z ← L⁻¹z for one block."""
    for i in w.each(size):
        for k in w.each(i):
            subtract(w, z, i, load(w.b, L, _entry(w, size, i, k)), load(w.b, z, k))
        store(w.b, w.b.fmul(load(w.b, z, i), load(w.b, L, _entry(w, size, i, i))), z, i)


def _write_backward(w: Writer, size: Any, L: Any, z: Any) -> None:
    """Write z ← L⁻ᵀz for one block."""
    last = w.b.sub(size, whole(1))
    for step in w.each(size):
        i = w.b.sub(last, step)
        for k in between(w, w.b.add(i, whole(1)), size):
            subtract(w, z, i, load(w.b, L, _entry(w, size, k, i)), load(w.b, z, k))
        store(w.b, w.b.fmul(load(w.b, z, i), load(w.b, L, _entry(w, size, i, i))), z, i)


def _write_solve(module: ir.Module) -> None:
    """Write solve(count, sizes, offsets, firsts, members, factors, x): x ← M⁻¹x in the coordinates of the blocks."""
    w = Writer(module, "solve", (LONG, *[INDICES] * 4, *[POINTER] * 2))
    count, sizes, offsets, firsts, members, factors, x = w.function.args
    # on the stack, whose size is fixed when the loops are compiled
    z = w.array(LARGEST_MASS_BLOCK)
    for block in w.each(count):
        size, first = index_at(w, sizes, block), index_at(w, firsts, block)
        L = _shifted(w, factors, index_at(w, offsets, block))
        for i in w.each(size):
            store(w.b, load(w.b, x, index_at(w, members, w.b.add(first, i))), z, i)
        _write_forward(w, size, L, z)
        _write_backward(w, size, L, z)
        for i in w.each(size):
            store(w.b, load(w.b, z, i), x, index_at(w, members, w.b.add(first, i)))
    w.b.ret_void()


def _write_half(module: ir.Module) -> None:
    """Write half(count, starts, sizes, offsets, places, local, terms, factors, out): B in coupled blocks."""
    w = Writer(module, "half", (LONG, *[INDICES] * 5, *[POINTER] * 3))
    count, starts, sizes, offsets, places, local, terms, factors, out = w.function.args
    at = w.variable(LONG, whole(0))
    for part in w.each(count):
        size, first = index_at(w, sizes, part), w.get(at, LONG)
        z = _shifted(w, out, first)
        for i in w.each(size):
            store(w.b, number(0.0), z, i)
        for e in span(w, starts, part):
            place = index_at(w, local, e)  # entries are added: a coordinate may be in a row twice
            store(w.b, w.b.fadd(load(w.b, z, place), load(w.b, terms, index_at(w, places, e))), z, place)
        _write_forward(w, size, _shifted(w, factors, index_at(w, offsets, part)), z)
        w.b.store(w.b.add(first, size), at)
    w.b.ret_void()


class BlockLoops:
    """The compiled loops; each function takes numbers, and addresses of arrays."""

    def __init__(self) -> None:
        module = ir.Module()
        _write_factor(module)
        _write_solve(module)
        _write_half(module)
        self._code = MachineCode(module)  # kept: it owns the memory of the functions
        self.factor, self.solve, self.half = (
            callable_of(self._code, module, name) for name in ("factor", "solve", "half")
        )


@lru_cache
def block_loops() -> BlockLoops:
    """Return the loops, compiled at the first call."""
    return BlockLoops()
