# SPDX-License-Identifier: BSD-3-Clause
"""How to integrate, and what comes out of a batch of steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dalembert.array_types import Floats
from dalembert.equation.formulation import Formulation
from dalembert.integration.drift import Drift
from dalembert.native.dormand_prince import DORMAND_PRINCE
from dalembert.native.runge_kutta import RUNGE_KUTTA
from dalembert.native.tableau import Tableau


@dataclass(frozen=True)
class Method:
    """How to integrate: everything but the system and the numbers.

    solver      a diffrax solver, a tableau for machine code, or None for Dormand and Prince's method of order 8, with a
                fixed ``step`` for Runge and Kutta's of order 4
    atol        absolute tolerance of all components of the state, or one for each; None until the start is known: see
                ``scales.with_tolerances``
    step        a fixed step size, or None for an adaptive one
    max_step    the longest adaptive step
    """

    formulation: Formulation
    drift: Drift
    solver: Any
    rtol: float
    atol: Any
    step: float | None
    max_steps: int
    max_step: float = np.inf

    @property
    def least_atol(self) -> float:
        """The smallest absolute tolerance, where one number must stand for all."""
        return float(np.min(self.atol))

    @property
    def solver_name(self) -> str:
        """The name of the integration method."""
        return type(self.solver).__name__ if self.tableau is None else self.tableau.name

    @property
    def tableau(self) -> Tableau | None:
        """The Runge–Kutta method for machine code; None if a diffrax solver is asked for."""
        if self.solver is None:
            return DORMAND_PRINCE if self.step is None else RUNGE_KUTTA
        if not isinstance(self.solver, Tableau):
            return None
        return self.solver if self.step is None else self.solver.fixed


class Tolerances(NamedTuple):
    """What of a method may change without anything being compiled anew."""

    rtol: Any
    atol: Any
    step: Any
    max_step: Any


def strip_tolerances(method: Method, max_steps: int = 0) -> tuple[Method, Tolerances]:
    """A method without its numbers, which compiled programs are kept by, and these; ``restore_tolerances`` undoes it.

    How many steps are left must not decide what is compiled either: ``max_steps`` of a program takes their place.
    """
    given = (method.rtol, method.atol, method.step, method.max_step)
    numbers = Tolerances(*(None if x is None else np.asarray(x, float) for x in given))
    fixed = None if method.step is None else 0.0
    return replace(method, rtol=0.0, atol=0.0, step=fixed, max_steps=max_steps, max_step=0.0), numbers


def restore_tolerances(method: Method, numbers: Tolerances) -> Method:
    return replace(method, **numbers._asdict())


class StepBatch(NamedTuple):
    """Some steps: times (k,) and states (k, 2n), how it ended, if the start was sound, and the ranks that were seen."""

    t: Floats
    y: Floats
    rejected: int
    finished: bool
    to_be_continued: bool
    valid: bool
    ranks: list[int]
    rank_changes: list[float]
    moved_far: bool = False  # a projection moved the state farther than the last step, which is left out


def split_state(y: Any) -> tuple[Any, Any]:
    """q and qd."""
    n = y.shape[-1] // 2
    return y[..., :n], y[..., n:]
