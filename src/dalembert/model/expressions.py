# SPDX-License-Identifier: BSD-3-Clause
"""Conversion of user input to SymPy expressions. All input passes here, so no text is evaluated as Python code."""

from __future__ import annotations

import re
from math import isfinite, isinf
from typing import Any

import numpy as np
import sympy as sp
from sympy.matrices.expressions.matexpr import MatrixElement

from dalembert.common.array_types import is_masked, not_numbers
from dalembert.errors import ModelError
from dalembert.model.graph import Graph, atoms, replace, shown

_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NOT_NAMES = ("nan", "inf", "infinity")  # Python reads these texts as numbers, but they are not finite

MOST_TERMS = 10_000
"""Largest number of terms of a sum, or factors of a product, that are written out."""


def as_expression(given: Any, where: str) -> Any:
    """Return a real, finite SymPy expression, or raise a ``ModelError`` that begins with ``where``.

    A number given as text becomes that number, a name becomes the symbol of that name, and any other text raises an
    error. Finite sums and products are written out. Complex numbers raise an error, even if their imaginary part is
    zero.

    >>> as_expression("2.5", "`mu`"), as_expression("mu", "`mu`")
    (2.50000000000000, mu)
    """
    if given is sp.S.Zero:  # most entries of the matrices of a large system
        return given
    if type(given) is float and isfinite(given):
        return sp.Float(given) if given else sp.S.Zero
    if is_masked(given):
        raise ModelError([f"{where} {not_numbers(given)}"])
    if isinstance(given, np.ndarray) and given.ndim == 0:
        given = given.item()
    value = _from_text(given, where) if isinstance(given, str) else _from_object(given, where)
    if not isinstance(value, sp.Expr) or value.is_Matrix:
        raise ModelError([f"{where} must be an expression; got {_shown(given)}.{_hint(given)}"])
    value = _written_out(value, where)
    problem = _problem(value)
    if problem:
        raise ModelError([f"{where} {problem}"])
    return sp.S.Zero if value.is_Float and value.is_zero else value  # 0.0 is not `== 0` to SymPy


def as_matrix(given: Any, where: str) -> sp.ImmutableMatrix:
    """Return a matrix of expressions from rows of expressions; a flat sequence becomes a column."""
    if isinstance(given, sp.MatrixExpr) and not isinstance(given, sp.MatrixBase):
        given = given.as_explicit()
    if isinstance(given, sp.MatrixBase):
        # zeros need no conversion, and most entries of the mass matrix of a large system are zeros
        entries = {place: as_expression(e, where) for place, e in given.todok().items()}
        return sp.ImmutableMatrix(sp.SparseMatrix(given.rows, given.cols, entries))
    rows = [_row(row) for row in _row(given) or ()]
    if rows and all(row is None for row in rows):  # a flat sequence
        rows = [[entry] for entry in _row(given) or ()]
    lengths = {-1 if row is None else len(row) for row in rows}
    if len(lengths) != 1 or -1 in lengths:
        raise ModelError([f"{where} must be rows of expressions, all of one length; got {given!r}."])
    entries = [as_expression(entry, where) for row in rows for entry in row or ()]
    return sp.ImmutableMatrix(len(rows), *lengths, entries)


def _row(given: Any) -> list[Any] | None:
    """Return the entries of an ordered collection."""
    ordered = isinstance(given, (tuple, list, sp.Tuple, sp.MatrixBase, sp.NDimArray))
    has_entries = ordered or (isinstance(given, np.ndarray) and given.ndim > 0)
    return [*given] if has_entries else None  # pyright: ignore[reportGeneralTypeIssues]


def _from_text(given: str, where: str) -> Any:
    if _DECIMAL.fullmatch(given) and len(given) < 1000:
        return sp.Integer(given) if given.lstrip("+-").isdigit() else sp.Float(given)
    if given.isidentifier() and given.lower() not in _NOT_NAMES:
        return sp.Symbol(str(given))
    raise ModelError(
        [
            f"{where} must be an expression; got the text {_shown(given)}, which is neither a name nor a number. "
            f"Text is never evaluated: write the expression with `da.coordinates`, `da.parameters` and SymPy's "
            f"functions."
        ]
    )


def _from_object(given: Any, where: str) -> Any:
    """Return a SymPy object unchanged, a number as a SymPy number, and None for anything else."""
    if isinstance(given, (complex, np.complexfloating)):
        raise ModelError([f"{where} must be real; got the complex number {given}. Give its real part, `.real`."])
    if isinstance(given, sp.Basic):
        return given
    if isinstance(given, (bool, bytes, np.ndarray)):
        return None
    if isinstance(given, np.generic) and not isinstance(given, (np.integer, np.floating)):
        return None
    try:
        return sp.sympify(given, strict=True)  # strict: no text is parsed, neither a str nor str() of another object
    except (TypeError, ValueError, AttributeError, sp.SympifyError):
        return None


def _hint(given: Any) -> str:
    """Return what to write in the place of a function of numbers, such as SciPy's splines."""
    if not callable(given) or isinstance(given, (type, sp.Basic)):
        return ""
    return (
        " A function of numbers cannot be part of an expression: for data, use `da.signal(times, values)`, or a "
        "`da.FunctionSystem`."
    )


def _shown(given: Any) -> str:
    text = repr(given)
    text = text if len(text) <= 80 else f"{text[:77]}..."
    return text if isinstance(given, str) else f"{text} of type {type(given).__name__}"


def _problem(expression: Any) -> str:
    """Return the reason why an expression has no real value; empty if it may have one."""
    for node in reversed(Graph([expression]).nodes):  # the outermost problem
        if node is sp.I or (node.is_Symbol and node.is_extended_real is False):
            return f"must be real; got `{node}` in `{_cut(expression)}`."
        if isinstance(node, (sp.Pow, sp.Function)) and node.is_number and node.is_extended_real is False:
            return f"must be real; `{node}` in `{_cut(expression)}` is a complex number."
        if node in (sp.nan, sp.zoo, sp.oo, -sp.oo) or isinstance(node, sp.AccumBounds):
            return f"must be finite; got `{node}` in `{_cut(expression)}`."
        if node.is_Number and _too_large(node):
            return f"must hold numbers below 1e308; got one of {len(str(sp.floor(abs(node))))} digits."
        if isinstance(node, (MatrixElement, sp.Indexed)):
            return (
                f"must be made of symbols; got `{node}`, an entry of an array. Give it by `da.parameters`, as others."
            )
        if isinstance(node, (sp.Integral, sp.Limit, sp.Order, sp.Subs)):
            kind = type(node).__name__
            return f"must be evaluated; got an unevaluated `{kind}`, `{_cut(node)}`. Give the result of its `.doit()`."
    return ""


def _too_large(number: Any) -> bool:
    try:
        return isinf(float(number))
    except OverflowError:
        return True


def _cut(expression: Any) -> str:
    try:
        return shown(expression, 60)
    except RecursionError:
        return "…"


def _written_out(expression: Any, where: str) -> Any:
    """Return finite sums and products written out term by term."""
    found = atoms(expression, sp.Sum, sp.Product)
    outer = [node for node in Graph([expression], stop=found).nodes if node in found] if found else []
    return replace(expression, {node: _terms(node, where) for node in outer})


def _terms(node: Any, where: str) -> Any:
    *inner, (index, first, last) = node.limits  # the outermost limits come last
    if not (first.is_Integer and last.is_Integer and 0 <= last - first + 1 <= MOST_TERMS):
        raise ModelError(
            [
                f"{where} must hold sums and products over at most {MOST_TERMS} whole numbers; got `{_cut(node)}`. "
                f"Give a closed form, or the first terms."
            ]
        )
    body = type(node)(node.function, *inner) if inner else node.function
    parts = [_written_out(body.subs(index, k), where) for k in range(int(first), int(last) + 1)]
    return sp.Add(*parts) if isinstance(node, sp.Sum) else sp.Mul(*parts)


def as_expressions(given: Any, where: str) -> tuple[Any, ...]:
    """Return several expressions."""
    return tuple(as_expression(entry, where) for entry in given)
