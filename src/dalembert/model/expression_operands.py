# SPDX-License-Identifier: BSD-3-Clause
"""Operands of an expression in a model file: names with their derivatives, signals, and functions of arguments."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import sympy as sp

from dalembert.model import expression_nodes as nodes
from dalembert.model.expression_functions import ALIASES, FUNCTIONS, SYNTAX_FUNCTIONS
from dalembert.model.expression_nodes import Parsed
from dalembert.model.expression_tokens import Token
from dalembert.model.expression_work import DERIVATIVE, work_of_function
from dalembert.model.signal import Signal, signal_data
from dalembert.model.symbols import ideal_force, multiplier, reaction, t

if TYPE_CHECKING:
    from dalembert.model.expression_grammar import Parser

HIGHEST_DERIVATIVE = 4
"""Largest number of primes of a signal: derivatives of higher order of all kinds are zero."""

LONGEST_NAME = 200
"""Longest name; longer ones are mistakes, and comparing them with others would take long."""

CONSTANTS = {"pi": Parsed(sp.pi, 1, math.pi), "t": Parsed(t)}
"""Names that need no declaration: π and time."""


def named(parser: Parser, token: Token) -> Parsed:
    """Return the part that a name stands for, with its derivatives."""
    part = CONSTANTS.get(token.text) if token.kind == "name" else None
    if part is None:
        found = _known(parser, token)
        part = found if isinstance(found, Parsed) else Parsed(found)
    order = 0
    while parser.token.kind == "'":
        prime, order = parser.take(), order + 1
        if not part.expression.is_Function or part.expression.args != (t,):
            raise parser.error(
                f"a prime must follow a coordinate; `{token.text}` is not one. Write `d(…)` for other derivatives.",
                prime,
            )
        if order > 2:
            raise parser.error("derivatives must be at most of second order; got one of third order.", prime)
    return Parsed(part.expression.diff(t, order)) if order else part


def signal(parser: Parser, token: Token) -> Parsed:
    """Return a signal, or with primes a derivative of it, at the place in brackets."""
    data, order = parser.names[token.text].data, 0
    while parser.token.kind == "'":
        parser.take()
        order += 1
    if parser.token.kind != "(" or order > HIGHEST_DERIVATIVE:
        raise parser.error(
            f"signal `{token.text}` must be followed by at most {HIGHEST_DERIVATIVE} primes and its argument, as "
            f"in `{token.text}(t)`.",
            parser.token,
        )
    parser.take("(")
    part = parser.number()
    parser.take(")")
    return Parsed(Signal(signal_data(replace(data, order=order)), part.expression), part.size + 2)


def _known(parser: Parser, token: Token) -> Any:
    if token.text in parser.names:
        return parser.names[token.text]
    if len(token.text) > LONGEST_NAME:
        raise parser.error(f"a name must have at most {LONGEST_NAME} characters; got {len(token.text)}.", token)
    if not parser.names:
        raise parser.error(
            f"a number or an expression of numbers such as `pi/4` was expected; got the name `{token.text}`. Write its "
            "value.",
            token,
        )
    if ALIASES.get(token.text, token.text) in FUNCTIONS:
        raise parser.error(
            f"`{token.text}` is a function. Write its argument in brackets, as in `{token.text}(t)`.", token
        )
    known = [*parser.names, *CONSTANTS]
    raise parser.error(f"unknown name `{token.text}`.{_nearest(token.text, known, 'The known names are')}", token)


def call(parser: Parser, token: Token) -> Parsed:
    """Return a function of its arguments."""
    name = ALIASES.get(token.text, token.text)
    if name not in FUNCTIONS and name not in SYNTAX_FUNCTIONS:
        known = [*FUNCTIONS, *SYNTAX_FUNCTIONS, *ALIASES]
        if token.text in parser.names:
            raise parser.error(f"`{token.text}` is not a function. Write `{token.text}`, or a product with `*`.", token)
        hint = "" if len(token.text) > LONGEST_NAME else _nearest(token.text, known, "There are")
        raise parser.error(f"unknown function `{token.text[:LONGEST_NAME]}`.{hint}", token)
    parser.take("(")
    if name in ("multiplier", "reaction", "ideal_force"):
        part = _force(parser, name)
    elif name == "piecewise":
        pieces = _pieces(parser)
        parser.examine([part for pair in pieces for part in pair])
        part = parser.made(token, nodes.piecewise_part, pieces)
    elif name == "d":
        part = _derivative(parser, token)
    else:
        part = _function(parser, token, name)
    parser.take(")")
    return part


def _function(parser: Parser, token: Token, name: str) -> Parsed:
    """Return a function by its name; repeated ones are in SymPy's cache and count once."""
    arguments = _arguments(parser, token, name)
    parser.examine(arguments)
    key = (name, *(part.expression for part in arguments))
    if name != "sqrt" and key not in parser.functions:  # a root is a power
        parser.functions.add(key)
        # a plain number is no work
        constant = all(part.value is not None for part in arguments) and any(part.size > 1 for part in arguments)
        parser.spend(work_of_function(name, len(arguments), constant=constant), token)
    return parser.made(token, nodes.function_part, name, arguments)


def _derivative(parser: Parser, token: Token) -> Parsed:
    part = parser.number()
    parser.spend(DERIVATIVE * part.size, token)
    return parser.made(token, nodes.derivative_part, part, t)


def _arguments(parser: Parser, token: Token, name: str) -> list[Parsed]:
    found = [parser.number()]
    while parser.token.kind == ",":
        parser.take()
        found.append(parser.number())
    fewest, most = FUNCTIONS[name].fewest, FUNCTIONS[name].most
    if len(found) < fewest or (most is not None and len(found) > most):
        counts = f"{fewest}" if fewest == most else f"{fewest} or more" if most is None else f"{fewest} to {most}"
        raise parser.error(f"`{name}` must have {counts} arguments; got {len(found)}.", token)
    return found


def _pieces(parser: Parser) -> list[tuple[Parsed, Parsed]]:
    """Return pairs of an expression and its condition."""
    pairs: list[tuple[Parsed, Parsed]] = []
    while True:
        piece, condition = parser.number(), Parsed(sp.true)
        if parser.token.kind == "if":
            parser.take()
            condition = parser.condition()
        pairs.append((piece, condition))
        if parser.token.kind != ",":
            return pairs
        parser.take()


def _force(parser: Parser, name: str) -> Parsed:
    """Return the multiplier or the reaction of a constraint, or the ideal force along a coordinate."""
    token = parser.take()
    if token.kind not in ("name", "quoted"):
        raise parser.error(f"`{name}` must have a name as its argument; got {shown(token)}.", token)
    if name != "ideal_force":
        return Parsed((multiplier if name == "multiplier" else reaction)(token.text))
    found = _known(parser, token)
    if isinstance(found, Parsed) or not found.is_Function:
        raise parser.error(f"`ideal_force` must have a coordinate as its argument; `{token.text}` is not one.", token)
    return Parsed(ideal_force(found), 2)


def _nearest(name: str, known: Sequence[str], listing: str) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return f" Did you mean `{near[0]}`?"
    shown = ", ".join(f"`{one}`" for one in known[:12])
    return f" {listing}: {shown}{', …' if len(known) > 12 else ''}."


def shown(token: Token) -> str:
    return "the end" if token.kind == "end" else f"`{token.text[:40]}`"
