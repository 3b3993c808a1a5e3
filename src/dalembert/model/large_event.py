# SPDX-License-Identifier: BSD-3-Clause
"""Events that large systems support: those that are recorded, and those that end a motion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from dalembert.model import graph
from dalembert.model.event import Event
from dalembert.model.large_statement import LargeStatement
from dalembert.model.ordering import name_of, quoted
from dalembert.model.symbols import ConstraintSymbol, free_parameters, functions_of_time, ideal_force


def event_problems_of_large(statement: LargeStatement, events: Sequence[Any]) -> list[str]:
    """Return the problems of events of a system that is stated by arrays, or divided into groups, as sentences."""
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
