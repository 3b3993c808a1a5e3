# SPDX-License-Identifier: BSD-3-Clause
"""The words of expressions in text: numbers, names and operators, each with its place."""

from __future__ import annotations

import re
from typing import NamedTuple

from dalembert.errors import ExpressionError
from dalembert.model.expression_functions import WORDS

MOST_CHARACTERS = 50_000
"""Longest text of an expression. The longest expression of the gallery takes a third of it."""

MOST_DIGITS = 310
"""Longest number: numbers of more digits exceed what float64 can hold."""

_TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[^\W\d]\w*(?:\[[0-9]+\])?)"
    r"|`(?P<quoted>[^`\n]+)`"
    r"|(?P<operator>\*\*|<=|>=|==|!=|[-+*/^(),<>='\u2212\u2032])"
)
_SAME = {"\u2212": "-", "\u2032": "'", "^": "**", "==": "="}


class Token(NamedTuple):
    """A word: kind is "number", "name", "quoted" (a name between backquotes), "end", or the operator or word itself."""

    kind: str
    text: str
    offset: int


def tokens_of(text: str) -> list[Token]:
    """Return the words of a text, ending with one of kind "end"."""
    if len(text) > MOST_CHARACTERS:
        raise ExpressionError(
            f"an expression must have at most {MOST_CHARACTERS} characters; got {len(text)}. Divide it by definitions.",
            text,
            0,
        )
    found: list[Token] = []
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ExpressionError(_unexpected(text[place]), text, place)
        kind, word = str(match.lastgroup), match.group(str(match.lastgroup))
        if kind == "number":
            _require_number(match, text)
        if kind == "operator" or (kind == "name" and word in WORDS):
            kind = _SAME.get(word, word)
        if kind != "space":
            found.append(Token(kind, word, place))
        place = match.end()
    return [*found, Token("end", "", len(text))]


def _require_number(match: re.Match[str], text: str) -> None:
    """Raise an error for a number that is too long or followed by a letter."""
    if match.end() - match.start() > MOST_DIGITS:
        raise ExpressionError(f"a number must have at most {MOST_DIGITS} digits.", text, match.start())
    following = text[match.end() : match.end() + 1]
    if following == "." or following.isidentifier() or following.isalnum():
        raise ExpressionError(
            f"a number must be followed by an operator; got `{match.group()}{following}`. Write a product as `2*x`.",
            text,
            match.end(),
        )


def _unexpected(character: str) -> str:
    shown = f"`{character}`" if character.isprintable() and character != "`" else ascii(character)
    hint = " A name between backquotes must end with one." if character == "`" else ""
    return f"an expression must consist of numbers, names, operators and brackets; got {shown}.{hint}"
