# SPDX-License-Identifier: BSD-3-Clause
"""Intervals in which inputs of a large system are at their limits, found step by step."""

from __future__ import annotations

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.integration.saturation import Saturation, joined, saturations
from dalembert.integration.sparse_motion import solution
from dalembert.integration.sparse_steps import SparseStep, SparseSteps
from dalembert.native.protocol import Control


class LimitWatch:
    """Follows the inputs of a run from step to step.

    Parameters
    ----------
    steps    of the run
    start    the control at its start
    """

    def __init__(self, steps: SparseSteps, start: Control):
        self._steps, self._before = steps, start.excess[0]
        self._found: list[Saturation] = []

    def after(self, step: SparseStep) -> list[Saturation]:
        """Return the intervals up to the end of a step, the last one that was taken."""
        rows = self._steps.rows
        # most runs never reach a limit, and states within a step cost a step each
        ends = {step.before: self._before, step.t: self._excess(step.state, step.t)}
        if any((excess > 0).any() for excess in ends.values()):
            self._found = joined([*self._found, *self._within(step, ends)])
        self._before = ends[step.t]
        # the solutions above chose rows and factored S at states of their own
        self._steps.rows = rows
        self._steps.restart()
        return self._found

    def _within(self, step: SparseStep, ends: dict[float, Floats]) -> list[Saturation]:
        """Return the intervals within a step."""

        def excess(times: Floats) -> Floats:
            return np.array([ends[t] if t in ends else self._excess(self._steps.between(step, t), t) for t in times])

        servos = self._steps.code.servos
        assert servos is not None
        return saturations(servos.layout.actuators, np.array([step.before, step.t]), excess)

    def _excess(self, y: Floats, t: float) -> Floats:
        """Return by how much the inputs (r,) exceed their limits at a state."""
        self._steps.choose_rows(y, t)
        control = solution(self._steps.dynamics).control
        assert control is not None
        return control.excess[0]
