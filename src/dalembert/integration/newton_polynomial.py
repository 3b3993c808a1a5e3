# SPDX-License-Identifier: BSD-3-Clause
"""Polynomials that interpolate values, and derivatives where nodes are repeated, in Newton's form."""

from __future__ import annotations

from math import factorial
from typing import Any, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats


class NewtonPolynomial(NamedTuple):
    """p(x) = Σⱼ cⱼ Πᵢ﹤ⱼ (x − xᵢ) with coefficients c (k, r) and nodes x (k,).

    SciPy's ``KroghInterpolator`` is the same polynomial, but computes all k derivatives, in some k² operations, to
    return the first: for a system of 82 coordinates that took nine tenths of a run.
    """

    nodes: Floats
    coefficients: Floats

    def __call__(self, x: Any) -> Floats:
        """Return the values (j, r) at j places."""
        return self.with_slopes(x)[0]

    def with_slopes(self, x: Any) -> tuple[Floats, Floats]:
        """Return the values and the first derivatives (j, r) at j places, by Horner's scheme."""
        x = np.atleast_1d(x)
        value = np.repeat(self.coefficients[-1:], len(x), axis=0)
        slope = np.zeros_like(value)
        for node, coefficient in zip(self.nodes[-2::-1], self.coefficients[-2::-1], strict=True):
            distance = (x - node)[:, None]
            # the slope first, since (p·d)′ = p′·d + p needs the value before its update
            slope *= distance
            slope += value
            value *= distance
            value += coefficient
        return value, slope


def interpolating_polynomial(nodes: Floats, given: Floats) -> NewtonPolynomial:
    """Return the polynomial through ``given`` (k, r) at ascending nodes (k,).

    At a node that is repeated, the further rows are the first, second, … derivatives there.
    """
    first = nodes.searchsorted(nodes)  # where each group of equal nodes begins
    column = given[first]
    coefficients = [column[0]]
    for order in range(1, len(nodes)):
        gap = nodes[order:] - nodes[:-order]
        equal = gap == 0
        column = (column[1:] - column[:-1]) / np.where(equal, 1.0, gap)[:, None]
        # a divided difference of equal nodes is the derivative over a factorial
        column[equal] = given[first[:-order][equal] + order] / factorial(order)
        coefficients.append(column[0])
    return NewtonPolynomial(nodes, np.array(coefficients))
