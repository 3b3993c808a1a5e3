# SPDX-License-Identifier: BSD-3-Clause
"""The symbols of a model: time, coordinates, parameters, ideal constraint forces and multipliers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.common.names import quoted
from dalembert.errors import ModelError
from dalembert.model import graph
from dalembert.model.expressions import as_expression
from dalembert.model.symbol_arrays import CoordinateArray, ParameterArray, symbol_array

MULTIPLIER = "lam."
"""Prefix of the plain symbol of a multiplier; the name of its constraint follows."""

REACTION = "reaction."
"""Prefix of the plain symbol of an actual reaction; the name of its constraint follows."""

t = sp.Symbol("t")
"""Time, the same symbol that SymPy's ``dynamicsymbols`` uses."""


def coordinates(names: str | Sequence[str], count: int | None = None) -> Any:
    """Return generalised coordinates, as SymPy functions of time.

    One name gives one coordinate, several give a tuple, with the syntax of ``sympy.symbols``. They equal SymPy's
    ``dynamicsymbols``; the velocity of ``x`` is ``x.diff(da.t)``. With a ``count``, one name gives an array of
    coordinates ``x[0]``, ``x[1]``, … for a large system; ``x[1:]`` is a part of it.

    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> x.diff(da.t)
    Derivative(x(t), t)
    >>> da.coordinates("x", 1000)[:3]
    <CoordinateArray of 3: x[0] … x[2]>
    """
    if count is not None:
        return symbol_array(CoordinateArray, names, count)
    functions: Any = _named(names, "coordinates", "x y", cls=sp.Function)
    return tuple(f(t) for f in functions) if isinstance(functions, (tuple, list)) else functions(t)


def parameters(names: str | Sequence[str], count: int | None = None) -> Any:
    """Return constants of the model, as SymPy symbols; one name gives one symbol, several give a tuple.

    With a ``count``, one name gives an array of constants, whose values are given as one array.

    >>> import dalembert as da
    >>> m, g = da.parameters("m g")
    """
    if count is not None:
        return symbol_array(ParameterArray, names, count)
    return _named(names, "parameters", "m g")


def _named(names: Any, verb: str, example: str, **options: Any) -> Any:
    """Return symbols by name, with the syntax of ``sympy.symbols``."""
    texts = [names] if isinstance(names, str) else list(names) if isinstance(names, (tuple, list)) else []
    if not texts or not all(isinstance(text, str) and text.strip(" ,") for text in texts):
        raise ModelError([f'`names` must hold at least one name; got {names!r}. Write `da.{verb}("{example}")`.'])
    try:
        found: Any = sp.symbols(names, **options)
    except ValueError as error:
        raise ModelError([f"`names` must be names; got {names!r}, in which there is a {error}."]) from None
    several = found if isinstance(found, (tuple, list)) else (found,)
    odd = [symbol.name for symbol in several if not any(map(str.isalpha, getattr(symbol, "name", "x")))]
    if odd and isinstance(names, str):  # `da.parameters("x + 1")` would be three of them
        raise ModelError([f"`names` must be names, each with a letter in it; got {quoted(odd)} in {names!r}."])
    if t in several:
        raise ModelError(["`t` is the symbol of time, `da.t`; choose another name for a parameter."])
    return found


class InternalSymbol(sp.Symbol):
    """A real symbol for internal use, which differs from every symbol of the user, whatever its name."""

    __slots__ = ()

    def __new__(cls, name: str) -> InternalSymbol:
        return sp.Symbol.__new__(cls, name, real=True)  # pyright: ignore[reportReturnType]

    def __getnewargs_ex__(self) -> Any:
        return (self.name,), {}


class ideal_force(sp.Function):  # noqa: N801  (reads as a function in a law, and SymPy functions are classes)
    """The component of the ideal constraint force along a coordinate, for use in a nonideal law.

    >>> import dalembert as da
    >>> x, z = da.coordinates("x z")
    >>> mu = da.parameters("mu")
    >>> law = (-mu * abs(da.ideal_force(z)), 0)
    """

    nargs = (1,)
    is_real = True

    def __new__(cls, coordinate: Any) -> Any:
        # SymPy would evaluate text passed to a function
        return sp.Function.__new__(cls, as_expression(coordinate, "the argument of `da.ideal_force`"))


class ConstraintSymbol(sp.AtomicExpr):
    """A quantity of a named constraint."""

    __slots__ = ("name",)
    is_real = True
    is_commutative = True
    letter = ""
    name: str

    def __new__(cls, name: str) -> Any:
        symbol = sp.AtomicExpr.__new__(cls)
        symbol.name = str(name)
        return symbol

    def __getnewargs__(self) -> Any:
        return (self.name,)

    def _hashable_content(self) -> Any:
        return (self.name,)

    def _sympystr(self, printer: Any) -> str:
        return f"{type(self).__name__}({self.name})"

    def _latex(self, printer: Any) -> str:
        return rf"{self.letter}_{{\text{{{self.name}}}}}"


class multiplier(ConstraintSymbol):  # noqa: N801  (reads as a function in a law, like ideal_force)
    """The multiplier λ of a named constraint: its ideal force is λ ∂φ/∂q (λ ∂ψ/∂q̇ at velocity level).

    It is that of the problem without nonideal laws, as ``run.multipliers``; ``da.reaction`` is the actual reaction. For
    use in a nonideal law, ``run.evaluate`` and the outputs of ensembles. In the ``normal_force`` of friction it stands
    for the reaction that ``normal`` selects, by default the actual one. On one particle in Cartesian coordinates the
    normal force is |λ| |∂φ/∂q|.

    >>> import dalembert as da
    >>> length = da.parameters("l")
    >>> tension = 2 * length * da.multiplier("rod")  # of a rod x² + y² = l²
    """

    __slots__ = ()
    letter = r"\lambda"


class reaction(ConstraintSymbol):  # noqa: N801  (reads as a function in a law, like ideal_force)
    """The actual reaction Λ of a named constraint: its force is Λ ∂φ/∂q, with the effect of all nonideal laws.

    It is what ``run.reactions`` holds. For use in a nonideal law, in the ``normal_force`` of friction, in events, in
    ``run.evaluate`` and the outputs of ensembles. A law may change the reaction on which it depends, as in wheels that
    creep on a rail: both are then found together by Newton's method. ``da.multiplier`` is the multiplier of the
    ideal problem, which no law changes.

    >>> import dalembert as da
    >>> f, v0 = da.parameters("f v0")
    >>> x, y = da.coordinates("x y")
    >>> N = abs(da.reaction("rail"))
    >>> creep = (-f * N ** sp.Rational(2, 3) * sp.tanh(x.diff(da.t) / v0), 0)
    """

    __slots__ = ()
    letter = r"\Lambda"


@dataclass(frozen=True)
class StateSymbols:
    """Plain real symbols that stand for coordinates, velocities, accelerations, ideal force components, multipliers.

    Differentiation with respect to a symbol is faster than with respect to a function of time, and real symbols keep
    ``Abs`` and ``sqrt`` simple. The names serve only for reading: no symbol of the user equals one of them.
    """

    coordinates: tuple[Any, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(coordinate.func.__name__ for coordinate in self.coordinates)

    def _family(self, prefix: str) -> tuple[sp.Symbol, ...]:
        return tuple(InternalSymbol(f"{prefix}.{name}") for name in self.names)

    @cached_property
    def q(self) -> tuple[sp.Symbol, ...]:
        return self._family("q")

    @cached_property
    def qd(self) -> tuple[sp.Symbol, ...]:
        return self._family("qd")

    @cached_property
    def qdd(self) -> tuple[sp.Symbol, ...]:
        return self._family("qdd")

    @cached_property
    def ideal_force(self) -> tuple[sp.Symbol, ...]:
        return self._family("Qi")

    @cached_property
    def time(self) -> sp.Symbol:
        return InternalSymbol("t")

    @cached_property
    def _rules(self) -> dict[Any, Any]:
        rules: dict[Any, Any] = {t: self.time}
        for i, coordinate in enumerate(self.coordinates):
            rules[coordinate] = self.q[i]
            rules[sp.Derivative(coordinate, t)] = self.qd[i]
            rules[sp.Derivative(coordinate, (t, 2))] = self.qdd[i]
            rules[ideal_force(coordinate)] = self.ideal_force[i]
        return rules

    def plain(self, expression: Any) -> Any:
        """Return the expression in plain symbols; parameters become real symbols of the same name."""
        if expression is sp.S.Zero:  # most entries of the matrices of a large system
            return expression
        return _plain(graph.IdentityKey(expression), self)

    @cached_property
    def _known(self) -> frozenset[sp.Symbol]:
        return frozenset((*self.q, *self.qd, *self.qdd, *self.ideal_force, self.time))

    def restore(self, expression: Any) -> Any:
        """Return the expression in the user's symbols again; parameters remain real symbols."""
        if expression.is_Number:  # most entries of the mass matrix of a large system
            return expression
        originals = {s: original_symbol(s) for s in graph.free_symbols(expression) if s not in self._known}
        return graph.replace(expression, {**self._users, **originals})

    @cached_property
    def _users(self) -> dict[Any, Any]:
        return {plain: user for user, plain in self._rules.items()}

    def readable(self, expression: Any) -> str:
        """Return the expression as a user would type it, with primes for time derivatives."""
        plain = self.plain(expression)
        readable_symbols = {s: self._spelled.get(s) or original_symbol(s) for s in graph.free_symbols(plain)}
        return graph.shown(graph.replace(plain, readable_symbols))

    @cached_property
    def _spelled(self) -> dict[Any, sp.Symbol]:
        spelled: dict[Any, sp.Symbol] = {}
        for name, *family in zip(self.names, self.q, self.qd, self.qdd, self.ideal_force, strict=True):
            texts = (name, f"{name}'", f"{name}''", f"ideal_force({name})")
            spelled.update({plain: sp.Symbol(text) for plain, text in zip(family, texts, strict=True)})
        return spelled


@lru_cache(maxsize=4096)
def _plain(same: graph.IdentityKey, symbols: StateSymbols) -> Any:
    # cached, so that equal expressions become the same object: SymPy compares two objects by traversing both
    expression, rules = same.expression, dict(symbols._rules)
    for node in graph.Graph([expression]).nodes:
        if isinstance(node, multiplier):
            rules[node] = plain_multiplier(node.name)
        elif isinstance(node, reaction):
            rules[node] = plain_reaction(node.name)
        elif node.is_Symbol and node not in rules and not isinstance(node, InternalSymbol):
            rules[node] = real_symbol(node)
    return graph.replace(expression, rules)


def plain_multiplier(name: str) -> sp.Symbol:
    """Return the plain symbol of the multiplier of a constraint."""
    return InternalSymbol(MULTIPLIER + name)


def plain_reaction(name: str) -> sp.Symbol:
    """Return the plain symbol of the actual reaction of a constraint."""
    return InternalSymbol(REACTION + name)


def original_symbol(plain: sp.Symbol) -> Any:
    """Return the multiplier, the reaction or the parameter that a plain symbol stands for."""
    for prefix, kind in ((MULTIPLIER, multiplier), (REACTION, reaction)):
        if isinstance(plain, InternalSymbol) and plain.name.startswith(prefix):
            return kind(plain.name.removeprefix(prefix))
    return sp.Symbol(plain.name)


def real_symbol(parameter: sp.Symbol) -> sp.Symbol:
    """Return the real symbol of the same name, so that one parameter never has two symbols."""
    return sp.Symbol(parameter.name, real=True)


def free_parameters(expressions: Iterable[Any]) -> set[Any]:
    """Return the symbols other than time in some expressions."""
    return {s for expression in expressions for s in graph.free_symbols(expression) if s != t}


def functions_of_time(expression: Any) -> set[Any]:
    """Return the undefined functions in an expression: coordinates, known or not."""
    return graph.atoms(expression, AppliedUndef)
