# SPDX-License-Identifier: BSD-3-Clause
"""The Butcher tableau of an explicit Runge–Kutta method."""

from __future__ import annotations

from typing import NamedTuple

Factors = dict[int, float]
"""The coefficients of a linear combination of stages, by the number of the stage."""


class Tableau(NamedTuple):
    """The coefficients of an explicit Runge–Kutta method.

    nodes     the time of each stage, as a fraction of the step
    stages    the coefficients of each stage in terms of the earlier ones
    result    the weights of the stages in the step
    errors    the weights of the error estimates, of orders 5 and 3; empty for fixed steps
    """

    nodes: tuple[float, ...]
    stages: tuple[Factors, ...]
    result: Factors
    errors: tuple[Factors, ...] = ()

    @property
    def is_chain(self) -> bool:
        """True if each stage depends only on the previous one, so that no other stage need be kept."""
        return all(set(factors) <= {s - 1} for s, factors in enumerate(self.stages))
