# SPDX-License-Identifier: BSD-3-Clause
"""The kernel for NVIDIA's GPUs as PTX: one thread integrates one ensemble member through all times."""

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
from dalembert.native.assembly import POINTER, optimised
from dalembert.native.lanes import DOUBLE, GpuModule
from dalembert.native.member_kernel import write_member
from dalembert.native.member_writer import BYTE, BYTES, MemberPrograms
from dalembert.native.tableau import Tableau
from dalembert.native.tape import LIBRARY
from dalembert.native.writer import LONG, Writer, whole

OLDEST = "sm_75"
"""The oldest supported architecture; the driver translates the kernel for newer GPUs."""

KERNEL = (LONG, POINTER, POINTER, POINTER, LONG, POINTER, LONG, LONG, POINTER, POINTER, LONG, BYTES)
"""Arguments of ``members``: count, q, qd, p, own, times, outputs, every, out, settings, room, endings.

See ``member_writer.MEMBER``.
"""

MOST_INLINED_INSTRUCTIONS = 6400
"""Largest number of instructions, over all copies, up to which a function is inlined: its values are then held in
registers, and the driver translates the kernel within seconds."""


def ptx_of(programs: MemberPrograms, tableau: Tableau, *, single: bool = False) -> str:
    """Return the kernel ``members`` as PTX, in double or in single precision."""
    module = GpuModule(single=single)
    _write_kernel(module, write_member(module, programs, tableau), programs)
    _inline(module)
    machine = _machine()
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    text = str(module)
    # a GPU has no C library; these functions have other names in NVIDIA's
    functions = [name for name in LIBRARY if f'@"{name}"' in text]
    for name in functions:
        text = text.replace(f'@"{name}"', f'@"__nv_{name}"')
    parsed = llvm.parse_assembly(text)
    if functions:
        parsed.link_in(llvm.parse_bitcode(_library(functions).read_bytes()))
    for function in parsed.functions:
        if not function.is_declaration and function.name != "members":
            function.linkage = "internal"  # lets LLVM drop functions without callers
    return machine.emit_assembly(optimised(parsed, machine, speed=3))


def _write_kernel(module: ir.Module, member: ir.Function, programs: MemberPrograms) -> None:
    w = Writer(module, "members", KERNEL)
    w.function.calling_convention = "ptx_kernel"
    block, threads, thread = (_register(module, w, name) for name in ("ctaid", "ntid", "tid"))
    # one thread per member; the last block has threads without one
    i = w.b.zext(w.b.add(w.b.mul(block, threads), thread), LONG)
    with w.b.if_then(w.b.icmp_signed("<", i, w.function.args[0])):
        call_member(w, member, i, programs)
    w.b.ret_void()


def call_member(w: Writer, member: ir.Function, i: Any, programs: MemberPrograms) -> None:
    """Integrate member i of those that the arguments of the kernel describe."""
    _, q, qd, p, own, times, outputs, every, out, settings, room, endings = w.function.args
    n, size = whole(programs.n), whole(2 * programs.n)
    kept = w.b.select(w.b.icmp_signed("==", every, whole(0)), whole(1), outputs)
    lengths = n, n, w.b.mul(own, whole(programs.parameters)), w.b.mul(kept, size)
    # in memory numbers are doubles, also if the members compute in single precision
    positions, velocities, parameters, to = (
        w.b.gep(array, [w.b.mul(i, length)], source_etype=DOUBLE)
        for array, length in zip((q, qd, p, out), lengths, strict=True)
    )
    ended = w.b.gep(endings, [i], source_etype=BYTE)
    w.b.call(
        member, [positions, velocities, parameters, own, whole(1), times, outputs, every, to, settings, room, ended]
    )


def _register(module: ir.Module, w: Writer, name: str) -> Any:
    function = ir.Function(module, ir.FunctionType(ir.IntType(32), ()), f"llvm.nvvm.read.ptx.sreg.{name}.x")
    return w.b.call(function, [])


def _inline(module: ir.Module) -> None:
    """Mark small functions for inlining into their callers."""
    lines = {f.name: [line for block in f.blocks for line in block.instructions] for f in module.functions}
    calls = Counter(line.callee.name for own in lines.values() for line in own if isinstance(line, ir.CallInstr))
    for function in module.functions:
        if not function.is_declaration and function.name != "members":
            function.attributes.discard("noinline")
            # `noinline` was set for processors, where copies of a program only take longer to compile
            small = len(lines[function.name]) * calls[function.name] < MOST_INLINED_INSTRUCTIONS
            function.attributes.add("alwaysinline" if small else "noinline")


@lru_cache
def _prepare() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def _machine() -> Any:
    _prepare()
    return llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(cpu=OLDEST, opt=3)


def _library(functions: list[str]) -> Path:
    """Return the path of NVIDIA's ``libdevice``, which comes with CUDA and with JAX for CUDA."""
    roots = [Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if name in os.environ]
    roots += sorted(Path("/usr/local").glob("cuda*")) + [
        folder for path in map(Path, sys.path) for folder in sorted((path / "nvidia").glob("*"))
    ]
    for root in roots:
        for file in sorted((root / "nvvm" / "libdevice").glob("libdevice*.bc")):
            return file
    raise InputError(
        f"NVIDIA's `libdevice` must be installed to compute {', '.join(functions)} on a GPU; it was not found. "
        f'Install CUDA or `pip install "jax[cuda13]"`, or set CUDA_HOME to the folder of CUDA.'
    )
