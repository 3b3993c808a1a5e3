# SPDX-License-Identifier: BSD-3-Clause
"""Formulas as MathML Core, which browsers render without scripts."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from dalembert.report.equations import Equation
from dalembert.report.length import fits_on_one_line, lines_of, room_beside
from dalembert.report.mathml_printer import Printer

_ENTITIES = {
    "&InvisibleTimes;": "\u2062",
    "&ExponentialE;": "e",
    "&ImaginaryI;": "i",
    "<mo>-</mo>": "<mo>\u2212</mo>",
    "<mn>-": "<mn>\u2212",
}


def inline(expression: Any, literal: frozenset[str]) -> str:
    """Return a formula within a line of text; ``literal`` names are set as they were typed."""
    return f"<math>{mathml(expression, literal)}</math>"


def display(
    equations: Sequence[Equation], literal: frozenset[str], room: float | None = None, named: bool | None = None
) -> str:
    """Return equations in rows, aligned at their equals signs, or after their labels if there are any.

    ``room`` for a line and whether equations are ``named`` are given for a part of a longer display.
    """
    named = any(e.label for e in equations) if named is None else named
    room = room_beside(e.label for e in equations) if room is None else room
    rows = "".join(_row(equation, literal, room, named=named) for equation in equations)
    return f'<math display="block"><mtable class="aligned">{rows}</mtable></math>'


def mathml(expression: Any, literal: frozenset[str]) -> str:
    """Return one formula, without the enclosing element."""
    return _finished(Printer(literal).doprint(expression))


def _finished(printed: str) -> str:
    for entity, character in _ENTITIES.items():
        printed = printed.replace(entity, character)
    return printed


def _row(equation: Equation, literal: frozenset[str], room: float, *, named: bool) -> str:
    left, right = (_lines(side, literal, room) for side in (equation.left, equation.right))
    if not named and len(left) == 1:
        aligned = f'<mtd class="left">{left[0]}</mtd><mtd><mo>=</mo></mtd><mtd class="right">{right[0]}</mtd>'
        return _table_rows(aligned, right[1:], cells=2)
    # not aligned: the left sides of constraints differ so much in length that short ones would scroll out of view
    label = f'<mtd class="name"><mtext>{html.escape(equation.label)}</mtext></mtd>' if named else "<mtd></mtd>" * 2
    if equation.right == 0 or fits_on_one_line(equation.left, equation.right, room):
        left[-1] += f"<mo>=</mo>{right[0]}"
    else:
        left.append(f"<mo>=</mo>{right[0]}")
    first = f'{label}<mtd class="right"><mrow>{left[0]}</mrow></mtd>'
    return _table_rows(first, (*left[1:], *right[1:]), cells=1 if named else 2)


def _table_rows(first: str, others: Sequence[str], *, cells: int) -> str:
    """Return a row and its continuations, each after a number of empty cells."""
    empty = "<mtd></mtd>" * cells
    rows = (f'{empty}<mtd class="right"><mrow><mspace width="2em"></mspace>{line}</mrow></mtd>' for line in others)
    return "".join(f"<mtr>{row}</mtr>" for row in (first, *rows))


def _lines(expression: Any, literal: frozenset[str], room: float) -> list[str]:
    """Return a formula in lines; the second and later ones, of a long sum, begin with an operator."""
    return [
        mathml(terms[0], literal) if len(terms) == 1 and i == 0 else _finished(Printer(literal).sum_line(terms, i))
        for i, terms in enumerate(lines_of(expression, room))
    ]
