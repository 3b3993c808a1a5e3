# SPDX-License-Identifier: BSD-3-Clause
"""A system stated by arrays in machine code: one small program for each group of its terms."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp

from dalembert.common.levels import LEVELS
from dalembert.errors import InputError, ModelError
from dalembert.lowering.copied_terms import constraint_term, copied_term, law_term, placed, targets_of
from dalembert.lowering.large_servos import servo_terms
from dalembert.lowering.large_time_functions import large_signals, large_time_functions
from dalembert.lowering.program_numbers import ProgramNumbers
from dalembert.lowering.recording import NoMachineCodeError
from dalembert.model import graph
from dalembert.model.abrupt_functions import functions_abrupt_in_time_alone
from dalembert.model.differentiation import gradient
from dalembert.model.large_statement import MANY_CONTACTS, LargeStatement
from dalembert.model.ordering import quoted
from dalembert.model.standard_form import energy, time_derivative
from dalembert.model.symbol_arrays import Substitutions
from dalembert.model.symbols import (
    StateSymbols,
    t,
)
from dalembert.model.term_groups import AppliedForce, LagrangianTerm, MassEntries, RateInertia
from dalembert.native.added_inertia import MassRule
from dalembert.native.block_mass import BlockMass
from dalembert.native.sparse_system import LargeDynamics, SparseSystem
from dalembert.native.term_loops import CopiedTerm


def _refuse_abrupt(statement: LargeStatement) -> None:
    """Raise an error for functions of time with jumps or kinks in terms other than forces.

    Those of constraints would change velocities suddenly, which needs an impact.
    """
    # a jump of a force changes accelerations only
    others = replace(statement, forces=()).groups()
    abrupt = functions_abrupt_in_time_alone(e for expressions, _ in others for e in expressions)
    if abrupt:
        raise ModelError(
            [
                f"functions of time in a large system stated by arrays must be smooth, except in `applied_force`; "
                f"{quoted(abrupt)} may jump or have a kink. Simulate up to the jump and start again from there, or "
                f"write a smooth transition."
            ]
        )


def _refuse_sticking(statement: LargeStatement) -> None:
    sticking = [group.what for group in statement.laws.groups if group.sticks]
    if sticking:
        raise ModelError(
            [
                f"dry friction in a large system must not stick; {quoted(sticking)} can. Pass `smoothing=` to the law, "
                f"a speed below which friction falls to zero."
            ]
        )


def compiled(statement: LargeStatement, mass_rule: MassRule = "positive definite") -> LargeDynamics:
    """Return a system stated by arrays in machine code; it is kept for further calls."""
    return _compiled(statement, mass_rule)


@lru_cache(maxsize=8)
def _compiled(statement: LargeStatement, mass_rule: MassRule) -> LargeDynamics:
    if statement.has_contacts:
        raise InputError(MANY_CONTACTS)
    _refuse_abrupt(statement)
    _refuse_sticking(statement)
    if statement.servos and mass_rule != "positive definite":
        raise ModelError(
            ["servo constraints of a large system need a positive definite `mass_matrix`. Leave out `formulation`."]
        )
    # one vector for all groups: parameters are then exchanged without compiling anything
    numbers = ProgramNumbers(statement)
    try:
        mass, masses = _masses(statement, numbers)
        rates = [_rate(group, statement, numbers) for group in statement.rates]
        constraints = [constraint_term(group, statement, numbers) for group in statement.constraints]
        forces = [_sums(group, statement, numbers) for group in statement.forces]
        laws = [law_term(group, statement, numbers) for group in statement.laws.groups]
        kinetic = [_kinetic(group, statement, numbers) for group in (*statement.masses, *statement.rates)]
        servos, known = servo_terms(statement, numbers), statement.lagrangian
        energies = None if known is None else [_energy(term, statement, numbers) for term in known]
    except NoMachineCodeError as error:
        raise ModelError(
            [f"terms of a large system must be compiled; the function `{error}` cannot be. Write it out."]
        ) from None
    levels = np.zeros(len(statement.constraint_names), np.int64)
    for rows, group in zip(statement.rows, statement.constraints, strict=True):
        levels[rows] = LEVELS.index(group.template.level)
    shown = [*masses, *rates, *forces, *constraints, *(() if servos is None else servos.terms)]
    return LargeDynamics(
        SparseSystem(
            mass,
            masses,
            forces,
            constraints,
            statement.rows,
            laws,
            len(statement.laws.names),
            kinetic,
            energies,
            rates,
            servos,
            any_mass=mass_rule != "positive definite",
        ),
        levels,
        statement.coordinate_names,
        statement.constraint_names,
        numbers.constants(),
        statement.laws.names,
        large_time_functions(shown),
        large_signals(shown),
        tuple(str(row.name) for servo in statement.servos for row in servo.requirement),
        mass_rule,
    )


def _sums(group: AppliedForce, statement: LargeStatement, numbers: ProgramNumbers) -> CopiedTerm:
    """Return the terms of a group of masses or forces, which are added along their coordinates."""
    expressions = list(group.components.values())
    symbols, places = placed(expressions, group.substitutions, len(group), statement)
    outputs = [symbols.plain(expression) for expression in expressions]
    if graph.free_symbols(*outputs) & set(symbols.qdd):
        raise ModelError(["`applied_force` must not contain accelerations."])
    return copied_term(symbols, outputs, places, group.substitutions, numbers, targets_of(group, statement))


def _masses(statement: LargeStatement, numbers: ProgramNumbers) -> tuple[BlockMass, list[CopiedTerm]]:
    """Return the pattern of the mass matrix, and its terms."""
    pairs = [{key: statement.places(group, key) for key in group.components} for group in statement.masses]
    beside = [places for own in pairs for key, places in own.items() if key[0] != key[1]]
    every = np.concatenate([np.zeros((0, 2), np.int64), *beside])
    # such an entry would be counted twice, once for each triangle
    if (every[:, 0] == every[:, 1]).any():
        raise ModelError(
            ["entries of `mass_matrix` beside the diagonal must be of two coordinates; one copy has the same twice."]
        )
    # the pattern is needed before the terms, which are added at their places in it
    mass = BlockMass(len(statement.positions), every[:, 0], every[:, 1])
    terms: list[CopiedTerm] = []
    for group, own in zip(statement.masses, pairs, strict=True):
        expressions = list(group.components.values())
        symbols, places = placed(expressions, group.substitutions, len(group), statement)
        outputs = [symbols.plain(expression) for expression in expressions]
        if graph.free_symbols(*outputs) & {*symbols.qd, *symbols.qdd}:
            raise ModelError(["`mass_matrix` must depend on coordinates and time only; got a velocity in it."])
        targets = np.stack([mass.place(*own[key].T) for key in group.components], axis=1)
        terms.append(copied_term(symbols, outputs, places, group.substitutions, numbers, targets))
    return mass, terms


def _rate(group: RateInertia, statement: LargeStatement, numbers: ProgramNumbers) -> CopiedTerm:
    """Return the slopes of a group of rates by the velocities, followed by their inertia."""
    symbols, places = placed([group.rate, group.weight], group.substitutions, len(group), statement)
    rate, weight = symbols.plain(group.rate), symbols.plain(group.weight)
    return copied_term(symbols, [*gradient(rate, symbols.qd), weight], places, group.substitutions, numbers)


def _energy(term: LagrangianTerm, statement: LargeStatement, numbers: ProgramNumbers) -> CopiedTerm:
    """Return the energy q̇·∂L/∂q̇ − L of a group of terms of the Lagrangian, and its rate at constant velocities."""
    copies = term.substitutions
    symbols, places = placed([term.expression], copies, copies.count, statement)
    return _with_rate(energy(term.expression, symbols), symbols, places, copies, numbers)


def _kinetic(group: MassEntries | RateInertia, statement: LargeStatement, numbers: ProgramNumbers) -> CopiedTerm:
    """Return the kinetic energy ½ q̇ᵀM q̇ of a group of terms of M, and its rate at constant velocities."""
    copies = group.substitutions
    if isinstance(group, RateInertia):
        symbols, places = placed([group.kinetic], copies, len(group), statement)
        return _with_rate(symbols.plain(group.kinetic), symbols, places, copies, numbers)
    # all coordinates of the group: an entry of M need not contain those that it couples
    own = {q for pair in group.components for q in pair}
    symbols, places = placed([*group.components.values(), *own], copies, len(group), statement)
    total = sp.Add(
        *(
            # an entry beside the diagonal stands for both triangles
            entry * first.diff(t) * second.diff(t) / (2 if first == second else 1)
            for (first, second), entry in group.components.items()
        )
    )
    return _with_rate(symbols.plain(total), symbols, places, copies, numbers)


def _with_rate(
    plain: Any, symbols: StateSymbols, places: Any, copies: Substitutions, numbers: ProgramNumbers
) -> CopiedTerm:
    """Return an energy in plain symbols and its rate at constant velocities, added to two numbers."""
    targets = np.tile([0, 1], (len(places), 1))
    return copied_term(symbols, [plain, time_derivative(plain, symbols)], places, copies, numbers, targets)
