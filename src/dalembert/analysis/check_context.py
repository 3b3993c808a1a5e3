# SPDX-License-Identifier: BSD-3-Clause
"""What a verdict is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dalembert.analysis.constraint_states import Fixed, Settled, free_values
from dalembert.analysis.evaluated_terms import Model, Point
from dalembert.model.system import System
from dalembert.terms import Terms


@dataclass(frozen=True)
class CheckContext:
    """What is looked at: a system, and a point, given or random.

    numbers            its terms there, rows of A that are rounding error made zero
    around             states on the constraints: near a given point, anywhere if none is given
    given              whether the point is the user's
    fixed              the parameters and the time if they are the user's
    """

    system: System
    model: Model
    point: Point
    numbers: Terms
    around: list[Settled]
    given: bool
    fixed: Fixed

    @property
    def names(self) -> tuple[str, ...]:
        return self.system.constraint_names


def values_in(model: Model, point: Point, rows: Sequence[int], fixed: Fixed) -> str:
    """The values of what is not fixed of time and parameters in some constraints."""
    values = dict(zip((model.form.symbols.time, *model.parameters), (point.t, *point.p), strict=True))
    return ", ".join(
        f"{symbol.name} = {round(values[symbol], 6) + 0.0:.3g}" for symbol in free_values(model, rows, fixed)
    )
