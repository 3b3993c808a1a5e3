# SPDX-License-Identifier: BSD-3-Clause
"""The terms of the equation of motion at one state."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.numerics.mass import own_units
from dalembert.numerics.violation import computable


class Terms(NamedTuple):
    """M (n, n), Q (n,), A (m, n), b (m,), and the residuals of the constraints (m,) at position and velocity level.

    A residual is zero if a constraint has none at that level. The arrays are NumPy or JAX arrays.
    """

    M: Any
    Q: Any
    A: Any
    b: Any
    position: Any
    velocity: Any

    @property
    def scaled_rows(self) -> Any:
        """A with each coordinate in its own unit, so that metres beside nanometres do not change its rank."""
        return self.A / own_units(self.M)

    @property
    def units(self) -> Any:
        """The scale (n,) of each coordinate by its mass, relative to the others, as a power of ten."""
        size = own_units(self.M)
        logarithm = -np.log10(np.where(computable(size), size, 1.0))
        return 10.0 ** np.round(logarithm - logarithm.mean())

    @property
    def is_finite(self) -> bool:
        """True if all entries and their squares are finite."""
        return all(bool(computable(array).all()) for array in self)
