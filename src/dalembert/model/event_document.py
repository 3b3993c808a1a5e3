# SPDX-License-Identifier: BSD-3-Clause
"""Events of a motion and their changes as entries of a document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dalembert.model.document import DocumentEntry, Scope, read_expression, write_expression
from dalembert.model.event import Change, Event, event_problems
from dalembert.model.expression_text import expression_text
from dalembert.model.large_event import event_problems_of_large

EVENT_KEYS = ("expression", "direction", "stop", "name", "then")
CHANGE_KEYS = ("values", "on", "off")


def read_events(entry: DocumentEntry, scope: Scope, system: Any) -> tuple[Event, ...]:
    """Return the events of an array of tables."""
    events: list[Event] = []
    for own in entry.list():
        table = own.table(EVENT_KEYS, required=("expression",))
        given: dict[str, Any] = {"direction": table["direction"].number()} if "direction" in table else {}
        given |= {"stop": table["stop"].boolean()} if "stop" in table else {}
        given |= {"name": table["name"].text()} if "name" in table else {}
        given |= {"then": _read_change(table["then"], scope)} if "then" in table else {}
        expression = scope.parsed(table["expression"]).expression
        with own.places():
            events.append(Event(expression, **given))
        _require_possible(own, [events[-1]], system)
    _require_possible(entry, events, system)
    return tuple(events)


def _require_possible(entry: DocumentEntry, events: Sequence[Event], system: Any) -> None:
    """Raise an error for events that the system does not support."""
    large = system.is_large
    problems = event_problems_of_large(system.statement, events) if large else event_problems(events, system)
    if problems:
        raise entry.error(" ".join(problems))


def _read_change(entry: DocumentEntry, scope: Scope) -> Change:
    table = entry.table(CHANGE_KEYS)
    given: dict[str, Any] = {
        key: tuple(own.text() for own in table[key].one_or_more()) for key in table if key != "values"
    }
    if "values" in table:
        given["values"] = {name: read_expression(own, scope) for name, own in table["values"].table().items()}
    with entry.places():
        return Change(**given)


def write_event(event: Event) -> dict[str, Any]:
    """Return the table of an event."""
    table: dict[str, Any] = {"name": str(event.name), "expression": expression_text(event.expression)}
    table |= {"direction": int(event.direction)} if event.direction else {}
    table |= {"stop": True} if event.stop else {}
    return table | ({} if event.then is None else {"then": _write_change(event.then)})


def _write_change(change: Change) -> dict[str, Any]:
    values = {name: write_expression(value) for name, value in change.values}
    return {key: own for key, own in (("values", values), ("on", [*change.on]), ("off", [*change.off])) if own}
