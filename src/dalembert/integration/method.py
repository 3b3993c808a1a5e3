# SPDX-License-Identifier: BSD-3-Clause
"""The integration method as data, its tolerances, and the result of a batch of steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.common.frozen_instances import replaced
from dalembert.equation.formulation import Formulation
from dalembert.integration.drift import Drift
from dalembert.native.collocation import Collocation
from dalembert.native.dormand_prince import DORMAND_PRINCE
from dalembert.native.radau import RADAU
from dalembert.native.runge_kutta import RUNGE_KUTTA
from dalembert.native.tableau import Tableau


@dataclass(frozen=True)
class Implicit:
    """An implicit integrator for stiff systems: ``solver=da.Implicit()`` of ``da.simulate``.

    A system is stiff if explicit methods need steps much shorter than the motion itself changes, because of stiff
    springs, strong damping or fast relaxation. Each step evaluates the derivatives of the accelerations, constraint
    forces included, and solves its equations by Newton's method, so that it costs tens of accelerations; its length
    follows from the accuracy alone. Drift cures, tolerances, outputs and reports are those of the explicit integrator.

    ``method`` are the coefficients; by default those of Radau IIA of order 5, L-stable and stiffly accurate.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> stiff = da.System((x,), [[1]], (-1e6 * (x - da.t) - 1e6 * x.diff(da.t),))
    >>> run = da.simulate(stiff, (0,), (0,), [0, 10], solver=da.Implicit())
    >>> run.statistics["steps"] < 100
    True
    """

    method: Collocation = RADAU

    def __repr__(self) -> str:
        return "Implicit()" if self.method is RADAU else f"Implicit({self.method.name})"


@dataclass(frozen=True)
class Method:
    """The integration method: formulation, drift cure, solver, tolerances and step sizes.

    solver      a diffrax solver, ``Implicit`` or a ``Tableau`` for the compiled integrator, or None for the
                Dormand–Prince method of order 8, with a fixed ``step`` for the classical Runge–Kutta method of order 4
    atol        absolute tolerance of all components of the state, or one for each; None until the start is known: see
                ``default_tolerances.with_tolerances``
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

    def with_atol(self, atol: Any) -> Method:
        """Return the method with other absolute tolerances."""
        return replaced(self, {"atol": atol})

    @property
    def _atols(self) -> list[float]:
        # as Python numbers: of a few, their extrema take a fifth of the time of NumPy's
        return np.atleast_1d(self.atol).tolist()

    @property
    def least_atol(self) -> float:
        """The smallest absolute tolerance of all components."""
        return min(self._atols)

    @property
    def largest_atol(self) -> float:
        """The largest absolute tolerance of all components."""
        return max(self._atols)

    @property
    def solver_name(self) -> str:
        """The name of the integration method."""
        return type(self.solver).__name__ if self.tableau is None else self.tableau.name

    @property
    def tableau(self) -> Tableau | Collocation | None:
        """The Runge–Kutta method of the compiled integrator; None if a diffrax solver is requested."""
        if self.solver is None:
            return DORMAND_PRINCE if self.step is None else RUNGE_KUTTA
        given = self.solver.method if isinstance(self.solver, Implicit) else self.solver
        if not isinstance(given, (Tableau, Collocation)):
            return None
        # with a fixed step the error estimate would be computed for nothing
        return given if self.step is None else given.fixed

    @property
    def is_implicit(self) -> bool:
        """Whether the steps are those of ``Implicit``."""
        return isinstance(self.solver, Implicit)


class Tolerances(NamedTuple):
    """The numbers of a method, which may change without recompilation."""

    rtol: Any
    atol: Any
    step: Any
    max_step: Any


def strip_tolerances(method: Method, max_steps: int = 0) -> tuple[Method, Tolerances]:
    """Separate a method into its static part, the key of compiled programs, and its numbers.

    The number of steps left must not be part of the key either: ``max_steps`` of a compiled program replaces it.
    """
    values = (method.rtol, method.atol, method.step, method.max_step)
    # None stays None: whether there is a value belongs to the program
    numbers = Tolerances(*(None if x is None else np.asarray(x, float) for x in values))
    # whether steps are fixed belongs to the program, their length does not
    fixed = None if method.step is None else 0.0
    return replace(method, rtol=0.0, atol=0.0, step=fixed, max_steps=max_steps, max_step=0.0), numbers


def restore_tolerances(method: Method, numbers: Tolerances) -> Method:
    """Return the method with its numbers; the inverse of ``strip_tolerances``."""
    return replace(method, **numbers._asdict())


class StepBatch(NamedTuple):
    """Steps with times (k,) and states (k, 2n), how the batch ended, whether the start was valid, and the ranks.

    ``from_start`` are times (k + 1,) and states (k + 1, 2n) with those of the start before them, if they are in memory.
    """

    t: Floats
    y: Floats
    rejected: int
    finished: bool
    to_be_continued: bool
    valid: bool
    ranks: list[int]
    rank_changes: list[float]
    moved_far: bool = False  # a projection moved the state farther than the last step, which is left out
    from_start: tuple[Floats, Floats] | None = None


def split_state(y: Any) -> tuple[Any, Any]:
    """Return q and qd, the two halves of a state."""
    n = y.shape[-1] // 2
    return y[..., :n], y[..., n:]
