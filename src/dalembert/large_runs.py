# SPDX-License-Identifier: BSD-3-Clause
"""Motion, simulation and consistent states of systems stated by arrays, and what a run of them can compute.

No array of n × n numbers is made: A and M are sparse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.array_types import Floats
from dalembert.equation.answer import ConstrainedMotion
from dalembert.equation.factored import Factored, checked_formulation
from dalembert.errors import InputError
from dalembert.integration.method import Method
from dalembert.integration.sparse_motion import refuse_contradiction, require_valid_terms, solution, sparse_answer
from dalembert.integration.sparse_run import sparse_run, usual_tolerances
from dalembert.integration.sparse_start import nearest_sparse_state
from dalembert.integration.start_states import State
from dalembert.integration.trajectory import Trajectory
from dalembert.lowering.large_system import compiled
from dalembert.model.input_values import scalar_value, state_values, time_values
from dalembert.model.large_statement import LargeStatement
from dalembert.native.sparse_system import LargeDynamics

if TYPE_CHECKING:
    from dalembert.analysis.ledger import Ledger
    from dalembert.integration.motion_data import MotionData


def _prepared(
    statement: LargeStatement, q: Any, qd: Any, parameters: Any, arguments: tuple[str, str]
) -> tuple[LargeDynamics, Floats, Floats, Floats]:
    """Return the compiled system and checked numbers."""
    names = statement.coordinate_names
    q, qd = state_values(names, q, arguments[0]), state_values(names, qd, arguments[1])
    values = statement.values(parameters)
    dynamics = compiled(statement)
    return dynamics, q, qd, dynamics.numbers(values)


def _require_default(formulation: Any) -> None:
    if not isinstance(checked_formulation(formulation), Factored):
        raise InputError(
            f"`formulation` of a large system must be `da.Factored()`; got {formulation!r}. State the system with at "
            f"most 200 coordinates, or leave it out."
        )


def large_motion(
    statement: LargeStatement, q: Any, qd: Any, t: Any, parameters: Any, formulation: Any, *, throw: bool
) -> ConstrainedMotion:
    """Return ``da.motion`` of a system stated by arrays."""
    _require_default(formulation)
    dynamics, q, qd, numbers = _prepared(statement, q, qd, parameters, ("q", "qd"))
    answer = sparse_answer(dynamics, q, qd, float(scalar_value(t, "t")), numbers)
    if throw:
        refuse_contradiction(dynamics, solution(dynamics))
    return answer


def large_consistent_state(
    statement: LargeStatement, q0: Any, qd0: Any, t: Any, parameters: Any, metric: str, *, servos: bool
) -> State:
    """Return ``da.consistent_state`` of a system stated by arrays."""
    if metric != "mass" or servos:
        raise InputError('`metric` of a large system must be "mass", and `servos` must be left out.')
    dynamics, q, qd, numbers = _prepared(statement, q0, qd0, parameters, ("q0", "qd0"))
    return nearest_sparse_state(dynamics, q, qd, float(scalar_value(t, "t")), numbers)


def large_simulation(
    statement: LargeStatement,
    method: Method,
    q0: Any,
    qd0: Any,
    times: Any,
    *,
    parameters: Any,
    allow_violation: bool,
    control: Any,
    progress: bool | None,
) -> Trajectory:
    """Return ``da.simulate`` of a system stated by arrays."""
    _require_default(method.formulation)
    if method.tableau is None or method.drift.integrals or not method.drift.in_machine_code or control is not None:
        raise InputError(
            "a large system must be simulated by an explicit Runge–Kutta method, with `da.Projection()` without "
            "`conserve`, `da.Baumgarte` or None for `drift`, and without `control`. Leave the other arguments out."
        )
    dynamics, q, qd, numbers = _prepared(statement, q0, qd0, parameters, ("q0", "qd0"))
    times = time_values(times, "times", increasing=True)
    if method.atol is None:
        dynamics.code.evaluate(q, qd, float(times[0]), numbers)
        require_valid_terms(dynamics)
        method = replace(method, atol=usual_tolerances(dynamics, q, qd))
    given = {name: np.asarray(value, float) for name, value in dict(parameters or {}).items()}
    options: dict[str, Any] = {"allow_violation": allow_violation, "progress": progress}
    named = {str(getattr(name, "name", name)): _reported(value) for name, value in given.items()}
    source = LargeRun(dynamics, method, numbers)
    return sparse_run(dynamics, method, (q, qd), times, numbers, parameters=named, source=source, **options)


def _reported(value: Any) -> Any:
    return float(value) if np.ndim(value) == 0 else value


@dataclass(frozen=True, eq=False)
class LargeRun:
    """The compiled system of a run; an implementation of ``RunSource``."""

    dynamics: LargeDynamics
    method: Method
    numbers: Floats

    @property
    def write_page(self) -> Callable[..., Path]:
        raise InputError(_refusal("a live page"))

    def ledger(self, run: Trajectory) -> Ledger:
        raise InputError(_refusal("a ledger"))

    def at(self, run: Trajectory, times: Any) -> Trajectory:
        raise InputError(_refusal("`run.at`"))

    def steps(self, run: Trajectory) -> Floats:
        raise InputError(_refusal("the steps of a run"))

    def mass_and_rows(self, run: MotionData) -> tuple[Floats, Floats]:
        raise InputError(_refusal("M and A as arrays"))

    def requirement_gradients(self, run: MotionData) -> Floats:
        raise InputError(_refusal("a split of input forces"))

    def values(self, run: Trajectory, expression: Any) -> Floats:
        raise InputError(_refusal("`run.evaluate`"))


def _refusal(what: str) -> str:
    return f"{what} must be asked of a system of at most 200 coordinates; this run is of a larger one."
