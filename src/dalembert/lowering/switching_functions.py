# SPDX-License-Identifier: BSD-3-Clause
"""Expressions at whose zeros the forces of a system may jump, such as the velocity in ``sign(x')``."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import sympy as sp

from dalembert.lowering.source import Source
from dalembert.model import graph


def switching_functions(source: Source) -> dict[str, Any]:
    """Return the expressions of the state at whose zeros a force or a law may jump, by their text.

    >>> import dalembert as da
    >>> from dalembert.lowering.source import source_of
    >>> x = da.coordinates("x")
    >>> list(switching_functions(source_of(da.System((x,), [[1]], [-sp.sign(x.diff(da.t))]))))
    ["x'"]
    """
    symbols = source.form.symbols
    laws = () if source.laws is None else source.laws.components
    forces = [*source.form.applied_force, *(entry for components in laws for entry in components)]
    state = {*symbols.q, *symbols.qd}
    known = {*state, symbols.time, *source.parameters}
    found: dict[str, Any] = {}
    for node in graph.Graph(forces).nodes:
        for argument in _switching_arguments(node):
            of = graph.free_symbols(argument)
            if of & state and of <= known:
                found.setdefault(symbols.readable(argument), argument)
    return found


def _switching_arguments(node: Any) -> list[Any]:
    """Return the expressions whose zeros separate the smooth branches of a function."""
    arguments: tuple[Any, ...] = node.args
    if isinstance(node, (sp.sign, sp.Abs, sp.Heaviside)):
        return [arguments[0]]
    if isinstance(node, (sp.Rel, sp.Min, sp.Max)):
        return [a - b for a, b in combinations(arguments, 2)]
    if node.is_Pow and not node.exp.is_Integer:  # the length of a vector, which has no direction where it vanishes
        return [node.base]
    return []
