# SPDX-License-Identifier: BSD-3-Clause
"""The check of a start, compiled: see ``Programs.start``."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from llvmlite import ir

from dalembert.common.array_types import Floats, vector_of
from dalembert.native.addresses import address_of
from dalembert.native.assembly import UNOPTIMISED, MachineCode, write_program
from dalembert.native.tape import Program


class StartProgram:
    """The compiled check of a start; the result at the last state is kept, because a run needs it more than once."""

    def __init__(self, program: Program):
        module = ir.Module()
        write_program(module, "start", program, hot=False)
        self._code = MachineCode(module, selection=UNOPTIMISED)  # must be kept as long as its function
        kinds = ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p
        self._run = ctypes.CFUNCTYPE(None, *kinds)(self._code.address("start"))
        self._last: tuple[bytes, tuple[bool, bool, Floats]] | None = None

    def at(self, y: Floats, t: float, p: Any) -> tuple[bool, bool, Floats]:
        """Return whether a motion may start at a state, whether the constraints hold exactly, and the scales (2n)."""
        # one array, since every address takes time
        inputs = np.empty(len(y) + 1 + len(p))
        inputs[: len(y)], inputs[len(y)] = y, t
        if len(p):
            inputs[len(y) + 1 :] = vector_of(p)
        key, last = inputs.tobytes(), self._last
        if last is None or last[0] != key:
            found, place = np.empty(2 + len(y)), address_of(inputs)
            self._run(place, t, place + 8 * (len(y) + 1), address_of(found))
            last = self._last = key, (bool(found[0] == 1.0), bool(found[1] == 1.0), found[2:])
        return last[1]
