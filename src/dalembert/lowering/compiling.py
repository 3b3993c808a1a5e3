# SPDX-License-Identifier: BSD-3-Clause
"""SymPy expressions as functions of numbers, and their entries as arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp
from sympy.printing.numpy import JaxPrinter

from dalembert.errors import ModelError
from dalembert.later import jnp, jsp
from dalembert.lowering.source import Source

if TYPE_CHECKING:
    from jax import Array


def assemble(entries: Sequence[Any], shape: tuple[int, ...], xp: Any = jnp) -> Array:
    """An array from entries most of which are known numbers: those are constants, the others one gather."""
    known = np.array([float(e) if isinstance(e, (int, float)) else 0.0 for e in entries])
    places = [i for i, e in enumerate(entries) if not isinstance(e, (int, float))]
    if not places:
        return xp.asarray(known).reshape(shape)
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
    "Heaviside": lambda x, at_zero: jnp.heaviside(x, at_zero),
}
"""What SymPy would take from Python's own library, which cannot be traced, or does not print for JAX at all."""


def compiled(arguments: Any, expressions: Any) -> Callable[..., Any]:
    """A function of nested tuples of numbers."""
    return sp.lambdify(arguments, expressions, modules=[SPECIAL_FUNCTIONS, "jax"], cse=True)


def refuse_unknown_functions(source: Source) -> None:
    """SymPy prints what JAX lacks as a bare name that fails much later; say it now."""
    form, laws = source.form, source.laws
    terms = (form.mass_matrix, form.applied_force, form.constraint_matrix, form.constraint_rhs, form.position)
    _refuse_unknown_functions((*terms, form.velocity), "terms")
    _refuse_unknown_functions(() if laws is None else (laws.components, laws.normals, laws.mu), "law")
    _refuse_unknown_functions(() if source.energy is None else source.energy, "Lagrangian")


def _refuse_unknown_functions(expressions: Any, where: str) -> None:
    printer = JaxPrinter()
    known = {*SPECIAL_FUNCTIONS, *printer.known_functions}
    for function in sorted({f for e in flat(expressions) for f in e.atoms(sp.Function)}, key=str):
        name = type(function).__name__
        if name not in known and not callable(getattr(printer, f"_print_{name}", None)):
            raise ModelError([f"the {where} must use functions that can be computed; `{name}` has no numerical form."])


def flat(nested: Any) -> list[Any]:
    """The leaves of nested tuples."""
    return [leaf for item in nested for leaf in flat(item)] if isinstance(nested, (tuple, list)) else [nested]
