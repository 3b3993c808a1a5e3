# SPDX-License-Identifier: BSD-3-Clause
"""Runge–Kutta methods of the compiled integrator as diffrax solvers, with the same coefficients."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import ClassVar

import diffrax
import numpy as np

from dalembert.native.tableau import Factors, Tableau


def butcher_tableau(method: Tableau) -> diffrax.ButcherTableau:
    """Return the coefficients of a method in the form of diffrax; the error weights may be zero."""
    count = len(method.nodes)

    def weights(factors: Factors, length: int = count) -> np.ndarray:
        return np.array([factors.get(k, 0.0) for k in range(length)])

    # diffrax leaves out the node and the row of the first stage, which are zero
    return diffrax.ButcherTableau(
        c=np.array(method.nodes[1:]),
        a_lower=tuple(weights(method.stages[s], s) for s in range(1, count)),
        b_sol=weights(method.result),
        b_error=weights(method.errors[0] if method.errors else {}),
    )


@lru_cache(maxsize=16)
def solver_by(method: Tableau) -> diffrax.AbstractERK:
    """Return the diffrax solver of a method."""

    # a class of its own, since diffrax keeps the coefficients of a method with the class of its solver
    class RungeKutta(diffrax.AbstractERK):
        tableau: ClassVar[diffrax.ButcherTableau | diffrax.MultiButcherTableau] = butcher_tableau(method)
        interpolation_cls: ClassVar[Callable[..., diffrax.ThirdOrderHermitePolynomialInterpolation]] = (
            diffrax.ThirdOrderHermitePolynomialInterpolation.from_k
        )

        def order(self, terms: object) -> int:
            return method.order

    return RungeKutta()
