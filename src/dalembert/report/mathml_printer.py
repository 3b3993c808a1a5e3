# SPDX-License-Identifier: BSD-3-Clause
# ruff: noqa: N802  (SymPy finds printing methods by the names of its classes)
"""Expressions as MathML elements."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Any

import sympy as sp
from sympy.printing.mathml import MathMLPresentationPrinter
from sympy.printing.precedence import PRECEDENCE, precedence_traditional

from dalembert.report.name_typesetting import Name, positive_first, shows_dots_for_zeros, split_symbol, typeset
from dalembert.report.printed_products import Product, is_plain_function, needs_space, product_of

_ACCENTS = {1: "\u02d9", 2: "\u00a8"}


def base_of(factor: Any) -> Any:
    return factor.base if isinstance(factor, sp.Pow) else factor


def _is_function_beside(before: Any, factor: Any) -> bool:
    return is_plain_function(before) or isinstance(base_of(factor), sp.Function)


def _bold(letter: str) -> str:
    """Return a letter as a bold character of mathematics, which fonts have without a bold style."""
    for first, bold in (("A", 0x1D400), ("a", 0x1D41A), ("α", 0x1D6C2)):
        if 0 <= ord(letter) - ord(first) < 26:
            return chr(bold + ord(letter) - ord(first))
    return letter


_TALL = ("<mfrac", "<mtable", "<msqrt")
"""Elements around which brackets grow."""


class Printer(MathMLPresentationPrinter):
    """A printer with dots over coordinates, bold matrices, sin²x, factors in physical order, and sums of matrices in
    their given order.

    literal    names to be set as they were typed, because they would otherwise look alike
    """

    def __init__(self, literal: frozenset[str]) -> None:
        MathMLPresentationPrinter.__init__(self)
        self.literal = literal

    def sum_line(self, terms: Sequence[Any], number: int) -> str:
        """Return a line of a sum; all but that of number 0 begin with an operator."""
        return self._sum(terms, leading=number > 0).toxml()

    def _print_Add(self, expr: Any, order: Any = None) -> Any:
        return self._sum(positive_first(expr.as_ordered_terms()))

    def _sum(self, terms: Sequence[Any], *, leading: bool = False) -> Any:
        row = self._element("mrow")
        for i, term in enumerate(terms):
            product = product_of(term)
            if product.negative or i > 0 or leading:
                operator = self._text("mo", "\u2212" if product.negative else "+")
                if leading and i == 0:  # with the spaces that it has within a line
                    operator.setAttribute("form", "infix")
                row.appendChild(operator)
            row.appendChild(self._unsigned(product))
        return row

    def _print_Mul(self, expr: Any) -> Any:
        product = product_of(expr)
        body = self._unsigned(product)
        return self._element("mrow", self._text("mo", "-"), body) if product.negative else body

    def _unsigned(self, product: Product) -> Any:
        """Return a product without its sign."""
        if not product.below:
            return self._factors(product.above, bracketed=product.negative)
        parts = (self._factors(side, bracketed=False) for side in (product.above, product.below))
        return self._element("mfrac", *parts)

    def _factors(self, factors: Sequence[Any], *, bracketed: bool) -> Any:
        """Return the factors of a product; ``bracketed`` sets a single sum in brackets."""
        if not factors:
            return self._text("mn", "1")
        if len(factors) == 1 and not bracketed:
            return self._print(factors[0])
        row = self._element("mrow")
        for i, factor in enumerate(factors):
            if i > 0:
                row.appendChild(self._text("mo", "&InvisibleTimes;"))
            if i > 0 and (_is_function_beside(factors[i - 1], factor) or needs_space(factors[i - 1], factor)):
                row.appendChild(self._space())  # a function without brackets must not seem to go on
            # numbers and powers never need brackets, although SymPy ranks a fraction with products
            row.appendChild(self.parenthesize(factor, PRECEDENCE["Mul"] - 1))
        return row

    def _print_Function(self, e: Any) -> Any:
        if not is_plain_function(e):
            printed = MathMLPresentationPrinter._print_Function(self, e)
            if not any(tall in printed.toxml() for tall in _TALL):
                for bracket in printed.getElementsByTagName("mo"):
                    bracket.setAttribute("stretchy", "false")
            return printed
        name = self._text("mi", type(e).__name__)
        return self._element("mrow", name, self._element("mrow", self._space(), self._print(e.args[0])))

    def _space(self) -> Any:
        space = self._element("mspace")
        space.setAttribute("width", "0.17em")
        return space

    def _print_Symbol(self, sym: Any, style: str = "plain") -> Any:
        name, dots, family = split_symbol(sym)
        set_as = Name(name, literal=True) if name in self.literal else typeset(name)
        letter = self._letter(html.escape(set_as.base))
        if set_as.literal:
            letter.setAttribute("mathvariant", "normal")
        accented = self._dotted(letter, dots) if dots else letter
        printed = self._element("msub", accented, self._indices(set_as.indices)) if set_as.indices else accented
        if family == "lam":
            return self._element("msub", self._letter("λ"), printed)
        if family == "Qi":
            index = self._element("mrow", self._letter("i"), printed)
            return self._element("msubsup", self._letter("Q"), index, self._letter("c"))
        return printed

    def _print_MatrixSymbol(self, sym: Any) -> Any:
        name, dots, _ = split_symbol(sym)
        base, *scripts = re.findall(r"[_^]?[A-Za-z0-9]+", name)
        letter = self._letter(_bold(typeset(base).base))
        accented = self._dotted(letter, dots) if dots else letter
        # MathML expects the subscript before the superscript
        letters = [self._letter(script[1:]) for script in sorted(scripts, reverse=True)]
        if not letters:
            return accented
        tag = "msubsup" if len(letters) > 1 else "msub" if scripts[0].startswith("_") else "msup"
        return self._element(tag, accented, *letters)

    def _indices(self, indices: Sequence[str]) -> Any:
        row = self._element("mrow")
        for i, index in enumerate(indices):
            if i > 0:
                row.appendChild(self._text("mo", ","))
            row.appendChild(self._text("mn" if index.isdigit() else "mi", index))
        return row if len(indices) > 1 else row.firstChild

    def _print_MatAdd(self, expr: Any) -> Any:
        row = self._element("mrow")
        for i, term in enumerate(expr.args):
            negative = i > 0 and product_of(term.args[0]).negative if isinstance(term, sp.MatMul) else False
            if i > 0:
                row.appendChild(self._text("mo", "-" if negative else "+"))
            row.appendChild(self._print(sp.MatMul(-term.args[0], *term.args[1:]) if negative else term))
        return row

    def _print_MatMul(self, expr: Any) -> Any:
        factors = [f for f in expr.args if f not in (1, -1)]
        sign = [self._text("mo", "-")] if -1 in expr.args else []
        level = PRECEDENCE["Mul"]
        parts = [self._print(f) if isinstance(f, sp.Mul) else self.parenthesize(f, level) for f in factors]
        return self._element("mrow", *sign, *parts)

    def parenthesize(self, item: Any, level: int, strict: bool = False) -> Any:
        """Parenthesize as the parent class does, but with brackets that grow only around tall expressions."""
        precedence = precedence_traditional(item)
        if precedence > level or (strict and precedence == level):
            return self._print(item)
        inside: Any = self._print(item)
        brackets = [self._text("mo", bracket) for bracket in "()"]
        if not any(tall in inside.toxml() for tall in _TALL):
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

    def _print_Identity(self, I: Any) -> Any:  # noqa: E741
        return self._letter(_bold("I"))

    def _print_ZeroMatrix(self, Z: Any) -> Any:
        return self._text("mn", "0")

    def _print_Transpose(self, expr: Any) -> Any:
        upright = self._text("mi", "T")
        upright.setAttribute("mathvariant", "normal")
        return self._element("msup", self._print(expr.arg), upright)

    def _print_PrintedPseudoInverse(self, expr: Any) -> Any:
        return self._element("msup", self.parenthesize(expr.args[0], PRECEDENCE["Pow"]), self._text("mo", "+"))

    def _print_MatPow(self, expr: Any) -> Any:
        return self._element("msup", self.parenthesize(expr.base, PRECEDENCE["Pow"]), self._text("mn", str(expr.exp)))

    def _print_Pow(self, e: Any) -> Any:
        if isinstance(e.base, (sp.sin, sp.cos, sp.tan)) and e.exp.is_Integer and e.exp > 1:
            function: Any = self._print(e.base)
            name, argument = function.childNodes
            return self._element("mrow", self._element("msup", name, self._print(e.exp)), argument)
        if e.base.is_Symbol and e.exp.is_Integer and e.exp > 1:
            letter: Any = self._print(e.base)
            if letter.tagName == "msub":  # the exponent above the index, not after it
                return self._element("msubsup", *letter.childNodes[:], self._print(e.exp))
        return MathMLPresentationPrinter._print_Pow(self, e)

    def _dotted(self, letter: Any, dots: int) -> Any:
        # not accent="true", with which browsers draw the dots into the letter; enlarged, since accents use script size
        accent = self._text("mo", _ACCENTS[dots])
        accent.setAttribute("style", "font-size: 120%")
        return self._element("mover", letter, accent)

    def _letter(self, letter: str) -> Any:
        return self._text("mi", letter)

    def _text(self, tag: str, text: str) -> Any:
        return self._element(tag, self.dom.createTextNode(text))

    def _element(self, tag: str, *children: Any) -> Any:
        element = self.dom.createElement(tag)
        for child in children:
            element.appendChild(child)
        return element
