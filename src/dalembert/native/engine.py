# SPDX-License-Identifier: BSD-3-Clause
"""One system compiled to machine code for one way of integrating it."""

from __future__ import annotations

import ctypes
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numpy.typing import NDArray

from dalembert.native.assembly import MachineCode, write_program
from dalembert.native.beginning import write_first_step
from dalembert.native.stepper import write_parts, write_sample, write_stepper
from dalembert.native.tape import Account, Program

Floats = NDArray[np.float64]


class Stretch(NamedTuple):
    """Some steps: times (k,), states (k, 2n), how many were rejected, and how it ended (see ``stepper``)."""

    t: Floats
    y: Floats
    rejected: int
    ending: int


class NativeEngine:
    """Integrates by the programs it is given: see ``Parts``; ``account`` comes with how its output is divided."""

    def __init__(
        self,
        n: int,
        accelerate: Program,
        project: Program | None,
        agree: Program | None,
        account: tuple[Program, Account],
    ):
        module = ir.Module()
        told, self.account = account
        parts = write_parts(module, n, accelerate, project, agree)
        stepper = write_stepper(module, parts)
        write_sample(
            module, parts, stepper.reached, write_program(module, "account", told, hot=False), sum(self.account)
        )
        write_first_step(module, parts)
        self.parts = parts
        self._code = MachineCode(module)
        self._integrate = self._function("integrate", ctypes.c_int64, "aadaadddiaaaa")
        self._sample = self._function("sample", None, "iaaaaaaaa")
        self._first_step = self._function("first_step", ctypes.c_double, "addadda")
        self._accelerate = self._function("accelerate", None, "adaa")
        self._project = None if project is None else self._function("project", None, "adaa")

    def _function(self, name: str, result: Any, kinds: str) -> Any:
        types = {"a": ctypes.c_void_p, "d": ctypes.c_double, "i": ctypes.c_int64}
        return ctypes.CFUNCTYPE(result, *(types[kind] for kind in kinds))(self._code.address(name))

    def slope(self, y: Floats, t: float, p: Floats) -> Floats:
        """ẏ, followed by one if it is to be trusted."""
        found = np.empty(self.parts.stride)
        n = self.parts.n
        found[:n] = y[n:]
        self._accelerate(y.ctypes.data, t, p.ctypes.data, found[n:].ctypes.data)
        return found

    def projected(self, y: Floats, t: float, p: Floats) -> Floats:
        """A state put back on the constraints, if that is done at all."""
        if self._project is None:
            return y
        found = np.empty(self.parts.size)
        self._project(y.ctypes.data, t, p.ctypes.data, found.ctypes.data)
        return found

    def first_step(self, y: Floats, t: float, end: float, p: Floats, rtol: float, atol: float) -> float:
        """A step to begin with, from the size of the first two derivatives, as Hairer, Nørsett and Wanner do it."""
        work = np.empty(self.parts.workspace)
        return self._first_step(y.ctypes.data, t, end, p.ctypes.data, rtol, atol, work.ctypes.data)

    def stretch(
        self, y: Floats, t: float, end: float, h: float, p: Floats, rtol: float, atol: float, room: int
    ) -> tuple[Stretch, float]:
        """Up to ``room`` steps from a state, and the step to try next."""
        state, time, step, rejected = y.copy(), np.array([t]), np.array([h]), np.zeros(1)
        times, states = np.empty(room), np.empty((room, self.parts.size))
        work = np.empty(self.parts.workspace)  # of this call alone: another thread may be in the same code
        # time itself must still resolve a step
        shortest = max(4 * np.spacing(abs(t)), 1e-18 * (end - t))
        code = self._integrate(
            *(state.ctypes.data, time.ctypes.data, end, step.ctypes.data, p.ctypes.data, rtol, atol, shortest, room),
            *(times.ctypes.data, states.ctypes.data, rejected.ctypes.data, work.ctypes.data),
        )
        taken, ending = divmod(code, 3)
        return Stretch(times[:taken], states[:taken], int(rejected[0]), ending), float(step[0])

    def sample(
        self, t0: Floats, y0: Floats, times: Floats, p: Floats
    ) -> tuple[Floats, dict[str, Floats], NDArray[np.bool_]]:
        """States at times reached by one step each from (t0, y0), their account by name, and which of them to trust."""
        count = len(times)
        states, told, trusted = (
            np.empty((count, self.parts.size)),
            np.empty((count, sum(self.account))),
            np.empty(count),
        )
        work = np.empty(self.parts.workspace)
        self._sample(
            *(count, t0.ctypes.data, y0.ctypes.data, times.ctypes.data, p.ctypes.data),
            *(states.ctypes.data, told.ctypes.data, trusted.ctypes.data, work.ctypes.data),
        )
        ends = [*accumulate(self.account, initial=0)]
        parts = [told[:, i:j] for i, j in pairwise(ends)]
        return states, dict(zip(Account._fields, parts, strict=True)), trusted == 1.0
