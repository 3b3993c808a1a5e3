# SPDX-License-Identifier: BSD-3-Clause
"""The factors of Baumgarte's stabilising terms, for numbers and symbols."""

from __future__ import annotations

from typing import Any, NamedTuple


class Gains(NamedTuple):
    """Baumgarte's gains α and β; see ``damping``."""

    alpha: Any
    beta: Any


def damping(level: str, gains: Gains) -> tuple[Any, Any]:
    """Return Baumgarte's factors of the velocity and position residual of a constraint.

    φ̈ + 2α φ̇ + β² φ = 0 and ψ̇ + α ψ = 0: both decay at the rate α when β = α.
    """
    return {"position": (2 * gains.alpha, gains.beta**2), "velocity": (gains.alpha, 0)}.get(level, (0, 0))
