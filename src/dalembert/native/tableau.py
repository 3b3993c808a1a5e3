# SPDX-License-Identifier: BSD-3-Clause
"""Explicit Runge–Kutta methods as data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

Factors = dict[int, float]
"""The factors of stages in a combination, by the number of the stage."""


@dataclass(frozen=True, eq=False)
class Tableau:
    """The coefficients of an explicit Runge–Kutta method; ``da.simulate`` takes one as its ``solver``.

    name      of the method, as reported in the statistics of a run
    order     of the step; its error estimate is of one order less
    nodes     at which part of a step each stage is taken
    stages    how each stage is reached from those before it
    result    how the stages make up the step
    errors    how they make up the estimate of its error, or two that are combined as in DOP853, of orders 5 and 3;
              none for a method of fixed steps
    """

    name: str
    order: int
    nodes: tuple[float, ...]
    stages: tuple[Factors, ...]
    result: Factors
    errors: tuple[Factors, ...] = ()

    @property
    def is_adaptive(self) -> bool:
        """Whether the method estimates its error, and so chooses its steps."""
        return bool(self.errors)

    @cached_property
    def fixed(self) -> Tableau:
        """The same method for fixed steps."""
        # always the same object: compiled programs are kept by their tableau
        return replace(self, errors=()) if self.errors else self

    @property
    def is_chain(self) -> bool:
        """Whether each stage depends on the one before it alone, so that no stage need be kept."""
        return all(set(factors) <= {s - 1} for s, factors in enumerate(self.stages))
