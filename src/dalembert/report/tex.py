# SPDX-License-Identifier: BSD-3-Clause
"""A derivation as LaTeX and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from dalembert.report.equations import Equation
from dalembert.report.length import fits_on_one_line, room_beside
from dalembert.report.name_typesetting import ambiguous_names
from dalembert.report.steps import Step, names_in
from dalembert.report.tex_formulas import TexPrinter
from dalembert.report.tex_prose import ESCAPED, prose

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


def latex(title: str, steps: Sequence[Step]) -> str:
    """Return a complete LaTeX document."""
    printer = printer_of(steps)
    sections = [
        "\n\n".join([rf"\section{{{step.title}}}", *(_latex_block(block, printer) for block in step.blocks)])
        for step in steps
    ]
    return _DOCUMENT % (prose(" ".join(title.split())), "\n\n".join(sections))


def markdown(title: str, steps: Sequence[Step]) -> str:
    """Return Markdown with formulas between dollar signs, as GitHub and Jupyter render them."""
    printer = printer_of(steps)
    sections = [
        "\n\n".join([f"## {number}. {step.title}", *(_markdown_block(block, printer) for block in step.blocks)])
        for number, step in enumerate(steps, 1)
    ]
    return f"# {_markdown_prose(' '.join(title.split()))}\n\n" + "\n\n".join(sections) + "\n"


def printer_of(steps: Sequence[Step]) -> TexPrinter:
    """Return the printer of the formulas of a derivation."""
    return TexPrinter(ambiguous_names(names_in(steps)))


def _latex_block(block: Any, printer: TexPrinter) -> str:
    if isinstance(block, tuple):
        return "".join(prose(piece) if isinstance(piece, str) else f"${printer.doprint(piece)}$" for piece in block)
    columns = 2 if any(equation.label for equation in block) else 1
    return f"\\begin{{alignat*}}{{{columns}}}\n{_rows(block, printer, prose)}\n\\end{{alignat*}}"


def _markdown_block(block: Any, printer: TexPrinter) -> str:
    if isinstance(block, tuple):
        return "".join(
            _markdown_prose(piece) if isinstance(piece, str) else f"${printer.doprint(piece)}$" for piece in block
        )
    rows = _rows(block, printer, lambda label: "".join(ESCAPED.get(c, c) for c in label))
    return f"$$\n\\begin{{aligned}}\n{rows}\n\\end{{aligned}}\n$$"


def _markdown_prose(text: str) -> str:
    """Escape text for Markdown, except code between backticks."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if i % 2 else _escaped_markdown(part) for i, part in enumerate(parts))


def _escaped_markdown(text: str) -> str:
    # brackets only where they would make a link, because \[ begins a formula in some dialects
    escaped = re.sub(r"[\\`*_<>$~#]|&(?=#?\w+;)|\](?=[(\[:])", r"\\\g<0>", text)
    return re.sub(r"^(\s*\d*)([-+.)])(?=\s)", r"\1\\\2", escaped, flags=re.MULTILINE)


def _rows(equations: Sequence[Equation], printer: TexPrinter, label: Callable[[str], str]) -> str:
    named, room = any(e.label for e in equations), room_beside(e.label for e in equations)
    rows: list[str] = []
    for equation in equations:
        name = rf"\text{{{label(' '.join(equation.label.split()))}:}}" if equation.label else ""
        first, *others = _equation_lines(equation, printer, room, aligned=not named)
        rows.append((f"{name} \\quad && " if named else "") + first)
        rows += [("&& " if named else "") + line for line in others]
    return " \\\\\n".join(rows)


def _equation_lines(equation: Equation, printer: TexPrinter, room: float, *, aligned: bool) -> list[str]:
    """Return an equation in lines, at its equals sign if ``aligned``; one with a label may be broken there."""
    left, right = printer.lines(equation.left, room), printer.lines(equation.right, room)
    if len(left) == 1 and (aligned or fits_on_one_line(equation.left, equation.right, room)):
        return [f"{left[0]} &= {right[0]}", *(f"&\\quad {line}" for line in right[1:])]
    if equation.right == 0:
        left[-1] += " = 0"
        return [f"& {left[0]}", *(f"&\\quad {line}" for line in left[1:])]
    return [f"& {left[0]}", *(f"&\\quad {line}" for line in (*left[1:], f"= {right[0]}", *right[1:]))]
