# SPDX-License-Identifier: BSD-3-Clause
"""The grammar of expressions in text, by precedence.

From the weakest to the strongest binding::

    or   and   not   < <= > >= = !=   + -   * /   - (sign)   ** ^   '

with numbers, names, brackets and functions. ``x'`` and ``x''`` are derivatives of a coordinate and ``d(…)`` of any
expression; ``piecewise(a if x < 0, b)`` is a where x < 0 and b elsewhere; ``gust(t)`` is a signal. A name between
backquotes may contain any character, and is never a constant of the grammar: ``pi`` is π, `` `pi` `` a parameter of
that name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import sympy as sp

from dalembert.errors import ExpressionError
from dalembert.model import expression_nodes as nodes
from dalembert.model import expression_operands as operands
from dalembert.model import graph
from dalembert.model.expression_nodes import OperationError, Parsed
from dalembert.model.expression_tokens import Token, tokens_of
from dalembert.model.expression_work import (
    EXAMINED_PER_WORK,
    MOST_WORK_OF_EXPRESSION,
    TOO_MUCH,
    WORK_OF_EXPRESSION,
    digits_of_integers,
    work_of_operators,
)
from dalembert.model.signal import signal_data

MOST_NESTED = 100
"""Largest depth of brackets, exponents and signs."""

_COMPARISONS: dict[str, Any] = {"<": sp.Lt, "<=": sp.Le, ">": sp.Gt, ">=": sp.Ge, "=": sp.Eq, "!=": sp.Ne}
_BINDING = {"or": 1, "and": 2, **dict.fromkeys(_COMPARISONS, 4), "+": 5, "-": 5, "*": 6, "/": 6, "**": 8}
_NEGATION, _SIGN_OF_NUMBER = 3, 7


class Parser:
    """Parses one text by precedence; the methods return parts and move on to the next token."""

    def __init__(self, text: str, names: Mapping[str, Any]):
        self.text, self.names = text, names
        self.tokens, self.place, self.depth = tokens_of(text), 0, 0
        self.functions: set[Any] = set()  # different ones so far
        self.work, self.examined = 0, digits_of_integers(self.tokens)
        self.spend(work_of_operators(self.tokens), self.token)

    @property
    def token(self) -> Token:
        return self.tokens[self.place]

    def error(self, problem: str, token: Token) -> ExpressionError:
        return ExpressionError(problem, self.text, token.offset)

    def spend(self, work: int, token: Token) -> None:
        """Count the work of what is about to be made, and raise an error if it is too much in all."""
        self.work += work
        if self.work > MOST_WORK_OF_EXPRESSION:
            raise self.error(f"{TOO_MUCH}. Divide it by definitions.", token)

    def examine(self, parts: Sequence[Parsed]) -> None:
        """Count the parts that SymPy examines to make a power, a quotient or a function; a file limits them."""
        self.examined += sum(part.size for part in parts)

    def take(self, kind: str | None = None) -> Token:
        """Return the current token, which must be of a kind if one is given, and move on."""
        token = self.token
        if kind is not None and token.kind != kind:
            expected = "end of the expression" if kind == "end" else f"`{kind}`"
            hint = " Write a product with `*`." if token.kind in ("name", "number", "quoted", "(") else ""
            if token.kind == "name" and token.text not in self.names and token.text not in operands.CONSTANTS:
                hint = " Write a number without its unit, and a product with `*`."
            raise self.error(f"an operator or the {expected} was expected; got {operands.shown(token)}.{hint}", token)
        self.place += 1
        return token

    def whole(self) -> Parsed:
        """Return the part of the whole text."""
        start, part = self.token, self.number()
        return self.ended(part, start)

    def ended(self, part: Parsed, start: Token) -> Parsed:
        """Return a part behind which the text must end."""
        self.take("end")
        if graph.atoms(part.expression, type(sp.nan), type(sp.zoo), type(sp.oo), type(-sp.oo)):
            raise self.error("an expression must be finite; this one divides by zero.", start)
        return part._replace(work=WORK_OF_EXPRESSION + self.work + self.examined // EXAMINED_PER_WORK)

    def equation(self) -> Parsed:
        """Return left minus right of the equation that the whole text is."""
        start = self.token
        left = self.number(above=_BINDING["="] + 1)
        sign = self.token
        if sign.kind == "=":
            self.take()
            right = self.number(above=_BINDING["="] + 1)
            left = left if right.value == 0 else self.made(sign, nodes.sum_part, [left, nodes.negative_part(right)])
        elif sign.kind in _COMPARISONS:
            hint = " A constraint on one side is an `inequality`." if sign.kind in (">=", "<=") else ""
            raise self.error(
                f"an equation was expected; got the comparison `{sign.text}`. Write `left = right`.{hint}", sign
            )
        return self.ended(left, start)

    def inequality(self) -> Parsed:
        """Return the larger side minus the smaller one of the inequality that the whole text is."""
        start = self.token
        left = self.number(above=_BINDING["="] + 1)
        sign = self.token
        if sign.kind not in (">=", "<="):
            raise self.error("an inequality was expected: write `left >= right` or `left <= right`.", sign)
        self.take()
        right = self.number(above=_BINDING["="] + 1)
        more, less = (left, right) if sign.kind == ">=" else (right, left)
        difference = more if less.value == 0 else self.made(sign, nodes.sum_part, [more, nodes.negative_part(less)])
        return self.ended(difference, start)

    def made(self, token: Token, make: Any, *arguments: Any) -> Parsed:
        """Return a part made by a function, with the place of a token in its errors."""
        try:
            return make(*arguments)
        except OperationError as error:
            raise self.error(str(error), token) from None
        except (ArithmeticError, ValueError, TypeError, AttributeError) as error:
            raise self.error(f"SymPy cannot compute this operation: {error}.", token) from None

    def number(self, above: int = 0) -> Parsed:
        """Return an expression with a numerical value."""
        start = self.token
        part = self.expression(above)
        if not isinstance(part.expression, sp.Expr):
            raise self.error("an expression with a value was expected; got a condition.", start)
        return part

    def condition(self, above: int = 0) -> Parsed:
        """Return a condition."""
        start = self.token
        part = self.expression(above)
        if isinstance(part.expression, sp.Expr):
            raise self.error("a condition such as `x < 0` was expected; got an expression with a value.", start)
        return part

    def expression(self, above: int) -> Parsed:
        """Return the expression up to an operator that binds less than ``above``."""
        start, left = self.token, self.prefix()
        while _BINDING.get(self.token.kind, -1) >= above:
            left = self.infix(left, start)
        return left

    def inner(self, parse: Callable[[], Any]) -> Any:
        """Return what is parsed inside of brackets, an exponent or a sign."""
        self.depth += 1
        if self.depth > MOST_NESTED:
            raise self.error(f"an expression must be nested at most {MOST_NESTED} levels deep.", self.token)
        found = parse()
        self.depth -= 1
        return found

    def infix(self, left: Parsed, start: Token) -> Parsed:
        """Return the result of the operators of one strength that follow an expression."""
        kind = self.token.kind
        if kind in _COMPARISONS:
            return self.comparison(left, start)
        if kind in ("and", "or"):
            return self.logical(left, start, kind)
        if not isinstance(left.expression, sp.Expr):
            raise self.error("an expression with a value was expected; got a condition.", start)
        if kind == "**":
            sign = self.take()
            exponent = self.inner(lambda: self.number(_SIGN_OF_NUMBER))  # from the right: a**b**c = a**(b**c)
            self.examine([left, exponent])
            return self.made(sign, nodes.power_part, left, exponent)
        return self.chain(left, ("+", "-") if kind in "+-" else ("*", "/"))

    def chain(self, left: Parsed, kinds: tuple[str, str]) -> Parsed:
        """Return a sum with differences, or a product with quotients."""
        join, invert = (
            (nodes.sum_part, nodes.negative_part) if kinds[0] == "+" else (nodes.product_part, nodes.reciprocal_part)
        )
        first, parts = self.token, [left]
        while self.token.kind in kinds:
            sign = self.take()
            part = self.number(_BINDING[sign.kind] + 1)
            if sign.kind == "/":
                self.examine([part])
            parts.append(self.made(sign, invert, part) if sign.kind == kinds[1] else part)
        return self.made(first, join, parts)

    def comparison(self, left: Parsed, start: Token) -> Parsed:
        """Return a comparison, or several as in ``0 < x < 1``, all of which must hold."""
        found: list[Parsed] = []
        while self.token.kind in _COMPARISONS:
            if not isinstance(left.expression, sp.Expr):
                raise self.error("an expression with a value was expected; got a condition.", start)
            sign = self.take()
            right = self.number(_BINDING[sign.kind] + 1)
            self.examine([left, right])
            found.append(self.made(sign, nodes.comparison_part, _COMPARISONS[sign.kind], left, right))
            left = right
        return found[0] if len(found) == 1 else self.made(start, nodes.logical_part, sp.And, found)

    def logical(self, left: Parsed, start: Token, kind: str) -> Parsed:
        if isinstance(left.expression, sp.Expr):
            raise self.error("a condition such as `x < 0` was expected; got an expression with a value.", start)
        parts = [left]
        while self.token.kind == kind:
            self.take()
            parts.append(self.condition(_BINDING[kind] + 1))
        self.examine(parts)
        return self.made(start, nodes.logical_part, sp.And if kind == "and" else sp.Or, parts)

    def prefix(self) -> Parsed:
        """Return a number, a name, a function, or what is in brackets or behind a sign."""
        token = self.take()
        if token.kind == "number":
            return self.made(token, nodes.number_part, token.text)
        if token.kind in ("-", "+"):
            part = self.inner(lambda: self.number(_SIGN_OF_NUMBER))
            return self.made(token, nodes.negative_part, part) if token.kind == "-" else part
        if token.kind == "not":
            return self.made(token, nodes.logical_part, sp.Not, [self.inner(lambda: self.condition(_NEGATION))])
        if token.kind in ("true", "false"):
            return Parsed(sp.true if token.kind == "true" else sp.false)
        if token.kind == "(":
            part = self.inner(lambda: self.expression(0))
            self.take(")")
            return part
        if token.kind in ("name", "quoted") and isinstance(self.names.get(token.text), signal_data):
            return self.inner(lambda: operands.signal(self, token))
        if token.kind == "name" and self.token.kind == "(":
            return self.inner(lambda: operands.call(self, token))
        if token.kind in ("name", "quoted"):
            return operands.named(self, token)
        raise self.error(f"a number, a name or a bracket was expected; got {operands.shown(token)}.", token)
