# SPDX-License-Identifier: BSD-3-Clause
"""Classification of mass matrices as definite, indefinite or singular, in the coordinates' own units."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats, all_finite, all_true
from dalembert.numerics.tolerances import SINGULAR_MASS, SYMMETRY_TOLERANCE

Kind = Literal["positive definite", "indefinite", "singular", "negative definite", "not symmetric"]


class MassKind(NamedTuple):
    """The kind of a mass matrix, and a vector (n,) along which it is not positive."""

    kind: Kind
    direction: Floats | None


def mass_kind(M: Floats) -> MassKind:
    """Return the kind of a mass matrix by its eigenvalues, after scaling to a unit diagonal; see ``SINGULAR_MASS``."""
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
    """Return whether every matrix of a batch (..., n, n) is symmetric up to rounding, relative to √(Mᵢᵢ Mⱼⱼ)."""
    M = np.asarray(M, float)
    if not all_finite(M):
        return False
    transposed = np.swapaxes(M, -1, -2)
    if all_true(transposed == M):
        return True
    units = own_units(M)
    size = np.maximum(units[..., :, None] * units[..., None, :], np.maximum(np.abs(M), np.abs(transposed)))
    return bool((np.abs(M - transposed) <= SYMMETRY_TOLERANCE * size).all())


def has_only_masses(M: Any) -> bool:
    """Return whether one matrix (n, n) is diagonal and positive."""
    M = np.asarray(M)
    return M.ndim == 2 and np.count_nonzero(M) == len(M) and all_true(M.diagonal() > 0)


def own_units(M: Floats) -> Floats:
    """Return the unit (..., n) of each coordinate from the masses alone."""
    own = np.sqrt(np.abs(np.diagonal(M, axis1=-2, axis2=-1)))
    # the usual case first, since every answer at one state is checked in these units
    return own if all_true(own > 0) else coordinate_units(M, np.zeros((*M.shape[:-2], 0, M.shape[-1])))


def in_units(M: Any, units: Any) -> Any:
    """Return M / uuᵀ."""
    return M / units[..., :, None] / units[..., None, :]


def _repeat(count: int, step: Callable[[Any, Any], Any], state: Any) -> Any:
    for k in range(count):
        if (state[0] > 0).all():
            break
        state = step(k, state)
    return state


def coordinate_units(M: Any, A: Any, xp: Any = np, repeat: Callable[..., Any] = _repeat) -> Any:
    """Return units (..., n) of the coordinates for any symmetric M (..., n, n) and constraint rows A (..., m, n).

    The unit is √|Mᵢᵢ| if it is not zero. A coordinate without mass of its own gets its unit from the coordinates that M
    couples it with or, if there are none, from those it shares a constraint with. These units follow a change of the
    user's units exactly. A coordinate related to no other may have any unit, and gets the largest. ``xp`` and
    ``repeat`` are NumPy and its loop, or those of another array library.
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
        # units spread to coupled coordinates in each pass; if none can, one of the rest gets the largest unit
        stuck = ~xp.any(~known & (found > 0), axis=-1, keepdims=True)
        first = xp.cumsum(~known, axis=-1) == 1
        largest = xp.max(units, axis=-1, keepdims=True, initial=0.0)
        found = xp.where(stuck & first, xp.where(largest > 0, largest, 1.0), found)
        return (xp.where(known, units, found),)

    return repeat(own.shape[-1], spread, (own,))[0]
