# SPDX-License-Identifier: BSD-3-Clause
"""Names for sums that occur several times in a derivation, or that do not fit on a line inside a product."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import sympy as sp

from dalembert.model import graph
from dalembert.report.equations import Equation, changed, entries, sides
from dalembert.report.length import LINE, printed_width
from dalembert.report.part_names import PartNames
from dalembert.report.steps import Step, names_in

LETTERS_SAVED = 30.0
"""Letters of print that a name must save."""

WIDEST_INSIDE = 0.8 * LINE
"""Width from which a sum inside a product is given a name, since it cannot be broken over lines."""

MOST_SUM_NAMES = 16
"""Names in one derivation; more would not be easier to read."""

WHERE = ("where",)
"""The paragraph before a list of definitions."""

MOST_PARTS = 25_000
"""Subexpressions, copies included, above which sums are not searched for."""


def with_named_sums(steps: Sequence[Step]) -> list[Step]:
    """Return the steps with names for repeated sums, which are defined where they are first used."""
    shown = [e for step in steps for block in step.blocks for side in sides(block) for e in entries(side)]
    if sum(graph.facts(e).size for e in shown) > MOST_PARTS:
        return list(steps)
    names, rules = PartNames(names_in(steps)), list[tuple[Any, Any]]()
    while len(rules) < MOST_SUM_NAMES and (found := _most_useful(shown)) is not None:
        name = names.name(found, _letters(found, shown))
        rules.append((found, name))
        names.replace(found, name)
        shown = [_with_name(e, found, name) for e in shown]
        shown.append(found)
    return [_renamed(step, names, rules) for step in steps] if rules else list(steps)


def _renamed(step: Step, names: PartNames, rules: list[tuple[Any, Any]]) -> Step:
    blocks: list[Any] = []
    for block in step.blocks:
        if not isinstance(block, list):
            blocks.append(block)
            continue
        equations = [changed(equation, lambda e: _shorter(e, rules)) for equation in block]
        blocks.append(equations)
        definitions = names.new_definitions([e for side in sides(equations) for e in entries(side)])
        if definitions:
            blocks += [WHERE, [Equation(*definition) for definition in definitions]]
    return Step(step.title, tuple(_in_one_list(blocks)))


def _in_one_list(blocks: Sequence[Any]) -> list[Any]:
    """Return the blocks of a step with definitions that follow one another in one list."""
    found: list[Any] = []
    for block in blocks:
        if isinstance(block, list) and found[-1:] == [WHERE] and found[-3:-2] == [WHERE]:
            found.pop()
            found[-1] = [*found[-1], *block]
        else:
            found.append(block)
    return found


def _shorter(expression: Any, rules: list[tuple[Any, Any]]) -> Any:
    for found, name in rules:
        expression = _with_name(expression, found, name)
    return expression


def _with_name(expression: Any, found: Any, name: Any) -> Any:
    return graph.replace(expression, {found: name, -found: -name})


def _most_useful(shown: Sequence[Any]) -> Any:
    """Return the sum whose name saves the most letters, or None if none saves enough."""
    count: Counter[Any] = Counter()
    inside: set[Any] = set()
    for expression in shown:
        for total, nested in _sums(expression):
            key = -total if total.could_extract_minus_sign() else total
            count[key] += 1
            inside |= {key} if nested else set()
    saved = {total: _saved(total, number, nested=total in inside) for total, number in count.items()}
    best = max(saved, key=lambda total: saved[total], default=None)
    return best if best is not None and saved[best] >= LETTERS_SAVED else None


def _saved(total: Any, number: int, *, nested: bool) -> float:
    width = printed_width(total)
    if nested and width > WIDEST_INSIDE:
        return LETTERS_SAVED + width
    return (number - 1) * (width - 1.5) - 6.0


def _sums(expression: Any) -> Iterator[tuple[Any, bool]]:
    """Yield every sum in an expression, as often as it occurs, and whether it is inside another expression."""
    waiting = [(expression, False)]
    while waiting:
        node, nested = waiting.pop()
        if isinstance(node, sp.Add):
            yield node, nested
        waiting += [(part, True) for part in node.args]


def _letters(total: Any, shown: Sequence[Any]) -> str:
    """Return the letters for a sum: Δ for a denominator, θ for an angle."""
    if any(_divides(total, e) for e in shown):
        return "Δ D"
    functions = (sp.sin, sp.cos, sp.tan)
    angles = {f.args[0] for e in shown for f in graph.atoms(e, *functions)}
    return "θ φ ψ χ" if total in angles or -total in angles else "k h w r p"


def _divides(total: Any, expression: Any) -> bool:
    """Return whether a sum is a factor of a denominator."""
    powers = graph.atoms(expression, sp.Pow)
    return any(power.base in (total, -total) and power.exp.could_extract_minus_sign() for power in powers)
