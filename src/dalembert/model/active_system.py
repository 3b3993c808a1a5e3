# SPDX-License-Identifier: BSD-3-Clause
"""The system of one phase of a motion with contacts and switches: some of the constraints, as equations."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import lru_cache
from typing import Any

from dalembert.errors import InputError
from dalembert.model import graph
from dalembert.model.constraint import Constraint
from dalembert.model.ordering import quoted
from dalembert.model.symbols import multiplier
from dalembert.model.system import System


def all_permanent(system: Any) -> bool:
    """Return whether all constraints of a system are equations that always hold, as those stated by arrays do."""
    if not isinstance(system, System) or system.statement is not None or system.deferred is not None:
        return True
    return _has_permanent_terms(system)


@lru_cache(maxsize=256)  # asked by every run
def _has_permanent_terms(system: System) -> bool:
    return all(constraint.is_permanent for constraint in system.constraints)


@lru_cache(maxsize=256)
def active_system(system: System, active: frozenset[str] | None = None) -> System:
    """Return the system with its active constraints only, as equations; with all of them if none are named."""
    kept = (c for c in system.constraints if active is None or c.name in active)
    return replace(system, constraints=tuple(_as_equation(constraint) for constraint in kept))


def permanent_system(system: System) -> System:
    """Return the system with the equations that always hold only."""
    if all_permanent(system):
        return system
    return active_system(system, frozenset(str(c.name) for c in system.constraints if c.is_permanent))


def starting_system(system: System) -> System:
    """Return the system with the equations that hold at the start only."""
    if all_permanent(system):
        return system
    return active_system(system, frozenset(str(c.name) for c in system.constraints if c.active and not c.one_sided))


def _as_equation(constraint: Constraint) -> Constraint:
    if constraint.is_permanent:
        return constraint
    stated = {"restitution": None, "impact": "newton", "releases": False, "active": True, "one_sided": False}
    return replace(constraint, **stated, pressing=constraint.one_sided)


def refuse_distant_laws(system: System, switched: Collection[str]) -> None:
    """Raise an error if a law needs the multiplier of a contact or a switched constraint that it does not belong to."""
    for placed in system.laws:
        for component in placed.law.components(system.coordinates):
            used = {found.name for found in graph.atoms(component, multiplier)}
            distant = sorted((used & set(switched)) - {placed.constraint})
            if distant:
                raise InputError(
                    f"the nonideal law {placed.described} must not depend on the reaction of another constraint that "
                    f"opens or is switched off; it depends on {quoted(distant)}. Give the law to that constraint."
                )
