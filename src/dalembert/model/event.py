# SPDX-License-Identifier: BSD-3-Clause
"""Events of a motion, and what they change: values of the state and of parameters, and constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dalembert.errors import ModelError
from dalembert.model import graph
from dalembert.model.constraint import Constraint
from dalembert.model.expressions import as_expression
from dalembert.model.ordering import name_of, quoted, unknown_names
from dalembert.model.representation import representation, short
from dalembert.model.symbols import (
    ConstraintSymbol,
    free_parameters,
    functions_of_time,
    ideal_force,
    multiplier,
    reaction,
)
from dalembert.model.validation import expression_problems


@dataclass(frozen=True)
class Change:
    """The changes that an event makes at its instant.

    Parameters
    ----------
    values     new values by coordinate, velocity or parameter: ``{y.diff(da.t): -e * y.diff(da.t), "m": 2}``. They are
               expressions of the state and the parameters before the event
    on, off    names of constraints that are switched on and off. Velocities follow a constraint that is switched on by
               the impulse of that constraint, M Δq̇ = AᵀΛ

    Raises
    ------
    ModelError    if there is nothing to change, a value is no expression, or a constraint is switched on and off

    Examples
    --------
    >>> import dalembert as da
    >>> y = da.coordinates("y")
    >>> da.Change({y.diff(da.t): -y.diff(da.t) / 2}, off="peg")
    Change(values=(("y'", -y'/2),), off=('peg',))
    """

    values: Any = ()
    on: Any = ()
    off: Any = ()

    def __repr__(self) -> str:
        return representation(self)

    def __post_init__(self) -> None:
        pairs: Any = self.values.items() if isinstance(self.values, Mapping) else self.values
        if not isinstance(self.values, (Mapping, tuple)):
            raise ModelError([f"`values` of a change must be a mapping to new values; got {self.values!r}."])
        values = tuple(
            (name_of(key), as_expression(value, f"the new value of `{name_of(key)}`")) for key, value in pairs
        )
        object.__setattr__(self, "values", values)
        for field in ("on", "off"):
            object.__setattr__(self, field, _names(getattr(self, field), field))
        both = [name for name in self.on if name in self.off]
        if both:
            raise ModelError([f"a change must switch a constraint on or off; it does both with {quoted(both)}."])
        if not (values or self.on or self.off):
            raise ModelError(["a change must change something; give `values`, `on` or `off`."])


@dataclass(frozen=True)
class Event:
    """The instant at which an expression passes through zero.

    Parameters
    ----------
    expression    of coordinates, velocities, ``da.t``, parameters and ``da.reaction``, the actual reaction of a
                  constraint, which is zero while the constraint is off. In a system without nonideal laws,
                  ``da.multiplier`` is the same
    direction     1 for zeros at which it increases, −1 for those at which it decreases, 0 for both
    stop          whether the motion ends there
    name          its name in ``run.events``; by default the expression
    then          a ``da.Change``, or None

    An expression that is zero at the start of the motion has no event there. One that jumps from one sign to the other
    has an event at the jump; a pole, at which it changes its sign through infinity, is none.

    Raises
    ------
    ModelError    if the expression does not depend on the motion, or an argument is of the wrong kind

    Examples
    --------
    >>> import dalembert as da
    >>> y = da.coordinates("y")
    >>> ball = da.System((y,), [[1]], (-10,))
    >>> lands = da.Event(y, direction=-1, stop=True, name="lands")
    >>> run = da.simulate(ball, (5,), (0,), [0, 2], events=[lands])
    >>> print(run.t[-1].round(12), run.events[0].name)
    1.0 lands
    """

    expression: Any
    direction: int = 0
    stop: bool = False
    name: str | None = None
    then: Change | None = None

    def __repr__(self) -> str:
        return representation(self)

    def __post_init__(self) -> None:
        expression = graph.evaluated(as_expression(self.expression, "the expression of an event"))
        problems: list[str] = []
        if not (functions_of_time(expression) or graph.free_symbols(expression) or _forces(expression)):
            problems.append(f"the expression of an event must depend on the motion; got `{graph.shown(expression)}`.")
        if self.direction not in (-1, 0, 1):
            problems.append(f"`direction` of an event must be 1, −1 or 0 for both; got {self.direction!r}.")
        if self.then is not None and not isinstance(self.then, Change):
            problems.append(f"`then` of an event must be a `da.Change`, or None; got {self.then!r}.")
        if problems:
            raise ModelError(problems)
        object.__setattr__(self, "expression", expression)
        if self.name is None:
            object.__setattr__(self, "name", short(expression))

    @property
    def parameters(self) -> set[str]:
        """The names of all symbols in it other than time."""
        values = () if self.then is None else tuple(value for _, value in self.then.values)
        return {symbol.name for symbol in free_parameters((self.expression, *values))}


def further_parameters(system: Any, events: Sequence[Event]) -> tuple[str, ...]:
    """Return the names of the parameters that only events of a system have."""
    return tuple(sorted({name for event in events for name in event.parameters} - {*system.parameter_names}))


def event_problems(events: Sequence[Any], system: Any) -> list[str]:
    """Return the problems of events of a system as sentences."""
    problems: list[str] = []
    for event in events:
        if not isinstance(event, Event):
            problems.append(f"`events` must hold `da.Event` objects; got {event!r}. Write `da.Event(expression, ...)`.")
            continue
        problems += _problems(event, system)
    names = [event.name for event in events if isinstance(event, Event)]
    twice = [str(name) for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        problems.append(f"events must have different names; given twice: {quoted(twice)}.")
    known = {str(constraint.name) for constraint in system.constraints}
    taken = [str(event.name) for event in events if isinstance(event, Event) and event.then and event.name in known]
    if taken:
        problems.append(
            f"events that change the motion must not have names of constraints, whose work is an entry of the ledger; "
            f"got {quoted(taken)}. Pass another `name=`."
        )
    return problems


def _problems(event: Event, system: Any) -> list[str]:
    where = f"event `{event.name}`"
    problems = expression_problems(system, event.expression, where, forces=True)
    used = [event.expression, *(() if event.then is None else (value for _, value in event.then.values))]
    known = [str(constraint.name) for constraint in system.constraints]
    for expression in used:
        for kind in (multiplier, reaction):
            names = sorted({found.name for found in graph.atoms(expression, kind)})
            problems += unknown_names(known, names, f"da.{kind.__name__}", "constraint")
    if graph.atoms(event.expression, ideal_force):
        problems.append(f"{where} must not contain `da.ideal_force`; only a nonideal law may. Write `da.reaction`.")
    ideal = sorted({found.name for found in graph.atoms(event.expression, multiplier)})
    if ideal and system.laws:
        problems.append(
            f"{where} must depend on actual reactions, because the nonideal laws of the system change them; "
            f"`da.multiplier` of {quoted(ideal)} is that of the problem without these laws. Write "
            f'`da.reaction("{ideal[0]}")`.'
        )
    if event.then is None:
        return problems
    changed = (*system.coordinate_names, *(f"{name}'" for name in system.coordinate_names))
    for name, value in event.then.values:
        problems += expression_problems(system, value, f"the new value of `{name}` in {where}")
        if name not in changed and name not in system.parameter_names:
            problems.append(
                f"{where} must change coordinates, velocities or parameters of the system; it has "
                f"{quoted((*changed, *system.parameter_names))}, and no `{name}`."
            )
    for name in (*event.then.on, *event.then.off):
        problems += unknown_names(known, [name], f"then of {where}", "constraint")
    return problems


def _forces(expression: Any) -> set[Any]:
    return graph.atoms(expression, ConstraintSymbol)


def _names(given: Any, field: str) -> tuple[str, ...]:
    """Return the names of constraints from a name, a constraint, or several."""
    several = given if isinstance(given, (tuple, list)) else (given,)
    names = [one.name if isinstance(one, Constraint) else one for one in several]
    if not all(isinstance(name, str) for name in names):
        raise ModelError([f"`{field}` of a change must hold names of constraints; got {given!r}."])
    return tuple(str(name) for name in names)
