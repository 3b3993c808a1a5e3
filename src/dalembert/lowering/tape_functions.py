# SPDX-License-Identifier: BSD-3-Clause
"""JAX functions of large expressions, which are recorded on a tape and then interpreted line by line.

Python cannot compile deeply nested parentheses, and SymPy's printers visit every copy of a shared subexpression.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dalembert.common.lazy_jax import jnp, jsp
from dalembert.errors import ModelError
from dalembert.lowering.recording import NoMachineCodeError, Recorder
from dalembert.native.tape import ARITHMETIC, Tape, Value

_NUMPY_NAMES = (
    *("sqrt", "fabs", "floor", "ceil", "exp", "log", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
    *("asin", "acos", "atan", "atan2", "pow", "asinh", "acosh", "atanh"),
)
"""Operations that have the same name in ``jax.numpy``; it is imported when the first of them is called."""

_OPERATIONS: dict[str, Callable[..., Any]] = {
    **{name: ARITHMETIC[name] for name in ("fadd", "fsub", "fmul", "fdiv", "<", "<=", "==")},
    **{name: (lambda *x, name=name: getattr(jnp, name)(*x)) for name in _NUMPY_NAMES},
    "and": lambda a, b: jnp.logical_and(a, b),
    "or": lambda a, b: jnp.logical_or(a, b),
    "not": lambda a: jnp.logical_not(a),
    "select": lambda condition, a, b: jnp.where(condition, a, b),
    "lookup": lambda polynomial, x: polynomial(x, jnp),
    "call": lambda function, *x: function(*x),
    "erf": lambda x: jsp.erf(x),
    "erfc": lambda x: jsp.erfc(x),
    "lgamma": lambda x: jsp.gammaln(x),
    "tgamma": lambda x: jsp.gamma(x),
}


def function_of_tape(arguments: Any, expressions: Any, further: Mapping[str, Callable[..., Any]]) -> Callable[..., Any]:
    """Return a function of nested tuples of numbers, like those of ``jax_functions.compiled``."""
    tape = Tape()
    symbols = flat(arguments)
    read = Recorder(tape, {symbol: tape.input("given", i) for i, symbol in enumerate(symbols)}, further)
    try:
        outputs = _each(expressions, read)
    except NoMachineCodeError as unknown:
        raise ModelError(
            [
                f"expressions that are large or deep, or contain signals or Python functions, must use elementary "
                f"functions beside them; `{unknown}` is not one."
            ]
        ) from None

    def function(*numbers: Any) -> Any:
        return evaluated(tape, outputs, {"given": flat(numbers)})

    return function


def evaluated(tape: Tape, outputs: Any, inputs: Mapping[str, Any]) -> Any:
    """Return values on a tape, in nested tuples, for inputs by the name of their array."""
    values: list[Any] = []

    def number(a: Any) -> Any:
        return values[a.line] if isinstance(a, Value) else a

    # one JAX operation per line; JAX compiles long programs without recursion
    for name, operands in tape.lines:
        own = inputs[operands[0]][operands[1]] if name == "input" else _OPERATIONS[name](*map(number, operands))
        values.append(own)
    return _each(outputs, number)


def flat(nested: Any) -> list[Any]:
    """Return the leaves of nested tuples."""
    return [leaf for item in nested for leaf in flat(item)] if isinstance(nested, (tuple, list)) else [nested]


def _each(nested: Any, change: Callable[[Any], Any]) -> Any:
    return tuple(_each(item, change) for item in nested) if isinstance(nested, (tuple, list)) else change(nested)
