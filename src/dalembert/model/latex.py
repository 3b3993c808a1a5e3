# SPDX-License-Identifier: BSD-3-Clause
"""The equations of a model as LaTeX, for notebooks; dots are time derivatives."""

from __future__ import annotations

from typing import Any

import sympy as sp

from dalembert.model import graph

LONGEST_LATEX = 6_000
"""Characters of LaTeX that a notebook shows; beyond, the text of the object is more readable."""

MOST_PRINTED_NODES = 2_000
"""Size of an expression, copies included, up to which it is printed."""


def equation(expression: Any, name: str | None, *, one_sided: bool = False) -> str | None:
    """Return one equation or inequality, with its name beside it; None if it is too long to be read."""
    written = _latex(expression)
    return _display(f"{written} {_relation(one_sided)} 0{_aside(name)}") if written else None


def _relation(one_sided: bool) -> str:
    return r"\geq" if one_sided else "="


def equations(system: Any) -> str | None:
    """Return the equations of a system, M q̈ = Q + Qᶜ and its constraints; None if they are too long to be read."""
    laws = ", ".join(dict.fromkeys(placed.kind for placed in system.laws))
    accelerations = sp.Matrix(list(system.accelerations))
    parts = [_latex(part) for part in (system.mass_matrix, accelerations, system.applied_force)]
    rows = [(_latex(c.expression), _relation(c.one_sided), c.name) for c in system.constraints]
    if not all(parts) or not all(written for written, *_ in rows):
        return None
    force = " + Q^c" if system.constraints or system.laws else ""
    lines = [rf"{parts[0]} \, {parts[1]} &= {parts[2]}{force}"]
    lines += [rf"{written} &{relation} 0{_aside(name)}" for written, relation, name in rows]
    lines += [rf"&\text{{laws: {_text(laws)}}}"] if laws else []
    return _display(r"\begin{aligned}" + r" \\ ".join(lines) + r"\end{aligned}")


def _latex(part: Any) -> str:
    """Return an expression or a matrix as LaTeX; empty if it is too large to be printed."""
    from sympy.physics.vector.printing import vlatex  # slow to import, and needed by notebooks only

    entries = part.flat() if isinstance(part, sp.MatrixBase) else [part]
    if sum(graph.facts(entry).size for entry in entries) > MOST_PRINTED_NODES:
        return ""
    return str(vlatex(part))


def _display(latex: str) -> str | None:
    return rf"$\displaystyle {latex}$" if len(latex) <= LONGEST_LATEX else None


def _aside(name: str | None) -> str:
    return "" if name is None else rf" \quad \text{{({_text(name)})}}"


def _text(name: str) -> str:
    """Return a name within ``\\text``, in which some characters have a meaning."""
    special = {"\\": "∖", "^": "ˆ", "~": "∼"} | {c: rf"\{c}" for c in "#$%&_{}"}
    return "".join(special.get(character, character) for character in name)
