# SPDX-License-Identifier: BSD-3-Clause
"""The error message of a run that ended early: what happened, where, possible causes, and remedies."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.common.names import counted
from dalembert.equation.answer import ConstrainedMotion
from dalembert.equation.answer_checks import contradiction
from dalembert.equation.dynamics import Dynamics
from dalembert.integration.bifurcations import singular_end
from dalembert.integration.control_outputs import growth_reason_along, unmet
from dalembert.integration.hand_over import trouble_ahead
from dalembert.integration.method import Method, split_state
from dalembert.integration.path import Path
from dalembert.integration.state_answer import answer_at, trouble_at
from dalembert.numerics.tolerances import CONSISTENCY_TOLERANCE

SO_FAR = " The motion so far is in `error.trajectory`."
"""Pointer to the partial result of a single run; ensemble members have no such object."""


def failure_reason(dynamics: Dynamics, method: Method, path: Path, p: Any, t1: float) -> str:
    """Return the error message for a run that ended before t1."""
    t = float(path.t[-1])
    if path.refusal:
        return f"the motion must be continued to t = {t1:.6g}; it ended at t = {t:.6g}: {path.refusal}{SO_FAR}"
    q, qd = split_state(path.y[-1])
    where = ", ".join(f"{name} = {value:.6g}" for name, value in zip(dynamics.coordinates, q, strict=True))
    reason = _reason(dynamics, method, path, p, t, q, qd)
    return (
        f"the motion must be continued to t = {t1:.6g}; it ended at t = {t:.6g}, where {where}, after "
        f"{counted(path.steps, 'step')}: {reason}{SO_FAR}"
    )


USE_IMPLICIT = "pass an implicit solver, `solver=da.Implicit()`"
"""Advice for a single run; ensembles have no such argument."""


def _reason(dynamics: Dynamics, method: Method, path: Path, p: Any, t: float, q: Any, qd: Any) -> str:
    answer = answer_at(dynamics, q, qd, np.asarray(t), p, method.formulation)
    # an invalid equation explains the end better than any limit that was reached on the way to it
    trouble = unmet(dynamics, q, qd, t, p) or trouble_at(dynamics, answer, method.formulation)
    if trouble:
        return trouble
    if path.steps >= method.max_steps:
        return f"the limit of {method.max_steps} steps was reached. Raise `max_steps` or loosen `rtol` and `atol`."
    gains = method.drift.gains()
    if gains is not None:  # the accelerations of the equation that was integrated
        answer = answer_at(dynamics, q, qd, np.asarray(t), p, method.formulation, gains)
    ahead = trouble_ahead(dynamics, path.y[-1], t, t - float(path.t[0]), p)
    # the integrators measure contradictions in other norms, and may refuse one that is just within the tolerance here
    contradictory = float(np.asarray(answer.inconsistency)) > NEARLY_CONTRADICTORY * CONSISTENCY_TOLERANCE
    if not ahead and contradictory and not method.formulation.compromises:
        return contradiction(answer, dynamics.constraints)
    ahead = ahead or singular_end(dynamics, path.t, path.y, p)
    return ahead or _step_size(method, path, answer, dynamics, growth_reason_along(dynamics, path.y, path.t, p))


NEARLY_CONTRADICTORY = 0.1
"""Inconsistency, relative to the one that is refused, from which constraints that end a motion are reported as
contradictory: rounding leaves far less."""


def _step_size(method: Method, path: Path, answer: ConstrainedMotion, dynamics: Dynamics, inputs: str) -> str:
    largest = float(np.abs(np.asarray(answer.acceleration)).max())
    causes = [inputs] if inputs else []
    causes.append(f"the forces grow without bound or jump: the largest acceleration there is {largest:.2e}")
    if path.ranks[0] != path.ranks[1] or np.asarray(answer.rank) != path.ranks[0]:
        causes.append(
            f"the constraints lose their independence: their rank went between {path.ranks[0]} and "
            f"{path.ranks[1]}, see `error.trajectory.rank`"
        )
    elif dynamics.constraints:
        causes.append(
            f"the constraints come close to losing their independence (rank {path.ranks[0]} of "
            f"{len(dynamics.constraints)})"
        )
    if not method.is_implicit:
        causes.append(f"the system is stiff: {USE_IMPLICIT}")
    listed = "; ".join(f"({letter}) {cause}" for letter, cause in zip("abcd", causes, strict=False))
    return (
        f"no step, however small, kept the error within rtol = {method.rtol:g} and atol = {method.least_atol:g}. "
        f"Possible causes: {listed}."
    )
