# SPDX-License-Identifier: BSD-3-Clause
"""Impulses of many contacts with Coulomb friction, by Gauss–Seidel sweeps with projections, in machine code.

Notation: G the gradients of gaps and slips, one row each; H = G M⁻¹; v the velocities; P the impulses.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from dalembert.common.array_types import Floats
from dalembert.native.assembly import DOUBLE, POINTER, MachineCode, load, number, store
from dalembert.native.sparse_loops import INDICES, between, callable_of, index_at, span
from dalembert.native.writer import LONG, Writer, whole


class ContactRows(NamedTuple):
    """Contacts of one instant; their rows follow one another, each contact's gap first and then its slips.

    starts       (k + 1,) the first row of each contact
    G, H         (rows, n) sparse arrays
    offset       (rows,) u − G v for velocities u of gaps, with the rebound added, and of slips
    friction     (k,) largest tangential impulse for one unit of normal impulse
    two_sided    (k,) whether the normal impulse may have any sign
    """

    starts: Any
    G: Any
    H: Any
    offset: Floats
    friction: Floats
    two_sided: Any


def solve_contacts(
    rows: ContactRows, v: Floats, impulses: Floats, tolerance: float, max_sweeps: int
) -> tuple[int, float]:
    """Find impulses and change the velocities accordingly, both in place; return the sweeps and the residual.

    The impulses satisfy 0 ≤ P ⟂ u ≥ 0 along gaps, and Coulomb's law along slips: the tangential impulse is at most
    friction · P, and opposes the slip where it is as large. They are projected on these sets one contact after the
    other. The residual is the largest change of a velocity by the last sweep.

    Parameters
    ----------
    v           (n,) velocities that include the effect of the given impulses
    impulses    (rows,) to begin with
    tolerance   the residual at which the sweeps end
    """
    diagonal = np.asarray(rows.G.multiply(rows.H).sum(axis=1)).ravel()
    result = np.array([0.0, 0.0])
    scratch = np.zeros(len(impulses))
    # SciPy chooses 32 or 64 bits for indices by itself; the code reads 32
    parts: list[Any] = [np.ascontiguousarray(rows.starts, np.int32)]
    for matrix in (rows.G, rows.H):
        parts += [np.ascontiguousarray(x, np.int32) for x in (matrix.indptr, matrix.indices)]
    parts += [rows.G.data, rows.H.data, rows.offset, diagonal, rows.friction, np.asarray(rows.two_sided, float)]
    parts += [impulses, v, scratch, result]
    contacts().sweep(len(rows.starts) - 1, max_sweeps, tolerance, *(part.ctypes.data for part in parts))
    return int(result[0]), float(result[1])


class _Sweep:
    """Writes sweep(contacts, most, tolerance, starts, G rows, G columns, H rows, H columns, G, H, offset, diagonal,
    friction, two_sided, impulses, v, scratch, result)."""

    def __init__(self, module: ir.Module):
        self.w = w = Writer(module, "sweep", (LONG, LONG, DOUBLE, *[INDICES] * 5, *[POINTER] * 10))
        count, most, tolerance, self.starts, *self.patterns = w.function.args[:8]
        (self.G, self.H, self.offset, self.diagonal, self.friction, self.two_sided) = w.function.args[8:14]
        self.impulses, self.v, self.scratch, result = w.function.args[14:]
        self.largest = w.variable(DOUBLE, number(0.0))
        for i in w.each(most):
            w.b.store(number(0.0), self.largest)
            for k in w.each(count):
                first, end = index_at(w, self.starts, k), index_at(w, self.starts, w.b.add(k, whole(1)))
                self._press(k, first)
                self._rub(k, first, end)
            store(w.b, w.b.sitofp(w.b.add(i, whole(1)), DOUBLE), result, 0)
            store(w.b, w.get(self.largest), result, 1)
            with w.b.if_then(w.b.fcmp_ordered("<=", w.get(self.largest), tolerance)):
                w.b.ret_void()
        w.b.ret_void()

    def _entries(self, which: int, row: Any) -> Generator[tuple[Any, Any]]:
        """Write a loop over the entries of a row of G or H: place and column."""
        starts, columns = self.patterns[2 * which : 2 * which + 2]
        for e in span(self.w, starts, row):
            yield e, index_at(self.w, columns, e)

    def _velocity(self, row: Any) -> Any:
        w = self.w
        total = w.variable(DOUBLE, load(w.b, self.offset, row))
        for e, column in self._entries(0, row):
            product = w.b.fmul(load(w.b, self.G, e), load(w.b, self.v, column))
            w.b.store(w.b.fadd(w.get(total), product), total)
        return w.get(total)

    def _change(self, row: Any, new: Any) -> None:
        """Set an impulse and change the velocities."""
        w = self.w
        change = w.b.fsub(new, load(w.b, self.impulses, row))
        store(w.b, new, self.impulses, row)
        for e, column in self._entries(1, row):
            moved = w.b.fadd(load(w.b, self.v, column), w.b.fmul(load(w.b, self.H, e), change))
            store(w.b, moved, self.v, column)
        # as a velocity, so that the residual does not depend on masses
        size = w.b.fmul(w.intrinsic("fabs", change), load(w.b, self.diagonal, row))
        w.b.store(w.intrinsic("maxnum", w.get(self.largest), size), self.largest)

    def _press(self, k: Any, row: Any) -> None:
        """Write the change of a normal impulse, which makes the velocity of its gap zero unless it would pull."""
        w = self.w
        wanted = w.b.fsub(load(w.b, self.impulses, row), w.b.fdiv(self._velocity(row), load(w.b, self.diagonal, row)))
        pressing = w.intrinsic("maxnum", wanted, number(0.0))
        free = w.b.fcmp_ordered(">", load(w.b, self.two_sided, k), number(0.0))
        self._change(row, w.b.select(free, wanted, pressing))

    def _rub(self, k: Any, first: Any, end: Any) -> None:
        """Write the change of tangential impulses: those that stop the slip, shortened to what friction allows."""
        w = self.w
        rows = w.b.add(first, whole(1)), end
        trace, squared = w.variable(DOUBLE, number(0.0)), w.variable(DOUBLE, number(0.0))
        for row in between(w, *rows):
            w.b.store(w.b.fadd(w.get(trace), load(w.b, self.diagonal, row)), trace)
        for row in between(w, *rows):
            # one factor for all slips of a contact, so that the change keeps its direction on the circle of friction;
            # the trace bounds the largest eigenvalue, with which the projection converges
            stop = w.b.fdiv(self._velocity(row), w.get(trace))
            wanted = w.b.fsub(load(w.b, self.impulses, row), stop)
            store(w.b, wanted, self.scratch, row)
            w.b.store(w.b.fadd(w.get(squared), w.b.fmul(wanted, wanted)), squared)
        # the absolute value, for two-sided contacts that pull
        allowed = w.b.fmul(load(w.b, self.friction, k), w.intrinsic("fabs", load(w.b, self.impulses, first)))
        length = w.intrinsic("sqrt", w.get(squared))
        slides = w.b.fcmp_ordered(">", length, allowed)
        factor = w.b.select(slides, w.b.fdiv(allowed, length), number(1.0))
        for row in between(w, *rows):
            self._change(row, w.b.fmul(factor, load(w.b, self.scratch, row)))


class ContactLoops:
    """The compiled loops; the function takes numbers, and addresses of arrays."""

    def __init__(self) -> None:
        module = ir.Module()
        _Sweep(module)
        self._code = MachineCode(module)  # kept: it owns the memory of the function
        self.sweep = callable_of(self._code, module, "sweep")


@lru_cache
def contacts() -> ContactLoops:
    """Return the loops, compiled at the first call."""
    return ContactLoops()
