# SPDX-License-Identifier: BSD-3-Clause
"""The interface between a trajectory and the system that it is a motion of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dalembert.common.array_types import Floats

if TYPE_CHECKING:
    from dalembert.analysis.ledger import Ledger
    from dalembert.integration.motion_data import MotionData
    from dalembert.integration.trajectory import Trajectory


SavedRunSource = Callable[["MotionData"], "RunSource"]
"""A function that simulates a run from a file again, and returns the source of the result."""

saved_run_sources: list[SavedRunSource] = []
"""Empty until ``saved_runs.reproduction`` is imported, as it is with ``da.Trajectory``: it needs the layers above."""


def kinetic_energies(M: Floats, qd: Floats) -> Floats:
    """Return ½ q̇ᵀM q̇ (T,) from M (T, n, n) and velocities (T, n)."""
    return np.einsum("ti,tij,tj->t", qd, M, qd) / 2


class RunSource(Protocol):
    """The computations for a run that need its system, beyond the arrays that a run holds.

    It holds compiled code, so it is kept neither in files nor in pickles.
    """

    @property
    def write_page(self) -> Callable[..., Path]:
        """The function behind ``Trajectory.page``."""
        ...

    def model_text(self) -> str:
        """Return the system as the text of a model file, or an empty one if it cannot be written."""
        ...

    def ledger(self, run: Trajectory) -> Ledger:
        """Return the work and energy of all forces."""
        ...

    def at(self, run: Trajectory, times: Any) -> Trajectory:
        """Return the motion at increasing times within the run."""
        ...

    def pieces(self, run: Trajectory) -> list[Trajectory]:
        """Return the consecutive parts of a run with constant parameters, which events may change; each has its own."""
        ...

    def steps(self, run: Trajectory) -> Floats:
        """Return the times of the integration steps, from the first time of the run to its last."""
        ...

    def mass_and_rows(self, run: MotionData) -> tuple[Floats, Floats]:
        """Return M (T, n, n) and A (T, m, n) along the run."""
        ...

    def kinetic_energy(self, run: MotionData) -> Floats:
        """Return ½ q̇ᵀM q̇ (T,) along the run."""
        ...

    def row_of(self, run: MotionData, i: int) -> Floats:
        """Return row i of A (T, n) along the run."""
        ...

    def requirement_gradients(self, run: MotionData) -> Floats:
        """Return the gradients A₂ (T, k, n) of the requirements that the inputs meet."""
        ...

    def values(self, run: Trajectory, expression: Any) -> Floats:
        """Return the values (T, …) of an expression, or of nested sequences of expressions, along the run."""
        ...
