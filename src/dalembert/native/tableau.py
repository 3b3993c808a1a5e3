# SPDX-License-Identifier: BSD-3-Clause
"""The Butcher tableau of an explicit Runge–Kutta method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

Factors = dict[int, float]
"""The coefficients of a linear combination of stages, by the number of the stage."""


@dataclass(frozen=True, eq=False)
class Tableau:
    """The coefficients of an explicit Runge–Kutta method; ``da.simulate`` takes one as its ``solver``.

    name      of the method, as reported in the statistics of a run
    order     of the step; its error estimate is of one order less
    nodes     the time of each stage, as a fraction of the step
    stages    the coefficients of each stage in terms of the earlier ones
    result    the weights of the stages in the step
    errors    the weights of the error estimate, or of two that are combined as in DOP853, of orders 5 and 3; empty for
              a method of fixed steps
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

    def step_tolerances(self, rtol: float, atol: Any) -> tuple[float, Any]:
        """Return the tolerances of the error estimate for those that are asked of the motion: the same."""
        return rtol, atol

    def through_stages(self, factors: Factors) -> Factors:
        """Return the coefficients of stages in a linear combination of the velocities of stages.

        The velocity of a stage is itself a combination of the accelerations before it, so that a step of q̈ = f(q, q̇)
        needs no other slopes than accelerations.
        """
        found: Factors = {}
        for stage, factor in factors.items():
            for earlier, own in self.stages[stage].items():
                found[earlier] = found.get(earlier, 0.0) + factor * own
        return found

    @property
    def is_chain(self) -> bool:
        """True if each stage depends only on the previous one, so that no other stage need be kept."""
        return all(set(factors) <= {s - 1} for s, factors in enumerate(self.stages))
