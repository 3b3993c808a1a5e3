# SPDX-License-Identifier: BSD-3-Clause
"""What one system can do in machine code: its terms as numbers, and engines that integrate it."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from math import prod
from typing import Any

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from dalembert.lowering.programs import Programs
from dalembert.lowering.recording import NoMachineCodeError
from dalembert.lowering.source import Source
from dalembert.native.assembly import MachineCode, write_program
from dalembert.native.derivatives import differentiated
from dalembert.native.engine import NativeEngine
from dalembert.native.tape import Books, Program

Floats = NDArray[np.float64]


class NativeSystem:
    """Compiles on demand and keeps what it compiled."""

    def __init__(self, source: Source):
        self.source = source
        self.engine = lru_cache(maxsize=16)(self._engine)
        self._recorded = lru_cache(maxsize=16)(self._recorded_programs)
        self._books = lru_cache(maxsize=16)(self._written_books)

    @cached_property
    def possible(self) -> bool:
        """Whether everything in the system has a counterpart in machine code."""
        everything = range(len(self.source.levels))
        try:
            Programs(self.source, everything, None).account()
        except NoMachineCodeError:
            return False
        return True

    @property
    def needs_multipliers(self) -> bool:
        """Whether a law uses a multiplier, which redundant constraints may leave open."""
        return self.source.laws is not None and bool(self.source.laws.used)

    def _engine(
        self, rows: Sequence[int], iterations: int | None, rates: Sequence[tuple[float, float]] | None
    ) -> NativeEngine:
        programs = Programs(self.source, rows, rates)
        return NativeEngine(
            programs.n,
            accelerate=programs.acceleration(),
            project=programs.projection(iterations) if iterations and rows else None,
            agree=programs.agreement() if len(rows) < programs.m else None,
            account=Programs(self.source, rows, None).account(),
        )

    def terms(self, q: Any, qd: Any, t: Any, p: Any) -> tuple[Floats, ...]:
        """M, Q, A, b and the residuals at position and velocity level, at one state."""
        function, _, shapes = self._terms
        y, p = np.concatenate([q, qd]).astype(float), np.array([float(value) for value in p])
        ends = [*accumulate(map(prod, shapes), initial=0)]
        found = np.empty(ends[-1])
        function(y.ctypes.data, float(t), p.ctypes.data, found.ctypes.data)
        return tuple(found[i:j].reshape(shape) for (i, j), shape in zip(pairwise(ends), shapes, strict=True))

    def _written_books(self, rows: tuple[int, ...], rates: Any) -> tuple[Any, MachineCode, Books]:
        program, books = Programs(self.source, rows, rates).books()
        function, code = _function(program)
        return function, code, books

    def books(self, rows: tuple[int, ...], rates: Any, y: Floats, t: Floats, p: Any) -> dict[str, Floats]:
        """What a ledger is made of, at k states y (k, 2n), by the names of ``Books``: (k, length of the part)."""
        function, _, books = self._books(rows, rates)
        y, p = np.ascontiguousarray(y, float), np.array([float(value) for value in p])
        found = np.empty((len(t), sum(books)))
        for state, time, out in zip(y, t, found, strict=True):
            function(state.ctypes.data, float(time), p.ctypes.data, out.ctypes.data)
        return dict(zip(Books._fields, np.split(found, np.cumsum(books)[:-1], axis=1), strict=True))

    def small_changes(self, rows: Sequence[int], y: Floats, t: float, p: Any) -> tuple[Floats, Floats, Floats]:
        """q̈ (n,) by these rows, its derivatives (n, 2n) by the state y, and those of all residuals (2m, 2n)."""
        p = np.array([float(value) for value in p])
        motion, residuals = self._recorded(tuple(rows))
        moved, slopes = differentiated(motion, y, t, p)
        return moved[:-1], slopes[:-1], differentiated(residuals, y, t, p)[1]

    def _recorded_programs(self, rows: tuple[int, ...]) -> tuple[Program, Program]:
        programs = Programs(self.source, rows, None)
        return programs.acceleration(), programs.residuals()

    @cached_property
    def _terms(self) -> tuple[Any, MachineCode, tuple[tuple[int, ...], ...]]:
        programs = Programs(self.source, range(len(self.source.levels)), None)
        n, m = programs.n, programs.m
        return *_function(programs.terms()), ((n, n), (n,), (m, n), (m,), (m,), (m,))


def _function(program: Program) -> tuple[Any, MachineCode]:
    """A program that runs now and then as a function of addresses, and the code that must be kept for it."""
    module = ir.Module()
    write_program(module, "program", program, hot=False)
    code = MachineCode(module)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p)
    return kind(code.address("program")), code
