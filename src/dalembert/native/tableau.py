# SPDX-License-Identifier: BSD-3-Clause
"""Explicit Runge–Kutta methods as data."""

from __future__ import annotations

from typing import NamedTuple

Factors = dict[int, float]
"""The factors of stages in a combination, by the number of the stage."""


class Tableau(NamedTuple):
    """The coefficients of an explicit Runge–Kutta method.

    nodes     at which part of a step each stage is taken
    stages    how each stage is reached from those before it
    result    how the stages make up the step
    errors    how they make up estimates of its error, of orders 5 and 3; none where steps are fixed
    """

    nodes: tuple[float, ...]
    stages: tuple[Factors, ...]
    result: Factors
    errors: tuple[Factors, ...] = ()

    @property
    def is_chain(self) -> bool:
        """Whether each stage depends on the one before it alone, so that no stage need be kept."""
        return all(set(factors) <= {s - 1} for s, factors in enumerate(self.stages))
