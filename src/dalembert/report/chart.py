# SPDX-License-Identifier: BSD-3-Clause
"""The seven steps of a derivation as a flow chart, like figure 1 of Zhao et al. 2018, for the system at hand."""

from __future__ import annotations

import textwrap
from html import escape
from typing import TYPE_CHECKING, Any

from dalembert.figures.style import SUBSCRIPTS
from dalembert.report.name_typesetting import typeset
from dalembert.report.steps import seven_titles

if TYPE_CHECKING:
    from dalembert.report.derivation import Derivation

WIDTH, TITLE_WIDTH, LINE_HEIGHT, PADDING, GAP = 720, 250, 19, 9, 16
"""Sizes of the drawing in its own units: boxes, their titles on the left, lines of text, and arrows between boxes."""

NAMESPACE = ' xmlns="http://www.w3.org/2000/svg"'
"""Attribute that a file needs and an HTML page does not."""

LETTERS_PER_LINE, TITLE_LETTERS = 58, 27
LINES_IN_A_BOX = 3
"""Lines of text in a box; longer lists are cut."""


def chart(derivation: Derivation) -> str:
    """Return the chart as SVG in the colour of the text around it, readable without any font of mathematics."""
    titles = seven_titles(derivation)
    boxes, top = list[str](), 1.0
    for number, (title, lines) in enumerate(zip(titles, _contents(derivation), strict=True), 1):
        wrapped = [_wrapped(line, LETTERS_PER_LINE) for line in lines]
        text = [line for part in wrapped for line in part]
        heading = textwrap.wrap(title, TITLE_LETTERS)
        height = 2 * PADDING + LINE_HEIGHT * max(len(text), len(heading))
        boxes.append(_box(number, heading, text, top, height))
        top += height
        if number < len(titles):
            boxes.append(_arrow(top))
            top += GAP
    label = escape(f"Flow chart of the seven steps for {derivation.title}", quote=True)
    return (
        f'<svg class="chart" viewBox="0 0 {WIDTH + 2} {top + 1:g}" role="img" aria-label="{label}"'
        f'{NAMESPACE} fill="none" stroke="currentColor" font-family="serif" font-size="14.5">\n'
        + "\n".join(boxes)
        + "\n</svg>"
    )


def _contents(derivation: Derivation) -> list[list[str]]:
    """Return the lines of text of each box."""
    system = derivation.system
    parameters = ", ".join(map(_unicode, system.parameter_names))
    coordinates = ", ".join(map(_unicode, system.coordinate_names))
    stated = [*_named("constraint", system.constraint_names), *_named("requirement", [s.name for s in system.servos])]
    return [
        [derivation.about],
        [f"q = ({coordinates})", f"parameters {parameters}" if parameters else "no parameters"],
        ["M q̈ = Q", _mass(derivation)],
        stated or ["none"],
        _standard(derivation),
        _forces(derivation),
        [_motion(derivation), _freedom(derivation)],
    ]


def _unicode(name: str) -> str:
    """Return a name as a letter with its indices, as far as Unicode has them."""
    base, indices, _ = typeset(name)
    return base + "".join(i.translate(SUBSCRIPTS) if i.isdigit() else f"_{i}" for i in indices)


def _named(word: str, names: Any) -> list[str]:
    return [f"{word}{'s' * (len(names) > 1)} {', '.join(names)}"] if names else []


def _mass(derivation: Derivation) -> str:
    M = derivation.mass_matrix
    n = M.rows
    moving = any(symbol in entry.free_symbols for entry in M for symbol in _time_symbols(derivation))
    diagonal = all(M[i, j] == 0 for i in range(n) for j in range(n) if i != j)
    shape = "diagonal" if diagonal else "coupled"
    return f"M is {n} × {n}, {shape}, {'changes with the motion' if moving else 'constant'}"


def _time_symbols(derivation: Derivation) -> set[Any]:
    return {s for q in derivation.system.coordinates for s in q.free_symbols}


def _standard(derivation: Derivation) -> list[str]:
    system = derivation.system
    lines: list[str] = []
    if system.constraints:
        m, n = derivation.constraint_matrix.shape
        used = len(derivation.independent)
        rank = f"rank {used}" if used < m else "independent rows"
        lines.append(f"A q̈ = b, where A is {m} × {n}, {rank}")
    if derivation.control is not None:
        lines.append(f"{'Aₛ q̈ = bₛ' if system.constraints else 'A q̈ = b'} − s, with a term s that settles errors")
    return lines or ["nothing to differentiate"]


def _forces(derivation: Derivation) -> list[str]:
    lines: list[str] = []
    if derivation.control is not None:
        lines.append("inputs u of least cost that meet the requirements")
    if derivation.system.constraints:
        formula = "Qᶜᵢ = Aᵀλ with λ from the saddle system" if derivation.saddle else "Qᶜᵢ = Aᵀ(A M⁻¹Aᵀ)⁻¹(b − A M⁻¹Q)"
        lines.append(formula)
    if derivation.system.laws:
        lines.append("Qᶜₙᵢ from the law C of the nonideal constraints")
    return lines or ["no constraint force"]


def _motion(derivation: Derivation) -> str:
    terms = ["Q"]
    if derivation.control is not None:
        terms.append("u" if derivation.control.kind.everywhere else "B u")
    terms += ["Qᶜᵢ"] * bool(derivation.system.constraints) + ["Qᶜₙᵢ"] * bool(derivation.system.laws)
    return f"M q̈ = {' + '.join(terms)}"


def _freedom(derivation: Derivation) -> str:
    free = len(derivation.system.coordinates) - len(derivation.independent)
    return f"{free} degree{'s' * (free != 1)} of freedom"


def _wrapped(text: str, width: int) -> list[str]:
    lines = textwrap.wrap(text, width) or [""]
    return (
        lines
        if len(lines) <= LINES_IN_A_BOX
        else [*lines[: LINES_IN_A_BOX - 1], f"{lines[LINES_IN_A_BOX - 1][: width - 2]} …"]
    )


def _box(number: int, heading: list[str], lines: list[str], top: float, height: float) -> str:
    frame = f'<rect x="1" y="{top:g}" width="{WIDTH}" height="{height:g}" rx="6"/>'
    rule = f'<path d="M{TITLE_WIDTH} {top:g}v{height:g}" stroke-opacity="0.35"/>'
    digit = _text(16, top, str(number), "700")
    titles = "".join(_text(40, top + LINE_HEIGHT * i, line, "600") for i, line in enumerate(heading))
    texts = "".join(_text(TITLE_WIDTH + 16, top + LINE_HEIGHT * i, line, "400") for i, line in enumerate(lines))
    return f"{frame}{rule}{digit}{titles}{texts}"


def _text(x: float, top: float, text: str, weight: str) -> str:
    y = top + PADDING + 0.75 * LINE_HEIGHT
    shown = escape(text.replace("`", ""))
    return f'<text x="{x:g}" y="{y:g}" font-weight="{weight}" fill="currentColor" stroke="none">{shown}</text>'


def _arrow(top: float) -> str:
    x, tip = WIDTH / 2, top + GAP
    return f'<path d="M{x:g} {top:g}V{tip - 1:g}M{x - 4:g} {tip - 6:g}L{x:g} {tip - 1:g}L{x + 4:g} {tip - 6:g}"/>'
