# SPDX-License-Identifier: BSD-3-Clause
"""The compiled integrator of one system, for one selection of rows, one drift cure and one kind of steps."""

from __future__ import annotations

import ctypes
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir

from dalembert.common.array_types import Floats
from dalembert.native.addresses import address_of
from dalembert.native.assembly import MachineCode, write_program
from dalembert.native.collocation import Collocation
from dalembert.native.dormand_prince import DORMAND_PRINCE
from dalembert.native.fixed_stepper import write_fixed_stepper
from dalembert.native.initial_step import write_step_batch
from dalembert.native.integrator_parts import Parts, write_parts
from dalembert.native.output_sampler import write_sample
from dalembert.native.step_functions import write_step_functions
from dalembert.native.stepper import write_stepper
from dalembert.native.tableau import Tableau
from dalembert.native.tape import HotPrograms, OutputLengths, Program


class TakenSteps(NamedTuple):
    """Steps with times (k,) and states (k, 2n), the number of rejected steps, and the ending (see ``stepper``).

    ``from_start`` are the times (k + 1,) and states (k + 1, 2n) with those of the start before them.
    """

    t: Floats
    y: Floats
    rejected: int
    ending: int
    from_start: tuple[Floats, Floats]


class Sample(NamedTuple):
    """States y (k, 2n) at some times, their outputs by the names of ``OutputLengths``, and their validity (k,).

    The validity is one, zero, or ``step_control.UNRELIABLE_OUTPUT``. With ``is_complete`` it is one everywhere, and all
    numbers are finite.
    """

    y: Floats
    outputs: dict[str, Floats]
    validity: Floats
    is_complete: bool


def write_integrator(
    module: ir.Module,
    n: int,
    hot: HotPrograms,
    outputs: Program,
    tableau: Tableau | Collocation,
    *,
    tangent: Program | None = None,
    hot_outputs: bool = False,
) -> Parts:
    """Add an integrator to a module: its parts, the loop over steps, and the outputs at times between steps."""
    parts = write_parts(module, n, tableau, hot)
    step = write_step_functions(module, parts, tangent)
    stepper = (write_stepper if tableau.is_adaptive else write_fixed_stepper)(module, parts, step)
    written = write_program(module, "outputs", outputs, hot=hot_outputs)
    write_sample(module, parts, stepper.reached, written, len(outputs.outputs))
    if tableau.is_adaptive:
        write_step_batch(module, parts, stepper)
    return parts


class NativeEngine:
    """An integrator made from straight-line programs: see ``Parts``; ``outputs`` is a program and its layout.

    The steps are those of a Runge–Kutta method: adaptive if it has an error estimate, fixed otherwise. A linearly
    implicit one needs ``tangent``: see ``collocation_step.write_linearise``.
    """

    def __init__(
        self,
        n: int,
        hot: HotPrograms,
        outputs: tuple[Program, OutputLengths],
        tableau: Tableau | Collocation = DORMAND_PRINCE,
        tangent: Program | None = None,
    ):
        module = ir.Module()
        program, self.output_lengths = outputs
        adaptive = tableau.is_adaptive
        parts = write_integrator(module, n, hot, program, tableau, tangent=tangent)
        self.n, self.size, self.workspace = n, parts.size, parts.workspace
        # the functions below are addresses within this code, which must be kept as long as they are
        self._code = MachineCode(module)
        self._step_batch = self._function("step_batch" if adaptive else "integrate", ctypes.c_int64, "aadaaaiaaaa")
        self._sample = self._function("sample", ctypes.c_int64, "iaaaaaaaaa")
        ends = [*accumulate(self.output_lengths, initial=0)]
        self._lines = ends[-1]
        self._places = {name: slice(*place) for name, place in zip(OutputLengths._fields, pairwise(ends), strict=True)}
        self._accelerate = self._function("accelerate", None, "adaa")
        self._project = None if hot.project is None else self._function("project", None, "adaa")
        self._agree = None if hot.agree is None else self._function("agree", None, "adaa")

    def _function(self, name: str, result: Any, kinds: str) -> Any:
        types = {"a": ctypes.c_void_p, "d": ctypes.c_double, "i": ctypes.c_int64}
        return ctypes.CFUNCTYPE(result, *(types[kind] for kind in kinds))(self._code.address(name))

    def slope(self, y: Floats, t: float, p: Floats) -> Floats:
        """Return ẏ, followed by one if it is well conditioned."""
        found = np.empty(self.size + 1)
        n = self.n
        found[:n] = y[n:]
        self._accelerate(address_of(y), t, address_of(p), address_of(found[n:]))
        return found

    def agrees(self, y: Floats, t: float, p: Floats) -> bool:
        """Return whether the rows left out follow from those in use at a state, and are satisfied there."""
        if self._agree is None:
            return True
        found = np.empty(1)
        self._agree(address_of(y), t, address_of(p), address_of(found))
        return bool(found[0] == 1.0)

    def projected(self, y: Floats, t: float, p: Floats) -> Floats:
        """Return the projection of a state onto the constraints; without a projection, the state itself."""
        if self._project is None:
            return y
        found = np.empty(self.size)
        self._project(address_of(y), t, address_of(p), address_of(found))
        return found

    def step_batch(
        self, y: Floats, t: float, end: float, h: float, p: Floats, settings: Floats, room: int
    ) -> tuple[TakenSteps, float]:
        """Take up to ``room`` steps from a state; return them and the step to try next.

        ``h`` is the step to try first; if it is zero, it is estimated. For ``settings`` see
        ``step_control.settings_of``.
        """
        # one array, since every address takes time; allocated per call, since other threads may run the same code: t,
        # h, number of rejected steps; state; working memory; times and states of the start and the steps
        size = self.size
        first = 3 + size + self.workspace
        second = first + room + 1
        memory = np.empty(second + (room + 1) * size)
        memory[:3] = t, h, 0.0
        memory[3 : 3 + size] = memory[second : second + size] = y
        memory[first] = t
        now = address_of(memory)
        state, work = now + 24, now + 8 * (3 + size)
        times, states = now + 8 * (first + 1), now + 8 * (second + size)
        code = self._step_batch(
            *(state, now, end, now + 8, address_of(p), address_of(settings), room),
            *(times, states, now + 16, work),
        )
        # one number: a second result would need another address
        taken, ending = divmod(code, 3)
        t_all = memory[first : first + 1 + taken]
        y_all = memory[second : second + (1 + taken) * size].reshape(1 + taken, size)
        return TakenSteps(t_all[1:], y_all[1:], int(memory[2]), ending, (t_all, y_all)), float(memory[1])

    def sample(self, t0: Floats, y0: Floats, times: Floats, p: Floats, settings: Floats) -> Sample:
        """Return states at times reached by one step each from (t0, y0), and their outputs."""
        count, size, lines = len(times), self.size, self._lines
        # one array as above: validity, states, outputs, working memory
        first, second, last = count, count * (1 + size), count * (1 + size + lines)
        memory = np.empty(last + self.workspace)
        address = address_of(memory)
        complete = self._sample(
            *(count, address_of(t0), address_of(y0), address_of(times), address_of(p), address_of(settings)),
            *(address + 8 * first, address + 8 * second, address, address + 8 * last),
        )
        states, outputs = memory[first:second].reshape(count, size), memory[second:last].reshape(count, lines)
        parts = {name: outputs[:, place] for name, place in self._places.items()}
        return Sample(states, parts, memory[:count], complete == count)
