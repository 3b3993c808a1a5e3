# SPDX-License-Identifier: BSD-3-Clause
"""Python functions of expressions, against SymPy's own evaluation."""

from __future__ import annotations

from math import cos, prod, sin

import pytest
import sympy as sp

from dalembert.model.numeric_function import MOST_OPERANDS_IN_LINE, numeric_function

x, y, z = sp.symbols("x y z", real=True)
POINT = {x: 0.3, y: 0.7, z: -1.1}
ORDINARY = (
    x - y - z,
    -x / y,
    -((x + y) ** -3) * (x - 1) ** -2,
    1 / (x * y),
    x**-2,
    x**-2 * y / 3 - y ** sp.Rational(1, 2),
    (x + y) ** sp.Rational(-1, 2) * z,
    sp.Rational(-3, 2) * x * (y + z) ** 3,
    (x * y) ** 2 * (-z) ** 3,
    x**y + sp.exp(-(x**2)) * sp.pi + 2.5 * sp.E * x,
    sp.Max(x, y * z, -2) + sp.Abs(x - z) ** 3,
    sp.sign(z) * sp.Heaviside(y - x) + sp.atan2(y, z),
    sp.Piecewise((x * y, x > y - z), (z / x**2, True)),
    sp.Integer(3),
    x,
)


@pytest.mark.parametrize("modules", ["numpy", ["numpy", "scipy"], "mpmath"])
def test_values_are_those_of_sympy(modules):
    computed = numeric_function((x, (y, z)), ORDINARY, modules)(POINT[x], (POINT[y], POINT[z]))
    exact = [expression.evalf(30, subs=POINT) for expression in ORDINARY]
    assert [float(value) for value in computed] == pytest.approx([float(value) for value in exact], rel=1e-15)


def test_sums_and_products_too_wide_for_one_line():
    terms = [sp.sin(k * x) / k for k in range(1, 3 * MOST_OPERANDS_IN_LINE)]
    factors = [sp.cos(x / k) ** (-1) ** k for k in range(1, 3 * MOST_OPERANDS_IN_LINE)]
    (found,) = numeric_function((x,), (sp.Add(*terms) + sp.Mul(*factors),), "numpy")(0.3)
    ks = range(1, 3 * MOST_OPERANDS_IN_LINE)
    assert found == pytest.approx(
        sum(sin(k * 0.3) / k for k in ks) + prod(cos(0.3 / k) ** (-1) ** k for k in ks), 1e-13
    )
