# SPDX-License-Identifier: BSD-3-Clause
"""The number type of a module: one double, or a vector with one component, a lane, for each of some ensemble members.

All arithmetic of a module has this type. The same code is thus written for one motion, for a thread of a GPU, and for
the vector instructions of a processor, which integrate several members at once. In single precision the components are
floats; numbers that enter or leave the code are doubles all the same.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

DOUBLE, FLOAT = ir.DoubleType(), ir.FloatType()
BOOL = ir.IntType(1)


class LaneModule(ir.Module):
    """A module for ensemble members, with ``width`` of them side by side, in double or in single precision."""

    def __init__(self, width: int, *, single: bool = False):
        ir.Module.__init__(self)
        self.width, self.single = width, single

    @contextmanager
    def in_double(self) -> Generator[None]:
        """Write code in double precision within the context."""
        single, self.single = self.single, False
        try:
            yield
        finally:
            self.single = single


class GpuModule(LaneModule):
    """A module for a GPU, where each thread integrates one member.

    Short loops are unrolled: arrays with constant indices can be held in registers.
    """

    def __init__(self, *, single: bool = False) -> None:
        LaneModule.__init__(self, 1, single=single)


def width_of(module: ir.Module) -> int:
    """Return the number of members side by side."""
    return module.width if isinstance(module, LaneModule) else 1


def is_wide(module: ir.Module) -> bool:
    """Return whether a module integrates ensemble members, with elementary functions of its own."""
    return isinstance(module, LaneModule)


def is_single(module: ir.Module) -> bool:
    """Return whether the numbers of a module have single precision."""
    return isinstance(module, LaneModule) and module.single


def lanes_of(module: ir.Module, kind: Any) -> Any:
    """Return the type of one value of a kind for each lane."""
    width = width_of(module)
    return kind if width == 1 else ir.VectorType(kind, width)


def real_type(module: ir.Module) -> Any:
    """Return the type of the numbers of a module."""
    return lanes_of(module, _component(module))


def _component(module: ir.Module | None) -> Any:
    return FLOAT if module is not None and is_single(module) else DOUBLE


def number(a: Any, module: ir.Module | None = None) -> ir.Constant:
    """Return a constant number, or truth value; with a module, the same in all of its lanes."""
    # no integers: a whole number in the user's expression is as much a real number as any other
    kind, value = (BOOL, int(a)) if isinstance(a, bool) else (_component(module), float(a))
    constant = ir.Constant(kind, value)
    return constant if module is None else same(module, constant)


def same(module: ir.Module, constant: ir.Constant) -> ir.Constant:
    """Return a constant in all lanes."""
    width = width_of(module)
    return constant if width == 1 else ir.Constant(ir.VectorType(constant.type, width), [constant] * width)


def call(builder: Any, name: str, arguments: Sequence[Any]) -> Any:
    """Call a function of LLVM on numbers, such as ``llvm.sqrt``."""
    module, kind = builder.module, real_type(builder.module)
    kind_name = "f32" if is_single(module) else "f64"
    name = f"{name}.{kind_name}" if width_of(module) == 1 else f"{name}.v{width_of(module)}{kind_name}"
    # a module may declare a function only once
    if name not in module.globals:
        ir.Function(module, ir.FunctionType(kind, [kind] * len(arguments)), name)
    return builder.call(module.globals[name], arguments)


def lane(builder: Any, value: Any, index: int) -> Any:
    """Return the value of one lane."""
    return (
        value if width_of(builder.module) == 1 else builder.extract_element(value, ir.Constant(ir.IntType(32), index))
    )


def joined(builder: Any, values: Sequence[Any]) -> Any:
    """Return the values of all lanes as one; doubles are rounded to the numbers of the module."""
    values = [rounded(builder, value) for value in values]
    if width_of(builder.module) == 1:
        return values[0]
    whole: Any = ir.Constant(ir.VectorType(values[0].type, len(values)), ir.Undefined)
    for index, value in enumerate(values):
        whole = builder.insert_element(whole, value, ir.Constant(ir.IntType(32), index))
    return whole


def rounded(builder: Any, value: Any) -> Any:
    """Return a double as a number of the module; other values as they are."""
    return builder.fptrunc(value, FLOAT) if is_single(builder.module) and value.type == DOUBLE else value


def widened(builder: Any, value: Any) -> Any:
    """Return a number of one lane as a double."""
    return builder.fpext(value, DOUBLE) if value.type == FLOAT else value


def spread(builder: Any, value: Any) -> Any:
    """Return one value in all lanes."""
    return joined(builder, [value] * width_of(builder.module))


def any_lane(builder: Any, condition: Any) -> Any:
    """Return whether a condition holds in some lane."""
    width = width_of(builder.module)
    if width == 1:
        return condition
    # the lanes as the bits of one integer: one comparison in the place of a chain of them
    bits = ir.IntType(width)
    return builder.icmp_unsigned("!=", builder.bitcast(condition, bits), ir.Constant(bits, 0))
