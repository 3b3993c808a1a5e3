# SPDX-License-Identifier: BSD-3-Clause
"""Equality and hash of systems, by which compiled programs are looked up."""

from __future__ import annotations

import weakref
from dataclasses import fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dalembert.model.system import System


def are_equal(one: System, other: System) -> bool:
    """Return whether two systems state the same."""
    # SymPy compares whole expressions, and compiled programs are looked up several times in a call: a system made anew
    # remembers which earlier one it is equal to
    if other is one._last_equal[0]() or one is other._last_equal[0]():
        return True
    # the fields of a large system are not expanded
    own = ["statement"] if one.is_large else [field.name for field in fields(one) if field.compare]
    if hash(one) != hash(other) or any(getattr(one, name) != getattr(other, name) for name in own):
        return False
    one._last_equal[0], other._last_equal[0] = weakref.ref(other), weakref.ref(one)
    return True


def hash_of(system: System) -> int:
    """Return the hash of a system, which the system keeps: hashing large matrices at each lookup would be slow."""
    if system.is_large:
        return hash(system.statement)
    expressions = (system.coordinates, system.mass_matrix, system.applied_force, system.constraints)
    return hash((*expressions, system.nonideal, system.servos, system.feedback, system.conserved))
