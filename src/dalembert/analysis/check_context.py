# SPDX-License-Identifier: BSD-3-Clause
"""The system and the point that a check examines, and the states around it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.analysis.constraint_states import ConsistentState, Fixed, free_values
from dalembert.analysis.evaluated_terms import Model, Point
from dalembert.model.system import System
from dalembert.numerics.terms import Terms


@dataclass(frozen=True)
class CheckContext:
    """A system and the point, given or random, at which it is checked.

    terms              the terms at the point; rows of A that consist of rounding error are set to zero
    around             consistent states: near the given point, or random ones if none is given
    given              whether the user gave the point
    fixed              the parameters and the time that the user gave
    """

    system: System
    model: Model
    point: Point
    terms: Terms
    around: list[ConsistentState]
    given: bool
    fixed: Fixed

    @property
    def names(self) -> tuple[str, ...]:
        return self.system.constraint_names


def values_in(model: Model, point: Point, rows: Sequence[int], fixed: Fixed) -> str:
    """Return a text with the values of the time and parameters that occur in some constraints and are not fixed."""
    values = dict(zip((model.form.symbols.time, *model.parameters), (point.t, *point.p), strict=True))
    return ", ".join(
        f"{symbol.name} = {round(values[symbol], 6) + 0.0:.3g}" for symbol in free_values(model, rows, fixed)
    )
