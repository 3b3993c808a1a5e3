# SPDX-License-Identifier: BSD-3-Clause
"""Large expressions as JAX functions: written onto a tape, whose lines are then done one by one.

Python cannot compile brackets nested that deeply, and SymPy's printers member through every copy of a shared part.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dalembert.errors import ModelError
from dalembert.lazy_jax import jnp, jsp
from dalembert.lowering.recording import NoMachineCodeError, Recorder
from dalembert.native.tape import Tape, Value

_OPERATIONS: dict[str, Callable[..., Any]] = {
    "fadd": lambda a, b: a + b,
    "fsub": lambda a, b: a - b,
    "fmul": lambda a, b: a * b,
    "fdiv": lambda a, b: a / b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "==": lambda a, b: a == b,
    "and": lambda a, b: jnp.logical_and(a, b),
    "or": lambda a, b: jnp.logical_or(a, b),
    "not": lambda a: jnp.logical_not(a),
    "select": lambda condition, a, b: jnp.where(condition, a, b),
    "erf": lambda x: jsp.erf(x),
    "erfc": lambda x: jsp.erfc(x),
    "lgamma": lambda x: jsp.gammaln(x),
    "tgamma": lambda x: jsp.gamma(x),
    **{
        name: (lambda *x, name=name: getattr(jnp, name)(*x)) for name in ("sqrt", "fabs", "floor", "ceil", "exp", "log")
    },
    **{name: (lambda *x, name=name: getattr(jnp, name)(*x)) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    **{name: (lambda *x, name=name: getattr(jnp, name)(*x)) for name in ("asin", "acos", "atan", "atan2", "pow")},
    **{name: (lambda *x, name=name: getattr(jnp, name)(*x)) for name in ("asinh", "acosh", "atanh")},
}


def function_of_tape(arguments: Any, expressions: Any) -> Callable[..., Any]:
    """A function of nested tuples of numbers, as ``compiled`` makes them."""
    tape = Tape()
    symbols = _leaves(arguments)
    read = Recorder(tape, {symbol: tape.input("given", i) for i, symbol in enumerate(symbols)})
    try:
        outputs = _each(expressions, read)
    except NoMachineCodeError as unknown:
        raise ModelError(
            [
                f"expressions as large or as deep as these must use elementary functions; `{unknown}` is none. "
                "Make them smaller."
            ]
        ) from None

    def function(*numbers: Any) -> Any:
        given = _leaves(numbers)
        values: list[Any] = []

        def number(a: Any) -> Any:
            return values[a.line] if isinstance(a, Value) else a

        for name, operands in tape.lines:
            values.append(given[operands[1]] if name == "input" else _OPERATIONS[name](*map(number, operands)))
        return _each(outputs, number)

    return function


def _leaves(nested: Any) -> list[Any]:
    return [leaf for item in nested for leaf in _leaves(item)] if isinstance(nested, (tuple, list)) else [nested]


def _each(nested: Any, change: Callable[[Any], Any]) -> Any:
    return tuple(_each(item, change) for item in nested) if isinstance(nested, (tuple, list)) else change(nested)
