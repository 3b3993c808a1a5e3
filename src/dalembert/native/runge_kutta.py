# SPDX-License-Identifier: BSD-3-Clause
"""Coefficients of the classical Runge–Kutta method of order 4, for fixed steps."""

from dalembert.native.tableau import Tableau

RUNGE_KUTTA = Tableau(
    name="RungeKutta",
    order=4,
    nodes=(0.0, 0.5, 0.5, 1.0),
    stages=({}, {0: 0.5}, {1: 0.5}, {2: 1.0}),
    result={0: 1 / 6, 1: 1 / 3, 2: 1 / 3, 3: 1 / 6},
)
