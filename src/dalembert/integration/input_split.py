# SPDX-License-Identifier: BSD-3-Clause
"""The force of inputs as the sum of an ideal and a nonideal part."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.numerics.tolerances import RANK_TOLERANCE


class InputForceSplit(NamedTuple):
    """The parts (T, n) of the force of all inputs.

    ideal       what nature would exert to the same effect on the requirements: it is in the range of A₂ᵀ
    nonideal    the rest, which has no effect on the requirements at their own level
    """

    ideal: Floats
    nonideal: Floats


def input_force_split(M: Floats, A: Floats, A2: Floats, force: Floats) -> InputForceSplit:
    """Split forces (T, n) with M (T, n, n), physical constraints A (T, m, n) and requirements A₂ (T, k, n).

    Notation: M̄⁻¹ is the part of M⁻¹ that the physical constraints leave free. The ideal part is
    A₂ᵀ(A₂M̄⁻¹A₂ᵀ)⁺A₂M̄⁻¹F.
    """
    root = np.linalg.inv(np.linalg.cholesky(M))  # M⁻¹ = rootᵀ root
    free = np.eye(M.shape[-1]) - _onto(_unit(A @ root.swapaxes(1, 2)))
    scaled = A2 @ root.swapaxes(1, 2)
    sizes = np.linalg.norm(scaled, axis=-1)
    units = 1 / np.where(sizes > 0, sizes, 1.0)
    moved = (free @ root @ force[..., None])[..., 0]
    # the least factors of the rows of A₂ with which these have the effect of the force
    factors = np.linalg.pinv((scaled @ free * units[..., None]).swapaxes(1, 2), rcond=RANK_TOLERANCE)
    ideal = np.einsum("tkn,tk,tki,ti->tn", A2, units, factors, moved)
    return InputForceSplit(ideal, force - ideal)


def _unit(rows: Floats) -> Floats:
    sizes = np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows / np.where(sizes > 0, sizes, 1.0)


def _onto(rows: Floats) -> Floats:
    """Return the orthogonal projection onto the span of rows (T, m, n)."""
    return np.linalg.pinv(rows, rcond=RANK_TOLERANCE) @ rows
