# SPDX-License-Identifier: BSD-3-Clause
"""Why a run ended early, in words: what happened, where, and what to look at."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.equation.answer import ConstrainedMotion
from dalembert.equation.dynamics import Dynamics, Terms
from dalembert.equation.formulation import Formulation
from dalembert.equation.one_state import answer_of
from dalembert.equation.painleve import refuse_undetermined
from dalembert.equation.stacked_least_squares import at_time
from dalembert.equation.verdict import contradiction, require_positive, require_small_residual
from dalembert.errors import ConstraintError, MassMatrixError
from dalembert.integration.integrate import Path
from dalembert.integration.method import Method, halves
from dalembert.tolerances import CONSISTENCY_TOLERANCE


def answer_at(dynamics: Dynamics, q: Any, qd: Any, t: Any, p: Any, formulation: Formulation) -> ConstrainedMotion:
    """The answer at one state: by NumPy, with terms from machine code, or where there is none, compiled by JAX."""
    at_t = at_time(formulation, float(t), len(dynamics.constraints), len(dynamics.coordinates))
    native = dynamics.native
    if native is None or not native.answers:
        # which imports JAX
        from dalembert.integration.compiled import compiled_answer

        return compiled_answer(dynamics, q, qd, t, p, formulation)
    terms = Terms(*native.terms(q, qd, t, p))
    with np.errstate(all="ignore"):  # what is not finite is judged by whoever asks
        answer = answer_of(at_t, terms.M, terms.Q, terms.A, terms.b, native.law_at(q, qd, t, p))
    return replace(answer, laws=dynamics.laws)


SO_FAR = " The motion so far is in `error.trajectory`."
"""Where to look after a single run; the members of an ensemble have no such object."""


def why(dynamics: Dynamics, method: Method, path: Path, p: Any, t1: float) -> str:
    """The message for a run that ended before t1."""
    t = float(path.t[-1])
    if path.refusal:
        return f"the motion must be continued to t = {t1:.6g}; it ended at t = {t:.6g}: {path.refusal}{SO_FAR}"
    q, qd = halves(path.y[-1])
    where = ", ".join(f"{name} = {value:.6g}" for name, value in zip(dynamics.coordinates, q, strict=True))
    reason = _reason(dynamics, method, path, p, t, q, qd)
    return (
        f"the motion must be continued to t = {t1:.6g}; it ended at t = {t:.6g}, where {where}, after {path.steps} "
        f"steps: {reason}{SO_FAR}"
    )


IMPLICIT = "pass an implicit solver, `solver=diffrax.Kvaerno5()`"
"""Advice for a single run; the members of an ensemble have no such argument."""


def _reason(dynamics: Dynamics, method: Method, path: Path, p: Any, t: float, q: Any, qd: Any) -> str:
    answer = answer_at(dynamics, q, qd, np.asarray(t), p, method.formulation)
    for name in ("mass_matrix", "applied_force", "constraint_matrix", "constraint_rhs"):
        if not np.isfinite(np.asarray(getattr(answer, name))).all():
            return f"`{name}` is not finite there. Look for a division by zero or a root of a negative number."
    if method.formulation.positive_mass:
        try:
            require_positive(np.asarray(answer.mass_matrix))
        except MassMatrixError as error:
            return str(error)
    if not method.formulation.compromises and answer.inconsistency > CONSISTENCY_TOLERANCE:
        return contradiction(answer, dynamics.constraints)
    try:
        refuse_undetermined(dynamics, answer)
        require_small_residual(answer, method.formulation)
    except ConstraintError as error:
        return str(error)
    if path.steps >= method.max_steps:
        return f"the limit of {method.max_steps} steps was reached. Raise `max_steps` or loosen `rtol` and `atol`."
    return _step_size(method, path, answer, dynamics)


def _step_size(method: Method, path: Path, answer: ConstrainedMotion, dynamics: Dynamics) -> str:
    largest = float(np.abs(np.asarray(answer.acceleration)).max())
    lines = [
        f"no step, however small, kept the error within rtol = {method.rtol:g} and atol = {method.least_atol:g}. "
        f"Possible causes: (a) the forces grow without bound or jump: the largest acceleration there is {largest:.2e};"
    ]
    if path.ranks[0] != path.ranks[1] or np.asarray(answer.rank) != path.ranks[0]:
        lines.append(
            f"(b) the constraints lose their independence: their rank went between {path.ranks[0]} and "
            f"{path.ranks[1]}, see `error.trajectory.rank`;"
        )
    else:
        lines.append(
            f"(b) the constraints come close to losing their independence (rank {path.ranks[0]} of "
            f"{len(dynamics.constraints)});"
        )
    lines.append(f"(c) the system is stiff: {IMPLICIT}.")
    return " ".join(lines)
