# SPDX-License-Identifier: BSD-3-Clause
"""The terms of a derivation in exact plain symbols: matrices, stabilising terms, nonideal laws, the control law."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy as sp

from dalembert.common.stabilisation import Gains, damping
from dalembert.errors import InputError, ModelError
from dalembert.model import graph
from dalembert.model.control_form import control_form
from dalembert.model.friction_contacts import leaves_reactions
from dalembert.model.sliding_expressions import while_moving
from dalembert.model.standard_form import StandardForm
from dalembert.model.symbols import free_parameters, reaction
from dalembert.model.system import System
from dalembert.report.blocks import block_root
from dalembert.report.closed_form import SymbolicTerms
from dalembert.report.closed_form_checks import require_positive
from dalembert.report.control_law import ControlLaw, control_law
from dalembert.report.decimals import decimals_like, exact
from dalembert.report.numeric_probes import Probes, require_computable
from dalembert.report.tidy import tidy_matrix, tidy_symmetric


def control_of(system: System, terms: SymbolicTerms, gains: Gains | None) -> ControlLaw | None:
    """Return the control law of a system with servo constraints, in plain symbols."""
    form = control_form(system)
    if form is None:
        return None
    unknown = {*terms.ideal_symbols, *terms.multiplier_symbols} & graph.free_symbols(*terms.C)
    if terms.saddle or unknown:
        kind = "a regular mass matrix" if terms.saddle else "laws that do not depend on constraint forces"
        raise ModelError([f"a control law in closed form needs {kind}. Use `da.motion` for numbers."])
    if gains is not None and system.constraints:
        raise ModelError(
            [
                "a control law in closed form must be without stabilising terms of constraints. Leave out "
                "`drift=da.Baumgarte`."
            ]
        )
    return control_law(form, terms, system.symbols, [sp.Symbol(name, real=True) for name in system.parameter_names])


def gains_of(drift: Any) -> Gains | None:
    """Return the stabilising rates of a drift cure as exact numbers."""
    try:  # duck typing: the classes of drift cures belong to the integration, which is not imported here
        gains = None if drift is None else drift.gains()
    except AttributeError:
        raise InputError(f"`drift` must be a drift cure such as `da.Projection()`, or None; got {drift!r}.") from None
    return None if gains is None else Gains(*(exact(sp.Float(rate)) for rate in gains))


def stabilised_rhs(form: StandardForm, system: System, gains: Gains | None) -> list[Any]:
    """Return b less the stabilising terms."""
    if gains is None:
        return list(form.constraint_rhs)
    rows = zip(system.constraints, form.constraint_rhs, form.velocity, form.position, strict=True)
    factors = [(damping(constraint.level, gains), b, v, x) for constraint, b, v, x in rows]
    return [b - of_velocity * v - of_position * x for (of_velocity, of_position), b, v, x in factors]


def tidied_matrix(entries: Sequence[Any], columns: int) -> Any:
    """Return nested tuples as a simplified exact matrix; its shape is right even without rows."""
    return tidy_matrix(exact(sp.Matrix(len(entries), columns, list(sp.flatten(entries)))))


def tidied_mass(entries: Sequence[Any]) -> Any:
    """Return the mass matrix, simplified and exact."""
    return tidy_symmetric(exact(sp.Matrix(entries)))


def nonideal_term(system: System, M: Any, probed: Probes) -> Any:
    """Return C, the sum of all laws; those given as z are multiplied by the symmetric root of M."""
    C = sp.zeros(M.rows, 1)
    for placed in system.laws:
        if placed.actual and not leaves_reactions(placed, system):
            raise ModelError(
                [
                    f"the nonideal law {placed.described} must depend on the ideal normal force to be derived; it has "
                    f'`normal="actual"`, and its friction changes the reactions, so that the formula depends on their '
                    f'signs. Pass `normal="ideal"` to `da.{placed.kind}`, or use `da.motion` for numbers.'
                ]
            )
        if any(graph.has_kind(c, reaction) for c in placed.law.components(system.coordinates)):
            raise ModelError(
                [
                    f"the nonideal law {placed.described} must depend on ideal multipliers to have a closed form; it "
                    f"depends on `da.reaction`, which it changes. Use `da.motion` for numbers."
                ]
            )
        entries = [system.symbols.plain(c) for c in placed.law.components(system.coordinates)]
        require_computable({"a nonideal law": entries}, system)
        components = exact(sp.Matrix([while_moving(entry) for entry in entries]))
        if placed.law.scaled:
            require_positive(probed)
            components = block_root(M, system.coordinate_names) * components
        C += components
    return C


def restorer(system: System) -> Callable[[Any], Any]:
    """Return a function that restores the user's symbols and their assumptions, and decimal numbers if any."""
    own = {sp.Symbol(symbol.name): symbol for symbol in free_parameters(system.expressions())}
    to_decimals = decimals_like(system.expressions())

    def restore(expression: Any) -> Any:
        if not isinstance(expression, sp.MatrixBase):
            return expression  # a formula in matrix symbols
        return graph.replace(system.symbols.restore(sp.ImmutableMatrix(to_decimals(expression))), own)

    return restore
