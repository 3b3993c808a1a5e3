# SPDX-License-Identifier: BSD-3-Clause
"""Inertia that is added to a mass matrix that is not positive definite, so that it can be factored.

The factors then belong to another system, with the same constraints, from which the equations of the real one are
solved by iteration (``integration/constrained_solution.py``). What is added should be small beside the inertia that a
massless coordinate moves along with it: each iteration reduces the error by about this ratio.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.native.block_mass import BlockMass
from dalembert.numerics.tolerances import TINY

MassRule = Literal["positive definite", "semidefinite", "any"]
"""Requirements on a mass matrix: positive definite everywhere, or on motions that the constraints allow; in the second
case without negative eigenvalues."""

SMALLEST_PART = 1e-2
"""The part of the inertia that moves along which is added at first: S keeps all but two of its digits."""

MOST_RAISES = 40
"""Most attempts, with ten times as much each: an indefinite block needs more than its negative eigenvalues. Only
entries that are not finite need more."""


def make_definite(mass: BlockMass, A: Any) -> None:
    """Factor the present values of M with inertia added to the blocks that are not positive definite.

    A is the sparse matrix (m, n) of constraint rows, which relate the units of massless coordinates to others.
    """
    mass.added[:] = 0.0
    mass.factor()
    off = mass.not_definite()
    if not off.any():
        return
    inertia = _inertia_along(mass, A)
    part = SMALLEST_PART
    for _ in range(MOST_RAISES):
        mass.added[off] = part * inertia[off]
        with np.errstate(all="ignore"):
            mass.factor()
        off = mass.not_definite()
        if not off.any():
            return
        part *= 10


def _inertia_along(mass: BlockMass, A: Any) -> Floats:
    """Return the inertia (n,) of each coordinate: its own or, without any, of what a constraint moves along with it."""
    found = np.abs(mass.diagonal)
    entries = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr)), A.indices
    squares = A.data**2
    while not (known := found > 0).all():
        mobility = np.zeros(len(found))
        mobility[known] = 1 / found[known]
        # of one unit of each row, by its coordinates whose inertia is known
        rows = np.bincount(entries[0], squares * mobility[entries[1]], A.shape[0])
        with np.errstate(divide="ignore"):
            along = np.where(rows > 0, 1 / np.maximum(rows, TINY), 0.0)
        np.maximum.at(spread := np.zeros(len(found)), entries[1], squares * along[entries[0]])
        new = np.where(known, found, spread)
        if not ((new > 0) & ~known).any():
            # related to no mass at all: any inertia will do, and the largest is no exception among them
            new = np.where(known, found, max(float(found.max(initial=0.0)), TINY) if known.any() else 1.0)
        found = new
    return found
