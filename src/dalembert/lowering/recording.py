# SPDX-License-Identifier: BSD-3-Clause
"""Recording of SymPy expressions on a tape."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import sympy as sp

from dalembert.model import graph
from dalembert.model.deep_stack import with_deep_stack
from dalembert.model.python_functions import AppliedPythonFunction
from dalembert.native.tape import LIBRARY, Tape


class NoMachineCodeError(Exception):
    """An expression contains a function that cannot be compiled natively."""


LARGEST_POWER = 32
"""Integer powers up to this one are expanded into multiplications."""

NAMES = {"Abs": "fabs", "ceiling": "ceil", "gamma": "tgamma", "loggamma": "lgamma"}
"""Functions whose names differ between SymPy and the C library."""


class Recorder:
    """Records expressions on a tape and returns their values; each distinct subexpression is recorded once.

    Machine code has the functions of the C library. A tape that JAX evaluates may have others as well, ``further`` by
    their names in SymPy, and those written in Python.
    """

    def __init__(self, tape: Tape, inputs: Mapping[Any, Any], further: Mapping[str, Callable[..., Any]] | None = None):
        self.tape = tape
        self._further = further
        self._found: dict[Any, Any] = dict(inputs)
        self._busy = False

    def __call__(self, expression: Any) -> Any:
        if expression is sp.S.Zero:  # most entries of the matrices of a large system
            return 0
        if self._busy:
            return self._value(expression)
        self._busy = True
        # subexpressions recorded before the stack ran out are kept; finding an expression, too, compares it recursively
        try:
            return with_deep_stack(lambda: self._value(expression), "an expression of the model")
        finally:
            self._busy = False

    def _value(self, expression: Any) -> Any:
        if expression not in self._found:
            self._found[expression] = self._record(expression)
        return self._found[expression]

    def define(self, symbol: Any, value: Any) -> None:
        """Set the value of a symbol."""
        self._found[symbol] = value

    def _record(self, e: Any) -> Any:
        if e.is_Number or e.is_NumberSymbol:
            # integers stay integers, so that zeros and ones are recognised; beyond 2⁵³ a float is no longer exact
            return int(e) if e.is_Integer and abs(e) < 2**53 else float(e)
        rule = _RECORDING_RULES.get(type(e).__name__)
        if rule is not None:
            return rule(self, e)
        name = NAMES.get(type(e).__name__, type(e).__name__)
        if isinstance(e, sp.Function) and (name in LIBRARY or name == "fabs"):
            return self.tape.record(name, *map(self, e.args))
        if isinstance(e, AppliedPythonFunction):
            return self._call(e.data.name, e.data.traced, e.places)
        return self._call(type(e).__name__, (self._further or {}).get(type(e).__name__), e.args)

    def _call(self, name: str, function: Callable[..., Any] | None, places: Any) -> Any:
        """Record a call of a Python function, which is possible on a tape for JAX alone."""
        if self._further is None or function is None:
            raise NoMachineCodeError(name)
        return self.tape.line("call", function, *map(self, places))

    def _sum(self, e: Any) -> Any:
        total: Any = 0
        for term in e.args:
            # a − b c instead of a + (−1) b c, which would cost a multiplication
            factor = term.args[0] if isinstance(term, sp.Mul) else sp.S.Zero
            if factor.is_Number and float(factor) < 0:
                factors: Any = term.args[1:] if factor is sp.S.NegativeOne else (-factor, *term.args[1:])
                total = total - (self._product(factors) if len(factors) > 1 else self(factors[0]))
            else:
                total = total + self(term)
        return total

    def _product(self, factors: Any) -> Any:
        """Record a product with at most one division, which is slower than a multiplication."""
        top: Any = 1
        bottom: Any = 1
        for factor in factors:
            base, exponent = factor.as_base_exp() if factor.is_Pow else (factor, sp.S.One)
            if exponent.is_number and exponent.is_negative:
                # x⁻² has a division of its own, and several such factors would have several
                bottom = bottom * self(graph.rebuilt_unevaluated(factor, (base, -exponent)))
            else:
                top = top * self(factor)
        return top if isinstance(bottom, int) and bottom == 1 else top / bottom

    def _power(self, e: Any) -> Any:
        base, exponent = e.args
        # to SymPy, the exponential function is a power of e
        if base is sp.S.Exp1:
            return self.tape.record("exp", self(exponent))
        if exponent.is_number and exponent.is_negative:
            return 1 / self(graph.rebuilt_unevaluated(e, (base, -exponent)))
        if exponent == sp.S.Half:
            return self.tape.record("sqrt", self(base))
        if exponent.is_Integer and exponent <= LARGEST_POWER:
            return _whole_power(self(base), int(exponent))
        # a root is one instruction, and `pow` a call of the C library
        if exponent.is_Rational and exponent.q == 2 and exponent.p <= LARGEST_POWER:
            return _whole_power(self(base), int(exponent.p) // 2) * self.tape.record("sqrt", self(base))
        return self.tape.record("pow", self(base), self(exponent))

    def _piecewise(self, e: Any) -> Any:
        value: Any = float("nan")  # outside all of its pieces
        for piece, condition in reversed(e.args):
            value = self(piece) if condition == True else self._select(self(condition), self(piece), value)  # noqa: E712
        return value

    def _select(self, condition: Any, a: Any, b: Any) -> Any:
        return self.tape.record("select", condition, a, b)

    def _extreme(self, e: Any, sign: str) -> Any:
        first, *others = map(self, e.args)
        for other in others:
            smaller = self.tape.record("<", first, other)
            first = self._select(smaller, *((first, other) if sign == "Min" else (other, first)))
        return first

    def _sign(self, e: Any) -> Any:
        x = self(e.args[0])
        record = self.tape.record
        return self._select(record("<", x, 0.0), -1.0, self._select(record("<", 0.0, x), 1.0, x))

    def _step(self, e: Any) -> Any:
        x, at_zero = self(e.args[0]), self(e.args[1])
        record = self.tape.record
        return self._select(record("<", x, 0.0), 0.0, self._select(record("<", 0.0, x), 1.0, at_zero))

    def _signal(self, e: Any) -> Any:
        polynomial, x = e.data.polynomial, self(e.args[1])
        if polynomial.is_zero:
            return 0
        return float(polynomial(x)) if isinstance(x, (int, float)) else self.tape.record("lookup", polynomial, x)

    def _of_reciprocal(self, name: str, e: Any) -> Any:
        return self.tape.record(name, 1 / self(e.args[0]))

    def _arc_cotangent(self, e: Any) -> Any:
        """Record SymPy's arc cotangent, which is between −π/2 and π/2, and π/2 at zero."""
        x = self(e.args[0])
        return self._select(self.tape.record("==", x, 0.0), math.pi / 2, self.tape.record("atan", 1 / x))

    def _joined(self, e: Any, name: str) -> Any:
        first, *others = map(self, e.args)
        for other in others:
            first = self.tape.record(name, first, other)
        return first


def _whole_power(base: Any, exponent: int) -> Any:
    # by squares: x⁸ takes three multiplications, not seven
    result: Any = 1
    while exponent:
        if exponent & 1:
            result = result * base
        exponent >>= 1
        if exponent:
            base = base * base
    return result


_RECORDING_RULES: dict[str, Callable[[Recorder, Any], Any]] = {
    "Add": Recorder._sum,
    "Mul": lambda r, e: r._product(e.args),
    "Pow": Recorder._power,
    "Piecewise": Recorder._piecewise,
    "Signal": Recorder._signal,
    "Max": lambda r, e: r._extreme(e, "Max"),
    "Min": lambda r, e: r._extreme(e, "Min"),
    "sign": Recorder._sign,
    "Heaviside": Recorder._step,
    "Mod": lambda r, e: r(e.args[0] - e.args[1] * sp.floor(e.args[0] / e.args[1])),
    "sec": lambda r, e: 1 / r(sp.cos(*e.args)),
    "csc": lambda r, e: 1 / r(sp.sin(*e.args)),
    "cot": lambda r, e: 1 / r(sp.tan(*e.args)),
    "sech": lambda r, e: 1 / r(sp.cosh(*e.args)),
    "csch": lambda r, e: 1 / r(sp.sinh(*e.args)),
    "coth": lambda r, e: 1 / r(sp.tanh(*e.args)),
    "acot": Recorder._arc_cotangent,
    "asec": lambda r, e: r._of_reciprocal("acos", e),
    "acsc": lambda r, e: r._of_reciprocal("asin", e),
    "asech": lambda r, e: r._of_reciprocal("acosh", e),
    "acsch": lambda r, e: r._of_reciprocal("asinh", e),
    "acoth": lambda r, e: r._of_reciprocal("atanh", e),
    "frac": lambda r, e: r(e.args[0]) - r(sp.floor(e.args[0])),
    "sinc": lambda r, e: r(sp.Piecewise((sp.sin(*e.args) / e.args[0], sp.Ne(e.args[0], 0)), (1, True))),
    "StrictLessThan": lambda r, e: r.tape.record("<", r(e.args[0]), r(e.args[1])),
    "LessThan": lambda r, e: r.tape.record("<=", r(e.args[0]), r(e.args[1])),
    "StrictGreaterThan": lambda r, e: r.tape.record("<", r(e.args[1]), r(e.args[0])),
    "GreaterThan": lambda r, e: r.tape.record("<=", r(e.args[1]), r(e.args[0])),
    "Equality": lambda r, e: r.tape.record("==", r(e.args[0]), r(e.args[1])),
    "Unequality": lambda r, e: r.tape.record("not", r.tape.record("==", r(e.args[0]), r(e.args[1]))),
    "And": lambda r, e: r._joined(e, "and"),
    "Or": lambda r, e: r._joined(e, "or"),
    "Not": lambda r, e: r.tape.record("not", r(e.args[0])),
    "BooleanTrue": lambda r, e: True,
    "BooleanFalse": lambda r, e: False,
}
