# SPDX-License-Identifier: BSD-3-Clause
"""The same code for NVIDIA's GPUs: a thread for each member, the whole way through time in one kernel."""

from __future__ import annotations

import os
import sys
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from dalembert.errors import InputError
from dalembert.native.assembly import POINTER, element, optimised, store
from dalembert.native.member_kernel import Moving, write_member
from dalembert.native.tableau import Tableau
from dalembert.native.tape import LIBRARY
from dalembert.native.writer import LONG, Unrolled, Writer

OLDEST = "sm_75"
"""The oldest cards served: the driver translates for the one it finds, new ones included."""

KERNEL = (LONG, POINTER, POINTER, POINTER, LONG, LONG, POINTER, POINTER, LONG, POINTER)
"""Arguments of ``members``: count, y, p, times, outputs, every, out, settings, room, endings; see ``march.MEMBER``."""

SMALL = 6400
"""Lines of machine code, all copies of them, up to which a function is written into its callers: its numbers are then
in registers, and the driver takes no longer than some seconds to translate it."""


def ptx_of(moving: Moving, tableau: Tableau) -> str:
    """The kernel ``members`` in the language of NVIDIA's driver."""
    module = Unrolled()
    _write_kernel(module, write_member(module, moving, tableau))
    _inline(module)
    machine = _machine()
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    text = str(module)
    functions = [name for name in LIBRARY if f'@"{name}"' in text]
    for name in functions:
        text = text.replace(f'@"{name}"', f'@"__nv_{name}"')
    parsed = llvm.parse_assembly(text)
    if functions:
        parsed.link_in(llvm.parse_bitcode(_library(functions).read_bytes()))
    for function in parsed.functions:
        if not function.is_declaration and function.name != "members":
            function.linkage = "internal"  # what nobody calls is left out
    return machine.emit_assembly(optimised(parsed, machine, speed=3))


def _write_kernel(module: ir.Module, member: ir.Function) -> None:
    w = Writer(module, "members", KERNEL)
    w.function.calling_convention = "ptx_kernel"
    count, y, p, times, outputs, every, out, settings, room, endings = w.function.args
    block, threads, thread = (_register(module, w, name) for name in ("ctaid", "ntid", "tid"))
    i = w.b.zext(w.b.add(w.b.mul(block, threads), thread), LONG)
    with w.b.if_then(w.b.icmp_signed("<", i, count)):
        start, own, to = (element(w.b, array, i) for array in (y, p, out))
        ending = w.b.call(member, [start, own, count, times, outputs, every, to, settings, room])
        store(w.b, ending, endings, i)
    w.b.ret_void()


def _register(module: ir.Module, w: Writer, name: str) -> Any:
    function = ir.Function(module, ir.FunctionType(ir.IntType(32), ()), f"llvm.nvvm.read.ptx.sreg.{name}.x")
    return w.b.call(function, [])


def _inline(module: ir.Module) -> None:
    """Functions are written into their callers as long as they are small."""
    lines = {f.name: [line for block in f.blocks for line in block.instructions] for f in module.functions}
    calls = Counter(line.callee.name for own in lines.values() for line in own if isinstance(line, ir.CallInstr))
    for function in module.functions:
        if not function.is_declaration and function.name != "members":
            function.attributes.discard("noinline")
            small = len(lines[function.name]) * calls[function.name] < SMALL
            function.attributes.add("alwaysinline" if small else "noinline")


@lru_cache
def _prepare() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def _machine() -> Any:
    _prepare()
    return llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(cpu=OLDEST, opt=3)


def _library(functions: list[str]) -> Path:
    """NVIDIA's library of functions for its cards, which comes with CUDA and with JAX for CUDA."""
    roots = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if name in os.environ]
    roots += sorted(Path("/usr/local").glob("cuda*")) + [
        folder for path in map(Path, sys.path) for folder in sorted((path / "nvidia").glob("*"))
    ]
    for root in roots:
        for file in sorted((root / "nvvm" / "libdevice").glob("libdevice*.bc")):
            return file
    raise InputError(
        f"a GPU must have NVIDIA's `libdevice` for {', '.join(functions)}; it was not found. Install CUDA or "
        f'`pip install "jax[cuda13]"`, or set CUDA_HOME to where CUDA is.'
    )
