# SPDX-License-Identifier: BSD-3-Clause
"""Conditions on time that decide between branches of functions of time: zeros and ones that jump where these may.

A small jump of a function that varies much, or fast, is hardly visible in its values, but well in these.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import sympy as sp

from dalembert.model import graph


def time_decisions(expressions: Iterable[Any], time: Any, parameters: Collection[Any]) -> list[Any]:
    """Return expressions of time and parameters, zero or one, that jump wherever an explicit function of time may.

    >>> t = sp.Symbol("t")
    >>> time_decisions([t + 2 * sp.Heaviside(t - 1)], t, ())
    [Piecewise((1, t - 1 < 0), (0, True)), Piecewise((1, 0 < t - 1), (0, True))]
    """
    known, found = {time, *parameters}, dict[Any, None]()
    for node in graph.Graph([*expressions]).nodes:
        if isinstance(node, DECIDING) and time in graph.free_symbols(node) and graph.free_symbols(node) <= known:
            found |= dict.fromkeys(_decisions(node))
    return [*found]


DECIDING = (sp.StrictLessThan, sp.LessThan, sp.StrictGreaterThan, sp.GreaterThan, sp.sign, sp.Heaviside, sp.floor)
DECIDING = (*DECIDING, sp.ceiling, sp.Mod, sp.frac)
"""The kinds of functions and conditions that jump."""


def _decisions(node: Any) -> list[Any]:
    first = node.args[0]
    if isinstance(node, sp.Rel):
        return [_is_true(node)]
    if isinstance(node, (sp.sign, sp.Heaviside)):
        return [_is_true(sp.StrictLessThan(*pair, evaluate=False)) for pair in ((first, 0), (0, first))]
    whole: Any = sp.ceiling(first) if isinstance(node, sp.ceiling) else sp.floor(first)
    if isinstance(node, sp.Mod):
        whole = sp.floor(first / node.args[1])
    return [whole - 2 * sp.floor(whole / 2)]  # even or odd


def _is_true(condition: Any) -> Any:
    return sp.Piecewise((1, condition), (0, True), evaluate=False)
