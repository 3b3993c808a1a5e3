# SPDX-License-Identifier: BSD-3-Clause
"""The compiled functions of a controller: from a state, or many states, to the inputs of actuators."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import sympy as sp
from llvmlite import ir

from dalembert.lowering.batch_program import BatchProgram
from dalembert.lowering.build import symbolic_source
from dalembert.lowering.input_sources import ESTIMATED_BOUND
from dalembert.lowering.programs import Programs
from dalembert.lowering.source import Source
from dalembert.model.system import System
from dalembert.model.uncertainty import AdaptiveBound, BoundedUncertainty
from dalembert.native.assembly import MachineCode, write_program
from dalembert.native.tape import Program


def controller_source(system: System, robust: BoundedUncertainty | None, adaptive: AdaptiveBound | None) -> Source:
    """Return a model in plain symbols, with the layers of its controller."""
    source, plain = symbolic_source(system), system.symbols.plain
    if source.control is None:
        return source
    if robust is not None:
        layers = {"robust": (plain(robust.rho), plain(robust.epsilon))}
    elif adaptive is not None:
        layers = {
            "robust": (ESTIMATED_BOUND, plain(adaptive.epsilon)),
            "adaptive": (plain(adaptive.growth), plain(adaptive.leakage)),
        }
    else:
        return source
    return replace(source, control=replace(source.control, **layers))


class ControllerPrograms:
    """The programs of a controller, each compiled when it is first needed.

    Their last parameter is the present estimate of an adaptive bound, their last output ‖z‖ of
    ``da.BoundedUncertainty``.
    """

    def __init__(self, source: Source):
        self.source, self.size = source, 2 * len(source.form.applied_force)

    @cached_property
    def at_state(self) -> tuple[MachineCode, Callable[..., None], int, int]:
        """The compiled code, which must be kept alive, its function at one state, and the lengths of its state and
        outputs."""
        module = ir.Module()
        write_program(module, "control", self._program, hot=True)
        code, address = MachineCode(module), ctypes.c_void_p
        kinds = address, ctypes.c_double, address, address
        function = ctypes.CFUNCTYPE(None, *kinds)(code.address("control"))
        return code, function, self.size, len(self._program.outputs)

    @cached_property
    def at_states(self) -> BatchProgram:
        """The outputs at many states."""
        return BatchProgram(self._program, self.size)

    @cached_property
    def layers(self) -> dict[str, BatchProgram]:
        """The outputs at many states without limits, with the layers up to each one."""
        control = self.source.control
        assert control is not None
        free = replace(control, limits=(None,) * len(control.limits))
        still = tuple(replace(row, settling=(), rate=sp.S.Zero) for row in control.requirements)
        forms = {
            "nominal": replace(free, requirements=still, robust=None, adaptive=None),
            "settling": replace(free, robust=None, adaptive=None),
        }
        forms |= {"robust": free} if control.robust is not None else {}
        sources = {name: replace(self.source, control=form) for name, form in forms.items()}
        return {
            name: BatchProgram(Programs.of_all_rows(source).controller(), self.size) for name, source in sources.items()
        }

    @cached_property
    def _program(self) -> Program:
        return Programs.of_all_rows(self.source).controller()
