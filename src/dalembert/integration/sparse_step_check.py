# SPDX-License-Identifier: BSD-3-Clause
"""Fixed steps of a large system that are too long for their projection: they lead to states off the constraints."""

from __future__ import annotations

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.integration.method import split_state
from dalembert.integration.sparse_start import missed
from dalembert.integration.step_check import NOT_REACHED, too_long
from dalembert.native.sparse_system import LargeDynamics
from dalembert.numerics.tolerances import START_TOLERANCE


def reason_unreached(dynamics: LargeDynamics, before: Floats, after: Floats, t: float, numbers: Floats) -> str:
    """Return which constraint a step between two states (2n,) has not reached, and the advice; empty if none.

    The distance from it is compared with the motion in the step: terms of a constraint, as ends of a rod far from the
    origin, may be much larger.
    """
    code, (q, qd) = dynamics.code, split_state(after)
    code.evaluate(q, qd, t, numbers)
    residual = code.residuals.position
    # in the metric of the masses, in which the rows have their lengths
    moved = float((np.sqrt(np.abs(code.mass.diagonal)) * np.abs(q - split_state(before)[0])).max(initial=0.0))
    rows = missed(dynamics, q, qd, 0, START_TOLERANCE)
    far = rows[~(np.abs(residual[rows]) / code.row_lengths[rows] <= NOT_REACHED * moved)]
    if not len(far):
        return ""
    worst = int(far[np.argmax(np.abs(residual[far]))])
    return too_long(dynamics.constraints[worst], float(np.abs(residual[worst])))
