# SPDX-License-Identifier: BSD-3-Clause
"""Elementary functions for ensemble members: sine and cosine as polynomials, quotients without a slow path.

The C library computes one number at a time, and NVIDIA's functions have slow paths whose registers every thread pays
for. The polynomials are those of Sun's fdlibm (k_sin.c, k_cos.c). The errors of sine and cosine are below one unit in
the last place. On a GPU they may reach one and a half: an angle is reduced to one number there, and not to a sum of
two, with which a system with angles would take a tenth longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from llvmlite import ir

from dalembert.native.lanes import (
    GpuModule,
    call,
    is_single,
    joined,
    lane,
    lanes_of,
    number,
    real_type,
    rounded,
    same,
    widened,
    width_of,
)


class _Precision(NamedTuple):
    """Coefficients and limits of the sine and the cosine in one precision.

    sine, cosine         coefficients of (sin x − x)/x³ and (cos x − 1 + x²/2)/x⁴ in x², for |x| ≤ π/4
    quarter              π/2 as a sum of three numbers
    without_fractions    numbers of this size, also after the addition of one below a third of it, are integers
    largest_angle        angles beyond are not reduced, since the number of quarter turns would not fit. The result is
                         NaN, and the member is handed over to the general integrator
    bits                 the length of a number
    """

    sine: tuple[float, ...]
    cosine: tuple[float, ...]
    quarter: tuple[float, float, float]
    without_fractions: float
    largest_angle: float
    bits: int


IN_DOUBLE = _Precision(
    (
        -1.66666666666666324348e-01,
        8.33333333332248946124e-03,
        -1.98412698298579493134e-04,
        2.75573137070700676789e-06,
        -2.50507602534068634195e-08,
        1.58969099521155010221e-10,
    ),
    (
        4.16666666666666019037e-02,
        -1.38888888888741095749e-03,
        2.48015872894767294178e-05,
        -2.75573143513906633035e-07,
        2.08757232129817482790e-09,
        -1.13596475577881948265e-11,
    ),
    (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33),
    1.5 * 2.0**52,
    3e9,
    64,
)

# the Taylor polynomials: the next terms, x¹¹/11! and x¹²/12!, are below the rounding of one
IN_SINGLE = _Precision(
    (-1 / 6, 1 / 120, -1 / 5040, 1 / 362880),
    (1 / 24, -1 / 720, 1 / 40320, -1 / 3628800),
    (1.5707963705062866, -4.371138828673793e-08, -1.7151245100059247e-15),
    1.5 * 2.0**23,
    2e6,
    32,
)

PER_QUARTER = 0.6366197723675814
"""2/π."""

INT = ir.IntType(32)


def sine_and_cosine(builder: Any, x: Any) -> tuple[Any, Any]:
    """Return the sine and the cosine of numbers."""
    module = builder.module
    name = "sine_cosine_single" if is_single(module) else "sine_cosine"
    if name not in module.globals:
        _write_sine_cosine(module, name)
    both = builder.call(module.globals[name], [x])
    return builder.extract_value(both, 0), builder.extract_value(both, 1)


class _Arithmetic:
    """Sums, products and fused products of numbers, for the formulas below."""

    def __init__(self, builder: Any):
        self.b = builder

    def __call__(self, x: float) -> Any:
        return number(x, self.b.module)

    def fma(self, x: Any, y: Any, z: Any) -> Any:
        return call(self.b, "llvm.fma", [x, y, z])

    def horner(self, coefficients: Sequence[float], z: Any) -> Any:
        *others, value = map(self, coefficients)
        for coefficient in reversed(others):
            value = self.fma(value, z, coefficient)
        return value


def _write_sine_cosine(module: ir.Module, name: str) -> None:
    """Write a function of x that returns both as a structure."""
    precision = IN_SINGLE if is_single(module) else IN_DOUBLE
    real = real_type(module)
    result = ir.LiteralStructType([real, real])
    function = ir.Function(module, ir.FunctionType(result, [real]), name)
    function.linkage = "internal"
    function.attributes.add("readnone")
    b: Any = ir.IRBuilder(function.append_basic_block())
    f = _Arithmetic(b)
    (x,) = function.args
    turns, y, rest = _reduced(b, f, x, precision)
    z, minus_half = b.fmul(y, y), f(-0.5)
    cube, cubic = b.fmul(z, y), f.horner(precision.sine, z)
    most = f.fma(minus_half, z, f(1.0))
    # what the rounding of 1 − z/2 has lost
    lost = f.fma(minus_half, z, b.fsub(f(1.0), most))
    if rest is None:
        sine = f.fma(cube, cubic, y)
    else:
        # the remainder `rest` of y enters to first order: sin(y + rest) = sin y + rest, cos(y + rest) = cos y − y rest
        sine = b.fadd(y, f.fma(cube, cubic, rest))
        lost = f.fma(b.fsub(f(-0.0), y), rest, lost)
    cosine = b.fadd(most, f.fma(b.fmul(z, z), f.horner(precision.cosine, z), lost))
    one, two = (same(module, ir.Constant(INT, k)) for k in (1, 2))
    none = same(module, ir.Constant(INT, 0))
    swapped = b.icmp_signed("!=", b.and_(turns, one), none)
    found: Any = ir.Constant(result, ir.Undefined)
    for place, (own, other, quadrant) in enumerate(((sine, cosine, turns), (cosine, sine, b.add(turns, one)))):
        value = b.select(swapped, other, own)
        negative = b.icmp_signed("!=", b.and_(quadrant, two), none)
        found = b.insert_value(found, b.select(negative, b.fsub(f(-0.0), value), value), place)
    b.ret(found)


def _reduced(b: Any, f: _Arithmetic, x: Any, precision: _Precision) -> tuple[Any, Any, Any]:
    """Return the number of quarter turns in x, and the rest of x as a sum of two numbers, at most π/4.

    On a GPU the rest is one number, and None stands for the second.
    """
    module = b.module
    known = b.fcmp_ordered("<", call(b, "llvm.fabs", [x]), f(precision.largest_angle))
    # the sum has no bits for fractions, so that its last bits are the integer: conversions take longer
    shifted = f.fma(x, f(PER_QUARTER), f(precision.without_fractions))
    turns = b.bitcast(shifted, lanes_of(module, ir.IntType(precision.bits)))
    turns = b.trunc(turns, lanes_of(module, INT)) if precision.bits > 32 else turns
    minus = b.fsub(f(precision.without_fractions), shifted)
    first, second, third = map(f, precision.quarter)
    # exact in double precision: x and k π/2 are multiples of 2⁻⁵² (for |x| ≥ 1; else k is 0 or ±1), and their
    # difference is below one; in single precision the same with 2⁻²³
    near = f.fma(minus, first, x)
    if isinstance(module, GpuModule):
        y = f.fma(minus, third, f.fma(minus, second, near))
        return turns, b.select(known, y, f(float("nan"))), None
    product = b.fmul(minus, second)
    error = f.fma(minus, second, b.fsub(f(-0.0), product))
    y = b.fadd(near, product)
    rest = b.fadd(b.fadd(b.fsub(near, y), product), f.fma(minus, third, error))
    return turns, b.select(known, y, f(float("nan"))), rest


def quotient(builder: Any, a: Any, b: Any) -> Any:
    """Return a / b; on a GPU from an approximate reciprocal, with an error below one unit in the last place.

    There the quotient by zero, by infinity or by a number below the normal ones is NaN: the member is then handed over
    to the processor, as with every result that is not finite.
    """
    if not isinstance(builder.module, GpuModule):
        return builder.fdiv(a, b, flags=("contract",))
    f = _Arithmetic(builder)
    rough = _rough_reciprocal(builder, b)
    # 20 bits become 60 by one step of third order
    off = f.fma(builder.fsub(f(-0.0), b), rough, f(1.0))
    inverse = f.fma(rough, f.fma(off, off, off), rough)
    if isinstance(a, ir.Constant) and a.constant == 1.0:
        return inverse
    value = builder.fmul(a, inverse)
    return f.fma(f.fma(builder.fsub(f(-0.0), b), value, a), inverse, value)


def _rough_reciprocal(builder: Any, x: Any) -> Any:
    module = builder.module
    name = f"llvm.nvvm.rcp.approx.ftz.{'f' if is_single(module) else 'd'}"
    if name not in module.globals:
        ir.Function(module, ir.FunctionType(x.type, [x.type]), name)
    return builder.call(module.globals[name], [x])


def per_lane(builder: Any, function: ir.Function, arguments: Sequence[Any]) -> Any:
    """Call a function of doubles for one lane after the other."""
    module = builder.module
    width = width_of(module)
    if width == 1:
        return rounded(builder, builder.call(function, [widened(builder, x) for x in arguments]))
    name = f"lanes_{function.name}"
    if name not in module.globals:
        kind = real_type(module)
        whole = ir.Function(module, ir.FunctionType(kind, [kind] * len(arguments)), name)
        whole.linkage = "internal"
        b: Any = ir.IRBuilder(whole.append_basic_block())
        values = [b.call(function, [widened(b, lane(b, x, k)) for x in whole.args]) for k in range(width)]
        b.ret(joined(b, values))
    return builder.call(module.globals[name], arguments)
