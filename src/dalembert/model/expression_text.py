# SPDX-License-Identifier: BSD-3-Clause
"""Text of SymPy expressions in the grammar of ``expression_parser``, which reads it back as the same expression."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import sympy as sp
from sympy.core.function import Application, AppliedUndef

from dalembert.errors import ModelError
from dalembert.model import graph
from dalembert.model.deep_stack import with_deep_stack
from dalembert.model.expression_functions import NAME_OF_FUNCTION, WORDS
from dalembert.model.expression_grammar import MOST_NESTED
from dalembert.model.expression_operands import CONSTANTS
from dalembert.model.expression_tokens import MOST_CHARACTERS, tokens_of
from dalembert.model.expression_work import MOST_WORK_OF_EXPRESSION, TOO_MUCH, work_of_function, work_of_operators
from dalembert.model.python_functions import AppliedPythonFunction
from dalembert.model.signal import Signal
from dalembert.model.symbols import ConstraintSymbol, ideal_force, t

# Strengths of binding: what is weaker than its surroundings needs brackets.
_OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _POWER, _ATOM = range(8)

_SIGNS: dict[Any, str] = {sp.Lt: "<", sp.Le: "<=", sp.Gt: ">", sp.Ge: ">=", sp.Eq: "=", sp.Ne: "!="}

_SMALLER = "Introduce further coordinates or parameters."

Written = tuple[str, int]
"""A text, and how strongly its outermost operator binds."""


def expression_text(expression: Any) -> str:
    """Return an expression as text; decimals are written with as many digits as identify them in float64.

    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> expression_text(x.diff(da.t)**2 / 2 - sp.cos(x) / 3)
    "x'**2/2 - cos(x)/3"

    Raises
    ------
    ModelError    for a function that the grammar does not have, and for text beyond its limits
    """
    expression = sp.sympify(expression, strict=True)
    text = with_deep_stack(lambda: _written(expression)[0], "an expression")
    if len(text) > MOST_CHARACTERS or _depth(text) > MOST_NESTED:
        raise ModelError(
            [
                f"an expression in a file must have at most {MOST_CHARACTERS} characters and {MOST_NESTED} brackets "
                f"inside one another; got {len(text)} and {_depth(text)}. {_SMALLER}"
            ]
        )
    made = graph.atoms(expression, Application) - graph.atoms(expression, AppliedUndef)
    work = sum(work_of_function(NAME_OF_FUNCTION.get(e.func), len(e.args)) for e in made)
    work += work_of_operators(tokens_of(text))
    if work > MOST_WORK_OF_EXPRESSION:
        raise ModelError([f"{TOO_MUCH}; got {work}. {_SMALLER}"])
    return text


_ELEMENT = re.compile(r"\w+\[[0-9]+\]")
"""The name of an element of an array."""


def name_text(name: str) -> str:
    """Return a name as text, between backquotes if it is not a plain word."""
    plain = name.isidentifier() or (_ELEMENT.fullmatch(name) and name.split("[")[0].isidentifier())
    if plain and name not in WORDS and name not in CONSTANTS:
        return name
    if "`" in name or "\n" in name:
        raise ModelError([f"a name in a file must contain neither backquotes nor line breaks; got {name!r}."])
    return f"`{name}`"


def _depth(text: str) -> int:
    deepest = depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        deepest = max(deepest, depth)
    return deepest


def _written(e: Any) -> Written:
    """Return the text of a SymPy object."""
    if e.is_Number:
        return _number(e)
    for kind, rule in _RULES:
        if isinstance(e, kind):
            return rule(e)
    if type(e) in NAME_OF_FUNCTION:
        return f"{NAME_OF_FUNCTION[type(e)]}({', '.join(_written(a)[0] for a in e.args)})", _ATOM
    kind = type(e).__name__
    raise ModelError(
        [f"an expression in a file must consist of the functions of its grammar; got `{kind}` in `{str(e)[:60]}`."]
    )


def _at_least(e: Any, strength: int) -> str:
    """Return the text of an object, in brackets if it binds less than needed."""
    text, own = _written(e)
    return text if own >= strength else f"({text})"


def _number(e: Any) -> Written:
    if not e.is_finite:
        raise ModelError([f"an expression in a file must hold finite numbers; got {e}."])
    text = f"{e.p}/{e.q}" if e.is_Rational and e.q != 1 else str(e.p) if e.is_Rational else repr(float(e))
    return text, _SUM if e.is_negative else _PRODUCT if "/" in text else _ATOM


def _sum(e: Any) -> Written:
    text = ""
    for term in e.args:
        part = _at_least(term, _SUM + 1) if term.is_Add else _written(term)[0]
        text += part if not text else f" - {part[1:]}" if part.startswith("-") else f" + {part}"
    return text, _SUM


def _product(e: Any) -> Written:
    """Return a product as one fraction."""
    coefficient, top, bottom = sp.S.One, list[str](), list[str]()
    for factor in e.args:
        if factor.is_Number and coefficient == 1:
            coefficient = factor
        elif factor.is_Pow and factor.exp.is_Rational and factor.exp.is_negative and factor.base is not sp.S.Exp1:
            bottom.append(_at_least_power(factor.base, -factor.exp))
        else:
            top.append(_at_least(factor, _POWER))
    sign, size = ("-", -coefficient) if coefficient.is_negative else ("", coefficient)
    if size.is_Rational:
        top = top if size.p == 1 and top else [str(size.p), *top]
        bottom += [str(size.q)] if size.q != 1 else []
    else:
        top = [_written(size)[0], *top]
    text = "/".join([sign + "*".join(top), *bottom])
    return text, _SUM if sign else _PRODUCT


def _power(e: Any) -> Written:
    base, exponent = e.args
    if base is sp.S.Exp1:
        return f"exp({_written(exponent)[0]})", _ATOM
    if exponent.is_Rational and exponent.is_negative:
        return f"1/{_at_least_power(base, -exponent)}", _PRODUCT
    text = _at_least_power(base, exponent)
    return text, _ATOM if exponent in (sp.S.Half, sp.S.One) else _POWER


def _at_least_power(base: Any, exponent: Any) -> str:
    if exponent == sp.S.Half:
        return f"sqrt({_written(base)[0]})"
    if exponent == 1:
        return _at_least(base, _POWER)
    return f"{_at_least(base, _ATOM)}**{_at_least(exponent, _ATOM)}"


def _derivative(e: Any) -> Written:
    if not isinstance(e.expr, AppliedUndef) or e.expr.args != (t,) or {*e.variables} != {t}:
        raise ModelError([f"an expression in a file must have its derivatives evaluated; got `{str(e)[:60]}`."])
    return name_text(e.expr.func.__name__) + "'" * e.derivative_count, _ATOM


def _function_of_time(e: Any) -> Written:
    if e.args != (t,):
        raise ModelError([f"an expression in a file must consist of functions of its grammar; got `{str(e)[:60]}`."])
    return name_text(e.func.__name__), _ATOM


def _signal(e: Any) -> Written:
    return f"{name_text(e.data.name)}{chr(39) * e.data.order}({_written(e.args[1])[0]})", _ATOM


def _python_function(e: Any) -> Written:
    raise ModelError(
        [
            f"a file holds expressions and signals, and must not need the Python function `{e.data.name}`. Write it as "
            f"an expression, or its values as a `da.signal`."
        ]
    )


def _piecewise(e: Any) -> Written:
    pieces = [
        _written(piece)[0] + ("" if condition == True else f" if {_written(condition)[0]}")  # noqa: E712
        for piece, condition in e.args
    ]
    return f"piecewise({', '.join(pieces)})", _ATOM


def _comparison(e: Any) -> Written:
    left, right = (_at_least(side, _SUM) for side in e.args)
    return f"{left} {_SIGNS[type(e)]} {right}", _COMPARISON


def _heaviside(e: Any) -> Written:
    arguments = e.args[:1] if e.args[1] == sp.S.Half else e.args
    return f"heaviside({', '.join(_written(a)[0] for a in arguments)})", _ATOM


def _without_choice(condition: Any, first: Any, second: Any) -> Any:
    """Return a condition that is one of two others, as SymPy makes of conditions with ``Piecewise`` in them."""
    return sp.Or(sp.And(condition, first), sp.And(sp.Not(condition), second))


def _joined(word: str, strength: int) -> Callable[[Any], Written]:
    return lambda e: (f" {word} ".join(_at_least(part, strength + 1) for part in e.args), strength)


_RULES: tuple[tuple[Any, Callable[[Any], Written]], ...] = (
    (sp.Add, _sum),
    (sp.Mul, _product),
    (sp.Pow, _power),
    (type(sp.pi), lambda e: ("pi", _ATOM)),
    (type(sp.E), lambda e: ("exp(1)", _ATOM)),
    (sp.Symbol, lambda e: (e.name if e == t else name_text(e.name), _ATOM)),
    (ideal_force, lambda e: (f"ideal_force({_written(e.args[0])[0]})", _ATOM)),
    (ConstraintSymbol, lambda e: (f"{type(e).__name__}({name_text(e.name)})", _ATOM)),
    (Signal, _signal),
    (AppliedPythonFunction, _python_function),
    (sp.Derivative, _derivative),
    (AppliedUndef, _function_of_time),
    (sp.Piecewise, _piecewise),
    (sp.Heaviside, _heaviside),
    (tuple(_SIGNS), _comparison),
    (sp.And, _joined("and", _AND)),
    (sp.Or, _joined("or", _OR)),
    (sp.ITE, lambda e: _written(_without_choice(*e.args))),
    (sp.Not, lambda e: (f"not {_at_least(e.args[0], _NOT)}", _NOT)),
    (type(sp.true), lambda e: ("true", _ATOM)),
    (type(sp.false), lambda e: ("false", _ATOM)),
)
"""Rules for classes whose text is not ``name(arguments)``."""
