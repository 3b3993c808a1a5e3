# SPDX-License-Identifier: BSD-3-Clause
"""Compilation of tapes to machine code, through LLVM."""

from __future__ import annotations

import ctypes
import sys
from functools import lru_cache
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from llvmlite.binding.ffi import ObjectRef

from dalembert.native.elementary import per_lane, quotient, sine_and_cosine
from dalembert.native.lanes import DOUBLE, call, is_wide, number, real_type
from dalembert.native.lookup import lookup_function
from dalembert.native.tape import LIBRARY, Operation, Program, Value, needed

POINTER = DOUBLE.as_pointer()
STRAIGHT_LINE = ir.FunctionType(ir.VoidType(), (POINTER, DOUBLE, POINTER, POINTER))
"""The type of a compiled program of one motion: a function of y, t, p and the address of its outputs."""


def write_program(module: ir.Module, name: str, program: Program, *, hot: bool) -> ir.Function:
    """Add a tape to a module as a function of y, t, p and the address of its outputs.

    Without ``hot`` it is not optimised, which compiles faster.
    """
    real = real_type(module)
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), (POINTER, real, POINTER, POINTER)), name)
    function.attributes.add("noinline")  # otherwise twelve stages would hold twelve copies
    if not hot:
        function.attributes.add("optnone")
    # no two arrays overlap: LLVM may then keep inputs in registers while outputs are stored
    for argument in (function.args[0], function.args[2], function.args[3]):
        argument.add_attribute("noalias")
    y, t, p, out = function.args
    builder = ir.IRBuilder(function.append_basic_block())
    places = {"y": y, "p": p}
    values: dict[int, Any] = {}
    angles: dict[Any, tuple[Any, Any]] = {}

    def value(a: Any) -> Any:
        return values[a.line] if isinstance(a, Value) else number(a, module)

    for line in needed(program):
        operation = program.tape.lines[line]
        if operation.name == "input":
            array, place = operation.arguments
            values[line] = t if array == "t" else load(builder, places[array], place)
        elif operation.name == "lookup":
            polynomial, place = operation.arguments
            values[line] = per_lane(builder, lookup_function(module, polynomial), [value(place)])
        elif operation.name in ("sin", "cos") and is_wide(module):
            (angle,) = operation.arguments
            if angle not in angles:
                angles[angle] = sine_and_cosine(builder, value(angle))
            values[line] = angles[angle][operation.name == "cos"]
        else:
            values[line] = _instruction(module, builder, operation, [value(a) for a in operation.arguments])
    for i, output in enumerate(program.outputs):
        store(builder, value(output), out, i)
    builder.ret_void()
    return function


def element(builder: ir.IRBuilder, array: Any, place: Any) -> Any:
    """Return the address of an element of an array of numbers."""
    index = ir.Constant(ir.IntType(64), place) if isinstance(place, int) else place
    kind = real_type(builder.module)
    # LLVM 15, the oldest that llvmlite may bring, has typed pointers: they must point at what is counted
    counted = builder.gep(builder.bitcast(array, kind.as_pointer()), [index], source_etype=kind)
    return builder.bitcast(counted, array.type)


def load(builder: ir.IRBuilder, array: Any, place: Any) -> Any:
    kind = real_type(builder.module)
    return builder.load(builder.bitcast(element(builder, array, place), kind.as_pointer()), typ=kind)


def store(builder: ir.IRBuilder, value: Any, array: Any, place: Any) -> None:
    builder.store(value, builder.bitcast(element(builder, array, place), value.type.as_pointer()))


def _instruction(module: ir.Module, builder: ir.IRBuilder, operation: Operation, arguments: list[Any]) -> Any:
    name = operation.name
    if name == "fdiv":
        return quotient(builder, *arguments)
    if name in ("fadd", "fsub", "fmul"):
        # a product and a sum may be fused, which is more accurate; other fast-math flags would reorder sums, so that
        # results depended on the processor
        return getattr(builder, name)(*arguments, flags=("contract",))
    if name in ("<", "<=", "=="):
        # ordered: a comparison with NaN is false, as in Python
        return builder.fcmp_ordered(name, *arguments)
    if name in ("sqrt", "fabs"):
        return call(builder, f"llvm.{name}", arguments)
    if name in LIBRARY:
        return per_lane(builder, library_function(module, name, len(arguments)), arguments)
    return {"and": builder.and_, "or": builder.or_, "not": builder.not_, "select": builder.select}[name](*arguments)


def library_function(module: ir.Module, name: str, count: int) -> ir.Function:
    """Return a function of the C library, which is declared when it is first used."""
    if name not in module.globals:
        ir.Function(module, ir.FunctionType(DOUBLE, [DOUBLE] * count), name)
    return module.globals[name]


def optimised(parsed: Any, machine: Any, *, speed: int) -> Any:
    """Return a module after LLVM's optimisation passes for a target machine."""
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=speed))
    passes = builder.getModulePassManager()
    passes.run(parsed, builder)
    _free(passes)
    return parsed


def _free(passes: Any) -> None:
    """Free LLVM's passes: llvmlite's own `close` calls an empty `_dispose`, which leaks 60 kB for each module."""
    owners = (kind for kind in type(passes).__mro__ if kind is not ObjectRef and "_dispose" in vars(kind))
    if (owner := next(owners, None)) is not None:
        vars(owner)["_dispose"](passes)
        passes.detach()  # otherwise a version of llvmlite that frees them itself would do so twice


PASSES, SELECTION = 1, 2
"""Optimisation levels of LLVM's passes and of its code generation: higher ones compile slower and run no faster."""

UNOPTIMISED = 0
"""Level of code generation for programs that run rarely: registers are then allocated in linear time. At level 2 the
terms of a robot with thirty links take seven times as long to compile."""


def mark_pure(module: ir.Module) -> None:
    """Declare that functions of the C library have no side effects; LLVM may then call them together, or once."""
    for name in LIBRARY.keys() & module.globals.keys():
        module.globals[name].attributes.add("readnone")


class MachineCode:
    """A module compiled for this processor; its functions are looked up by name."""

    def __init__(self, module: ir.Module, *, selection: int | None = None):
        mark_pure(module)
        level = SELECTION if selection is None else selection
        code = object_code(str(module), level)
        # kept as long as its functions are: it owns their memory
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(level))
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def address(self, name: str) -> int:
        return self._engine.get_function_address(name)


def object_code(text: str, selection: int) -> bytes:
    """Return an object file for this processor from the text of a module."""
    machine = _machine(selection)
    parsed = llvm.parse_assembly(text)
    parsed.triple = machine.triple
    parsed.verify()
    return machine.emit_object(optimised(parsed, machine, speed=PASSES))


@lru_cache
def _prepare() -> None:
    """Initialise LLVM for this processor and register the addresses of the C library's functions."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    library = ctypes.CDLL("ucrtbase") if sys.platform == "win32" else ctypes.CDLL(None)
    for name in LIBRARY:
        llvm.add_symbol(name, ctypes.cast(getattr(library, name), ctypes.c_void_p).value)


@lru_cache
def processor_width() -> int:
    """Return how many doubles this processor has in a vector."""
    features = llvm.get_host_cpu_features()
    return 8 if features.get("avx512f") else 4 if features.get("avx") else 2


def _machine(selection: int) -> Any:
    """Return a description of this processor for one compilation; LLVM's engine takes ownership of it."""
    _prepare()
    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=selection, jit=True)
