# SPDX-License-Identifier: BSD-3-Clause
"""Compiled loops over the copies of a term: one small program, run with the coordinates and numbers of each copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.native.assembly import DOUBLE, POINTER, MachineCode, element, load, store, write_program
from dalembert.native.sparse_loops import INDICES, callable_of, index_at
from dalembert.native.tape import Program
from dalembert.native.writer import LONG, Writer, whole


@dataclass(frozen=True, eq=False)
class CopiedTerm:
    """A program and the inputs of its copies.

    program                      of k coordinates and velocities, t, and parameters: s shared ones, then v of each copy
    coordinates (copies, k)      indices of the coordinates of each copy
    shared (s,)                  indices of the shared numbers
    numbers (copies, v)          indices of the numbers of each copy
    targets (copies, outputs)    indices to which the outputs are added; None if they are stored one after the other
    """

    program: Program
    coordinates: NDArray[np.int32]
    shared: NDArray[np.int32]
    numbers: NDArray[np.int32]
    targets: NDArray[np.int32] | None = None

    @property
    def copies(self) -> int:
        return len(self.coordinates)

    @property
    def outputs(self) -> int:
        return len(self.program.outputs)


LOOP = (LONG, POINTER, POINTER, DOUBLE, POINTER, *[INDICES] * 4, POINTER)
"""Arguments of a loop: copies, q, qd, t, numbers, then the arrays of ``CopiedTerm``, and the outputs."""


class TermLoops:
    """The compiled loops of some terms, in one module."""

    def __init__(self, terms: Sequence[CopiedTerm]):
        self.terms = terms
        module = ir.Module()
        for i, term in enumerate(terms):
            _write_loop(module, f"term_{i}", term)
        self._code = MachineCode(module)
        self._loops = [callable_of(self._code, module, f"term_{i}") for i in range(len(terms))]
        nothing = np.zeros(1, np.int32)
        # addresses are asked for once: each request takes a microsecond
        self._arrays = [
            [nothing if x is None else x for x in (term.coordinates, term.shared, term.numbers, term.targets)]
            for term in terms
        ]
        self._addresses = [[x.ctypes.data for x in arrays] for arrays in self._arrays]

    def run(self, i: int, q: int, qd: int, t: float, numbers: int, out: int) -> None:
        """Evaluate all copies of term i; arrays are given by their addresses."""
        self._loops[i](self.terms[i].copies, q, qd, t, numbers, *self._addresses[i], out)


def _write_loop(module: ir.Module, name: str, term: CopiedTerm) -> None:
    """Write the loop over the copies of a term, with arguments as in ``LOOP``."""
    program = write_program(module, f"{name}_program", term.program, hot=True)
    program.attributes.discard("noinline")  # it is called at one place only
    program.attributes.add("alwaysinline")
    w = Writer(module, name, LOOP)
    copies, q, qd, t, numbers, places, shared, own, targets, out = w.function.args
    for array in (q, qd, numbers, out):
        array.add_attribute("noalias")
    k, s, v = term.coordinates.shape[1], len(term.shared), term.numbers.shape[1]
    state, parameters, results = w.array(2 * k), w.array(s + v), w.array(term.outputs)
    for j in range(s):
        store(w.b, load(w.b, numbers, index_at(w, shared, whole(j))), parameters, j)
    for i in w.each(copies):
        for j in range(k):
            place = index_at(w, places, w.b.add(w.b.mul(i, whole(k)), whole(j)))
            store(w.b, load(w.b, q, place), state, j)
            store(w.b, load(w.b, qd, place), state, k + j)
        for j in range(v):
            place = index_at(w, own, w.b.add(w.b.mul(i, whole(v)), whole(j)))
            store(w.b, load(w.b, numbers, place), parameters, s + j)
        w.b.call(program, [state, t, parameters, results])
        _keep(w, i, results, targets if term.targets is not None else None, term.outputs, out)
    w.b.ret_void()


def _keep(w: Writer, i: Any, results: Any, targets: Any, count: int, out: Any) -> None:
    """Write the results of copy i to the outputs: one after the other, or added at their targets."""
    first = w.b.mul(i, whole(count))
    for j in range(count):
        value, place = load(w.b, results, j), w.b.add(first, whole(j))
        if targets is None:
            store(w.b, value, out, place)
        else:
            # copies may share a coordinate, so that their sums must be taken one after the other
            target = element(w.b, out, index_at(w, targets, place))
            w.b.store(w.b.fadd(w.b.load(target, typ=DOUBLE), value), target)


def as_indices(values: Any, shape: tuple[int, ...]) -> NDArray[np.int32]:
    """Return an index array of a shape that may be empty."""
    return np.ascontiguousarray(np.asarray(values, np.int32).reshape(shape))


def addresses(*arrays: Floats) -> list[int]:
    """Return the addresses of contiguous arrays."""
    return [array.ctypes.data for array in arrays]
