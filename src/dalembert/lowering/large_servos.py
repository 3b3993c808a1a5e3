# SPDX-License-Identifier: BSD-3-Clause
"""The servo constraints of a system stated by arrays in machine code."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.common.levels import LEVELS
from dalembert.errors import ModelError
from dalembert.lowering.copied_terms import constraint_term, copied_term, law_term, placed
from dalembert.lowering.program_numbers import ProgramNumbers
from dalembert.model import graph
from dalembert.model.control_form import cost_of, settling_of
from dalembert.model.large_statement import SINGLE, LargeStatement
from dalembert.model.ordering import quoted
from dalembert.model.similar_terms import constraint_groups, groups_along
from dalembert.model.symbols import StateSymbols, t
from dalembert.native.nonideal_terms import LawTerm
from dalembert.native.servo_terms import ServoLayout, ServoTerms
from dalembert.native.term_loops import CopiedTerm


def servo_terms(statement: LargeStatement, numbers: ProgramNumbers) -> ServoTerms | None:
    """Return the terms of the servo constraints of a system; None if it has none."""
    if not statement.servos:
        return None
    _refuse_reactions(statement)
    servos = statement.servos
    rows = [row for servo in servos for row in servo.requirement]
    groups = constraint_groups(rows)
    layout, gains = _gains(statement, numbers)
    return ServoTerms(
        len(statement.positions),
        layout,
        [constraint_term(group, statement, numbers) for group, _ in groups],
        [np.array(members, np.int64) for _, members in groups],
        _directions(statement, numbers),
        gains,
    )


def _refuse_reactions(statement: LargeStatement) -> None:
    """Raise an error for laws that depend on reactions, which the inputs would change."""
    if statement.laws.needs_forces:
        names = [kind for _, kind in statement.laws.names]
        raise ModelError(
            [
                f"servos of a large system must not be combined with laws that depend on reactions; got "
                f"{quoted(dict.fromkeys(names))}. Use a law of the velocity, such as `da.Viscous`, or leave out the "
                f"servos."
            ]
        )


def _directions(statement: LargeStatement, numbers: ProgramNumbers) -> list[LawTerm]:
    """Return the columns of B, as laws are."""
    names = statement.coordinate_names
    components: list[tuple[int, Any, Any]] = [
        (i, sp.Function(name)(t), factor)
        for i, actuator in enumerate(statement.actuators)
        for name, factor in actuator.components(names).items()
    ]
    return [law_term(group, statement, numbers) for group in groups_along(components)]


def _gains(statement: LargeStatement, numbers: ProgramNumbers) -> tuple[ServoLayout, CopiedTerm]:
    """Return the layout of servo constraints, and the program of settling law, cost and limits."""
    servos, names = statement.servos, tuple(actuator.name for actuator in statement.actuators)
    limits = [actuator.limit for actuator in statement.actuators]
    given = [e for servo in servos for e in servo.gains()] + [limit for limit in limits if limit is not None]
    symbols, places = placed(given, SINGLE, 1, statement)
    if graph.free_symbols(*map(symbols.plain, given)) & set(symbols.qdd):
        raise ModelError(["`settle`, `cost` and `limit` of servos must not contain accelerations."])
    everywhere = any(servo.by is None for servo in servos)
    has_cost = any(servo.cost is not None for servo in servos)
    own = statement.coordinate_names if everywhere else names
    entries, coefficients, rates = _settling(statement, symbols)
    cost = cost_of(servos, own, statement.coordinate_names, symbols) if has_cost else ()
    outputs = [
        *coefficients,
        *(sp.S.Zero if rate is None else rate for rate in rates),
        *(entry for row in cost for entry in row),
        *(symbols.plain(limit) for limit in limits if limit is not None),
    ]
    first = np.cumsum([0, *(len(servo.requirement) for servo in servos)])
    layout = ServoLayout(
        {servo.name: tuple(range(a, b)) for servo, a, b in zip(servos, first, first[1:], strict=False)},
        own,
        np.array([LEVELS.index(servo.level) for servo in servos for _ in servo.requirement], np.int64),
        np.array(entries, np.int64).reshape(-1, 3),
        np.array([rate is not None for rate in rates]),
        np.array([i for i, limit in enumerate(limits) if limit is not None], np.int64),
        np.array([i for i, limit in enumerate(limits) if limit is not None and not limit.has(t)], np.int64),
        has_cost,
        everywhere,
        any(servo.metric == "euclidean" for servo in servos),
    )
    return layout, copied_term(symbols, outputs, places, SINGLE, numbers)


def _settling(statement: LargeStatement, symbols: StateSymbols) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the places of the coefficients of the settling law, the coefficients, and the rate of each requirement."""
    places: list[Any] = []
    coefficients: list[Any] = []
    rates: list[Any] = []
    first = 0
    for servo in statement.servos:
        for i in range(len(servo.requirement)):
            rate, terms = settling_of(servo, i, symbols)
            rates.append(rate)
            for other, own in terms:
                places += [(first + i, first + other, order) for order in range(len(own))]
                coefficients += own
        first += len(servo.requirement)
    return places, coefficients, rates
