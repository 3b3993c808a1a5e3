# SPDX-License-Identifier: BSD-3-Clause
"""Whether the closed form exists, and by which of the two linear systems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.array_types import Floats
from dalembert.errors import ConstraintError, MassMatrixError, undetermined
from dalembert.linear_algebra import determined, independent_rows, rank
from dalembert.model.ordering import quoted
from dalembert.model.symbols import plain_multiplier
from dalembert.report.numeric_probes import Probes
from dalembert.terms import Terms
from dalembert.tolerances import SOLVED_RANK_TOLERANCE


def needs_saddle(probed: Probes, kept: Sequence[int], names: Sequence[str]) -> bool:
    """False where M and A M⁻¹ Aᵀ can be inverted, True where only the saddle matrix can, an error where nothing can."""
    if not probed.found or any(_schur_regular(numbers, kept) for numbers in probed.found):
        return False
    if any(_regular(_saddle(numbers, kept)) for numbers in probed.found):
        return True
    if all(_motion_open(numbers) for numbers in probed.found):
        raise MassMatrixError(
            "the mass matrix and the constraints must together determine every acceleration; some direction is "
            "massless and unconstrained. Give it a mass, constrain it, or leave its coordinate out."
        )
    raise ConstraintError(
        f"the constraints must determine their forces; [[M, -A^T], [A, 0]] is singular although "
        f"{quoted(names[i] for i in kept)} are independent. The motion then obeys a hidden constraint: find it, and "
        f"state it in place of one of these."
    )


def require_positive(probed: Probes) -> None:
    """A square root of the mass matrix needs a positive definite one."""
    if probed.found and not any(np.linalg.eigvalsh(numbers.M)[0] > 0 for numbers in probed.found):
        raise MassMatrixError(
            "the mass matrix must be positive definite for a law given as z = M^(-1/2) C; it is not. "
            "Give the law as C, without `scaled=True`."
        )


def require_independent(A: Floats, names: Sequence[str]) -> None:
    """The rows that a closed form was derived with must not lose rank at the state where it is evaluated."""
    found = independent_rows(A)
    off = [name for i, name in enumerate(names) if i not in found]
    if off:
        raise ConstraintError(
            f"the closed form needs {quoted(names)} to be independent; at this state {quoted(off)} follows from the "
            f"others or has no gradient. Use `da.motion`, which needs no independence."
        )


def require_determined(C: Any, names: Sequence[str], kept: Sequence[int], probed: Probes) -> tuple[Any, ...]:
    """The symbols of the multipliers of the rows kept; those that laws use must not depend on which rows these are."""
    lam = [plain_multiplier(name) for name in names]
    used = [i for i, symbol in enumerate(lam) if symbol in C.free_symbols]
    off = [i for i in used if not all(determined(numbers.A)[i] for numbers in probed.found)]
    if off:
        raise ConstraintError(undetermined(quoted(names[i] for i in off)))
    return tuple(lam[i] for i in kept)


def _schur_regular(numbers: Terms, kept: Sequence[int]) -> bool:
    M, A = numbers.M, numbers.A[list(kept)]
    return _regular(M) and _regular(A @ np.linalg.solve(M, A.T))


def _saddle(numbers: Terms, kept: Sequence[int]) -> Floats:
    A = numbers.A[list(kept)]
    return np.block([[numbers.M, -A.T], [A, np.zeros((len(A), len(A)))]])


def _motion_open(numbers: Terms) -> bool:
    stacked = np.vstack([numbers.M, numbers.A])
    return bool(rank(stacked, SOLVED_RANK_TOLERANCE) < len(numbers.M))


def _regular(matrix: Floats) -> bool:
    return len(matrix) == 0 or bool(np.linalg.cond(matrix) < 1e11)
