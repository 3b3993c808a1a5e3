# SPDX-License-Identifier: BSD-3-Clause
"""Constrained motion at single states, by NumPy wherever the terms are compiled natively, so that JAX is not needed."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.common.extras import require
from dalembert.common.stabilisation import Gains
from dalembert.equation.answer import ConstrainedMotion
from dalembert.equation.answer_checks import contradiction, require_positive, require_small_residual
from dalembert.equation.dynamics import Dynamics, Terms, native_of, stabilised
from dalembert.equation.formulation import Formulation
from dalembert.equation.one_state import answer_of
from dalembert.equation.painleve import refuse_undetermined
from dalembert.equation.stacked_least_squares import at_time
from dalembert.errors import WHERE_NOT_FINITE, ConstraintError, MassMatrixError
from dalembert.integration.method import Method
from dalembert.integration.native_steps import at_own_level
from dalembert.integration.row_selection import rows_for
from dalembert.numerics.arrays import is_traced
from dalembert.numerics.tolerances import CONSISTENCY_TOLERANCE


def answer_at(
    dynamics: Dynamics, q: Any, qd: Any, t: Any, p: Any, formulation: Formulation, gains: Gains | None = None
) -> ConstrainedMotion:
    """Return the constrained motion at one state, by NumPy if the terms are compiled natively, else by JAX.

    With ``gains`` the right side includes Baumgarte's terms.
    """
    native = dynamics.native
    if native is None or not native.answers:
        require("jax")
        return _answer_by_jax(dynamics, q, qd, t, p, formulation, gains)
    at_t = at_time(formulation, float(t), len(dynamics.constraints), len(dynamics.coordinates))
    terms = Terms(*native.terms(q, qd, t, p))
    with np.errstate(all="ignore"):  # callers check for values that are not finite
        b = stabilised(terms, dynamics.levels, gains)
        if gains is not None and formulation.uses_engine:
            # as in ``Dynamics.answer``: only the rows in use are stabilised when integrating
            rows = list(rows_for(dynamics, np.concatenate([q, qd]), float(t), np.array([float(x) for x in p])))
            b = terms.A @ answer_of(at_t, terms.M, terms.Q, terms.A[rows], b[rows], None).acceleration
        return answer_of(at_t, terms.M, terms.Q, terms.A, b, native.law_at(q, qd, t, p), dynamics.laws)


def _answer_by_jax(
    dynamics: Dynamics, q: Any, qd: Any, t: Any, p: Any, formulation: Formulation, gains: Gains | None
) -> ConstrainedMotion:
    """Return the answer of a system whose terms JAX compiles.

    Its solution is found by NumPy wherever that is possible: compiling it takes ten times as long as compiling the
    terms.
    """
    # imported here, since this module imports JAX
    from dalembert.integration.compiled import compiled_answer, compiled_terms

    if dynamics.law is not None or gains is not None or any(map(is_traced, (q, qd, t, *p))):
        return compiled_answer(dynamics, q, qd, t, p, formulation, gains)
    terms = Terms(*map(np.asarray, compiled_terms(dynamics, q, qd, t, p)))
    with np.errstate(all="ignore"):  # callers check for values that are not finite
        return answer_of(at_time(formulation, float(t), *terms.A.shape), terms.M, terms.Q, terms.A, terms.b, None)


def answers_by_numpy(dynamics: Dynamics) -> bool:
    """Return whether the motion at a single state can be computed without JAX."""
    return dynamics.native is not None and dynamics.native.answers


def numpy_outputs(dynamics: Dynamics, method: Method, t: Floats, y: Floats, p: Any) -> dict[str, Any]:
    """Return all outputs except the energy at states y (k, 2n) and times (k,), by the names of ``Trajectory``.

    The result equals that of ``sampling.sample`` at states that need no step, without its compilation.
    """
    n, gains = y.shape[1] // 2, method.drift.gains()
    lines: list[dict[str, Any]] = []
    for time, state in zip(t, y, strict=True):
        q, qd = state[:n], state[n:]
        terms = Terms(*native_of(dynamics).terms(q, qd, time, p))
        answer = answer_at(dynamics, q, qd, time, p, method.formulation, gains)
        residual = terms.A @ answer.acceleration - terms.b
        own: dict[str, Any] = {name: getattr(answer, name) for name in ANSWER_FIELDS}
        violation = at_own_level(dynamics.levels, terms.position, terms.velocity, residual)
        lines.append(own | {"q": q, "qd": qd, "violation": violation, "velocity_violation": terms.velocity})
    found: dict[str, Any] = {name: np.array([line[name] for line in lines]) for name in lines[0]}
    return found | {"accurate": np.ones(len(t), bool)}


ANSWER_FIELDS = (
    "acceleration",
    "ideal_force",
    "nonideal_force",
    "multipliers",
    "reactions",
    "rank",
    "inconsistency",
)
"""Fields of ``ConstrainedMotion`` that a ``Trajectory`` holds as well."""


def trouble_at(dynamics: Dynamics, answer: ConstrainedMotion, formulation: Formulation) -> str:
    """Return a message on why no motion can continue from a state; empty if the answer there is valid."""
    for name in ("mass_matrix", "applied_force", "constraint_matrix", "constraint_rhs"):
        if not np.isfinite(np.asarray(getattr(answer, name))).all():
            return f"`{name}` is not finite there. {WHERE_NOT_FINITE}"
    if formulation.positive_mass:
        try:
            require_positive(np.asarray(answer.mass_matrix))
        except MassMatrixError as error:
            return str(error)
    if not formulation.compromises and answer.inconsistency > CONSISTENCY_TOLERANCE:
        return contradiction(answer, dynamics.constraints)
    try:
        refuse_undetermined(dynamics, answer)
        require_small_residual(answer, formulation)
    except ConstraintError as error:
        return str(error)
    return ""
