# SPDX-License-Identifier: BSD-3-Clause
"""Guards: functions of the motion that end a phase where they change their sign, beside transitions of friction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Guard:
    """A function of the motion, sign · expression + offset, that a phase ends at where it becomes negative.

    name          of the event or the constraint that it belongs to
    kind          what its end means to those who watch it
    expression    of coordinates, velocities, time, parameters and reactions of active constraints
    """

    name: str
    kind: str
    expression: Any
    sign: int = 1
    offset: float = 0.0
