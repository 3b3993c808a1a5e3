# SPDX-License-Identifier: BSD-3-Clause
"""Expressions as graphs: every distinct subexpression is visited once, however often it occurs, without recursion.

SymPy's own traversals (``xreplace``, ``atoms``, ``has``, ``free_symbols``, ``count_ops``, ``doit``, ``str``) visit a
subexpression as often as it occurs: ``e = sin(e) + cos(e)/2``, repeated thirty times, has 120 distinct subexpressions
and some 10⁹ copies of them. Even ``==`` does so for two expressions that are equal but not the same object.
Subexpressions are therefore identified here by their class and the indices of their arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.model.work_limit import count_work

MOST_PRINTED = 5_000
"""Size, copies included, up to which expressions are given to SymPy's own traversals, for printing or counting."""

LARGE_DEPTH = 60
"""Depth from which Python cannot compile the brackets, and from which expanded derivatives grow quadratically."""

LARGE = 50_000
"""Size, copies included, from which an expression is not given to SymPy's printers and its search for common parts."""


class Graph:
    """The distinct subexpressions of some expressions, numbered so that each comes after its arguments.

    nodes    the subexpressions
    parts    for each the indices of its arguments, in order
    ends     the indices of the expressions
    """

    def __init__(self, expressions: Iterable[Any], stop: Container[Any] = ()):
        """Number the subexpressions. Those inside of ``stop`` are omitted, unless they occur elsewhere as well."""
        self.nodes: list[Any] = []
        self.parts: list[tuple[int, ...]] = []
        self._stop = stop
        self._known: dict[Any, int] = {}
        self._number: dict[int, int] = {}  # by identity
        self._alive: list[Any] = []  # some objects create their arguments on access: an id must not be reused
        self.ends = [self._add(expression) for expression in expressions]
        count_work(len(self.nodes) + sum(len(parts) for node, parts in self if isinstance(node, sp.Mul)))

    def __iter__(self) -> Iterator[tuple[Any, tuple[int, ...]]]:
        return zip(self.nodes, self.parts, strict=True)

    def _add(self, expression: Any) -> int:
        number, waiting = self._number, [(expression, self._arguments(expression), 0)]
        while waiting:
            node, arguments, done = waiting.pop()
            while done < len(arguments) and id(arguments[done]) in number:
                done += 1
            if done < len(arguments):
                waiting += [(node, arguments, done), (arguments[done], self._arguments(arguments[done]), 0)]
            elif id(node) not in number:
                number[id(node)] = self._numbered(node, tuple(number[id(part)] for part in arguments))
        return number[id(expression)]

    def _arguments(self, node: Any) -> tuple[Any, ...]:
        arguments = () if node in self._stop else node.args
        self._alive.append((node, arguments))
        return arguments

    def _numbered(self, node: Any, parts: tuple[int, ...]) -> int:
        key = (type(node), parts or node)
        if key not in self._known:
            self._known[key] = len(self.nodes)
            self.nodes.append(node)
            self.parts.append(parts)
        return self._known[key]


_FUNCTIONS = (AppliedUndef, sp.Derivative)


class Facts(NamedTuple):
    """Properties of an expression.

    symbols      in it
    functions    undefined functions and their derivatives in it, such as coordinates and velocities
    kinds        the classes of its subexpressions
    depth        of its brackets
    size         the number of its subexpressions, copies included
    """

    symbols: frozenset[Any]
    functions: frozenset[Any]
    kinds: frozenset[type]
    depth: int
    size: int


class IdentityKey:
    """An expression as a dictionary key that compares by identity, not by value."""

    __slots__ = ("expression",)

    def __init__(self, expression: Any):
        self.expression = expression

    def __hash__(self) -> int:
        return id(self.expression)

    def __eq__(self, other: Any) -> bool:
        return self.expression is other.expression


def facts(expression: Any) -> Facts:
    """Return the properties of an expression, computed in one pass and cached."""
    return _facts(IdentityKey(expression))


@lru_cache(maxsize=4096)
def _facts(same: IdentityKey) -> Facts:
    graph = Graph([same.expression])
    depth: list[int] = []
    size: list[int] = []
    for parts in graph.parts:
        depth.append(1 + max((depth[part] for part in parts), default=0))
        size.append(1 + sum(size[part] for part in parts))
    symbols = frozenset(node for node in graph.nodes if node.is_Symbol)
    functions = frozenset(node for node in graph.nodes if isinstance(node, _FUNCTIONS))
    return Facts(symbols, functions, frozenset(map(type, graph.nodes)), depth[-1], size[-1])


def is_large(expression: Any) -> bool:
    """Return whether an expression is too deep or too large for traversals that visit every copy."""
    return facts(expression).depth >= LARGE_DEPTH or facts(expression).size >= LARGE


def free_symbols(*expressions: Any) -> set[Any]:
    """Return the symbols in some expressions; none is bound, because sums and integrals are excluded earlier."""
    return set().union(*(facts(expression).symbols for expression in expressions))


def atoms(expression: Any, *kinds: type) -> set[Any]:
    """Return the subexpressions that are instances of some classes."""
    if not has_kind(expression, *kinds):
        return set()
    if all(issubclass(kind, _FUNCTIONS) for kind in kinds):
        return {node for node in facts(expression).functions if isinstance(node, kinds)}
    return {node for node in Graph([expression]).nodes if isinstance(node, kinds)}


def has_kind(expression: Any, *kinds: type) -> bool:
    """Return whether a subexpression is an instance of one of some classes."""
    if expression.is_Atom:  # most entries of large matrices are numbers
        return isinstance(expression, kinds)
    return any(issubclass(kind, kinds) for kind in facts(expression).kinds)


def replace(expression: Any, mapping: Mapping[Any, Any]) -> Any:
    """Return the expression with subexpressions replaced, as by ``xreplace``; changed ones are evaluated again."""
    if not mapping:
        return expression
    if isinstance(expression, sp.MatrixBase):
        return expression.applyfunc(lambda entry: replace(entry, mapping))
    rebuild = rebuilt_unevaluated if is_large(expression) else rebuilt
    return mapped(expression, lambda node, parts: node if _same(node.args, parts) else rebuild(node, parts), mapping)


def rebuilt(node: Any, parts: Sequence[Any]) -> Any:
    """Return a subexpression with other arguments, evaluated by SymPy; the same one is evaluated once."""
    if isinstance(node, sp.atan2):
        return arc_tangent(*parts)
    return _evaluated(_StructureKey(node.func, parts)) if parts else node


def arc_tangent(y: Any, x: Any) -> Any:
    """Return atan2(y, x), left as it is unless its arguments are atoms.

    SymPy asks for the signs of the arguments. For polynomials of real symbols, such as the angle of a joint in space,
    the answer takes hours.
    """
    return sp.atan2(y, x, evaluate=y.is_Atom and x.is_Atom)


def rebuilt_unevaluated(node: Any, parts: Sequence[Any]) -> Any:
    """Return a subexpression of a large expression with other arguments, left as it is unless these are atoms.

    SymPy evaluates powers, products, functions and inequalities by what it knows about the signs of their arguments.
    To find that out, it visits every copy of every subexpression.
    """
    return unique(_rebuilt_unevaluated(node, parts))


def _rebuilt_unevaluated(node: Any, parts: Sequence[Any]) -> Any:
    if all(part.is_Atom for part in parts) or not isinstance(node, _EVALUATED_BY_SIGN):
        return rebuilt(node, parts)
    if isinstance(node, sp.Mul):
        return product(*parts)
    if isinstance(node, sp.Piecewise) and any(pair.cond in (sp.true, sp.false) for pair in parts[:-1]):
        return rebuilt(node, parts)
    if isinstance(node, sp.Pow) and parts[1] in (0, 1):
        return rebuilt(node, parts)
    return node.func(*parts, evaluate=False)


_EVALUATED_BY_SIGN = (sp.Mul, sp.Pow, sp.Function, sp.core.relational.Relational)


def product(*factors: Any) -> Any:
    """Return a product whose factors stay as they are, so that they are shared and not copied."""
    number = sp.Mul(*(factor for factor in factors if factor.is_Number))
    others = [factor for factor in factors if not factor.is_Number]
    if number == 0 or not others:
        return number
    kept = others if number == 1 else [number, *others]
    return sp.Mul(*kept, evaluate=False) if len(kept) > 1 else kept[0]


def unique(expression: Any) -> Any:
    """Return the same object for expressions of one class with the same arguments.

    SymPy's cache does so for evaluated expressions. Two equal expressions without a common part are compared copy by
    copy.
    """
    if not expression.args:
        return expression
    return _unique(_StructureKey(type(expression), expression.args, expression))


class _StructureKey:
    """An expression as a dictionary key that compares its class, and its arguments by identity."""

    __slots__ = ("expression", "kind", "parts", "structure")

    def __init__(self, kind: Any, parts: Sequence[Any], expression: Any = None):
        arguments = ((type(part), part) if part.is_Atom else (id(part),) for part in parts)
        self.kind, self.expression = kind, expression
        self.parts = parts  # keeps the arguments alive, so that their ids are not reused
        self.structure = (kind, *arguments)

    def __hash__(self) -> int:
        return hash(self.structure)

    def __eq__(self, other: Any) -> bool:
        return self.structure == other.structure


@lru_cache(maxsize=16_384)
def _unique(key: _StructureKey) -> Any:
    return key.expression


@lru_cache(maxsize=16_384)
def _evaluated(key: _StructureKey) -> Any:
    return key.kind(*key.parts)


def evaluated(expression: Any) -> Any:
    """Return the expression with unevaluated derivatives, sums and products evaluated, as by ``doit``."""
    undone = atoms(expression, sp.Derivative, sp.Sum, sp.Product, sp.Subs)
    return mapped(
        expression,
        lambda node, parts: node.func(*parts) if parts else node,
        {node: node.doit() for node in undone},
    )


def mapped(expression: Any, change: Callable[[Any, list[Any]], Any], known: Mapping[Any, Any]) -> Any:
    """Return an expression rebuilt by applying ``change`` to every subexpression and its converted arguments.

    ``known`` gives the results for some subexpressions.
    """
    found: list[Any] = []
    for node, parts in Graph([expression], stop=known):
        found.append(known[node] if node in known else change(node, [found[part] for part in parts]))
    return found[-1]


def _same(parts: Any, others: list[Any]) -> bool:
    return all(part is other for part, other in zip(parts, others, strict=True))


def operations(*expressions: Any) -> int:
    """Return the number of operations of some expressions in full, shared subexpressions counted at each place."""
    return sum(
        size if (size := facts(e).size) > MOST_PRINTED else int(sp.count_ops(e)) for e in map(sp.sympify, expressions)
    )


def shown(expression: Any, longest: int | None = None) -> str:
    """Return an expression as text, cut to a length; an expression too large to read is described instead."""
    if facts(expression).size > MOST_PRINTED:
        return f"an expression of {len(Graph([expression]).nodes)} different parts"
    text = str(expression)
    return text if longest is None or len(text) <= longest else f"{text[: longest - 3]}..."
