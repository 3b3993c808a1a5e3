# SPDX-License-Identifier: BSD-3-Clause
"""Derivations with long expressions: repeated subexpressions are given names, which are defined below the formula."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import sympy as sp

from dalembert.model import graph
from dalembert.report.equations import Equation, changed, entries, sides, with_entries
from dalembert.report.length import LONG_FORMULA, is_long
from dalembert.report.name_typesetting import typeset
from dalembert.report.named_sums import with_named_sums
from dalembert.report.readable_sums import readable
from dalembert.report.steps import Step, names_in

WORTH_A_NAME = 8
"""Size from which a repeated subexpression is given a name."""

DEEPEST_STEP = 12
"""Nesting from which a subexpression is given a name even if it occurs once."""

_STEP_LETTERS = "swrpkhzuv"


def abbreviated(steps: Sequence[Step]) -> list[Step]:
    """Return the steps with names for the parts of long expressions and for repeated sums."""
    found = [e for step in steps for e in _expressions(step) if is_long(e)]
    if not found:
        return with_named_sums([_readable(step) for step in steps])
    names = _Names(found, _free_letter(steps))
    return [_abbreviated(step, names) for step in steps]


class _Names:
    """Names of the subexpressions of some long expressions.

    A step defines the names that it uses and that no earlier step has defined.

    too_long    names without a definition, for expressions that stay long, and the number of their different parts
    """

    def __init__(self, expressions: Sequence[Any], letter: str):
        self.too_long: dict[Any, int] = {}
        self._graph = graph.Graph(expressions)
        self._letter = letter
        self._definitions: dict[Any, Any] = {}
        written = self._named_subexpressions()
        ends = zip(expressions, self._graph.ends, strict=True)
        self._shorter = {id(e): self._printable(e, written[end]) for e, end in ends}
        self._defined: set[Any] = set()

    def shorter(self, side: Any) -> Any:
        """Return a side of an equation with its long expressions in terms of names."""
        return with_entries(side, lambda expression: self._shorter.get(id(expression), expression))

    def new_definitions(self, expressions: Sequence[Any]) -> list[Equation]:
        """Return the definitions that some shortened expressions need, each after those on which it depends."""
        needed = self._needed(expressions) - self._defined
        self._defined |= needed
        return [Equation(name, meaning) for name, meaning in self._definitions.items() if name in needed]

    def _needed(self, expressions: Sequence[Any]) -> set[Any]:
        needed, waiting = set[Any](), [*graph.free_symbols(*expressions)]
        while waiting:
            symbol = waiting.pop()
            if symbol in self._definitions and symbol not in needed:
                needed.add(symbol)
                waiting += graph.free_symbols(self._definitions[symbol])
        return needed

    def _named_subexpressions(self) -> list[Any]:
        """Return every subexpression in terms of names."""
        uses = Counter(part for parts in self._graph.parts for part in parts)
        uses.update(self._graph.ends)
        written: list[Any] = []
        for number, (node, parts) in enumerate(self._graph):
            entry = node.func(*(written[part] for part in parts)) if parts else node
            size, depth = graph.facts(entry).size, graph.facts(entry).depth
            if isinstance(node, sp.Expr) and ((uses[number] > 1 and size >= WORTH_A_NAME) or depth >= DEEPEST_STEP):
                name = self._name(len(self._definitions) + 1)
                self._definitions[name], entry = entry, name
            written.append(entry)
        return written

    def _printable(self, expression: Any, written: Any) -> Any:
        """Return an expression in terms of names, or a name without a definition if that is still long."""
        parts = [written, *(self._definitions[name] for name in self._needed([written]))]
        if sum(graph.facts(part).size for part in parts) <= LONG_FORMULA:
            return written
        name = self._name(len(self._definitions) + len(self.too_long) + 1)
        self.too_long[name] = len(graph.Graph([expression]).nodes)
        return name

    def _name(self, number: int) -> Any:
        return sp.Symbol(f"{self._letter}_{number}", real=True)


def _readable(step: Step) -> Step:
    blocks = [
        [changed(equation, readable) for equation in block] if isinstance(block, list) else block
        for block in step.blocks
    ]
    return Step(step.title, tuple(blocks))


def _abbreviated(step: Step, names: _Names) -> Step:
    if not any(map(is_long, _expressions(step))):
        return step
    blocks: list[Any] = [
        [Equation(names.shorter(e.left), names.shorter(e.right), e.label) for e in block]
        if isinstance(block, list)
        else block
        for block in step.blocks
    ]
    shown = [side for block in blocks for side in sides(block)]
    definitions = names.new_definitions(shown)
    added = [("with the abbreviations",), definitions] if definitions else []
    added += [
        ("Here ", name, f" is an expression of {parts} different parts, too long to be printed.")
        for name, parts in names.too_long.items()
        if name in graph.free_symbols(*shown)
    ]
    return Step(step.title, (*blocks, *added))


def _expressions(step: Step) -> list[Any]:
    """Return the scalar expressions in the displays of a step."""
    return [entry for block in step.blocks for side in sides(block) for entry in entries(side)]


def _free_letter(steps: Sequence[Step]) -> str:
    """Return a letter that no name in the derivation begins with."""
    taken = {typeset(name).base for name in names_in(steps)}
    return next((letter for letter in _STEP_LETTERS if letter not in taken), "part")
