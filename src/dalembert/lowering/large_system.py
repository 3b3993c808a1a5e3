# SPDX-License-Identifier: BSD-3-Clause
"""A system stated by arrays in machine code: one small program for each group of its terms."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from dalembert.array_types import Floats
from dalembert.errors import ModelError
from dalembert.levels import Level
from dalembert.lowering.recording import NoMachineCodeError, Recorder
from dalembert.model import graph
from dalembert.model.abrupt_functions import abrupt_functions_of_time
from dalembert.model.large_statement import LargeStatement
from dalembert.model.ordering import name_of, quoted
from dalembert.model.standard_form import constraint_row, nonlinear_terms
from dalembert.model.symbol_arrays import ParameterArray, Substitutions
from dalembert.model.symbols import StateSymbols, functions_of_time, real_symbol
from dalembert.model.term_groups import AppliedForce, ConstraintGroup
from dalembert.native.sparse_system import LargeDynamics, SparseSystem
from dalembert.native.tape import Program, Tape
from dalembert.native.term_loops import CopiedTerm, as_indices


def _refuse_abrupt(statement: LargeStatement) -> None:
    """Raise an error for functions of time with jumps or kinks, which are not located on this path."""
    abrupt = abrupt_functions_of_time(e for expressions, _ in statement.groups() for e in expressions)
    if abrupt:
        raise ModelError(
            [
                f"functions of time in a large system stated by arrays must be smooth; {quoted(abrupt)} may jump or "
                f"have a kink. Simulate up to the jump and start again from there, or write a smooth transition."
            ]
        )


@lru_cache(maxsize=8)
def compiled(statement: LargeStatement) -> LargeDynamics:
    """Return a system stated by arrays in machine code; it is kept for further calls."""
    _refuse_abrupt(statement)
    numbers = _Numbers(statement)
    try:
        constraints = [_constraints(group, statement, numbers) for group in statement.constraints]
        masses = [_sums(group, statement, numbers) for group in statement.masses]
        forces = [_sums(group, statement, numbers) for group in statement.forces]
    except NoMachineCodeError as error:
        raise ModelError(
            [f"terms of a large system must be compiled; the function `{error}` cannot be. Write it out."]
        ) from None
    levels = np.zeros(len(statement.constraint_names), np.int64)
    for rows, group in zip(statement.rows, statement.constraints, strict=True):
        levels[rows] = LEVEL_NUMBERS[group.template.level]
    return LargeDynamics(
        SparseSystem(len(statement.positions), constraints, statement.rows, masses, forces),
        levels,
        statement.coordinate_names,
        statement.constraint_names,
        numbers.constants(),
    )


LEVEL_NUMBERS: dict[Level, int] = {"position": 0, "velocity": 1, "acceleration": 2}


class _Numbers:
    """The vector of numbers that programs read: parameters, then the constants of all copies."""

    def __init__(self, statement: LargeStatement):
        self.starts: dict[str, int] = {}
        self.size = 0
        for name, size in statement.parameters.items():
            self.starts[name] = self.size
            self.size += size or 1
        self._parts: list[Any] = [np.zeros(0)]

    def constants(self) -> Floats:
        return np.concatenate(self._parts)

    def of(self, values: Any) -> Any:
        """Return the indices of the values of one symbol in each copy."""
        if isinstance(values, ParameterArray):
            return self.starts[values.name] + values.indices
        if isinstance(values, tuple):
            return np.array([self._one(value) for value in values])
        return self._append(np.asarray(values, float))

    def _append(self, values: Any) -> Any:
        self._parts.append(values)
        self.size += len(values)
        return np.arange(self.size - len(values), self.size)

    def _one(self, value: Any) -> int:
        if getattr(value, "is_Symbol", False):
            return self.parameter(value.name)
        if not value.is_number:
            raise ModelError([f"arrays of numbers must hold numbers or parameters; got `{value}`."])
        return int(self._append(np.array([float(value)]))[0])

    def parameter(self, name: str) -> int:
        """Return the index of a parameter, or of an element of an array of parameters."""
        if name in self.starts:
            return self.starts[name]
        array, _, index = name.rstrip("]").rpartition("[")
        return self.starts[array] + int(index)


def _constraints(group: ConstraintGroup, statement: LargeStatement, numbers: _Numbers) -> CopiedTerm:
    """Return the rows of A, b and the residuals of a group of constraints."""
    symbols, places = _placed([group.template.expression], group.substitutions, len(group), statement)
    bad = nonlinear_terms(symbols.plain(group.template.expression), symbols)
    if group.template.level == "acceleration" and bad:
        raise ModelError(
            [f"constraint `{group.template.name}` must be linear in the accelerations; `{bad[0]}` is not."]
        )
    row = constraint_row(group.template, symbols)
    outputs = [*row.gradient, row.rhs, row.position, row.velocity]
    return _copied(symbols, outputs, places, group.substitutions, numbers)


def _sums(group: AppliedForce, statement: LargeStatement, numbers: _Numbers) -> CopiedTerm:
    """Return the terms of a group of masses or forces, which are added along their coordinates."""
    expressions = list(group.components.values())
    symbols, places = _placed(expressions, group.substitutions, len(group), statement)
    targets = [statement.positions.of(group.substitutions.coordinates[q]) for q in group.components]
    outputs = [symbols.plain(expression) for expression in expressions]
    if graph.free_symbols(*outputs) & set(symbols.qdd):
        raise ModelError(["`applied_force` must not contain accelerations."])
    return _copied(symbols, outputs, places, group.substitutions, numbers, np.stack(targets, axis=1))


def _placed(
    expressions: Sequence[Any], copies: Substitutions, count: int, statement: LargeStatement
) -> tuple[StateSymbols, Any]:
    """Return the symbols of the coordinates in a template, and their positions (copies, k)."""
    used = {q for expression in expressions for q in functions_of_time(expression)}
    placeholders = tuple(sorted(used, key=name_of))
    columns = [
        statement.positions.of(copies.coordinates[q])
        if q in copies.coordinates
        else np.repeat(statement.positions.of((q,)), count)
        for q in placeholders
    ]
    return StateSymbols(placeholders), as_indices(np.array(columns).T if columns else [], (count, len(columns)))


def _copied(
    symbols: StateSymbols,
    outputs: list[Any],
    places: Any,
    copies: Substitutions,
    numbers: _Numbers,
    targets: Any = None,
) -> CopiedTerm:
    """Record the outputs of a template on a tape, with the places of the inputs of each copy."""
    own = {real_symbol(symbol): values for symbol, values in copies.numbers.items()}
    state = {*symbols.q, *symbols.qd, symbols.time}
    constants = sorted(graph.free_symbols(*outputs) - state, key=lambda symbol: symbol.name)
    shared = [symbol for symbol in constants if symbol not in own]
    each = [symbol for symbol in constants if symbol in own]
    tape = Tape()
    inputs = {symbol: tape.input("y", j) for j, symbol in enumerate((*symbols.q, *symbols.qd))}
    inputs |= {symbol: tape.input("p", j) for j, symbol in enumerate((*shared, *each))}
    inputs[symbols.time] = tape.input("t", 0)
    record = Recorder(tape, inputs)
    program = Program(tape, [record(expression) for expression in outputs])
    columns = [numbers.of(own[symbol]) for symbol in each]
    return CopiedTerm(
        program,
        places,
        as_indices([numbers.parameter(symbol.name) for symbol in shared], (len(shared),)),
        as_indices(np.array(columns).T if columns else [], (len(places), len(each))),
        None if targets is None else as_indices(targets, targets.shape),
    )
