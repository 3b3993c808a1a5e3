# SPDX-License-Identifier: BSD-3-Clause
"""A writer of LLVM functions with loops, branches and variables."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

from dalembert.native.assembly import POINTER
from dalembert.native.lanes import GpuModule, any_lane, call, number, real_type

LONG = ir.IntType(64)


MOST_ROUNDS = 32
"""Longest loop that is unrolled for a GPU."""


def whole(value: int) -> ir.Constant:
    """Return an integer constant."""
    return ir.Constant(LONG, value)


class Writer:
    """Writes one LLVM function, with loops, branches and variables."""

    def __init__(self, module: ir.Module, name: str, arguments: Sequence[Any], result: Any = None):
        self.module = module
        self.function = ir.Function(module, ir.FunctionType(result or ir.VoidType(), arguments), name)
        self.b: Any = ir.IRBuilder(self.function.append_basic_block())  # its stubs lack the flags of operations

    @property
    def real(self) -> Any:
        """The number type of the module."""
        return real_type(self.module)

    def variable(self, kind: Any, start: Any) -> Any:
        """Allocate a variable with an initial value; return its address."""
        with self.b.goto_entry_block():
            # in the first block: inside a loop, each iteration would take more of the stack
            place = self.b.alloca(kind)
        self.b.store(start, place)
        return place

    def array(self, count: int) -> Any:
        """Allocate an array of numbers for the duration of the call."""
        with self.b.goto_entry_block():
            return self.b.bitcast(self.b.alloca(ir.ArrayType(self.real, max(count, 1))), POINTER)

    def number(self, value: Any) -> ir.Constant:
        """Return a constant number or truth value."""
        return number(value, self.module)

    def get(self, place: Any, kind: Any = None) -> Any:
        return self.b.load(place, typ=kind or self.real)

    def any(self, condition: Any) -> Any:
        """Return whether a condition holds in some lane."""
        return any_lane(self.b, condition)

    def each(self, count: Any) -> Generator[Any]:
        """Write a loop over 0 … count − 1, rolled or unrolled: ``for i in w.each(n): …`` writes its body."""
        if isinstance(count, int) and isinstance(self.module, GpuModule) and count <= MOST_ROUNDS:
            yield from map(whole, range(count))
            return
        end = whole(count) if isinstance(count, int) else count
        before, body, after = (self.b.append_basic_block() for _ in range(3))
        start = self.b.block
        self.b.branch(before)
        self.b.position_at_end(before)
        i = self.b.phi(LONG)
        i.add_incoming(whole(0), start)
        self.b.cbranch(self.b.icmp_signed("<", i, end), body, after)
        self.b.position_at_end(body)
        yield i
        following = self.b.add(i, whole(1))
        # not `body`: the body may have added blocks of its own
        i.add_incoming(following, self.b.block)
        self.b.branch(before)
        self.b.position_at_end(after)

    @contextmanager
    def endless_loop(self) -> Generator[None]:
        """Write an endless loop, which only a return leaves."""
        body = self.b.append_basic_block()
        self.b.branch(body)
        self.b.position_at_end(body)
        yield
        self.b.branch(body)

    @contextmanager
    def during(self, condition: Callable[[], Any]) -> Generator[None]:
        """Write a loop that continues while a condition, evaluated before each iteration, holds."""
        test, body, after = (self.b.append_basic_block() for _ in range(3))
        self.b.branch(test)
        self.b.position_at_end(test)
        self.b.cbranch(condition(), body, after)
        self.b.position_at_end(body)
        yield
        self.b.branch(test)
        self.b.position_at_end(after)

    def intrinsic(self, name: str, *arguments: Any) -> Any:
        return call(self.b, f"llvm.{name}", arguments)
