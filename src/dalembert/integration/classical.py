# SPDX-License-Identifier: BSD-3-Clause
"""Runge and Kutta's classical method of order 4 for diffrax, which has none: the same method as in machine code."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import diffrax
import numpy as np


class RungeKutta(diffrax.AbstractERK):
    """Four stages, no estimate of the error: for fixed steps."""

    tableau: ClassVar[diffrax.ButcherTableau | diffrax.MultiButcherTableau] = diffrax.ButcherTableau(
        c=np.array([0.5, 0.5, 1.0]),
        a_lower=(np.array([0.5]), np.array([0.0, 0.5]), np.array([0.0, 0.0, 1.0])),
        b_sol=np.array([1 / 6, 1 / 3, 1 / 3, 1 / 6]),
        b_error=np.zeros(4),
    )
    interpolation_cls: ClassVar[Callable[..., diffrax.ThirdOrderHermitePolynomialInterpolation]] = (
        diffrax.ThirdOrderHermitePolynomialInterpolation.from_k
    )

    def order(self, terms: object) -> int:
        return 4
