# SPDX-License-Identifier: BSD-3-Clause
"""The second-order standard form of a model, M q̈ = Q and A q̈ = b, and the residuals of its constraints.

All steps are differentiations; nothing is inverted or simplified, so large models stay cheap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from dalembert.errors import ModelError
from dalembert.model import graph
from dalembert.model.constraint import Constraint
from dalembert.model.differentiation import gradient
from dalembert.model.symbols import StateSymbols
from dalembert.model.work_limit import MATRIX_ENTRY, count_work

NOT_PERMANENT = (
    "`{}` must be an equation that always holds; it is a contact that opens and closes, or is switched by events. Only "
    "`da.simulate` and `da.simulate_ensemble` follow those. State the equations of one phase: "
    "`da.Constraint(expression, name=...)` for every contact that is closed in it."
)
"""The message of all other functions for one-sided, releasing and switched constraints."""


@dataclass(frozen=True)
class StandardForm:
    """The terms of a model in plain symbols, m constraint rows in the user's order.

    mass_matrix (n, n), applied_force (n,), constraint_matrix (m, n), constraint_rhs (m,)
    position (m,)     φ for position-level constraints, zero for others
    velocity (m,)     φ̇ or ψ for position- and velocity-level constraints, zero for others
    """

    symbols: StateSymbols
    mass_matrix: tuple[tuple[Any, ...], ...]
    applied_force: tuple[Any, ...]
    constraint_matrix: tuple[tuple[Any, ...], ...]
    constraint_rhs: tuple[Any, ...]
    position: tuple[Any, ...]
    velocity: tuple[Any, ...]


def standard_form(system: Any) -> StandardForm:
    """Differentiate the constraints of a ``System`` until the accelerations appear linearly: A q̈ = b."""
    symbols = StateSymbols(system.coordinates)
    n = len(system.coordinates)
    rows = [constraint_row(constraint, symbols) for constraint in system.constraints]
    return StandardForm(
        symbols=symbols,
        mass_matrix=tuple(tuple(symbols.plain(system.mass_matrix[i, j]) for j in range(n)) for i in range(n)),
        applied_force=tuple(symbols.plain(force) for force in system.applied_force),
        constraint_matrix=tuple(row.gradient for row in rows),
        constraint_rhs=tuple(row.rhs for row in rows),
        position=tuple(row.position for row in rows),
        velocity=tuple(row.velocity for row in rows),
    )


@dataclass(frozen=True)
class ConstraintRow:
    """One constraint in standard form: gradient · q̈ = rhs, and its residuals."""

    gradient: tuple[Any, ...]
    rhs: Any
    position: Any = sp.S.Zero
    velocity: Any = sp.S.Zero


def constraint_row(constraint: Constraint, symbols: StateSymbols) -> ConstraintRow:
    """Differentiate one constraint until the accelerations appear linearly; raise an error unless it is permanent."""
    if not constraint.is_permanent:
        raise ModelError([NOT_PERMANENT.format(constraint.name)])
    expression = symbols.plain(constraint.expression)
    if constraint.level == "position":
        # φ̈ = φ_q q̈ + (φ̇)_q q̇ + (φ̇)_t, and φ̇ = φ_q q̇ + φ_t
        velocity = time_derivative(expression, symbols)
        rhs = -time_derivative(velocity, symbols)
        return ConstraintRow(_slopes(expression, constraint, symbols), rhs, expression, velocity)
    if constraint.level == "velocity":
        # ψ̇ = ψ_q̇ q̈ + ψ_q q̇ + ψ_t
        rhs = -time_derivative(expression, symbols)
        return ConstraintRow(_slopes(expression, constraint, symbols), rhs, velocity=expression)
    at_rest = graph.replace(expression, dict.fromkeys(symbols.qdd, sp.S.Zero))
    return ConstraintRow(_slopes(expression, constraint, symbols), -at_rest)


def constraint_gradient(constraint: Constraint, symbols: StateSymbols) -> tuple[Any, ...]:
    """Return the row of A that belongs to one constraint, in the user's symbols, without differentiating further."""
    slopes = _slopes(symbols.plain(constraint.expression), constraint, symbols)
    return tuple(symbols.restore(slope) for slope in slopes)


def _slopes(expression: Any, constraint: Constraint, symbols: StateSymbols) -> tuple[Any, ...]:
    by_level = {"position": symbols.q, "velocity": symbols.qd, "acceleration": symbols.qdd}
    return gradient(expression, by_level[constraint.level])


def time_derivative(expression: Any, symbols: StateSymbols) -> Any:
    """Return the part of d/dt of an expression without accelerations: (∂/∂q) q̇ + ∂/∂t."""
    *of_q, of_time = gradient(expression, (*symbols.q, symbols.time))
    times = graph.product if graph.is_large(expression) else sp.Mul
    return sp.Add(*(times(slope, qd) for slope, qd in zip(of_q, symbols.qd, strict=True)), of_time)


def nonlinear_terms(expression: Any, symbols: StateSymbols) -> list[Any]:
    """Return the terms of an acceleration-level expression that are not linear in the accelerations."""
    slopes = gradient(expression, symbols.qdd)
    if not graph.free_symbols(*slopes) & set(symbols.qdd):
        return []
    bad = []
    for term in sp.Add.make_args(sp.expand(expression)):
        slopes = gradient(term, symbols.qdd)
        if graph.free_symbols(*slopes) & set(symbols.qdd):
            bad.append(term)
    return bad


def euler_lagrange(lagrangian: Any, symbols: StateSymbols) -> tuple[Any, Any]:
    """Return M = ∂²L/∂q̇² and Q = ∂L/∂q − (∂²L/∂q̇∂q) q̇ − ∂²L/∂q̇∂t, in the user's symbols."""
    plain = symbols.plain(lagrangian)
    momenta = gradient(plain, symbols.qd)
    rows = [gradient(p, symbols.qd) for p in momenta]
    count_work(MATRIX_ENTRY * sum(slope is not sp.S.Zero for row in rows for slope in row))
    mass = sp.Matrix(rows)
    force = sp.Matrix(gradient(plain, symbols.q)) - sp.Matrix([time_derivative(p, symbols) for p in momenta])
    return mass.applyfunc(symbols.restore), force.applyfunc(symbols.restore)


def energy(lagrangian: Any, symbols: StateSymbols) -> Any:
    """Return Jacobi's energy function q̇·∂L/∂q̇ − L: kinetic plus potential energy for an ordinary Lagrangian.

    A term of degree k in the velocities contributes k − 1 times itself, by Euler's theorem; other terms are
    differentiated.
    """
    terms = sp.Add.make_args(symbols.plain(lagrangian))
    degrees = velocity_degrees(terms, symbols)
    rest = sp.Add(*(term for term, degree in zip(terms, degrees, strict=True) if degree is None))
    momenta = gradient(rest, symbols.qd)
    known = [(degree - 1) * term for term, degree in zip(terms, degrees, strict=True) if degree is not None]
    return sp.Add(*known, *(p * qd for p, qd in zip(momenta, symbols.qd, strict=True)), -rest)


def velocity_degrees(terms: Sequence[Any], symbols: StateSymbols) -> list[int | None]:
    """Return the degree in the velocities of each expression; None for one that is not homogeneous in them."""
    speeds, found = frozenset(symbols.qd), list[int | None]()
    whole = graph.Graph(terms)
    for node, parts in whole:
        own = [found[part] for part in parts]
        if not parts:
            found.append(int(node in speeds))
        elif not any(own) and None not in own:
            found.append(0)
        elif None in own:
            found.append(None)
        elif isinstance(node, sp.Mul):
            found.append(sum(degree for degree in own if degree is not None))
        elif isinstance(node, sp.Pow) and node.exp.is_Integer and own[0] is not None:
            found.append(own[0] * int(node.exp))
        else:
            found.append(own[0] if isinstance(node, sp.Add) and len(set(own)) == 1 else None)
    return [found[end] for end in whole.ends]
