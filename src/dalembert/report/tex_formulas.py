# SPDX-License-Identifier: BSD-3-Clause
# ruff: noqa: N802  (SymPy finds printing methods by the names of its classes)
"""Formulas as LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from sympy.printing.latex import LatexPrinter
from sympy.printing.precedence import PRECEDENCE

from dalembert.report.length import lines_of
from dalembert.report.name_typesetting import positive_first, shows_dots_for_zeros, split_symbol, typeset
from dalembert.report.printed_products import is_plain_function, needs_space, product_of
from dalembert.report.tex_prose import SYMBOLS, literal_name


class TexPrinter(LatexPrinter):
    """A printer with dots over coordinates, factors in physical order, and sums of matrices in their given order.

    literal    names to be set as they were typed, because they would otherwise look alike
    """

    def __init__(self, literal: frozenset[str]) -> None:
        LatexPrinter.__init__(self, {"mat_symbol_style": "bold"})
        self.literal = literal

    def lines(self, expression: Any, width: float) -> list[str]:
        """Return a formula in lines; the second and later ones, of a long sum, begin with an operator."""
        first, *others = (self._sum(terms) for terms in lines_of(expression, width))
        return [first, *(line if line.startswith("-") else f"+ {line}" for line in others)]

    def _print_Add(self, expr: Any, order: Any = None) -> str:
        return self._sum(positive_first(expr.as_ordered_terms()))

    def _sum(self, terms: Sequence[Any]) -> str:
        if len(terms) == 1:
            return self._print(terms[0])
        printed = [(self._print(term), self._needs_add_brackets(term)) for term in terms]
        return _joined([rf"\left({text}\right)" if bracketed else text for text, bracketed in printed])

    def _print_Mul(self, expr: Any) -> str:
        negative, above, below = product_of(expr)
        numerator = self._factors(above, bracketed=negative and not below)
        body = rf"\frac{{{numerator}}}{{{self._factors(below, bracketed=False)}}}" if below else numerator
        return f"- {body}" if negative else body

    def _factors(self, factors: Sequence[Any], *, bracketed: bool) -> str:
        """Return the factors of a product; ``bracketed`` sets a single sum in brackets."""
        if len(factors) < 2 and not bracketed:
            return self._print(factors[0]) if factors else "1"
        row = ""
        for i, factor in enumerate(factors):
            text = self._print(factor)
            if self._needs_mul_brackets(factor, first=i == 0, last=i == len(factors) - 1):
                text = rf"\left({text}\right)"
            row += self._gap(factors[i - 1], factor, text) + text if i else text
        return row

    def _gap(self, before: Any, factor: Any, text: str) -> str:
        """Return the space after a factor: a function without brackets must not seem to go on, nor must a word."""
        if before.is_number and text[:1].isdigit():
            return r" \cdot "
        if needs_space(before, factor) and not re.match(r"\\(sin|cos|tan)", text):
            return r" \, "
        return r" \, " if is_plain_function(before) and not re.match(r"\\(sin|cos|tan)", text) else " "

    def _print_Function(self, expr: Any, exp: Any = None) -> str:
        if not is_plain_function(expr):
            return LatexPrinter._print_Function(self, expr, exp)
        power = "" if exp is None else f"^{{{exp}}}"
        return rf"\{type(expr).__name__}{power} {self._print(expr.args[0])}"

    def _print_Symbol(self, expr: Any, style: str = "plain") -> str:
        name, dots, family = split_symbol(expr)
        set_as = typeset(name)
        literal = set_as.literal or name in self.literal
        letter = rf"\mathrm{{{literal_name(name)}}}" if literal else _word(set_as.base)
        listed = "" if literal else ",".join(map(_word, set_as.indices))
        indices = f"_{{{listed}}}" if listed else ""
        if family == "lam":
            return rf"\lambda_{{{letter}{indices}}}"
        return f"Q^{{c}}_{{i,{letter}{indices}}}" if family == "Qi" else _dotted(letter, dots) + indices

    def _print_MatrixSymbol(self, expr: Any) -> str:
        name, dots, _ = split_symbol(expr)
        base, *scripts = re.findall(r"[_^]?[A-Za-z0-9]+", name)
        letter = rf"\mathbf{{{base}}}" if len(base) == 1 else rf"\boldsymbol{{\{base}}}"
        return _dotted(letter, dots) + "".join(f"{script[0]}{{{script[1:]}}}" for script in scripts)

    def _print_MatAdd(self, expr: Any) -> str:
        return _joined([self._print(term) for term in expr.args])

    def _print_PrintedPseudoInverse(self, expr: Any) -> str:
        return f"{self.parenthesize(expr.args[0], PRECEDENCE['Pow'])}^{{+}}"

    def _print_MatPow(self, expr: Any) -> str:
        return f"{self.parenthesize(expr.base, PRECEDENCE['Pow'])}^{{{expr.exp}}}"

    def _print_BlockMatrix(self, expr: Any) -> str:
        return self._print(expr.blocks)

    def _print_MatrixBase(self, expr: Any) -> str:
        zero = r"\cdot" if shows_dots_for_zeros(expr) else "0"
        cells = [[zero if e == 0 else self._print(e) for e in expr.row(i)] for i in range(expr.rows)]
        body = r" \\ ".join(" & ".join(row) for row in cells)
        # the environment `matrix` allows ten columns only
        return rf"\left[\begin{{array}}{{{'c' * expr.cols}}} {body} \end{{array}}\right]"


def _joined(terms: Sequence[str]) -> str:
    """Return the printed terms of a sum with operators between them."""
    return " ".join(
        t if i == 0 else f"- {t[1:].lstrip()}" if t.startswith("-") else f"+ {t}" for i, t in enumerate(terms)
    )


def _dotted(letter: str, dots: int) -> str:
    return rf"\{'d' * dots}ot{{{letter}}}" if dots else letter


def _word(part: str) -> str:
    """Set a letter in italics, a number unchanged, and a word upright."""
    if len(part) == 1 or part.isdigit():
        return SYMBOLS.get(part, part)
    return rf"\mathrm{{{part}}}"
