# SPDX-License-Identifier: BSD-3-Clause
"""A straight-line program compiled for its values at many states."""

from __future__ import annotations

import ctypes

import numpy as np
from llvmlite import ir

from dalembert.common.array_types import Floats
from dalembert.native.addresses import address_of
from dalembert.native.assembly import UNOPTIMISED, MachineCode, write_program
from dalembert.native.batch import write_each
from dalembert.native.tape import Program, Value


class BatchProgram:
    """A program evaluated at many states in one call; it is compiled without optimisation, since it runs rarely."""

    def __init__(self, program: Program, size: int):
        module = ir.Module()
        # most entries of the matrices of a large system are constants, which need not be computed at every state
        self.computed = np.array([i for i, x in enumerate(program.outputs) if isinstance(x, Value)], int)
        self.known = np.array([0.0 if isinstance(x, Value) else float(x) for x in program.outputs])
        short = Program(program.tape, [program.outputs[i] for i in self.computed])
        write_each(module, "each", write_program(module, "program", short, hot=False), size, len(self.computed))
        self._code = MachineCode(module, selection=UNOPTIMISED)
        kinds = ctypes.c_int64, *[ctypes.c_void_p] * 3, ctypes.c_int64, ctypes.c_void_p
        self._each = ctypes.CFUNCTYPE(None, *kinds)(self._code.address("each"))

    def __call__(self, y: Floats, t: Floats, p: Floats) -> Floats:
        """Return the outputs (k, number of outputs) at states (k, size), times (k,) and parameters."""
        found = np.empty((len(y), len(self.known)))
        found[:] = self.known
        found[:, self.computed] = self.computed_at(y, t, p)
        return found

    def computed_at(self, y: Floats, t: Floats, p: Floats) -> Floats:
        """Return only the outputs that are not constant, in their order; p may be the same (number,) for all states."""
        y, t, p = (np.ascontiguousarray(x, float) for x in (y, t, p))
        computed = np.empty((len(y), len(self.computed)))
        apart = p.shape[1] if p.ndim == 2 else 0
        self._each(len(y), address_of(y), address_of(t), address_of(p), apart, address_of(computed))
        return computed
