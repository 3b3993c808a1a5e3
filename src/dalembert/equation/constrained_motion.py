# SPDX-License-Identifier: BSD-3-Clause
"""The function ``constrained_motion``: the fundamental equation for given arrays."""

from __future__ import annotations

from dataclasses import fields
from math import prod
from typing import Any

import numpy as np

from dalembert.common.array_types import axis_labels, rejection_reason
from dalembert.common.extras import require
from dalembert.common.lazy_jax import jnp, refuse_forked_process
from dalembert.equation.answer import ConstrainedMotion
from dalembert.equation.answer_checks import require_fit, require_symmetric
from dalembert.equation.factored import checked_formulation
from dalembert.equation.formulation import Formulation, Law
from dalembert.equation.one_state import answer_of, finished
from dalembert.equation.reaction import NonidealForces
from dalembert.equation.stacked_least_squares import StackedLeastSquares
from dalembert.errors import InputError
from dalembert.numerics.arrays import is_traced, namespace_of

COORDINATE_AXES = (
    ("applied_force", -1),
    ("mass_matrix", -2),
    ("mass_matrix", -1),
    ("constraint_matrix", -1),
    ("C", -1),
)
CONSTRAINT_AXES = (("constraint_rhs", -1), ("constraint_matrix", -2))
"""Arguments and their axes, which belong to the coordinates or to the constraints."""

LARGEST_NUMPY_BATCH = 256
"""Largest batch that NumPy solves: one by one, it takes less time than a compilation by JAX."""


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
    """Compute the acceleration and the constraint forces of a system under ideal or nonideal constraints.

    Solves  M q̈ = Q + Qᶜ,  A q̈ = b,  vᵀQᶜ = vᵀC for all v with A v = 0.
    Notation: M, Q, A, b, C as in Udwadia & Kalaba 2001.

    Parameters
    ----------
    mass_matrix : (..., n, n)          symmetric; positive definite unless the formulation allows others
    applied_force : (..., n)
    constraint_matrix : (..., m, n)    of any rank
    constraint_rhs : (..., m)
    C : (..., n)                       the vector C of the nonideal constraint force, which does the work vᵀC under a
                                       virtual displacement v; zero when left out
    formulation                        ``da.Factored()`` when left out; all formulations give the same answer
    throw                              whether to raise an error when there is no valid answer. Inside ``jax.jit`` or
                                       ``jax.grad`` no error can be raised: check ``rank``, ``inconsistency`` and
                                       ``residual``

    JAX arrays, and batches of more than 256 problems, are solved by JAX and return JAX arrays; all others use NumPy.

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
    formulation = checked_formulation(formulation)
    arguments = (mass_matrix, applied_force, constraint_matrix, constraint_rhs, C)
    # before the arrays are converted, which in a forked process would never return
    if any(type(array).__module__.startswith("jax") for array in arguments):
        refuse_forked_process()
    arrays = _checked_shapes(mass_matrix, applied_force, constraint_matrix, constraint_rhs, C)
    if isinstance(formulation, StackedLeastSquares) and callable(formulation.weight):
        raise InputError(
            "`weight` must be numbers for `da.constrained_motion`, which has no time; got a function. Pass "
            "`da.StackedLeastSquares(weight(t))` at the time you mean, or use `da.motion`."
        )
    require_fit(formulation, arrays[2].shape[-1], arrays[2].shape[-2])
    batch = arrays[0].shape[:-2]
    if namespace_of(*arrays) is np and 0 < prod(batch) <= LARGEST_NUMPY_BATCH:
        answer = _solve_each(formulation, C is not None, *arrays)
    else:
        require("jax")
        from dalembert.equation.compiled_batch import solve_batch  # imported here: it imports JAX

        refuse_forked_process()
        answer = solve_batch(formulation, C is not None, len(batch), *arrays)
    return finished(answer, formulation, throw=throw)


def _solve_each(formulation: Formulation, law_given: bool, M: Any, Q: Any, A: Any, b: Any, C: Any) -> ConstrainedMotion:
    """Solve a batch of problems one by one, by NumPy."""
    batch = M.shape[:-2]
    with np.errstate(all="ignore"):  # values that are not finite are checked afterwards
        found = [
            answer_of(formulation, M[k], Q[k], A[k], b[k], _constant_law(C[k]) if law_given else None)
            for k in np.ndindex(batch)
        ]
    if not batch:
        return found[0]
    together: dict[str, Any] = {}
    for name in (field.name for field in fields(ConstrainedMotion)):
        values: list[Any] = [getattr(answer, name) for answer in found]
        together[name] = values[0]
        # these are not arrays, or are the same for all problems
        if values[0] is not None and name not in ("laws", "normals", "inputs", "servo_error"):
            together[name] = np.stack(values).reshape(*batch, *np.asarray(values[0]).shape)
    return ConstrainedMotion(**together)


def _constant_law(C: Any) -> Law:
    """Return a law with a given C, whatever the ideal forces are."""
    return lambda _: NonidealForces(C[None], None)


def _rejected(given: Any) -> str:
    """Return the reason why an argument does not hold real numbers; empty if it may."""
    try:
        return "" if given is None or is_traced(given) else rejection_reason(given, np.asarray(given))
    except (TypeError, ValueError):
        return ""  # lists of unequal lengths, or of traced values: the conversion to floats decides


def _checked_shapes(M: Any, Q: Any, A: Any, b: Any, C: Any) -> list[Any]:
    """Return the five arrays as floats with common batch axes; raise an error if their shapes do not fit."""
    given = {"mass_matrix": M, "applied_force": Q, "constraint_matrix": A, "constraint_rhs": b, "C": C}
    for name, array in given.items():
        if reason := _rejected(array):
            raise InputError(f"`{name}` {reason}")
    _require_same_labels(given)
    try:
        xp = _namespace(M, Q, A, b, C)
        M, Q, A, b = (xp.asarray(array, float) for array in (M, Q, A, b))
        C = xp.zeros_like(Q) if C is None else xp.asarray(C, float)
    except (TypeError, ValueError):
        raise InputError("the arguments must be arrays of numbers; got something else among them.") from None
    n = Q.shape[-1] if Q.ndim else 0
    m = b.shape[-1] if b.ndim else 0
    expected = {"mass_matrix": (M, (n, n)), "constraint_matrix": (A, (m, n)), "C": (C, (n,))}
    expected |= {"applied_force": (Q, (n,)), "constraint_rhs": (b, (m,))}
    for name, (array, core) in expected.items():
        if array.ndim < len(core) or array.shape[array.ndim - len(core) :] != core:
            raise InputError(
                f"`{name}` must have shape (..., {', '.join(map(str, core))}), n = {n} being the length of "
                f"`applied_force` and m = {m} that of `constraint_rhs`; got {array.shape}."
            )
        # a traced array has no values to check
        if not is_traced(array) and not np.isfinite(array).all():
            raise InputError(f"`{name}` must be finite; got {np.asarray(array)!s}.")
    if not is_traced(M):
        require_symmetric(np.asarray(M))
    cores = [(n, n), (n,), (m, n), (m,), (n,)]
    arrays = [M, Q, A, b, C]
    try:
        batch = xp.broadcast_shapes(*(x.shape[: x.ndim - len(c)] for x, c in zip(arrays, cores, strict=True)))
    except ValueError:
        shapes = ", ".join(str(x.shape) for x in arrays)
        raise InputError(f"the batch axes of the arguments must fit together; got shapes {shapes}.") from None
    return [xp.broadcast_to(x, (*batch, *c)) for x, c in zip(arrays, cores, strict=True)]


def _require_same_labels(given: dict[str, Any]) -> None:
    """Raise an error if tables have their coordinates, or their constraints, in different orders."""
    for places in (COORDINATE_AXES, CONSTRAINT_AXES):
        labelled = [(name, labels) for name, k in places if (labels := axis_labels(given[name], k)) is not None]
        for name, labels in labelled[1:]:
            if not np.array_equal(labels, labelled[0][1]):
                raise InputError(
                    f"`{labelled[0][0]}` and `{name}` must have the same labels in the same order; got "
                    f"{list(labelled[0][1])} and {list(labels)}. Sort one of them by `.reindex`, or pass "
                    f"`.to_numpy()` if labels have no meaning."
                )


def _namespace(*arguments: Any) -> Any:
    """Return ``jax.numpy`` if any array among the arguments, or in nested sequences, is a JAX array, else NumPy."""
    for argument in arguments:
        inner = argument if isinstance(argument, (list, tuple)) else ()
        if (inner and _namespace(*inner) is not np) or type(argument).__module__.startswith("jax"):
            return jnp
    return np
