# SPDX-License-Identifier: BSD-3-Clause
"""Functions of time in systems that are not compiled natively, whose jumps and pulses must be found as well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from dalembert.common.array_types import Floats, vector_of
from dalembert.lowering.source import Source
from dalembert.lowering.time_decisions import time_decisions
from dalembert.model import graph
from dalembert.model.numeric_function import numeric_function
from dalembert.model.signal import Signal
from dalembert.numerics.piecewise_polynomial import PiecewisePolynomial

STEADY_NODES = (sp.Add, sp.Mul, sp.Symbol, sp.Number, sp.NumberSymbol, sp.sin, sp.cos)
"""Parts of functions of time that cause no isolated event, as in ``time_functions``; positive powers are others."""


class GeneralTimeFunctions(NamedTuple):
    """The functions of time in a system.

    values        (k, f) at k times, for parameters; None if all functions are steady
    signals       those of time itself, whose breakpoints are known
    parameters    indices of the parameters that the functions depend on
    decisions     how many functions, the last ones, are what decides between branches of others
    """

    values: Callable[[Floats, Any], Floats] | None
    signals: tuple[PiecewisePolynomial, ...]
    parameters: list[int]
    decisions: int = 0


def general_time_functions(source: Source) -> GeneralTimeFunctions:
    """Return the functions of time in the terms and the laws of a system."""
    time, form = source.form.symbols.time, source.form
    laws = () if source.laws is None else (*source.laws.components, source.laws.mu)
    rows = (*form.mass_matrix, *form.constraint_matrix, *laws)
    parts = (*rows, form.applied_force, form.constraint_rhs, form.position, form.velocity)
    nodes = graph.Graph([entry for part in parts for entry in part])
    mine = [_is_function_of(node, time, source.parameters) for node in nodes.nodes]
    # only the outermost ones: where a part of a function of time is abrupt, so is the function
    used = {part for own, parts in zip(mine, nodes.parts, strict=True) if not own for part in parts} | {*nodes.ends}
    found = [nodes.nodes[k] for k in sorted(used) if mine[k] and isinstance(nodes.nodes[k], sp.Expr)]
    of_time = [node for node, own in zip(nodes.nodes, mine, strict=True) if own]
    signals = tuple(node.data.polynomial for node in of_time if isinstance(node, Signal) and node.places == (time,))
    if all(_is_steady(node) for node in of_time):
        return GeneralTimeFunctions(None, signals, [])
    decisions = time_decisions(found, time, source.parameters)
    compute = numeric_function([time, *source.parameters], [*found, *decisions], ["numpy", "scipy"])

    def values(t: Floats, p: Any) -> Floats:
        with np.errstate(all="ignore"):  # as in machine code, a function may be undefined at some times
            entries = compute(t, *vector_of(p))
        return np.stack([np.broadcast_to(np.asarray(entry, float), t.shape) for entry in entries], axis=1)

    symbols = graph.free_symbols(*found)
    own = [k for k, s in enumerate(source.parameters) if s in symbols]
    return GeneralTimeFunctions(values, signals, own, len(decisions))


def _is_function_of(node: Any, time: Any, parameters: tuple[Any, ...]) -> bool:
    symbols = graph.free_symbols(node)
    return time in symbols and symbols <= {time, *parameters}


def _is_steady(node: Any) -> bool:
    whole_power = isinstance(node, sp.Pow) and node.exp.is_Integer and node.exp.is_positive
    of_time_itself = isinstance(node, Signal) and node.places[0].is_Symbol
    return isinstance(node, STEADY_NODES) or whole_power or of_time_itself
