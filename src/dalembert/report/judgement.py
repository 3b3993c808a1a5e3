# SPDX-License-Identifier: BSD-3-Clause
"""Whether the closed form exists, and by which of the two linear systems."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.errors import ConstraintError, MassMatrixError
from dalembert.model.ordering import quoted
from dalembert.model.values import Floats
from dalembert.report.probing import Probe


def needs_saddle(probed: Sequence[Probe], kept: Sequence[int], names: Sequence[str]) -> bool:
    """False where M and A M⁻¹ Aᵀ can be inverted, True where only the saddle matrix can, an error where nothing can."""
    if not probed or any(_schur_regular(probe, kept) for probe in probed):
        return False
    if any(_regular(_saddle(probe, kept)) for probe in probed):
        return True
    if all(_motion_open(probe) for probe in probed):
        raise MassMatrixError(
            "the mass matrix and the constraints must together determine every acceleration; some direction is "
            "massless and unconstrained. Give it a mass, constrain it, or leave its coordinate out."
        )
    raise ConstraintError(
        f"the constraints must determine their forces; [[M, -A^T], [A, 0]] is singular although "
        f"{quoted(names[i] for i in kept)} are independent. The motion then obeys a hidden constraint: find it, and "
        f"state it in place of one of these."
    )


def require_positive(probed: Sequence[Probe]) -> None:
    """A square root of the mass matrix needs a positive definite one."""
    if probed and not any(np.linalg.eigvalsh(probe.mass_matrix)[0] > 0 for probe in probed):
        raise MassMatrixError(
            "the mass matrix must be positive definite for a law given as z = M^(-1/2) C; it is not. "
            "Give the law as C, without `scaled=True`."
        )


def _schur_regular(probe: Probe, kept: Sequence[int]) -> bool:
    M, A = probe.mass_matrix, probe.constraint_matrix[list(kept)]
    return _regular(M) and _regular(A @ np.linalg.solve(M, A.T))


def _saddle(probe: Probe, kept: Sequence[int]) -> Floats:
    A = probe.constraint_matrix[list(kept)]
    return np.block([[probe.mass_matrix, -A.T], [A, np.zeros((len(A), len(A)))]])


def _motion_open(probe: Probe) -> bool:
    stacked = np.vstack([probe.mass_matrix, probe.constraint_matrix])
    return bool(np.linalg.matrix_rank(stacked, rtol=1e-9) < len(probe.mass_matrix))


def _regular(matrix: Floats) -> bool:
    return len(matrix) == 0 or bool(np.linalg.cond(matrix) < 1e11)
