# SPDX-License-Identifier: BSD-3-Clause
"""Fields of a ``System`` that are expanded or derived when they are asked for.

A system stated by arrays has its terms in groups; one of a mechanism of 100 to 200 coordinates has them beside the
function that derives its expressions. Both are often only simulated, which needs no expression.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dalembert.errors import InputError, ModelError
from dalembert.model.array_statement import large_statement
from dalembert.model.large_statement import MANY_CONTACTS, LargeStatement

if TYPE_CHECKING:
    from dalembert.model.system import System

EXPANDED = ("coordinates", "mass_matrix", "applied_force", "constraints")
"""Fields of a system stated by arrays that are expanded when they are asked for."""

DEFERRED = (*EXPANDED, "lagrangian", "coefficients", "force_parts")
"""Fields of a system of a mechanism that are derived when they are asked for."""

LARGEST_EXPANDED = 200
"""Most coordinates of a system that is compiled to straight-line machine code if its terms are similar: up to there it
is the fastest, and compiles in seconds. Measured by ``python -m benchmarks.large``."""


@dataclass(frozen=True, eq=False)
class Deferred:
    """A system by groups of terms, and the function that derives the same system term by term."""

    statement: LargeStatement
    derive: Callable[[], System]


def is_too_large(statement: LargeStatement) -> bool:
    """Return whether a statement is not expanded term by term."""
    return statement.has_contacts or len(statement.coordinate_names) > LARGEST_EXPANDED


def keep_statement(system: System) -> None:
    """Keep the arrays that a system is stated by, and delete the fields, to be expanded when they are asked for."""
    given = {name: getattr(system, name) for name in EXPANDED}
    others = (system.lagrangian, system.feedback, system.conserved)
    if any(other is not None and other != () for other in others):
        raise ModelError(
            [
                "a system stated by arrays must have constraints, laws, applied forces and servos only; got a "
                "Lagrangian. State it without arrays, or leave it out."
            ]
        )
    statement = large_statement(**given, nonideal=system.nonideal, servos=system.servos)
    object.__setattr__(system, "statement", statement)
    object.__setattr__(system, "servos", statement.servos)
    for name in EXPANDED:
        object.__delattr__(system, name)


def set_known_fields(system: System, **known: Any) -> None:
    """Set the fields of a new system that need no expansion: those given, and those that such systems do not have."""
    for name, value in {"nonideal": (), "servos": (), "feedback": None, "conserved": None, **known}.items():
        object.__setattr__(system, name, value)


def field_on_demand(system: System, name: str) -> Any:
    """Return a field that is missing, and set it with all others that are found together with it."""
    deferred, statement = system.__dict__.get("deferred"), system.__dict__.get("statement")
    if deferred is not None and name in DEFERRED:
        whole = deferred.derive()
        found = {one: getattr(whole, one) for one in DEFERRED}
    elif statement is not None and name in EXPANDED:
        _require_small(statement, name)
        found = statement.expanded()
    else:
        raise AttributeError(name)
    for one, value in found.items():
        object.__setattr__(system, one, value)
    return system.__dict__[name]


def _require_small(statement: LargeStatement, name: str) -> None:
    if statement.has_contacts:
        raise InputError(MANY_CONTACTS)
    if is_too_large(statement):
        raise InputError(
            f"`{name}` must be known term by term here, which is for at most {LARGEST_EXPANDED} coordinates; this "
            f"system has {len(statement.coordinate_names)}. `da.motion`, `da.simulate`, `da.simulate_ensemble` and "
            f"`da.consistent_state` take it as it is. For anything else, state a smaller one."
        )
