# SPDX-License-Identifier: BSD-3-Clause
"""The classical Runge–Kutta method of order 4 as a diffrax solver, with the coefficients of the compiled integrator."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import diffrax
import numpy as np

from dalembert.native.runge_kutta import RUNGE_KUTTA
from dalembert.native.tableau import Tableau


def butcher_tableau(method: Tableau) -> diffrax.ButcherTableau:
    """Return the coefficients of a method without an error estimate in diffrax's format."""
    count = len(method.nodes)
    rows = tuple(np.array([method.stages[s].get(k, 0.0) for k in range(s)]) for s in range(1, count))
    weights = np.array([method.result.get(k, 0.0) for k in range(count)])
    return diffrax.ButcherTableau(c=np.array(method.nodes[1:]), a_lower=rows, b_sol=weights, b_error=np.zeros(count))


class RungeKutta(diffrax.AbstractERK):
    """The classical method with four stages and no error estimate, for fixed steps."""

    tableau: ClassVar[diffrax.ButcherTableau | diffrax.MultiButcherTableau] = butcher_tableau(RUNGE_KUTTA)
    interpolation_cls: ClassVar[Callable[..., diffrax.ThirdOrderHermitePolynomialInterpolation]] = (
        diffrax.ThirdOrderHermitePolynomialInterpolation.from_k
    )

    def order(self, terms: object) -> int:
        return 4
