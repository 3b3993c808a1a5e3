# SPDX-License-Identifier: BSD-3-Clause
# ruff: noqa: N802  (SymPy finds printing methods by the names of its classes)
"""A derivation as LaTeX and as Markdown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import groupby
from typing import Any, NamedTuple

from sympy.printing.latex import LatexPrinter
from sympy.printing.precedence import PRECEDENCE

from dalembert.report.equations import Equation
from dalembert.report.name_typesetting import (
    GREEK,
    GREEK_AS_LATIN,
    ambiguous_names,
    positive_first,
    shows_dots_for_zeros,
    split_symbol,
    table,
    typeset,
)
from dalembert.report.steps import Step, names_in

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

_ESCAPED = {
    "\\": r"\textbackslash{}",
    **{c: "\\" + c for c in "&%$#_{}"},
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
}

READABLE = frozenset(
    "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞßàáâãäåæçèéêëìíîïðñòóôõöøùúûüýþ"
    "ĂăĄąĆćČčĎďĐđĘęĚěĞğĹĺĽľŁłŃńŇňŐőŒœŔŕŘřŚśŞşŠšŤťŢţŮůŰűŸŹźŽž–—‘’“”„«»…§¡¿"
)
"""Characters beyond ASCII that LaTeX accepts unchanged."""

_SYMBOLS = {
    **{letter: f"\\{command}" for letter, command in GREEK.items()},
    **{letter: rf"\mathrm{{{latin}}}" for letter, latin in GREEK_AS_LATIN.items()},
    "ο": "o",
    **table(
        r"− - · \cdot ⋅ \cdot × \times ÷ \div ± \pm ∓ \mp ≤ \le ≥ \ge ≠ \ne ≈ \approx ≡ \equiv ∼ \sim ∝ \propto "
        r"≪ \ll ≫ \gg → \to ← \leftarrow ↔ \leftrightarrow ↦ \mapsto ⇒ \Rightarrow ⇐ \Leftarrow ⇔ \Leftrightarrow "
        r"∞ \infty √ \surd ∂ \partial ∇ \nabla ∫ \int ∑ \sum ∏ \prod ℓ \ell ¬ \neg ∈ \in ∉ \notin ⊂ \subset "
        r"⊆ \subseteq ∪ \cup ∩ \cap ∅ \emptyset ∀ \forall ∃ \exists ⊥ \perp ∥ \parallel ‖ \| ∘ \circ • \bullet "
        r"∧ \wedge ∨ \vee ⊗ \otimes ⊕ \oplus ⟨ \langle ⟩ \rangle"
    ),
}

_MARKS = table(
    "\u0300 grave \u0301 acute \u0302 hat \u0303 tilde \u0304 bar \u0305 bar \u0306 breve \u0307 dot \u0308 ddot "
    "\u030a mathring \u030c check \u20d7 vec \u20db dddot"
)
"""Combining marks and the corresponding TeX accents."""

_SCRIPTS = {"<super>": "^", "<sub>": "_"}
_RAISED = {"′": r"\prime", "″": r"\prime\prime", "°": r"\circ"}
_SAFE_IN_MATHS = re.compile(r"[A-Za-z0-9'*+\-/=<>()|\[\].,:;!?@]|\\[&%$#_{}]")

_Formula = Callable[[Any], str]


def latex(title: str, steps: Sequence[Step]) -> str:
    """Return a complete LaTeX document."""
    formula = printer(steps)
    sections = [
        "\n\n".join([rf"\section{{{step.title}}}", *(_latex_block(block, formula) for block in step.blocks)])
        for step in steps
    ]
    return _DOCUMENT % (prose(" ".join(title.split())), "\n\n".join(sections))


def markdown(title: str, steps: Sequence[Step]) -> str:
    """Return Markdown with formulas between dollar signs, as GitHub and Jupyter render them."""
    formula = printer(steps)
    sections = [
        "\n\n".join([f"## {number}. {step.title}", *(_markdown_block(block, formula) for block in step.blocks)])
        for number, step in enumerate(steps, 1)
    ]
    return f"# {_markdown_prose(' '.join(title.split()))}\n\n" + "\n\n".join(sections) + "\n"


def printer(steps: Sequence[Step]) -> _Formula:
    """Return a function that prints one formula, without delimiters."""
    return _TexPrinter(ambiguous_names(names_in(steps))).doprint


def prose(text: str) -> str:
    """Convert text to LaTeX: mathematical characters become formulas, names between backticks code."""
    pieces = _with_bases([_piece(cluster) for cluster in _clusters(text)])
    written = [
        "".join(piece.tex for piece in group) if is_text else f"${_maths(group)}$"
        for is_text, group in groupby(pieces, key=lambda piece: piece.kind == "text")
    ]
    return re.sub(r"`([^`]*)`", r"\\texttt{\1}", "".join(written))


class _TexPrinter(LatexPrinter):
    """A printer with dots over coordinates, sums of matrices in their given order, and dots for zeros of matrices.

    literal    names to be set as they were typed, because they would otherwise look alike
    """

    def __init__(self, literal: frozenset[str]) -> None:
        LatexPrinter.__init__(self, {"mat_symbol_style": "bold"})
        self.literal = literal

    def _as_ordered_terms(self, expr: Any, order: Any = None) -> list[Any]:
        return positive_first(LatexPrinter._as_ordered_terms(self, expr, order))

    def _print_Symbol(self, expr: Any, style: str = "plain") -> str:
        name, dots, family = split_symbol(expr)
        set_as = typeset(name)
        literal = set_as.literal or name in self.literal
        letter = rf"\mathrm{{{_literal(name)}}}" if literal else _word(set_as.base)
        listed = "" if literal else ",".join(map(_word, set_as.indices))
        indices = f"_{{{listed}}}" if listed else ""
        if family == "lam":
            return rf"\lambda_{{{letter}{indices}}}"
        return f"Q^{{c}}_{{i,{letter}{indices}}}" if family == "Qi" else _dotted(letter, dots) + indices

    def _print_MatrixSymbol(self, expr: Any) -> str:
        name, dots, _ = split_symbol(expr)
        base, *scripts = re.findall(r"[_^]?[A-Za-z]+", name)
        letter = rf"\mathbf{{{base}}}" if len(base) == 1 else rf"\boldsymbol{{\{base}}}"
        return _dotted(letter, dots) + "".join(f"{script[0]}{{{script[1:]}}}" for script in scripts)

    def _print_MatAdd(self, expr: Any) -> str:
        printed = [self._print(term) for term in expr.args]
        return " ".join(p if i == 0 else f"- {p[1:]}" if p.startswith("-") else f"+ {p}" for i, p in enumerate(printed))

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


def _dotted(letter: str, dots: int) -> str:
    return rf"\{'d' * dots}ot{{{letter}}}" if dots else letter


def _word(part: str) -> str:
    """Set a letter in italics, a number unchanged, and a word upright."""
    if len(part) == 1 or part.isdigit():
        return _SYMBOLS.get(part, part)
    return rf"\mathrm{{{part}}}"


def _literal(name: str) -> str:
    """Set a name within a formula, character by character."""
    return _maths(_within_maths(_piece(cluster)) for cluster in _clusters(name))


def _within_maths(piece: _Piece) -> _Piece:
    if piece.kind != "text":
        return piece
    return _Piece("maths", piece.tex if _SAFE_IN_MATHS.fullmatch(piece.tex) else rf"\text{{{piece.tex}}}")


class _Piece(NamedTuple):
    """A character in TeX; ``kind`` is "text", "maths", or "^" and "_" for superscripts and subscripts."""

    kind: str
    tex: str


def _clusters(text: str) -> list[str]:
    """Split text into characters, each with its combining marks."""
    return re.findall(r".[\u0300-\u036f\u20d0-\u20ff]*", unicodedata.normalize("NFD", text), flags=re.DOTALL)


def _piece(cluster: str) -> _Piece:
    whole = unicodedata.normalize("NFC", cluster)
    if whole.isascii() and (whole.isprintable() or whole.isspace()):
        return _Piece("text", _ESCAPED.get(whole, whole))
    if whole in READABLE:
        return _Piece("text", whole)
    if whole in _SYMBOLS:
        return _Piece("maths", _SYMBOLS[whole])
    if whole in _RAISED:
        return _Piece("^", _RAISED[whole])
    if len(cluster) > 1 and all(mark in _MARKS for mark in cluster[1:]):
        body = _literal(cluster[0])
        for mark in cluster[1:]:
            body = rf"\{_MARKS[mark]}{{{body}}}"
        return _Piece("maths", body)
    return _compatible(whole)


def _compatible(character: str) -> _Piece:
    """Convert a character by its Unicode decomposition, as of ₂, ½ or a thin space; its code point if there is none."""
    tag, *codes = (unicodedata.decomposition(character) if len(character) == 1 else "").split() or [""]
    plain = "".join(chr(int(code, 16)) for code in codes) if tag.startswith("<") else ""
    if tag in _SCRIPTS:
        return _Piece(_SCRIPTS[tag], _literal(plain))
    if tag == "<fraction>":
        above, below = plain.split("\u2044")
        return _Piece("maths", rf"\tfrac{{{above}}}{{{below}}}")
    if plain:
        return _Piece("text", prose(plain))
    numbers = " ".join(f"U+{ord(c):04X}" for c in character)
    return _Piece("text", rf"\texttt{{{numbers}}}")


def _with_bases(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Make a single letter before a superscript or subscript part of the formula."""
    found = list(pieces)
    for i, piece in enumerate(pieces[:-1]):
        alone = i == 0 or not (pieces[i - 1].kind == "text" and pieces[i - 1].tex.isalnum())
        if (
            piece.kind == "text"
            and piece.tex.isalpha()
            and piece.tex.isascii()
            and alone
            and pieces[i + 1].kind in "^_"
        ):
            found[i] = _Piece("maths", piece.tex)
    return found


def _maths(pieces: Iterable[_Piece]) -> str:
    """Join pieces to one formula; TeX allows one superscript and one subscript per base."""
    written, used = "", ""
    for kind, group in groupby(pieces, key=lambda piece: piece.kind):
        body = _concatenated(piece.tex for piece in group)
        if kind == "maths":
            written, used = _concatenated((written, body)), ""
        else:
            written += ("{}" if kind in used else "") + f"{kind}{{{body}}}"
            used = kind if kind in used else used + kind
    return written


def _concatenated(parts: Iterable[str]) -> str:
    """Concatenate parts, with a space between a command and a following letter."""
    return reduce(lambda row, part: row + " " * _runs_into(row, part) + part, parts, "")


def _runs_into(row: str, part: str) -> bool:
    return part[:1].isalpha() and re.search(r"\\[A-Za-z]+$", row) is not None


def _latex_block(block: Any, formula: _Formula) -> str:
    if isinstance(block, tuple):
        return "".join(prose(piece) if isinstance(piece, str) else f"${formula(piece)}$" for piece in block)
    columns = 2 if any(equation.label for equation in block) else 1
    return f"\\begin{{alignat*}}{{{columns}}}\n{_rows(block, formula, prose)}\n\\end{{alignat*}}"


def _markdown_block(block: Any, formula: _Formula) -> str:
    if isinstance(block, tuple):
        return "".join(_markdown_prose(piece) if isinstance(piece, str) else f"${formula(piece)}$" for piece in block)
    rows = _rows(block, formula, lambda label: "".join(_ESCAPED.get(c, c) for c in label))
    return f"$$\n\\begin{{aligned}}\n{rows}\n\\end{{aligned}}\n$$"


def _markdown_prose(text: str) -> str:
    """Escape text for Markdown, except code between backticks."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if i % 2 else _escaped_markdown(part) for i, part in enumerate(parts))


def _escaped_markdown(text: str) -> str:
    # brackets only where they would make a link, because \[ begins a formula in some dialects
    escaped = re.sub(r"[\\`*_<>$~#]|&(?=#?\w+;)|\](?=[(\[:])", r"\\\g<0>", text)
    return re.sub(r"^(\s*\d*)([-+.)])(?=\s)", r"\1\\\2", escaped, flags=re.MULTILINE)


def _rows(equations: Sequence[Equation], formula: _Formula, label: Callable[[str], str]) -> str:
    named = any(equation.label for equation in equations)
    rows: list[str] = []
    for equation in equations:
        name = rf"\text{{{label(' '.join(equation.label.split()))}:}}" if equation.label else ""
        rows.append((f"{name} \\quad && " if named else "") + f"{formula(equation.left)} &= {formula(equation.right)}")
    return " \\\\\n".join(rows)
