# SPDX-License-Identifier: BSD-3-Clause
"""Piecewise polynomials in machine code: a binary search among constant breakpoints, then Horner's scheme."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir

from dalembert.numerics.piecewise_polynomial import PiecewisePolynomial

_DOUBLE, _LONG = ir.DoubleType(), ir.IntType(64)


def lookup_function(module: ir.Module, polynomial: PiecewisePolynomial) -> ir.Function:
    """Return the function double(double) of a polynomial, which is written into the module when first used."""
    name = f"lookup_{polynomial.digest}"
    if name not in module.globals:
        _write(module, name, polynomial)
    return module.globals[name]


def _write(module: ir.Module, name: str, polynomial: PiecewisePolynomial) -> None:
    function = ir.Function(module, ir.FunctionType(_DOUBLE, [_DOUBLE]), name)
    function.linkage = "internal"
    builder: Any = ir.IRBuilder(function.append_basic_block())
    pieces, degree = len(polynomial.breakpoints) - 1, len(polynomial.coefficients) - 1
    breakpoints = _constants(module, f"{name}_breakpoints", polynomial.breakpoints)
    # the coefficients of one piece are neighbours in memory
    coefficients = _constants(module, f"{name}_coefficients", polynomial.coefficients.T.ravel())

    def entry(array: Any, index: Any) -> Any:
        return builder.load(builder.gep(array, [index], source_etype=_DOUBLE), typ=_DOUBLE)

    x = _wrapped(module, builder, polynomial, function.args[0])
    k: Any = ir.Constant(_LONG, 0)
    for width in _widths(pieces):
        ahead = builder.add(k, ir.Constant(_LONG, width))
        # beyond the last piece the last but one breakpoint is read again, and is not passed
        known = builder.icmp_signed("<", ahead, ir.Constant(_LONG, pieces))
        at = builder.select(known, ahead, ir.Constant(_LONG, pieces))
        passed = builder.and_(known, builder.fcmp_ordered("<=", entry(breakpoints, at), x))
        k = builder.select(passed, ahead, k)
    shift = builder.fsub(x, entry(breakpoints, k))
    first = builder.mul(k, ir.Constant(_LONG, degree + 1))
    value = entry(coefficients, builder.add(first, ir.Constant(_LONG, degree)))
    for power in reversed(range(degree)):
        value = builder.fadd(
            builder.fmul(value, shift, flags=("contract",)),
            entry(coefficients, builder.add(first, ir.Constant(_LONG, power))),
            flags=("contract",),
        )
    builder.ret(_where_defined(builder, polynomial, x, value))


def _widths(pieces: int) -> list[int]:
    """Return the steps of a binary search for one of some pieces, the longest first."""
    return [1 << power for power in reversed(range((pieces - 1).bit_length()))]


def _constants(module: ir.Module, name: str, values: Any) -> Any:
    """Return the address of constant numbers."""
    kind = ir.ArrayType(_DOUBLE, len(values))
    array: Any = ir.GlobalVariable(module, kind, name)
    array.global_constant, array.linkage = True, "internal"
    array.initializer = ir.Constant(kind, [float(value) for value in values])
    return array.bitcast(_DOUBLE.as_pointer())


def _wrapped(module: ir.Module, builder: Any, polynomial: PiecewisePolynomial, x: Any) -> Any:
    """Return x in the first period of a periodic polynomial, x itself otherwise."""
    if polynomial.outside != "periodic":
        return x
    first, last = (float(end) for end in polynomial.breakpoints[[0, -1]])
    start, period = ir.Constant(_DOUBLE, first), ir.Constant(_DOUBLE, last - first)
    if "llvm.floor.f64" not in module.globals:
        ir.Function(module, ir.FunctionType(_DOUBLE, [_DOUBLE]), "llvm.floor.f64")
    since = builder.fsub(x, start)
    turns = builder.call(module.globals["llvm.floor.f64"], [builder.fdiv(since, period)])
    return builder.fadd(start, builder.fsub(since, builder.fmul(turns, period)))


def _where_defined(builder: Any, polynomial: PiecewisePolynomial, x: Any, value: Any) -> Any:
    """Return the value, NaN outside of the range of a polynomial that is undefined there."""
    if polynomial.outside != "undefined":
        return value
    low, high = (ir.Constant(_DOUBLE, end) for end in polynomial.limits)
    inside = builder.and_(builder.fcmp_ordered(">=", x, low), builder.fcmp_ordered("<=", x, high))
    return builder.select(inside, value, ir.Constant(_DOUBLE, np.nan))
