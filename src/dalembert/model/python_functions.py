# SPDX-License-Identifier: BSD-3-Clause
"""Functions written in Python as parts of expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import mpmath as mp
import sympy as sp

from dalembert.common.names import quoted
from dalembert.common.python_function import PythonFunction
from dalembert.errors import InputError
from dalembert.model import graph
from dalembert.model.data_function import DataAtom, DataFunction
from dalembert.model.expressions import as_expression


class python_function_data(DataAtom):  # noqa: N801  (no class for users: it prints as the name of the function)
    """A Python function as a part of an expression."""

    data: PythonFunction

    def _hashable_content(self) -> Any:
        # by identity: equality of functions cannot be decided. The node keeps its function alive
        return self.data.name, self.data.orders, id(self.data.function)

    @property
    def orders(self) -> tuple[int, ...]:
        return self.data.orders


class AppliedPythonFunction(DataFunction):
    """A Python function at certain arguments; its derivatives are those of JAX. ``da.function`` makes it."""

    @property
    def data(self) -> PythonFunction:
        return self.args[0].data  # pyright: ignore

    @property
    def numerical(self) -> Callable[..., Any]:
        def value(*places: Any) -> Any:
            if not any(isinstance(x, (mp.mpf, mp.mpc)) for x in places):
                return self.data.value(*places)
            return mp.mpf(self.data.value(*(float(mp.re(x)) for x in places)))

        return value

    def fdiff(self, argindex: Any = 2) -> Any:
        if argindex == 1:
            return sp.S.Zero
        return AppliedPythonFunction(python_function_data(self.data.derivative(argindex - 2)), *self.places)


def function(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function written in Python for use in expressions of a model, such as ``wind(x, da.t)``.

    It is a function of numbers and returns a number. If it is written with ``jax.numpy``, it may stand in any
    expression, and its derivatives are found by JAX. Any other function, such as one of NumPy or an interpolation of
    SciPy, may stand where no derivative is needed: in forces and nonideal laws.

    Such a system is integrated by diffrax, and is slower than one of expressions: it is not compiled. Recorded data are
    better given by ``da.signal``, which is.

    Parameters
    ----------
    name        for messages and formulas
    function    of as many numbers as the expressions that it is called with; it must depend on nothing else

    Raises
    ------
    InputError    no callable, or, when the result is called, arguments that do not fit it

    Examples
    --------
    >>> import dalembert as da
    >>> import jax.numpy as jnp
    >>> x = da.coordinates("x")
    >>> spring = da.function("spring", lambda x: -jnp.tanh(4 * x))
    >>> print(da.motion(da.System((x,), [[1]], (spring(x),)), (0.5,), (0,)).acceleration.round(6))
    [-0.964028]
    """
    if not isinstance(name, str) or not name:
        raise InputError(f"`name` must be the name of the function, a text; got {name!r}.")
    if not callable(function):
        raise InputError(f"`function` must be callable, for `{name}`; got {function!r}.")

    def applied(*arguments: Any) -> Any:
        places = [as_expression(a, f"argument {k} of `{name}`") for k, a in enumerate(arguments)]
        if not places:
            raise InputError(f"`{name}` must be called with at least one expression, such as `{name}(da.t)`.")
        own = PythonFunction(name, function, (0,) * len(places))
        if problem := own.argument_problem():
            raise InputError(f"`{name}` must be called with the arguments of its Python function: {problem}.")
        return AppliedPythonFunction(python_function_data(own), *places)

    applied.__name__ = name
    return applied


def python_functions_in(expressions: Iterable[Any]) -> list[AppliedPythonFunction]:
    """Return the Python functions in some expressions, in a fixed order."""
    found = {node for expression in expressions for node in graph.atoms(expression, AppliedPythonFunction)}
    return sorted(found, key=str)


def python_function_problems(expressions: Iterable[Any]) -> list[str]:
    """Return a problem if two functions have the same name."""
    functions: dict[str, set[int]] = {}
    for node in python_functions_in(expressions):
        functions.setdefault(node.data.name, set()).add(id(node.data.function))
    twice = [name for name, different in functions.items() if len(different) > 1]
    return [f"different Python functions must have different names; given twice: {quoted(twice)}."] if twice else []
