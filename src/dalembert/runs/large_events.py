# SPDX-License-Identifier: BSD-3-Clause
"""Events of large systems: ``da.Event`` objects as functions of the coordinates that occur in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.common.array_types import Floats
from dalembert.common.names import name_of, quoted
from dalembert.errors import ModelError
from dalembert.integration.sparse_events import EventFunctions
from dalembert.lowering.expressions_along import ArrayStates, values_along
from dalembert.model import graph
from dalembert.model.event import Event
from dalembert.model.large_statement import LargeStatement
from dalembert.model.symbols import ConstraintSymbol, StateSymbols, free_parameters, functions_of_time, ideal_force, t
from dalembert.model.system import System


def statement_with_events(system: Any, given: Any) -> LargeStatement | None:
    """Return the groups of terms by which a run with events is simulated; None if it is not, or without events.

    A system that is stated term by term keeps straight-line code where groups do not support its events.
    """
    if given in ((), []) or not isinstance(system, System):
        return None
    if system.statement is not None:
        return system.statement
    found = system.templates if system.is_large else None
    return None if found is None or _problems(found, _several(given)) else found


def _several(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, (tuple, list)) else (given,)


def event_functions(statement: LargeStatement, given: Any, parameters: Any) -> EventFunctions | None:
    """Return the events of a large system, None without any; raise an error for those that are not supported."""
    events = _several(given)
    if not events:
        return None
    names = statement.coordinate_names
    problems = _problems(statement, events)
    if problems:
        raise ModelError(problems)
    used = {name_of(q) for event in events for q in functions_of_time(event.expression)}
    columns = np.array([i for i, name in enumerate(names) if name in used], np.int64)
    coordinates = tuple(names[i] for i in columns)
    functions: list[Any] = [sp.Function(name) for name in coordinates]
    symbols, expressions = StateSymbols(tuple(f(t) for f in functions)), [event.expression for event in events]
    numbers = {str(getattr(k, "name", k)): float(v) for k, v in dict(parameters or {}).items() if np.ndim(v) == 0}

    def values(times: Floats, q: Floats, qd: Floats) -> Floats:
        nothing, no_rows = np.zeros_like(q), np.zeros((len(times), 0))
        states = ArrayStates(times, q, qd, nothing, nothing, no_rows, no_rows, coordinates, (), numbers)
        return values_along(states, symbols, expressions)

    return EventFunctions(
        [str(event.name) for event in events],
        columns,
        values,
        [event.direction for event in events],
        [event.stop for event in events],
    )


def _problems(statement: LargeStatement, events: tuple[Any, ...]) -> list[str]:
    """Return the problems of events as sentences."""
    problems: list[str] = []
    known, scalars = {*statement.coordinate_names}, {k for k, size in statement.parameters.items() if not size}
    for event in events:
        if not isinstance(event, Event):
            problems.append(f"`events` must hold `da.Event` objects; got {event!r}. Write `da.Event(expression, ...)`.")
            continue
        where = f"event `{event.name}` of a large system"
        if event.then is not None:
            problems.append(
                f"{where} must not change the motion; it has `then`. Let it `stop` the motion, and start again from "
                f"its last state."
            )
        only = "must depend on coordinates, velocities and time only"
        if graph.atoms(event.expression, ConstraintSymbol, ideal_force):
            problems.append(f"{where} {only}; it has a reaction.")
        if any(d.derivative_count > 1 for d in graph.atoms(event.expression, sp.Derivative)):
            problems.append(f"{where} {only}; it has an acceleration.")
        strange = {name_of(q) for q in functions_of_time(event.expression)} - known
        strange |= {symbol.name for symbol in free_parameters([event.expression])} - scalars
        if strange:
            got = quoted(sorted(strange))
            problems.append(f"{where} must have coordinates and single parameters of the system; got {got}.")
    names = [str(event.name) for event in events if isinstance(event, Event)]
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        problems.append(f"events must have different names; given twice: {quoted(twice)}.")
    return problems
