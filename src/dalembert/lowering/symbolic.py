# SPDX-License-Identifier: BSD-3-Clause
"""SymPy terms as JAX functions: common subexpressions once, then plain arithmetic; nothing inverted or simplified."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.special as jsp
import numpy as np
import sympy as sp
from jax import Array
from sympy.printing.numpy import JaxPrinter

from dalembert.equation.dynamics import Terms
from dalembert.equation.pseudo_inverse import square_roots
from dalembert.equation.straight_line_engine import ScalarTerms
from dalembert.errors import ModelError
from dalembert.lowering.source import Source
from dalembert.model.standard_form import StandardForm
from dalembert.model.system import System

SPECIAL_FUNCTIONS = {
    "erf": jsp.erf,
    "erfc": jsp.erfc,
    "gamma": jsp.gamma,
    "loggamma": jsp.gammaln,
    "factorial": lambda x: jsp.gamma(x + 1),
}
"""What SymPy would take from Python's own library, which cannot be traced."""


@dataclass(frozen=True)
class SymbolicFunctions:
    """A symbolic system as functions of separate numbers (q, qd, t, p), each q, qd and p a tuple.

    terms                   -> ScalarTerms
    law, scaled_law         (q, qd, t, p, ideal_force) -> n components of C and of z, or None
    law_needs_ideal         whether a law contains the ideal force
    energy                  -> number, or None
    operations              arithmetic operations in ``terms`` and the laws, common subexpressions counted once
    """

    form: StandardForm
    terms: Callable[..., ScalarTerms]
    law: Callable[..., Any] | None
    scaled_law: Callable[..., Any] | None
    law_needs_ideal: bool
    energy: Callable[..., Any] | None
    operations: int


def symbolic_functions(source: Source) -> SymbolicFunctions:
    """Share subexpressions and turn a system into functions of numbers."""
    form = source.form
    symbols = form.symbols
    state = (symbols.q, symbols.qd, symbols.time, source.parameters)
    outputs = ScalarTerms(
        form.mass_matrix, form.applied_force, form.constraint_matrix, form.constraint_rhs, form.position, form.velocity
    )
    plain, scaled, total = source.law, source.scaled, source.energy
    raw = _compile(state, tuple(outputs))
    with_force = (*state, symbols.ideal_force)
    laws = [component for law in (plain, scaled) if law is not None for component in law]
    return SymbolicFunctions(
        form=form,
        terms=lambda *state: ScalarTerms(*raw(*state)),
        law=None if plain is None else _with_ideal(_compile(with_force, plain), len(symbols.q)),
        scaled_law=None if scaled is None else _with_ideal(_compile(with_force, scaled), len(symbols.q)),
        law_needs_ideal=any(component.free_symbols & set(symbols.ideal_force) for component in laws),
        energy=None if total is None else _compile(state, total),
        operations=_operations([*_flat(outputs), *laws]),
    )


def parameter_symbols(system: System) -> tuple[sp.Symbol, ...]:
    """The parameters as they stand in plain expressions, in the order of their values."""
    return tuple(sp.Symbol(name, real=True) for name in system.parameter_names)


def array_terms(functions: SymbolicFunctions) -> Callable[..., Terms]:
    """The same terms as arrays."""
    n, m = len(functions.form.applied_force), len(functions.form.constraint_rhs)
    shapes = ((n, n), (n,), (m, n), (m,), (m,), (m,))

    @jax.jit  # not to be quicker, but to be traced once: an integrator calls it from many places
    def terms(q: Array, qd: Array, t: Any, p: Any) -> Terms:
        entries = functions.terms(tuple(q), tuple(qd), t, tuple(p))
        return Terms(*(assemble(_flat(entry), shape) for entry, shape in zip(entries, shapes, strict=True)))

    return terms


def array_law(functions: SymbolicFunctions, terms: Callable[..., Terms]) -> Callable[..., Array] | None:
    """C as an array, laws given as z included: C = M^(1/2) z with the symmetric root."""
    if functions.law is None and functions.scaled_law is None:
        return None

    def law(q: Array, qd: Array, t: Any, p: Any, ideal_force: Array | None) -> Array:
        total = jnp.zeros_like(q)
        state = (tuple(q), tuple(qd), t, tuple(p), None if ideal_force is None else tuple(ideal_force))
        if functions.law is not None:
            total = total + assemble(functions.law(*state), q.shape)
        if functions.scaled_law is not None:
            z = assemble(functions.scaled_law(*state), q.shape)
            total = total + square_roots(terms(q, qd, t, p).M)[0] @ z
        return total

    return law


def assemble(entries: Sequence[Any], shape: tuple[int, ...]) -> Array:
    """An array from entries most of which are known numbers: those are constants, the others one gather."""
    known = np.array([float(e) if isinstance(e, (int, float)) else 0.0 for e in entries])
    places = [i for i, e in enumerate(entries) if not isinstance(e, (int, float))]
    if not places:
        return jnp.asarray(known).reshape(shape)
    index = np.zeros(len(entries), int)
    index[places] = np.arange(len(places))
    unknown = np.zeros(len(entries), bool)
    unknown[places] = True
    values = jnp.stack([jnp.asarray(entries[i], float) for i in places])
    return jnp.where(unknown, values[index], known).reshape(shape)


def law_sums(system: System, form: StandardForm, *, scaled: bool) -> tuple[Any, ...] | None:
    """The sum of the laws given in one of the two forms, component by component."""
    laws = [law.components(system.coordinates) for law in system.nonideal if law.scaled == scaled]
    if not laws:
        return None
    return tuple(form.symbols.plain(sp.Add(*parts)) for parts in zip(*laws, strict=True))


def _with_ideal(function: Callable[..., Any], n: int) -> Callable[..., Any]:
    """A law may be called without an ideal force when it does not depend on one."""
    return lambda q, qd, t, p, ideal: function(q, qd, t, p, (0.0,) * n if ideal is None else ideal)


def _compile(arguments: Any, expressions: Any) -> Callable[..., Any]:
    return sp.lambdify(arguments, expressions, modules=[SPECIAL_FUNCTIONS, "jax"], cse=True)


def refuse_unknown_functions(source: Source) -> None:
    """SymPy prints what JAX lacks as a bare name that fails much later; say it now."""
    form = source.form
    terms = (form.mass_matrix, form.applied_force, form.constraint_matrix, form.constraint_rhs, form.position)
    _refuse_unknown_functions(_flat((*terms, form.velocity)), "terms")
    _refuse_unknown_functions(_flat((source.law or (), source.scaled or ())), "law")
    _refuse_unknown_functions([] if source.energy is None else [source.energy], "Lagrangian")


def _refuse_unknown_functions(expressions: list[Any], where: str) -> None:
    printer = JaxPrinter()
    for function in sorted({f for e in expressions for f in e.atoms(sp.Function)}, key=str):
        name = type(function).__name__
        if name not in printer.known_functions and not callable(getattr(printer, f"_print_{name}", None)):
            raise ModelError([f"the {where} must use functions that can be computed; `{name}` has no numerical form."])


def _operations(expressions: list[Any]) -> int:
    shared, reduced = sp.cse(expressions)
    return int(sum(sp.count_ops(e) for e in (*(e for _, e in shared), *reduced)))


def _flat(nested: Any) -> list[Any]:
    return [leaf for item in nested for leaf in _flat(item)] if isinstance(nested, (tuple, list)) else [nested]
