# SPDX-License-Identifier: BSD-3-Clause
"""A parser for expressions in text. Text is never evaluated as Python code, and SymPy parses none of it.

``expression_grammar`` has the grammar, ``expression_operands`` names and functions, ``expression_nodes`` its limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dalembert.errors import ExpressionError
from dalembert.model.deep_stack import with_deep_stack
from dalembert.model.expression_grammar import Parser
from dalembert.model.expression_nodes import Parsed


def parse(text: str, names: Mapping[str, Any]) -> Parsed:
    """Return a parsed expression with its size.

    ``names`` gives the coordinates, parameters and definitions that may be used: SymPy objects, or parsed expressions.

    Raises
    ------
    ExpressionError    with line, column and, for an unknown name, the most similar known one
    """
    return with_deep_stack(lambda: Parser(text, names).whole(), "an expression")


def parse_expression(text: str, names: Mapping[str, Any]) -> Any:
    """Return the SymPy expression of a text; see ``parse``.

    >>> import dalembert as da
    >>> parse_expression("2*x' + x^2/3", {"x": da.coordinates("x")})
    x(t)**2/3 + 2*Derivative(x(t), t)
    """
    return parse(text, names).expression


def parse_equation(text: str, names: Mapping[str, Any]) -> Parsed:
    """Return left minus right of an equation ``left = right``; an expression stands for ``expression = 0``."""
    return with_deep_stack(lambda: Parser(text, names).equation(), "an equation")


def parse_inequality(text: str, names: Mapping[str, Any]) -> Parsed:
    """Return left minus right of an inequality ``left >= right``, and right minus left of ``left <= right``."""
    return with_deep_stack(lambda: Parser(text, names).inequality(), "an inequality")


def parse_constant(text: str) -> Parsed:
    """Return a parsed expression of numbers."""
    part = parse(text, {})
    if part.value is None:
        raise ExpressionError("an expression of numbers was expected; got one that depends on time.", text, 0)
    return part


def parse_number(text: str) -> float:
    """Return the value of an expression of numbers.

    >>> parse_number("2*pi/4")
    1.5707963267948966
    """
    return parse_constant(text).constant
