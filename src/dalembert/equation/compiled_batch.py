# SPDX-License-Identifier: BSD-3-Clause
"""The solution of batches of problems, compiled by JAX; ``ConstrainedMotion`` is registered as a pytree here.

Other modules do not import this one at their top, so that JAX is loaded only when it is needed.
"""

from __future__ import annotations

from dataclasses import fields
from functools import partial

import jax
from jax import Array

from dalembert.equation.answer import ConstrainedMotion
from dalembert.equation.formulation import Formulation
from dalembert.equation.one_state import answer_of as answer_of
from dalembert.equation.reaction import NonidealForces

# names cannot be traced: they belong to the structure of the tree, not to its leaves
_NAMES = ["laws"]
jax.tree_util.register_dataclass(
    ConstrainedMotion, [field.name for field in fields(ConstrainedMotion) if field.name not in _NAMES], _NAMES
)


@partial(jax.jit, static_argnums=(0, 1, 2))
def solve_batch(
    formulation: Formulation, law_given: bool, depth: int, M: Array, Q: Array, A: Array, b: Array, C: Array
) -> ConstrainedMotion:
    """Solve a batch of problems with ``depth`` leading axes."""

    def one(M: Array, Q: Array, A: Array, b: Array, C: Array) -> ConstrainedMotion:
        return answer_of(formulation, M, Q, A, b, (lambda _: NonidealForces(C[None], None)) if law_given else None)

    for _ in range(depth):
        one = jax.vmap(one)
    return one(M, Q, A, b, C)
