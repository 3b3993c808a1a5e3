# SPDX-License-Identifier: BSD-3-Clause
# ruff: noqa: N802  (SymPy finds printing methods by the names of its classes)
"""Formulas as MathML Core, which browsers draw without any script."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import sympy as sp
from sympy.printing.mathml import MathMLPresentationPrinter
from sympy.printing.precedence import PRECEDENCE, precedence_traditional

from dalembert.report.spelling import positive_first, shows_dots_for_zeros, spelled
from dalembert.report.steps import Equation

_ACCENTS = {1: "\u02d9", 2: "\u00a8"}
_ENTITIES = {
    "&InvisibleTimes;": "\u2062",
    "&ExponentialE;": "e",
    "&ImaginaryI;": "i",
    "<mo>-</mo>": "<mo>\u2212</mo>",
    "<mn>-": "<mn>\u2212",
}


def inline(expression: Any) -> str:
    """A formula within a line of text."""
    return f"<math>{mathml(expression)}</math>"


def display(equations: Sequence[Equation]) -> str:
    """Equations one below the other, aligned at their equals signs, or behind their names where they have some."""
    named = any(equation.label for equation in equations)
    rows = "".join(_row(equation, named=named) for equation in equations)
    return f'<math display="block"><mtable class="aligned">{rows}</mtable></math>'


def mathml(expression: Any) -> str:
    """One formula, without the enclosing element."""
    printed = _Printer().doprint(expression)
    for entity, character in _ENTITIES.items():
        printed = printed.replace(entity, character)
    return printed


def _row(equation: Equation, *, named: bool) -> str:
    left, right = mathml(equation.left), mathml(equation.right)
    if not named:
        return f'<mtr><mtd class="left">{left}</mtd><mtd><mo>=</mo></mtd><mtd class="right">{right}</mtd></mtr>'
    # unaligned: the sides of constraints differ so much in length that one would scroll out of sight
    label = f'<mtd class="name"><mtext>{html.escape(equation.label)}</mtext></mtd>'
    return f'<mtr>{label}<mtd class="right"><mrow>{left}<mo>=</mo>{right}</mrow></mtd></mtr>'


class _Printer(MathMLPresentationPrinter):
    """Dots over coordinates, bold matrices, sin²x, sums of matrices in the order they were written."""

    def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[Any]:
        return positive_first(MathMLPresentationPrinter._as_ordered_terms(self, expr, order))

    def _print_Symbol(self, sym: Any, style: str = "plain") -> Any:
        name, dots, family = spelled(sym.name)
        printed = MathMLPresentationPrinter._print_Symbol(self, sp.Symbol(html.escape(name)))
        if family == "Qi":
            return self._element(
                "msubsup", self._letter("Q"), self._element("mrow", self._letter("i"), printed), self._letter("c")
            )
        letter: Any = printed if printed.tagName == "mi" else printed.firstChild
        if style == "bold":
            letter.setAttribute("mathvariant", "normal")
            letter.setAttribute("style", "font-weight: bold")
        return self._dotted(printed, letter, dots) if dots else printed

    def _print_MatrixSymbol(self, sym: Any) -> Any:
        return self._print_Symbol(sym, style="bold")

    def _print_MatAdd(self, expr: Any) -> Any:
        row = self._element("mrow")
        for i, term in enumerate(expr.args):
            negative = i > 0 and term.could_extract_minus_sign()
            if i > 0:
                row.appendChild(self._text("mo", "-" if negative else "+"))
            row.appendChild(self._print(sp.MatMul(*term.args[1:]) if negative else term))
        return row

    def _print_MatMul(self, expr: Any) -> Any:
        factors = [f for f in expr.args if f != -1]
        sign = [self._text("mo", "-")] if len(factors) < len(expr.args) else []
        level = PRECEDENCE["Mul"]
        parts = [self._print(f) if isinstance(f, sp.Mul) else self.parenthesize(f, level) for f in factors]
        return self._element("mrow", *sign, *parts)

    def parenthesize(self, item: Any, level: int, strict: bool = False) -> Any:
        """As the parent does, but with brackets that grow only around what is tall."""
        precedence = precedence_traditional(item)
        if precedence > level or (strict and precedence == level):
            return self._print(item)
        inside: Any = self._print(item)
        brackets = [self._text("mo", bracket) for bracket in "()"]
        if not any(tall in inside.toxml() for tall in ("<mfrac", "<mtable", "<msqrt")):
            for bracket in brackets:
                bracket.setAttribute("stretchy", "false")
        return self._element("mrow", brackets[0], inside, brackets[1])

    def _print_MatrixBase(self, m: Any) -> Any:
        zero = "\u00b7" if shows_dots_for_zeros(m) else "0"
        rows = [
            self._element(
                "mtr", *(self._element("mtd", self._text("mn", zero) if e == 0 else self._print(e)) for e in m.row(i))
            )
            for i in range(m.rows)
        ]
        return self._element("mrow", self._text("mo", "["), self._element("mtable", *rows), self._text("mo", "]"))

    def _print_BlockMatrix(self, expr: Any) -> Any:
        return self._print(expr.blocks)

    def _print_ZeroMatrix(self, Z: Any) -> Any:
        return self._text("mn", "0")

    def _print_Transpose(self, expr: Any) -> Any:
        upright = self._text("mi", "T")
        upright.setAttribute("mathvariant", "normal")
        return self._element("msup", self._print(expr.arg), upright)

    def _print_Pow(self, e: Any) -> Any:
        if isinstance(e.base, (sp.sin, sp.cos, sp.tan)) and e.exp.is_Integer and e.exp > 1:
            function: Any = self._print(e.base)
            name, argument = function.childNodes
            return self._element("mrow", self._element("msup", name, self._print(e.exp)), argument)
        return MathMLPresentationPrinter._print_Pow(self, e)

    def _dotted(self, printed: Any, letter: Any, dots: int) -> Any:
        parent = letter.parentNode
        # no accent="true": browsers then draw the dots into the letter; larger, because they are set in script size
        accent = self._text("mo", _ACCENTS[dots])
        accent.setAttribute("style", "font-size: 120%")
        over = self._element("mover", letter.cloneNode(True), accent)
        if parent is None:
            return over
        parent.replaceChild(over, letter)
        return printed

    def _letter(self, letter: str) -> Any:
        return self._text("mi", letter)

    def _text(self, tag: str, text: str) -> Any:
        return self._element(tag, self.dom.createTextNode(text))

    def _element(self, tag: str, *children: Any) -> Any:
        element = self.dom.createElement(tag)
        for child in children:
            element.appendChild(child)
        return element
