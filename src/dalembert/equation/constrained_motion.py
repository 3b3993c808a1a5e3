# SPDX-License-Identifier: BSD-3-Clause
"""The fundamental equation as one function of arrays."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.core import Tracer

from dalembert.equation.answer import ConstrainedMotion
from dalembert.equation.factored import checked_formulation
from dalembert.equation.formulation import Formulation, Law, solve
from dalembert.equation.reaction import Nature
from dalembert.equation.verdict import refuse_trouble, require_fit, require_symmetric
from dalembert.errors import InputError
from dalembert.later import refuse_forked_process

# Here and not beside the class: whoever makes an answer comes by, and others need not import JAX.
_NAMES = ["laws"]
jax.tree_util.register_dataclass(
    ConstrainedMotion, [field.name for field in fields(ConstrainedMotion) if field.name not in _NAMES], _NAMES
)


def constrained_motion(
    mass_matrix: Any,
    applied_force: Any,
    constraint_matrix: Any,
    constraint_rhs: Any,
    C: Any = None,
    *,
    formulation: Formulation | None = None,
    throw: bool = True,
) -> ConstrainedMotion:
    """Acceleration and constraint forces of a system under constraints, ideal or not.

    Solves  M q̈ = Q + Qᶜ,  A q̈ = b,  vᵀQᶜ = vᵀC for all v with A v = 0.
    Notation: M, Q, A, b, C as in Udwadia & Kalaba 2001.

    Parameters
    ----------
    mass_matrix : (..., n, n)          symmetric; positive definite unless the formulation says otherwise
    applied_force : (..., n)
    constraint_matrix : (..., m, n)    of any rank
    constraint_rhs : (..., m)
    C : (..., n)                       nature of the nonideal constraint force; zero when left out
    formulation                        ``da.Factored()`` when left out; all formulations give the same answer
    throw                              whether to raise when there is no sound answer; inside ``jax.jit`` or
                                       ``jax.grad`` nothing can be raised: read ``rank`` and ``inconsistency``

    Raises
    ------
    InputError         wrong shapes, values that are not finite, a mass matrix that is not symmetric
    MassMatrixError    a mass matrix that the formulation cannot use
    ConstraintError    contradictory constraints, or redundant ones where the formulation needs independent rows

    Examples
    --------
    A unit mass on a slope at 45 degrees, held on it by x + z = const:

    >>> import dalembert as da
    >>> point = da.constrained_motion([[1, 0], [0, 1]], [0, -10], [[1, 1]], [0])
    >>> print(point.acceleration, point.ideal_force)
    [ 5. -5.] [5. 5.]
    """
    refuse_forked_process()
    formulation = checked_formulation(formulation)
    arrays = _checked_shapes(mass_matrix, applied_force, constraint_matrix, constraint_rhs, C)
    require_fit(formulation, arrays[2].shape[-1], arrays[2].shape[-2])
    batch = arrays[0].shape[:-2]
    law_given = C is not None
    answer = _solve_batch(formulation, law_given, len(batch), *arrays)
    return finished(answer, formulation, throw=throw)


def finished(
    answer: ConstrainedMotion, formulation: Formulation, *, throw: bool, names: Any = None
) -> ConstrainedMotion:
    """The answer as a person gets it: checked if it can be, and without what has no meaning for a singular mass."""
    if isinstance(answer.acceleration, Tracer):
        return answer
    if throw:
        refuse_trouble(answer, formulation, names)
    if not np.isfinite(np.asarray(answer.free_acceleration)).all():
        answer = replace(answer, free_acceleration=None, gauss=None)
    return answer


@partial(jax.jit, static_argnums=(0, 1, 2))
def _solve_batch(
    formulation: Formulation, law_given: bool, depth: int, M: Array, Q: Array, A: Array, b: Array, C: Array
) -> ConstrainedMotion:
    def one(M: Array, Q: Array, A: Array, b: Array, C: Array) -> ConstrainedMotion:
        return answer_of(formulation, M, Q, A, b, (lambda _: Nature(C[None], None)) if law_given else None)

    for _ in range(depth):
        one = jax.vmap(one)
    return one(M, Q, A, b, C)


def answer_of(formulation: Formulation, M: Array, Q: Array, A: Array, b: Array, law: Law | None) -> ConstrainedMotion:
    """The answer to one problem, unchecked; pure."""
    found = solve(formulation, M, Q, A, b, law)._asdict()
    quality = found.pop("quality")
    if quality is not None:
        found |= {name: value for name, value in quality._asdict().items() if name != "optimality"}
    return ConstrainedMotion(**found, mass_matrix=M, applied_force=Q, constraint_matrix=A, constraint_rhs=b)


def _checked_shapes(M: Any, Q: Any, A: Any, b: Any, C: Any) -> list[Array]:
    """The five arrays as floats with common batch axes."""
    try:
        M, Q, A, b = (jnp.asarray(array, float) for array in (M, Q, A, b))
        C = jnp.zeros_like(Q) if C is None else jnp.asarray(C, float)
    except (TypeError, ValueError):
        raise InputError("the arguments must be arrays of numbers; got something else among them.") from None
    n = Q.shape[-1] if Q.ndim else 0
    m = b.shape[-1] if b.ndim else 0
    wanted = {"mass_matrix": (M, (n, n)), "constraint_matrix": (A, (m, n)), "C": (C, (n,))}
    wanted |= {"applied_force": (Q, (n,)), "constraint_rhs": (b, (m,))}
    for name, (array, core) in wanted.items():
        if array.ndim < len(core) or array.shape[array.ndim - len(core) :] != core:
            raise InputError(
                f"`{name}` must have shape (..., {', '.join(map(str, core))}), n = {n} being the length of "
                f"`applied_force` and m = {m} that of `constraint_rhs`; got {array.shape}."
            )
        if not isinstance(array, Tracer) and not np.isfinite(array).all():
            raise InputError(f"`{name}` must be finite; got {np.asarray(array)!s}.")
    if not isinstance(M, Tracer):
        require_symmetric(np.asarray(M))
    cores = [(n, n), (n,), (m, n), (m,), (n,)]
    arrays = [M, Q, A, b, C]
    try:
        batch = jnp.broadcast_shapes(*(x.shape[: x.ndim - len(c)] for x, c in zip(arrays, cores, strict=True)))
    except ValueError:
        shapes = ", ".join(str(x.shape) for x in arrays)
        raise InputError(f"the batch axes of the arguments must fit together; got shapes {shapes}.") from None
    return [jnp.broadcast_to(x, (*batch, *c)) for x, c in zip(arrays, cores, strict=True)]
