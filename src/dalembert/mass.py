# SPDX-License-Identifier: BSD-3-Clause
"""What kind of matrix a mass matrix is, in the coordinates' own units: the one rule that all verbs go by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from dalembert.array_types import Floats
from dalembert.tolerances import SINGULAR_MASS, SYMMETRY_TOLERANCE

Kind = Literal["positive definite", "indefinite", "singular", "negative definite", "not symmetric"]


class MassKind(NamedTuple):
    """What kind of matrix M is, and a vector (n,) along which it fails to be positive."""

    kind: Kind
    direction: Floats | None


def mass_kind(M: Floats) -> MassKind:
    """The kind of a mass matrix, by its eigenvalues once it is scaled to a unit diagonal; see ``SINGULAR_MASS``."""
    if not is_symmetric(M):
        return MassKind("not symmetric", None)
    scale = own_units(M)
    values, vectors = np.linalg.eigh(in_units(M, scale))
    zero = SINGULAR_MASS * np.abs(values).max(initial=0.0)
    if values[0] > zero:
        return MassKind("positive definite", None)
    if values[-1] < -zero:
        return MassKind("negative definite", vectors[:, 0] / scale)
    smallest = int(np.argmin(np.abs(values)))
    if abs(values[smallest]) <= zero:
        return MassKind("singular", vectors[:, smallest] / scale)
    return MassKind("indefinite", vectors[:, 0] / scale)


def is_symmetric(M: Any) -> bool:
    """Whether every matrix of a batch (..., n, n) is symmetric up to rounding, each entry measured by √(Mᵢᵢ Mⱼⱼ)."""
    M = np.asarray(M, float)
    if not np.isfinite(M).all():
        return False
    units, turned = own_units(M), np.swapaxes(M, -1, -2)
    size = np.maximum(units[..., :, None] * units[..., None, :], np.maximum(np.abs(M), np.abs(turned)))
    return bool((np.abs(M - turned) <= SYMMETRY_TOLERANCE * size).all())


def own_units(M: Floats) -> Floats:
    """The unit (..., n) of each coordinate by the masses alone."""
    return coordinate_units(M, np.zeros((*M.shape[:-2], 0, M.shape[-1])))


def in_units(M: Any, units: Any) -> Any:
    """M / uuᵀ."""
    return M / units[..., :, None] / units[..., None, :]


def _repeat(count: int, step: Callable[[Any, Any], Any], state: Any) -> Any:
    for k in range(count):
        if (state[0] > 0).all():
            break
        state = step(k, state)
    return state


def coordinate_units(M: Any, A: Any, xp: Any = np, repeat: Callable[..., Any] = _repeat) -> Any:
    """Units (..., n) of the coordinates for any symmetric M (..., n, n) and constraint rows A (..., m, n).

    √|Mᵢᵢ| where it is not zero. A coordinate without a mass of its own is measured by those that M couples it with, and
    without any, by those that it shares a constraint with; all of this follows a change of units exactly. What is
    related to none of these may have any unit, and gets the largest. In NumPy, or in another namespace with its loop.
    """
    M, A = abs(M), abs(A)
    own = xp.sqrt(xp.diagonal(M, axis1=-2, axis2=-1))

    def spread(_: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
        (units,) = state
        known = units > 0
        per_unit = xp.where(known, 1.0 / xp.where(known, units, 1.0), 0.0)
        coupled = xp.max(M * per_unit[..., None, :], axis=-1, initial=0.0)
        lengths = xp.max(A * per_unit[..., None, :], axis=-1, initial=0.0)[..., None]
        shared = xp.max(xp.where(lengths > 0, A / xp.where(lengths > 0, lengths, 1.0), 0.0), axis=-2, initial=0.0)
        found = xp.where(coupled > 0, coupled, shared)
        stuck = ~xp.any(~known & (found > 0), axis=-1, keepdims=True)
        first = xp.cumsum(~known, axis=-1) == 1
        largest = xp.max(units, axis=-1, keepdims=True, initial=0.0)
        found = xp.where(stuck & first, xp.where(largest > 0, largest, 1.0), found)
        return (xp.where(known, units, found),)

    return repeat(own.shape[-1], spread, (own,))[0]
