# SPDX-License-Identifier: BSD-3-Clause
"""Conversion of expressions to Python functions; each distinct subexpression is computed once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import zip_longest
from typing import Any

import sympy as sp
from sympy.printing.numpy import NumPyPrinter, SciPyPrinter
from sympy.printing.pycode import MpmathPrinter

from dalembert.model.data_function import DataFunction
from dalembert.model.graph import Graph

MOST_DEPTH_IN_LINE = 20
"""Depth up to which subexpressions are written in one line; Python cannot compile deeply nested brackets."""

MOST_OPERANDS_IN_LINE = 200
"""Number of terms or factors that are written in one line; Python's compiler visits them recursively."""

_SETTINGS = {  # those of ``lambdify``
    "fully_qualified_modules": False,
    "inline": True,
    "allow_unknown_functions": True,
}


def exact_printer(kind: Any, **settings: Any) -> Any:
    """Return a printer of SymPy's that writes all digits of a number.

    SymPy writes 15 of them. The time of a jump would then be another number than in compiled code, which has them all.
    """
    printer = kind({**_SETTINGS, **settings})
    printer._print_Float = lambda expr, **_: repr(float(expr))
    return printer


_PRINTERS: dict[str, Any] = {
    "numpy": exact_printer(NumPyPrinter),
    "scipy": exact_printer(SciPyPrinter),
    "mpmath": MpmathPrinter(_SETTINGS),
}


def numeric_function(arguments: Any, expressions: Any, modules: Any) -> Callable[..., Any]:
    """Return the function that ``sympy.lambdify`` makes of expressions and arguments, both nested tuples or lists.

    SymPy's search for common parts, its printers and its treatment of names such as ``q.x`` visit every copy of a
    subexpression; here they receive one subexpression at a time, and sums, products and powers not at all.
    """
    graph = Graph(_leaves(expressions))
    letters = {symbol: sp.Symbol(f"a{i}") for i, symbol in enumerate(_leaves(arguments))}
    others: dict[str, Any] = {}
    printer = _PRINTERS[modules if isinstance(modules, str) else modules[-1]]
    lines, found = _lines(graph, letters, others, printer)
    ends = iter(graph.ends)
    reduced = _nested(expressions, lambda _: found[next(ends)])
    common: Any = lambda _: (lines, reduced)  # noqa: E731  (SymPy takes a function in place of its own search)
    names = _nested(arguments, letters.__getitem__)
    known = [others, *([modules] if isinstance(modules, str) else modules)]
    return sp.lambdify(names, reduced, modules=known, printer=printer, cse=common)


def _lines(
    graph: Graph, letters: dict[Any, Any], others: dict[str, Any], printer: Any
) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """Return names for repeated subexpressions with their definitions, and every subexpression in terms of them.

    Functions of data become functions by name, which are added to ``others``.
    """
    uses = Counter(part for parts in graph.parts for part in parts)
    uses.update(graph.ends)
    lines: list[tuple[Any, Any]] = []
    found: list[Any] = []
    height: list[int] = []
    for number, (node, parts) in enumerate(graph):
        inner = [found[part] for part in parts]
        while isinstance(node, (sp.Add, sp.Mul)) and len(inner) > MOST_OPERANDS_IN_LINE:
            name = sp.Symbol(f"v{number}_{len(inner)}")
            lines.append((name, _written(node, inner[:MOST_OPERANDS_IN_LINE], printer)))
            inner = [name, *inner[MOST_OPERANDS_IN_LINE:]]
        if isinstance(node, DataFunction):
            others[f"function{number}"] = node.numerical
            node, inner = sp.Function(f"function{number}")(*inner[1:]), inner[1:]
        written = _written(node, inner, printer) if parts else letters.get(node, node)
        height.append(1 + max((height[part] for part in parts), default=-1))
        if isinstance(node, sp.Expr) and parts and (uses[number] > 1 or height[-1] >= MOST_DEPTH_IN_LINE):
            name = sp.Symbol(f"v{number}")
            lines.append((name, written))
            written, height[-1] = name, 0
        found.append(written)
    return lines, found


def _written(node: Any, parts: list[Any], printer: Any) -> Any:
    """Return a subexpression of converted arguments.

    Sums, products and powers are symbols whose names are their text in Python: SymPy would evaluate and sort them
    again, which takes longer than all the rest.
    """
    if isinstance(node, sp.Add):
        return sp.Symbol(f"({' + '.join(_text(part, printer) for part in parts)})")
    if isinstance(node, sp.Mul):
        below = [sp.Pow(part.base, -part.exp) for part in parts if _is_divisor(part)]
        above = [_text(part, printer) for part in parts if not _is_divisor(part)] or ["1"]
        divided = f"/({'*'.join(_text(part, printer) for part in below)})" if below else ""
        return sp.Symbol(f"({'*'.join(above)}{divided})")
    if isinstance(node, sp.Pow) and node.exp.is_Integer and node.exp > 0:
        return sp.Symbol(f"({_text(parts[0], printer)}**{node.exp})")
    same = all(part is other for part, other in zip_longest(node.args, parts))
    return node if same else node.func(*parts)


def _is_divisor(part: Any) -> bool:
    return isinstance(part, sp.Pow) and part.exp.is_Rational and bool(part.exp.is_negative)


def _text(part: Any, printer: Any) -> str:
    return part.name if isinstance(part, sp.Symbol) else f"({printer.doprint(part)})"


def _leaves(nested: Any) -> list[Any]:
    return [leaf for item in nested for leaf in _leaves(item)] if isinstance(nested, (tuple, list)) else [nested]


def _nested(nested: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(nested, (tuple, list)):
        return type(nested)(_nested(item, change) for item in nested)
    return change(nested)
