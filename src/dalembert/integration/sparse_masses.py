# SPDX-License-Identifier: BSD-3-Clause
"""Checks of the mass matrix of a large system, and what its inverse is needed for beside the equations of motion."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.common.names import LISTED_NAMES, quoted
from dalembert.errors import ConstraintError, MassMatrixError
from dalembert.integration.constrained_solution import constrained
from dalembert.native.block_mass import BlockMass
from dalembert.native.sparse_system import LargeDynamics, SparseSystem
from dalembert.numerics.mass import in_units, mass_kind, own_units
from dalembert.numerics.tolerances import NAMED_SHARE, SINGULAR_MASS

ADVICE = "If that is meant, pass `formulation=da.{}()`."
"""Advice for functions that take a formulation."""


def refuse_unsuited_mass(dynamics: LargeDynamics, advice: str = ADVICE) -> None:
    """Raise an error unless the mass matrix of the last evaluation is what ``mass_rule`` demands."""
    code = dynamics.code
    if dynamics.mass_rule == "semidefinite":
        _refuse_negative(dynamics)
    if code.any_mass:
        return
    # with the inertia of rates: single blocks are judged below
    mass = code.mass.diagonal
    light = np.flatnonzero(~(mass > 0))
    if len(light):
        suited = "SingularMass" if mass[light[0]] == 0 else "Multipliers"
        raise MassMatrixError(
            f"`mass_matrix` of a large system must be positive definite; the mass of "
            f"`{dynamics.coordinates[light[0]]}` is {mass[light[0]]:.3g}. {advice.format(suited)}"
        )
    blocks = _blocks_of(code)
    singular = np.flatnonzero(blocks.not_definite())
    if len(singular):
        worst = int(singular[np.argmin(blocks.pivots[singular])])
        suited = "SingularMass" if _is_singular(blocks, int(blocks.owner[worst])) else "Multipliers"
        raise MassMatrixError(
            f"`mass_matrix` of a large system must be positive definite; that of `{dynamics.coordinates[worst]}` "
            f"and the coordinates coupled with it is not. {advice.format(suited)}"
        )


def _refuse_negative(dynamics: LargeDynamics) -> None:
    mass = _blocks_of(dynamics.code)
    for i in _raised_blocks(mass):
        own = mass.block(i)
        # by blocks: a heavy block must not hide a negative eigenvalue of a light one
        smallest, largest = np.linalg.eigvalsh(in_units(own, own_units(own)))[[0, -1]]
        if smallest < -SINGULAR_MASS * max(abs(smallest), abs(largest)):
            names = quoted(dynamics.coordinates[k] for k in _members(mass, i)[:LISTED_NAMES])
            raise MassMatrixError(
                f"`mass_matrix` must have no negative eigenvalue for `SingularMass`; that of {names} has "
                f"{np.linalg.eigvalsh(own)[0]:.3g}. {ADVICE.format('Multipliers')}"
            )


def refuse_undetermined_motion(dynamics: LargeDynamics) -> None:
    """Raise an error that names coordinates whose accelerations neither M nor the constraints determine.

    S must be factored.
    """
    _refuse_dependent_rows(dynamics)
    if names := undetermined_motion(dynamics):
        raise MassMatrixError(
            f"`mass_matrix` of a large system must be regular along the motions that the constraints allow; "
            f"along one of {quoted(names)} it is not. Give every coordinate that has no mass a constraint that moves "
            f"it."
        )


def undetermined_motion(dynamics: LargeDynamics) -> list[str]:
    """Return the coordinates of a motion without inertia that the constraints allow; none if there is no such motion.

    Any such motion has a part in a random force, which the iteration for its acceleration finds.
    """
    code = dynamics.code
    if not code.has_added_inertia:
        return []
    units = np.sqrt(np.abs(code.metric_diagonal))
    # always the same random force, so that a message does not change from call to call
    free = constrained(code, np.random.default_rng(0).normal(size=code.n) * units, np.zeros(code.m)).massless
    if free is None:
        return []
    sizes = np.abs(free) * units
    largest = np.argsort(-sizes)[:LISTED_NAMES]
    return [dynamics.coordinates[i] for i in sorted(largest[sizes[largest] > NAMED_SHARE * sizes.max()])]


def raised_kind(code: SparseSystem) -> tuple[str, int]:
    """Return the kind of a mass matrix, and a coordinate for which it is not positive definite.

    It is indefinite if one of its blocks is.
    """
    mass, found = _blocks_of(code), ("positive definite", 0)
    if not code.has_added_inertia:
        return found
    for i in _raised_blocks(mass):
        kind = mass_kind(mass.block(i)).kind
        if kind != "singular":
            return "indefinite", int(_members(mass, i)[0])
        found = kind, int(_members(mass, i)[0])
    return found


def _refuse_dependent_rows(dynamics: LargeDynamics) -> None:
    elimination = dynamics.code.elimination
    if dynamics.mass_rule != "any" or elimination is None or not elimination.left_out.any():
        return
    out = np.flatnonzero(elimination.left_out)
    names = quoted(dynamics.constraints[i] for i in out[:LISTED_NAMES])
    more = f" and {len(out) - LISTED_NAMES} more" if len(out) > LISTED_NAMES else ""
    advice = "Use `da.Factored()`, or `da.SingularMass()`, which take redundant ones, or remove the redundant ones."
    # these formulations refuse negative masses
    if raised_kind(dynamics.code)[0] == "indefinite":
        advice = "Remove the redundant ones."
    raise ConstraintError(
        f"`Multipliers` must have independent constraints; got {dynamics.code.m} of rank "
        f"{dynamics.code.m - len(out)}: {names}{more} follow from the others. {advice}"
    )


def free_motion(code: SparseSystem, force: Floats) -> Floats | None:
    """Return M⁻¹ times a force (n,), without inertia that was added to M; None where M is singular."""
    found = code.mass.solve(force)
    if not code.has_added_inertia:
        return found
    mass = code.mass
    if not isinstance(mass, BlockMass):
        return None
    for i in _raised_blocks(mass):
        if _is_singular(mass, i):
            return None
        own = _members(mass, i)
        # the factors of these blocks are those with the inertia that was added
        found[own] = np.linalg.solve(mass.block(i), force[own])
    return found


def _blocks_of(code: SparseSystem) -> BlockMass:
    mass = code.mass
    return mass if isinstance(mass, BlockMass) else mass.blocks


def _raised_blocks(mass: BlockMass) -> Iterator[int]:
    """Return the numbers of the blocks to which inertia was added."""
    yield from np.unique(mass.owner[mass.added > 0]).tolist()


def _members(mass: BlockMass, i: int) -> NDArray[np.int32]:
    return mass.members[mass.firsts[i] : mass.firsts[i] + mass.sizes[i]]


def _is_singular(mass: BlockMass, i: int) -> bool:
    return mass_kind(mass.block(i)).kind == "singular"
