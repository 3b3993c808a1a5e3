# SPDX-License-Identifier: BSD-3-Clause
"""Limits of model files, and the work of making an expression of a text; a unit of work takes up to 0.1 ms."""

from __future__ import annotations

from collections.abc import Iterable

from dalembert.model.expression_tokens import Token

LARGEST_FILE = 500_000
"""Number of bytes of a model file at most; the largest file of the gallery has a thirtieth of it."""

MOST_WORK_OF_EXPRESSION = 12_000
"""Largest work of one expression; a thirtieth of it suffices for the gallery."""

EXAMINED_PER_WORK = 2
"""Parts of the operands of powers, quotients and functions, or digits of whole numbers, in a unit of work."""

MOST_WORK_OF_FILE = 20_000
"""Largest work of all expressions of a file; a sixth of it suffices for the gallery."""

MOST_DERIVED = 290_000
"""Largest work of what is derived from the expressions of a file when it is read, which a Lagrangian pendulum of 20
links needs; a sixth of it suffices for the gallery. A unit takes some 3 µs."""

MOST_DERIVED_LATER = 250_000
"""Largest work of the derivatives of all constraints and servos of a file, as estimated; a sixth of it suffices for the
gallery. They are made when the model is used, where a unit takes up to 30 µs."""

ORDINARY_JOINT = 5_000
"""Work of a constraint of a joint that is not counted; only one with a function of the file has more."""

MOST_VALUES_OF_FILE = 30_000
"""Largest number of values of a file: numbers, texts and tables."""

MOST_INDEXED_ELEMENTS = 1_000_000
"""Largest number of elements of all index sets of a file: copies of a group times the arrays it is stated over."""

FEWEST_COPIES = 1000
"""Number of elements that every index set, and every element that is named by itself, counts as at least: SymPy makes
objects for each of them."""

MOST_PARTS_OF_FILE = 100_000
"""Largest number of parts of all expressions of a file."""

MOST_CONDITIONS = 200
"""Largest number of conditions joined by ``and`` or ``or``: SymPy compares each with all others."""

DERIVATIVE = 12
"""Work of ``d(…)`` for each part of its argument."""

_OPERATORS = {
    **dict.fromkeys(("+", "-", "*", "and", "or", "not"), 1),
    **dict.fromkeys(("/", "**", "<", "<=", ">", ">=", "=", "!="), 4),
    "'": 2,
}
_SQUARE_ROOT, _FUNCTION, _LOGARITHM_OF_GAMMA, _ABRUPT, _PAIR_OF_ARGUMENTS = 8, 24, 60, 120, 10
_ABRUPT_FUNCTIONS = ("abs", "min", "max", "floor", "ceiling", "frac", "mod", "heaviside")

_ABRUPT_CONSTANT = 600
_OF_CONSTANTS = (*_ABRUPT_FUNCTIONS, "sign")

WORK_OF_EXPRESSION = 4
"""Work of an expression besides that of its parts."""

TOO_MUCH = (
    f"an expression must have at most {MOST_WORK_OF_EXPRESSION} operations, in which a power, a quotient or a "
    f"comparison counts as 4 and each different function as {_FUNCTION} or more"
)

TOO_MUCH_IN_FILE = (
    f"the expressions of a file must have at most {MOST_WORK_OF_FILE} operations in all, counted as for one, "
    f"{WORK_OF_EXPRESSION} more for every expression and one for every {EXAMINED_PER_WORK} parts of the operands of "
    "powers, quotients and functions or digits of whole numbers. Divide the model, state it as a mechanism, or build "
    "it in Python."
)

TOO_MUCH_DERIVED = (
    "what is derived from the expressions of a file must have a limited size; this takes too much work. Use simpler "
    "expressions, state the model as a mechanism, or build it in Python."
)

TOO_MUCH_DERIVED_LATER = (
    "the derivatives of the constraints and servos of a file must have a limited size; with this one they take too "
    "much work. Use simpler expressions with fewer coordinates in each, or build the model in Python."
)


TOO_MANY_COPIES = (
    f"the index sets of a file must have at most {MOST_INDEXED_ELEMENTS} elements in all, where each index set, each "
    "element that an expression or a force names by itself, and each coordinate in a list from several arrays counts "
    f"as at least {FEWEST_COPIES}. State terms for parts of arrays, or build the model in Python."
)


def work_of_operators(tokens: Iterable[Token]) -> int:
    """Return the work of the operators and the square roots, which are powers."""
    return sum(
        _SQUARE_ROOT if token.kind == "name" and token.text == "sqrt" else _OPERATORS.get(token.kind, 0)
        for token in tokens
    )


def digits_of_integers(tokens: Iterable[Token]) -> int:
    """Return the number of digits of all whole numbers: sums of fractions have denominators with as many."""
    return sum(len(token.text) for token in tokens if token.kind == "number" and token.text.isdigit())


def work_of_function(name: str | None, arguments: int, *, constant: bool = False) -> int:
    """Return the work of a function; SymPy compares the arguments of a minimum or a maximum with one another.

    Of a constant, SymPy computes many digits to find out on which side of a jump it is.
    """
    if name in _OF_CONSTANTS and constant:
        return _ABRUPT_CONSTANT
    if name in _ABRUPT_FUNCTIONS:
        return _ABRUPT + (_PAIR_OF_ARGUMENTS * arguments * (arguments - 1) // 2 if name in ("min", "max") else 0)
    return _LOGARITHM_OF_GAMMA if name == "loggamma" else _FUNCTION
