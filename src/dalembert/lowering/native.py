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
from dalembert.native.engine import NativeEngine

Floats = NDArray[np.float64]


class NativeSystem:
    """Compiles on demand and keeps what it compiled."""

    def __init__(self, source: Source):
        self.source = source
        self.engine = lru_cache(maxsize=16)(self._engine)

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

    @cached_property
    def _terms(self) -> tuple[Any, MachineCode, tuple[tuple[int, ...], ...]]:
        programs = Programs(self.source, range(len(self.source.levels)), None)
        n, m = programs.n, programs.m
        module = ir.Module()
        write_program(module, "terms", programs.terms(), hot=False)
        code = MachineCode(module)
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p)
        return kind(code.address("terms")), code, ((n, n), (n,), (m, n), (m,), (m,), (m,))
