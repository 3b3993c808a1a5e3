# SPDX-License-Identifier: BSD-3-Clause
"""A derivation as an HTML page without scripts or network access, with formulas as MathML."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from itertools import pairwise
from typing import Any

import sympy as sp

from dalembert.figures.html_page import document
from dalembert.report.equations import Equation, sides
from dalembert.report.length import room_beside, widest_line
from dalembert.report.mathml import display, inline
from dalembert.report.name_typesetting import ambiguous_names
from dalembert.report.steps import Step, names_in

DERIVATION_STYLE = """
.derivation { max-width: 46rem; margin: 0 auto; line-height: 1.55; font-size: 1.06rem;
  font-family: Charter, "Bitstream Charter", "Sitka Text", Cambria, Georgia, "Times New Roman", serif; }
.derivation > h1, .derivation > h2 { font-size: 1.7rem; line-height: 1.2; font-weight: 600; margin: 0 0 1.6rem;
  text-wrap: balance; }
.derivation section { margin: 0 0 1.6rem; }
.derivation .step { display: flex; gap: 0.7rem; align-items: baseline; font-size: 1.12rem; line-height: 1.3;
  font-weight: 600; margin: 0 0 0.35rem; }
.derivation .step span { flex: none; min-width: 1ch; color: #9a5b13; font-variant-numeric: lining-nums tabular-nums; }
.derivation p { margin: 0.35rem 0; }
.derivation .chart { display: block; width: 100%; min-width: 34rem; max-width: 42rem; height: auto; margin: 0 auto; }
.derivation .frame { overflow-x: auto; margin: 0 0 1.8rem; }
.derivation code { font: 0.88em ui-monospace, "SF Mono", Menlo, Consolas, monospace; }
.derivation math { font-family: "dalembert math", math; }
.derivation .equations { overflow-x: auto; overflow-y: hidden; margin: 0.5rem 0; padding: 0.35rem 0; }
.derivation .equations > math { display: block math; width: max-content; min-width: 100%; font-size: 1.08em; }
.derivation .part { margin: 0; padding: 0; }
.derivation .part > math { width: max-content; min-width: 0; margin: 0 0 0 var(--indent); }
.derivation .part mtable.aligned > mtr > :first-child { min-width: var(--first-column); }
.derivation mtd { math-style: normal; }
.derivation mtable.aligned > mtr > mtd { padding: 0.35em 0.2em; }
.derivation mtable.aligned > mtr > .name { text-align: left; text-align: -webkit-left; padding-right: 1.6em;
  color: #6b6b6b; font-family: Charter, Georgia, serif; font-size: 0.92em; }
.derivation mtable.aligned > mtr > .left { text-align: right; text-align: -webkit-right; }
.derivation mtable.aligned > mtr > .right { text-align: left; text-align: -webkit-left; }
.derivation mtable.aligned mtable > mtr > mtd { padding: 0.25em 0.5em; }
@media (prefers-color-scheme: dark) {
  .derivation .step span { color: #e0a458; }
  .derivation mtable.aligned > mtr > .name { color: #9c9c9c; }
}
@media print {
  .derivation { max-width: none; font-size: 10.5pt; orphans: 3; widows: 3; }
  .derivation .equations { overflow: visible; break-inside: avoid; }
  .derivation .equations > math { font-size: calc(1.08em / var(--lines-wide, 1)); }
  .derivation > h1, .derivation > h2, .derivation .step, .derivation p:has(+ .equations) { break-after: avoid; }
  .derivation .frame, .derivation .short { overflow: visible; break-inside: avoid; }
  .derivation .chart { min-width: 0; max-width: 125mm; }
}
"""
"""Style of a derivation; every rule is confined to ``.derivation``, so that a page may hold several."""

MOST_TOGETHER = 6
"""Equations of a display that stay together on paper. A longer one is divided, since browsers do not break a table of
MathML between pages, and half a page would stay empty."""

MOST_LINES_OF_SHORT_STEP = 9
"""Lines up to which a step stays on one page, less than a third of it: so much may stay empty at the end of a page."""

LARGEST_PART = 4
"""Most equations of a part of a display that was divided."""

LETTER, FORMULA_LETTER = 0.55, 0.65
"""Average width of a letter in the size of the font, in words and in formulas."""

PAGE_STYLE = """
:root { color-scheme: light dark; }
body { margin: 0; padding: clamp(1.2rem, 5vw, 3.5rem) clamp(1rem, 4vw, 2rem); color: #1c1c1c; background: #fdfdfb; }
@media (prefers-color-scheme: dark) { body { color: #e4e2dd; background: #191a1c; } }
@page { margin: 16mm 15mm; }
@media print { body { padding: 0; color: #000; background: none; } }
"""


def math_font_style() -> str:
    """Return the style that embeds the mathematics font, so that pages look the same on every computer."""
    font = files("dalembert.report").joinpath("fonts/math.woff2").read_bytes()
    encoded = b64encode(font).decode("ascii")
    return f'@font-face {{ font-family: "dalembert math"; src: url(data:font/woff2;base64,{encoded}); }}\n'


def html(title: str, steps: Sequence[Step], *, fragment: bool = False, opening: str = "") -> str:
    """Return the whole page, or only its ``<article>`` with headings one level down; ``opening`` is HTML before it."""
    level = 2 if fragment else 1
    literal = ambiguous_names(names_in(steps))
    sections = "\n".join(_section(number, step, level + 1, literal) for number, step in enumerate(steps, 1))
    framed = f'<div class="frame" tabindex="0">{opening}</div>' if opening else ""
    article = f'<article class="derivation">\n<h{level}>{_text(title)}</h{level}>\n{framed}\n{sections}\n</article>'
    return article if fragment else document(title, article, math_font_style(), PAGE_STYLE, DERIVATION_STYLE)


def _section(number: int, step: Step, level: int, literal: frozenset[str]) -> str:
    heading = f'<h{level} class="step"><span>{number}</span>{_text(step.title)}</h{level}>'
    lines = 2 + sum(map(_lines, step.blocks))
    opening = '<section class="short">' if lines <= MOST_LINES_OF_SHORT_STEP else "<section>"
    return "\n".join([opening, heading, *(_block(block, literal) for block in step.blocks), "</section>"])


def _lines(block: Any) -> int:
    """Return an estimate of the height of a block on paper in lines; a display has space above and below."""
    if isinstance(block, tuple):
        return 1
    return 1 + sum(side.rows if isinstance(side, sp.MatrixBase) else 1 for side in sides(block)[1::2])


def _block(block: Any, literal: frozenset[str]) -> str:
    if isinstance(block, tuple):
        pieces = [_text(piece) if isinstance(piece, str) else inline(piece, literal) for piece in block]
        return f"<p>{''.join(pieces)}</p>"
    # paper does not scroll: a formula that is wider than a line is set smaller there
    room = room_beside(e.label for e in block)
    wide = max((_width(equation, room) for equation in block), default=0.0) / room
    style = {"--lines-wide": f"{wide:.3g}"} if wide > 1 else {}
    if len(block) <= MOST_TOGETHER:
        return _display(display(block, literal), "equations", style)
    named = any(e.label for e in block)
    first = max(LETTER * len(e.label) if named else FORMULA_LETTER * widest_line(e.left, room) for e in block)
    style |= {"--indent": f"{max(0.0, min(0.3, (1 - wide) / 2)):.0%}", "--first-column": f"{first:.3g}em"}
    parts = -(-len(block) // LARGEST_PART)
    ends = [len(block) * k // parts for k in range(parts + 1)]
    chunks = [block[a:b] for a, b in pairwise(ends)]
    return "\n".join(_display(display(chunk, literal, room, named), "equations part", style) for chunk in chunks)


def _display(formulas: str, kind: str, style: Mapping[str, str]) -> str:
    """Return a display, which can be focused so that the keyboard scrolls it."""
    written = f' style="{"; ".join(f"{name}: {value}" for name, value in style.items())}"' if style else ""
    return f'<div class="{kind}" tabindex="0"{written}>{formulas}</div>'


def _width(equation: Equation, room: float) -> float:
    """Return an estimate of the width of an equation in letters; a long one with a label is broken before ``=``."""
    left, right = (widest_line(side, room) for side in (equation.left, equation.right))
    return max(left, right) if equation.label and left + right > room else left + right


def _text(text: str) -> str:
    """Escape text for HTML, and set names between backticks as code."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", escape(text))
