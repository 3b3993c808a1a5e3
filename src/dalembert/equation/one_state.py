# SPDX-License-Identifier: BSD-3-Clause
"""The solution of one problem as a ``ConstrainedMotion``, on NumPy or JAX arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dalembert.common.array_types import all_finite
from dalembert.common.frozen_instances import instance_of
from dalembert.equation.answer import ConstrainedMotion
from dalembert.equation.answer_checks import refuse_trouble
from dalembert.equation.formulation import Formulation, Law, solve
from dalembert.numerics.arrays import is_traced

if TYPE_CHECKING:
    from jax import Array


def answer_of(
    formulation: Formulation,
    M: Array,
    Q: Array,
    A: Array,
    b: Array,
    law: Law | None,
    laws: tuple[tuple[str, str], ...] = (),
) -> ConstrainedMotion:
    """Solve one problem without checks; the function is pure. ``laws`` are the names for the answer."""
    found = solve(formulation, M, Q, A, b, law)._asdict()
    quality = found.pop("quality")
    if quality is not None:
        found |= {name: value for name, value in quality._asdict().items() if name != "optimality"}
    found |= {"mass_matrix": M, "applied_force": Q, "constraint_matrix": A, "constraint_rhs": b, "laws": laws}
    return instance_of(ConstrainedMotion, {**found, "inputs": {}, "servo_error": {}})


def finished(
    answer: ConstrainedMotion, formulation: Formulation, *, throw: bool, names: Any = None
) -> ConstrainedMotion:
    """Check an answer, unless it is traced, and set the fields that a singular mass matrix leaves undefined to None."""
    if is_traced(answer.acceleration):
        return answer
    if throw:
        refuse_trouble(answer, formulation, names)
    # a singular M has no free acceleration, though the constrained one may be unique
    if not all_finite(answer.free_acceleration):
        answer = replace(answer, free_acceleration=None, gauss=None)
    return answer
