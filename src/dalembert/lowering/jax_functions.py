# SPDX-License-Identifier: BSD-3-Clause
"""SymPy expressions as functions of numbers, and their entries as arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp
from sympy.printing.codeprinter import CodePrinter
from sympy.printing.numpy import JaxPrinter

from dalembert.common.lazy_jax import jnp, jsp
from dalembert.errors import ModelError
from dalembert.lowering.source import Source
from dalembert.lowering.tape_functions import flat as flat
from dalembert.lowering.tape_functions import function_of_tape
from dalembert.model.data_function import DataFunction
from dalembert.model.graph import facts, has_kind, is_large
from dalembert.model.numeric_function import exact_printer
from dalembert.model.python_functions import python_functions_in

if TYPE_CHECKING:
    from jax import Array


def assemble(entries: Sequence[Any], shape: tuple[int, ...], xp: Any = jnp) -> Array:
    """Return an array from entries of which most are known numbers, which become constants."""
    known = np.array([float(e) if isinstance(e, (int, float)) else 0.0 for e in entries])
    places = [i for i, e in enumerate(entries) if not isinstance(e, (int, float))]
    if not places:
        return xp.asarray(known).reshape(shape)
    # one gather and one selection: an update per entry would make a long program, slow to compile
    index = np.zeros(len(entries), int)
    index[places] = np.arange(len(places))
    unknown = np.zeros(len(entries), bool)
    unknown[places] = True
    values = xp.stack([xp.asarray(entries[i], float) for i in places])
    return xp.where(unknown, values[index], known).reshape(shape)


SPECIAL_FUNCTIONS = {
    "erf": lambda x: jsp.erf(x),
    "erfc": lambda x: jsp.erfc(x),
    "gamma": lambda x: jsp.gamma(x),
    "loggamma": lambda x: jsp.gammaln(x),
    "factorial": lambda x: jsp.gamma(x + 1),
    "sec": lambda x: 1 / jnp.cos(x),
    "csc": lambda x: 1 / jnp.sin(x),
    "cot": lambda x: 1 / jnp.tan(x),
    "sech": lambda x: 1 / jnp.cosh(x),
    "csch": lambda x: 1 / jnp.sinh(x),
    "coth": lambda x: 1 / jnp.tanh(x),
    "acot": lambda x: _arc_cotangent(x),
    "asec": lambda x: jnp.arccos(1 / x),
    "acsc": lambda x: jnp.arcsin(1 / x),
    "asech": lambda x: jnp.arccosh(1 / x),
    "acsch": lambda x: jnp.arcsinh(1 / x),
    "acoth": lambda x: jnp.arctanh(1 / x),
    "frac": lambda x: x - jnp.floor(x),
    "polygamma": lambda n, x: jsp.polygamma(n, x),
    "Heaviside": lambda x, at_zero: jnp.heaviside(x, at_zero),
}
"""Functions that SymPy prints from Python's own library, which JAX cannot trace, or does not print for JAX at all."""

CONDITIONAL = frozenset({"KroneckerDelta"})
"""Functions that SymPy prints as conditional expressions of Python, which JAX cannot trace."""


def _arc_cotangent(x: Any) -> Any:
    """Return SymPy's arc cotangent, between −π/2 and π/2, and π/2 at zero."""
    x = jnp.asarray(x, float)
    # both branches are evaluated and differentiated, so the second must be defined at zero as well
    return jnp.where(x == 0, jnp.pi / 2 - x, jnp.arctan(1 / jnp.where(x == 0, 1.0, x)))


def compiled(arguments: Any, expressions: Any) -> Callable[..., Any]:
    """Return expressions as a function of nested tuples of numbers."""
    if any(is_large(e) or has_kind(e, DataFunction) for e in flat(expressions)):
        return function_of_tape(arguments, expressions, SPECIAL_FUNCTIONS)
    printer = exact_printer(JaxPrinter, user_functions={name: name for name in SPECIAL_FUNCTIONS})
    return sp.lambdify(arguments, expressions, modules=[SPECIAL_FUNCTIONS, "jax"], printer=printer, cse=True)


def refuse_unknown_functions(source: Source, constraints: Sequence[str]) -> None:
    """Raise if a function in the system has no numerical form; the message says where it occurs.

    SymPy would print it as a bare name, which fails only when the program runs.
    """
    form, laws = source.form, source.laws
    _refuse(form.mass_matrix, "`mass_matrix`")
    _refuse(form.applied_force, "`applied_force`")
    for k, name in enumerate(constraints):
        derived = (form.constraint_matrix[k], form.constraint_rhs[k])
        for rows in (form.position[k], form.velocity[k], derived):  # what was given first, then what follows from it
            _refuse(rows, f"constraint `{name}`")
    for k, components in enumerate(() if laws is None else laws.components):
        constraint, kind = laws.names[k] if laws is not None else ("", "")
        _refuse(components, f"the nonideal law {kind}" + (f" of `{constraint}`" if constraint else ""))
    _refuse(() if laws is None else (laws.normals, laws.mu, laws.slopes), "the nonideal laws")
    _refuse(() if source.energy is None else source.energy, "the Lagrangian")


def _is_printed(name: str, printer: JaxPrinter) -> bool:
    """Return whether SymPy prints a function in a way that JAX can trace."""
    method = getattr(printer, f"_print_{name}", None)
    # SymPy marks some functions by a method that only raises an error
    unsupported = getattr(method, "__func__", None) is CodePrinter._print_not_supported
    return callable(method) and not unsupported and name not in CONDITIONAL


def _refuse(expressions: Any, where: str) -> None:
    """Raise if something in the expressions cannot be computed."""
    printer = JaxPrinter()
    known = {*SPECIAL_FUNCTIONS, *printer.known_functions}
    kinds = frozenset[type]().union(*(facts(e).kinds for e in flat(expressions)))
    for kind in sorted(kinds, key=lambda kind: kind.__name__):
        name = kind.__name__
        printed = name in known or issubclass(kind, DataFunction) or _is_printed(name, printer)
        if issubclass(kind, (sp.Derivative, sp.Subs)) or (issubclass(kind, sp.Function) and not printed):
            raise ModelError([f"{where} must use functions that can be computed; `{name}` has no numerical form."])
    for node in python_functions_in(flat(expressions)):
        if node.data.untraceable and node.data.is_derivative:
            raise ModelError([node.data.no_derivative(where)])
