# SPDX-License-Identifier: BSD-3-Clause
"""SymPy terms as JAX functions, with common subexpressions computed once; nothing is inverted or simplified."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dalembert.common.lazy_jax import jax
from dalembert.equation.dynamics import Terms
from dalembert.lowering.jax_functions import assemble, compiled, flat
from dalembert.lowering.law_functions import LawFunctions, law_functions
from dalembert.lowering.source import Source
from dalembert.model.graph import has_kind
from dalembert.model.python_functions import AppliedPythonFunction
from dalembert.model.standard_form import StandardForm

if TYPE_CHECKING:
    from jax import Array


@dataclass(frozen=True)
class SymbolicFunctions:
    """A symbolic system as functions of separate numbers (q, qd, t, p), each q, qd and p a tuple.

    terms                   -> Terms
    laws                    the nonideal laws, or None
    energy                  -> number, or None
    """

    form: StandardForm
    terms: Callable[..., Terms]
    laws: LawFunctions | None
    energy: Callable[..., Any] | None


def symbolic_functions(source: Source) -> SymbolicFunctions:
    """Return a symbolic system as functions of numbers."""
    form = source.form
    symbols = form.symbols
    state = (symbols.q, symbols.qd, symbols.time, source.parameters)
    outputs = Terms(
        form.mass_matrix, form.applied_force, form.constraint_matrix, form.constraint_rhs, form.position, form.velocity
    )
    # one program for all terms, which share most of their subexpressions
    raw = compiled(state, tuple(outputs))
    return SymbolicFunctions(
        form=form,
        terms=lambda *state: Terms(*raw(*state)),
        laws=law_functions(source, state),
        energy=None if source.energy is None else compiled(state, source.energy),
    )


def array_terms(functions: SymbolicFunctions, inputs: Callable[..., Array] | None = None) -> Callable[..., Terms]:
    """Return the terms as arrays; ``inputs`` returns the forces (r, n) of actuators, which are added to Q."""
    n, m = len(functions.form.applied_force), len(functions.form.constraint_rhs)
    shapes = ((n, n), (n,), (m, n), (m,), (m,), (m,))

    @jax.jit  # not for speed: an integrator calls it from many places, and it is traced once
    def terms(q: Array, qd: Array, t: Any, p: Any) -> Terms:
        entries = functions.terms(tuple(q), tuple(qd), t, tuple(p))
        found = Terms(*(assemble(flat(entry), shape) for entry, shape in zip(entries, shapes, strict=True)))
        return found if inputs is None else found._replace(Q=found.Q + inputs(q, qd, t, p).sum(axis=0))

    return terms


def has_python_functions(source: Source) -> bool:
    """Return whether the forces may have no derivatives."""
    return any(has_kind(entry, AppliedPythonFunction) for entry in source.form.applied_force)


def mass_function(source: Source) -> Callable[..., Array]:
    """Return M (n, n) as a function of arrays."""
    form, n = source.form, len(source.form.applied_force)
    raw = compiled((form.symbols.q, form.symbols.qd, form.symbols.time, source.parameters), form.mass_matrix)

    def mass(q: Array, qd: Array, t: Any, p: Any) -> Array:
        return assemble(flat(raw(tuple(q), tuple(qd), t, tuple(p))), (n, n))

    return mass
