# SPDX-License-Identifier: BSD-3-Clause
"""The integrator of one system in WebAssembly, for a page that runs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from llvmlite import ir

from dalembert.native.assembly import write_program
from dalembert.native.dormand_prince import DORMAND_PRINCE
from dalembert.native.engine import write_integrator
from dalembert.native.tape import HotPrograms, Program
from dalembert.native.wasm import WasmModule, wasm_module


class WasmIntegrator(NamedTuple):
    """A module with the functions of an integrator, and the doubles of working memory that they need."""

    module: WasmModule
    workspace: int


def wasm_integrator(
    n: int,
    hot: HotPrograms,
    outputs: Program,
    others: Mapping[str, Program],
) -> WasmIntegrator:
    """Compile an adaptive integrator as in ``NativeEngine``, with its outputs and other programs, by name.

    The module exports ``step_batch``, ``sample``, ``accelerate``, ``agree`` if rows are left out, and the others.
    """
    module = ir.Module()
    # all is optimised: without register allocation a long program would have more locals than browsers allow
    parts = write_integrator(module, n, hot, outputs, DORMAND_PRINCE, hot_outputs=True)
    for name, program in others.items():
        write_program(module, name, program, hot=True)
    watched = ["agree"] if parts.agree is not None else []
    exports = ["step_batch", "sample", "accelerate", *watched, *others]
    return WasmIntegrator(wasm_module(module, exports), parts.workspace)
