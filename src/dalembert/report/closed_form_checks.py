# SPDX-License-Identifier: BSD-3-Clause
"""Checks that the closed form exists, and the choice between the Schur complement and the saddle matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import ConstraintError, MassMatrixError, undetermined
from dalembert.model import graph
from dalembert.model.ordering import quoted
from dalembert.model.symbols import plain_multiplier
from dalembert.numerics.linear_algebra import determined, independent_rows, rank
from dalembert.numerics.terms import Terms
from dalembert.numerics.tolerances import SOLVED_RANK_TOLERANCE
from dalembert.report.numeric_probes import Probes

LARGEST_CONDITION = 1e11
"""Condition number above which a matrix is singular: states found by an iteration leave five digits for rounding."""


def needs_saddle(probed: Probes, kept: Sequence[int], names: Sequence[str]) -> bool:
    """Return False if M and A M⁻¹ Aᵀ are regular, True if only the saddle matrix is; raise an error if none is."""
    if not probed.found or any(_schur_regular(terms, kept) for terms in probed.found):
        return False
    # one regular sample suffices: a determinant that vanishes at special states only is not zero
    if any(_regular(_saddle(terms, kept)) for terms in probed.found):
        return True
    if all(_is_undetermined(terms) for terms in probed.found):
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
    """Raise unless the mass matrix is positive definite, as its square root requires."""
    if probed.found and not any(np.linalg.eigvalsh(terms.M)[0] > 0 for terms in probed.found):
        raise MassMatrixError(
            "the mass matrix must be positive definite for a law given as z = M^(-1/2) C; it is not. "
            "Give the law as C, without `scaled=True`."
        )


def require_independent(A: Floats, names: Sequence[str]) -> None:
    """Raise if the rows used by a closed form are dependent at the state where it is evaluated."""
    found = independent_rows(A)
    off = [name for i, name in enumerate(names) if i not in found]
    if off:
        raise ConstraintError(
            f"the closed form needs {quoted(names)} to be independent; at this state {quoted(off)} follows from the "
            f"others or has no gradient. Use `da.motion`, which needs no independence."
        )


def require_determined(C: Any, names: Sequence[str], kept: Sequence[int], probed: Probes) -> tuple[Any, ...]:
    """Return the symbols of the multipliers of the rows kept; those that laws use must be unique."""
    lam = [plain_multiplier(name) for name in names]
    used = [i for i, symbol in enumerate(lam) if symbol in graph.free_symbols(*C)]
    off = [i for i in used if not all(determined(terms.A)[i] for terms in probed.found)]
    if off:
        raise ConstraintError(undetermined(quoted(names[i] for i in off)))
    return tuple(lam[i] for i in kept)


def _schur_regular(terms: Terms, kept: Sequence[int]) -> bool:
    M, A = terms.M, terms.A[list(kept)]
    return _regular(M) and _regular(A @ np.linalg.solve(M, A.T))


def _saddle(terms: Terms, kept: Sequence[int]) -> Floats:
    A = terms.A[list(kept)]
    return np.block([[terms.M, -A.T], [A, np.zeros((len(A), len(A)))]])


def _is_undetermined(terms: Terms) -> bool:
    """Return True if some acceleration has neither mass nor constraint."""
    stacked = np.vstack([terms.M, terms.A])
    return bool(rank(stacked, SOLVED_RANK_TOLERANCE) < len(terms.M))


def _regular(matrix: Floats) -> bool:
    return len(matrix) == 0 or bool(np.linalg.cond(matrix) < LARGEST_CONDITION)
