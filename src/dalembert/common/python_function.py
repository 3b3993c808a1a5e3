# SPDX-License-Identifier: BSD-3-Clause
"""Functions of numbers that the user wrote in Python, and their derivatives by JAX."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import nan
from typing import Any

import numpy as np

from dalembert.common.lazy_jax import jax, jnp
from dalembert.errors import InputError


@dataclass(frozen=True, eq=False)
class PythonFunction:
    """A function of ``len(orders)`` numbers that returns a number, or one of its partial derivatives.

    name        for messages and formulas
    function    as it was given
    orders      of the derivative with respect to each argument
    failures    the last error that a call raised, by the text of the call; shared by all derivatives
    """

    name: str
    function: Callable[..., Any]
    orders: tuple[int, ...]
    failures: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def is_derivative(self) -> bool:
        return any(self.orders)

    def derivative(self, place: int) -> PythonFunction:
        """Return the derivative with respect to an argument, counted from zero."""
        orders = tuple(order + (k == place) for k, order in enumerate(self.orders))
        return replace(self, orders=orders)

    def argument_problem(self) -> str:
        """Return why the function cannot be called with its number of arguments; empty if it can, or is not known."""
        try:
            inspect.signature(self.function).bind(*self.orders)
        except TypeError as error:
            return str(error)
        except ValueError:  # functions written in C have no signature
            return ""
        return ""

    @cached_property
    def untraceable(self) -> str:
        """The reason why JAX cannot trace the function, in one line; empty if it can.

        Raises ``InputError`` if it does not return a number, or fails for a reason that has nothing to do with JAX.
        """
        numbers = [jax.ShapeDtypeStruct((), float)] * len(self.orders)
        try:
            found = jax.eval_shape(self.function, *numbers)
        except jax.errors.JAXTypeError as error:  # values were needed, which a traced function does not have
            return f"{type(error).__name__}: {_first_line(error)}"
        except Exception as error:
            raise InputError(
                f"function `{self.name}` must be a function of {len(numbers)} numbers; it raised "
                f"{type(error).__name__}: {_first_line(error)}"
            ) from error
        shape, kind = getattr(found, "shape", None), getattr(found, "dtype", None)
        if shape != () or kind is None or not (np.issubdtype(kind, np.floating) or np.issubdtype(kind, np.integer)):
            what = f"an array of shape {shape}" if shape else f"{kind or type(found).__name__}"
            raise InputError(f"function `{self.name}` must return one real number; it returns {what}.")
        return ""

    def traced(self, *arguments: Any) -> Any:
        """Return the value, or the derivative, for numbers that JAX traces."""
        arguments = tuple(jnp.asarray(a, float) for a in arguments)
        if self.untraceable:
            return self._called_back(*arguments)
        found: Callable[..., Any] = lambda *x: jnp.asarray(self.function(*x), float)  # noqa: E731
        for place, order in enumerate(self.orders):
            for _ in range(order):
                found = jax.jacfwd(found, argnums=place)
        return found(*arguments)

    @cached_property
    def _called_back(self) -> Callable[..., Any]:
        """The function for JAX, which calls Python for every value; it has no derivatives."""

        @jax.custom_jvp
        def value(*arguments: Any) -> Any:
            # one call for all states of a batch: a call from JAX takes as long as many of a Python function
            shape = jax.ShapeDtypeStruct((), float)
            return jax.pure_callback(self.value, shape, *arguments, vmap_method="broadcast_all")

        @value.defjvp
        def _(primals: Any, tangents: Any) -> Any:
            raise InputError(self.no_derivative("this computation"))

        return value

    def no_derivative(self, where: str) -> str:
        """Return the message that something needs derivatives, which the function does not have."""
        return (
            f"function `{self.name}` must be one that JAX can differentiate, for {where} needs its derivatives; it is "
            f"not ({self.untraceable}). Write it with `jax.numpy` instead of NumPy, and `jnp.where` instead of `if`."
        )

    def value(self, *arguments: Any) -> Any:
        """Return the values for numbers, or for arrays of the same shape."""
        if self.is_derivative and self.untraceable:
            raise InputError(self.no_derivative("this computation"))
        compute = self._compiled if self.is_derivative else self._number
        given = np.broadcast_arrays(*(np.asarray(a, float) for a in arguments))
        found = np.array([compute(*at) for at in zip(*(a.ravel() for a in given), strict=True)], float)
        return found.reshape(given[0].shape)

    def _number(self, *arguments: Any) -> float:
        """Return the value at some numbers; NaN where the function raises an error, which is remembered."""
        numbers = tuple(float(a) for a in arguments)
        try:
            found = np.asarray(self.function(*numbers), float)
            if found.shape != ():
                raise ValueError(f"it returned an array of shape {found.shape} instead of a number")
        except Exception as error:
            self.failures.clear()
            self.failures[self.call_text(numbers)] = f"raised {type(error).__name__}: {_first_line(error)}"
            return nan
        return float(found)

    def call_text(self, numbers: tuple[float, ...]) -> str:
        """Return a call of the function as it would be written."""
        return f"{self.name}({', '.join(f'{a:.6g}' for a in numbers)})"

    @cached_property
    def _compiled(self) -> Callable[..., Any]:
        return jax.jit(self.traced)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0]
