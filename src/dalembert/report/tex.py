# SPDX-License-Identifier: BSD-3-Clause
# ruff: noqa: N802  (SymPy finds printing methods by the names of its classes)
"""A derivation as LaTeX and as Markdown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

import sympy as sp
from sympy.printing.latex import LatexPrinter

from dalembert.report.spelling import positive_first, shows_dots_for_zeros, spelled
from dalembert.report.steps import Equation, Step

_DOCUMENT = r"""\documentclass[11pt,a4paper]{article}
\usepackage[T1]{fontenc}
\usepackage[utf8]{inputenc}
\usepackage[margin=2.2cm]{geometry}
\usepackage{amsmath}
\allowdisplaybreaks
\setlength{\parindent}{0pt}
\setlength{\parskip}{0.6em}
\title{%s}
\author{}
\date{}
\begin{document}
\maketitle
%s
\end{document}
"""

_SPECIAL = {
    "\\": r"\textbackslash{}",
    **{c: "\\" + c for c in "&%$#_{}"},
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
}

_MARKS = {"\u0307": r"\.", "\u0308": r"\""}
"""Dots over a letter in prose, such as ẏ."""


def latex(title: str, steps: Sequence[Step]) -> str:
    """A document that stands alone."""
    sections = [rf"\section{{{step.title}}}" + "\n" + "\n\n".join(map(_latex_block, step.blocks)) for step in steps]
    return _DOCUMENT % (_escaped(title), "\n\n".join(sections))


def markdown(title: str, steps: Sequence[Step]) -> str:
    """Markdown with formulas between dollar signs, as GitHub and Jupyter show them."""
    sections = [
        f"## {number}. {step.title}\n\n" + "\n\n".join(map(_markdown_block, step.blocks))
        for number, step in enumerate(steps, 1)
    ]
    return f"# {title}\n\n" + "\n\n".join(sections) + "\n"


def tex(expression: Any) -> str:
    """One formula, without delimiters."""
    return _TexPrinter({"mat_symbol_style": "bold"}).doprint(expression)


class _TexPrinter(LatexPrinter):
    """Dots over coordinates, sums of matrices in the order they were written, dots for the zeros of large matrices."""

    def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[Any]:
        return positive_first(LatexPrinter._as_ordered_terms(self, expr, order))

    def _print_Symbol(self, expr: Any, style: str = "plain") -> str:
        name, dots, family = spelled(expr.name)
        printed = LatexPrinter._print_Symbol(self, sp.Symbol(_in_latin(name)), style)
        if family == "Qi":
            return f"Q^{{c}}_{{i,{printed}}}"
        return printed if not dots else re.sub(r"^(\\?[^\W_]+(?:\{[^}]*\})?)", _accent(dots), printed)

    def _print_MatrixSymbol(self, expr: Any) -> str:
        return self._print_Symbol(expr, style="bold")

    def _print_MatAdd(self, expr: Any) -> str:
        printed = [self._print(term) for term in expr.args]
        return " ".join(p if i == 0 else f"- {p[1:]}" if p.startswith("-") else f"+ {p}" for i, p in enumerate(printed))

    def _print_BlockMatrix(self, expr: Any) -> str:
        return self._print(expr.blocks)

    def _print_MatrixBase(self, expr: Any) -> str:
        zero = r"\cdot" if shows_dots_for_zeros(expr) else "0"
        cells = [[zero if e == 0 else self._print(e) for e in expr.row(i)] for i in range(expr.rows)]
        body = r" \\ ".join(" & ".join(row) for row in cells)
        # `matrix` has room for ten columns only
        return rf"\left[\begin{{array}}{{{'c' * expr.cols}}} {body} \end{{array}}\right]"


def _accent(dots: int) -> Any:
    return lambda match: rf"\{'d' * dots}ot{{{match[1]}}}"


def _in_latin(name: str) -> str:
    """Greek letters by name, which every LaTeX can set."""
    return "".join(unicodedata.name(c).split()[-1].lower() if "Ͱ" <= c <= "Ͽ" else c for c in name)


def _latex_block(block: Any) -> str:
    if isinstance(block, tuple):
        return "".join(_escaped(piece) if isinstance(piece, str) else f"${tex(piece)}$" for piece in block)
    columns = 2 if any(equation.label for equation in block) else 1
    return f"\\begin{{alignat*}}{{{columns}}}\n{_rows(block)}\n\\end{{alignat*}}"


def _markdown_block(block: Any) -> str:
    if isinstance(block, tuple):
        return "".join(piece if isinstance(piece, str) else f"${tex(piece)}$" for piece in block)
    return f"$$\n\\begin{{aligned}}\n{_rows(block)}\n\\end{{aligned}}\n$$"


def _rows(equations: Sequence[Equation]) -> str:
    named = any(equation.label for equation in equations)
    return " \\\\\n".join(_row(equation, named=named) for equation in equations)


def _row(equation: Equation, *, named: bool) -> str:
    label = rf"\text{{{_escaped(equation.label)}:}}" if equation.label else ""
    return (f"{label} \\quad && " if named else "") + f"{tex(equation.left)} &= {tex(equation.right)}"


def _escaped(text: str) -> str:
    plain = "".join(map(_character, text))
    return re.sub(r"`([^`]*)`", r"\\texttt{\1}", plain)


def _character(c: str) -> str:
    """One letter of prose; dotted and Greek letters in the way that every LaTeX knows."""
    base, *marks = unicodedata.normalize("NFD", c)
    if marks and marks[0] in _MARKS:
        return f"{_MARKS[marks[0]]}{{{base}}}"
    return f"$\\{_in_latin(c)}$" if _in_latin(c) != c else _SPECIAL.get(c, c)
