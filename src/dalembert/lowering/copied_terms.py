# SPDX-License-Identifier: BSD-3-Clause
"""Templates of a system stated by arrays as programs, with the places of what each copy reads and adds to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy as sp

from dalembert.errors import ModelError
from dalembert.lowering.program_numbers import ProgramNumbers
from dalembert.lowering.recording import Recorder
from dalembert.model import graph
from dalembert.model.large_statement import LargeStatement
from dalembert.model.law_groups import LawGroup
from dalembert.model.ordering import name_of
from dalembert.model.standard_form import constraint_row, nonlinear_terms
from dalembert.model.symbol_arrays import Substitutions
from dalembert.model.symbols import InternalSymbol, StateSymbols, functions_of_time, real_symbol
from dalembert.model.term_groups import AppliedForce, ConstraintGroup
from dalembert.native.nonideal_terms import LawTerm
from dalembert.native.tape import Program, Tape
from dalembert.native.term_loops import CopiedTerm, as_indices


def placed(
    expressions: Sequence[Any], copies: Substitutions, count: int, statement: LargeStatement
) -> tuple[StateSymbols, Any]:
    """Return the symbols of the coordinates in a template, and their positions (copies, k)."""
    used = {q for expression in expressions for q in functions_of_time(sp.sympify(expression, strict=True))}
    # sorted, since sets have another order in each process
    placeholders = tuple(sorted(used, key=name_of))
    columns = [
        statement.positions.of(copies.coordinates[q])
        if q in copies.coordinates
        else np.repeat(statement.positions.of((q,)), count)
        for q in placeholders
    ]
    return StateSymbols(placeholders), as_indices(np.array(columns).T if columns else [], (count, len(columns)))


def copied_term(
    symbols: StateSymbols,
    outputs: list[Any],
    places: Any,
    copies: Substitutions,
    numbers: ProgramNumbers,
    targets: Any = None,
) -> CopiedTerm:
    """Record the outputs of a template on a tape, with the places of the inputs of each copy."""
    own = {real_symbol(symbol): values for symbol, values in copies.numbers.items()}
    state = {*symbols.q, *symbols.qd, symbols.time}
    # likewise
    constants = sorted(graph.free_symbols(*outputs) - state, key=lambda symbol: symbol.name)
    # parameters are the same for all copies, and are read from one place; other numbers differ from copy to copy
    shared = [symbol for symbol in constants if symbol not in own and not isinstance(symbol, InternalSymbol)]
    each = [symbol for symbol in constants if symbol not in shared]
    tape = Tape()
    inputs = {symbol: tape.input("y", j) for j, symbol in enumerate((*symbols.q, *symbols.qd))}
    inputs |= {symbol: tape.input("p", j) for j, symbol in enumerate((*shared, *each))}
    inputs[symbols.time] = tape.input("t", 0)
    record = Recorder(tape, inputs)
    program = Program(tape, [record(expression) for expression in outputs])
    forces = dict(zip(symbols.ideal_force, places.T, strict=True))
    columns = [
        numbers.of(own[symbol])
        if symbol in own
        else numbers.of_ideal_force(forces[symbol])
        if symbol in forces
        else numbers.of_constraint(symbol, copies)
        for symbol in each
    ]
    return CopiedTerm(
        program,
        places,
        as_indices([numbers.parameter(symbol.name) for symbol in shared], (len(shared),)),
        as_indices(np.array(columns).T if columns else [], (len(places), len(each))),
        None if targets is None else as_indices(targets, targets.shape),
    )


def constraint_term(group: ConstraintGroup, statement: LargeStatement, numbers: ProgramNumbers) -> CopiedTerm:
    """Return the rows of A, b and the residuals of a group of constraints."""
    symbols, places = placed([group.template.expression], group.substitutions, len(group), statement)
    bad = nonlinear_terms(symbols.plain(group.template.expression), symbols)
    if group.template.level == "acceleration" and bad:
        raise ModelError(
            [f"constraint `{group.template.name}` must be linear in the accelerations; `{bad[0]}` is not."]
        )
    row = constraint_row(group.template, symbols)
    outputs = [*row.gradient, row.rhs, row.position, row.velocity]
    return copied_term(symbols, outputs, places, group.substitutions, numbers)


def targets_of(group: AppliedForce, statement: LargeStatement) -> Any:
    """Return the coordinates (copies, components) along which a group acts."""
    columns = [statement.places(group, q)[:, 0] for q in group.components]
    return np.stack(columns, axis=1) if columns else np.zeros((len(group), 0), np.int64)


def law_term(group: LawGroup, statement: LargeStatement, numbers: ProgramNumbers) -> LawTerm:
    """Return the components of C of a group of laws, followed by their coefficients."""
    force = group.force
    expressions = [*force.components.values(), *group.coefficients]
    symbols, places = placed(expressions, force.substitutions, len(force), statement)
    outputs = [symbols.plain(expression) for expression in expressions]
    if graph.free_symbols(*outputs) & set(symbols.qdd):
        raise ModelError([f"the nonideal law {group.what} must not contain accelerations."])
    term = copied_term(symbols, outputs, places, force.substitutions, numbers, targets_of(force, statement))
    return LawTerm(term, group.numbers, group.depends, len(group.coefficients), group.what)
