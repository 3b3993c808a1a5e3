# SPDX-License-Identifier: BSD-3-Clause
"""The coefficients of an implicit Runge–Kutta method of collocation with three stages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.native.tableau import Factors

STAGES = 3

MOST_ATOL_RATIO = 100.0
"""Largest ratio of the absolute tolerance of the error estimate to that of the motion, reached at rtol = 1e-9."""


STIFF_TOLERANCES, LEAST_STIFF_RTOL = 10.0, 1e-11
"""Largest stiff part of the error estimate of a step, in tolerances of the motion, and the smallest rtol for which it
is so small: below, the rounding of stiff forces takes part."""


@dataclass(frozen=True, eq=False)
class Collocation:
    """The coefficients of a method whose step ends at its last stage, and what its Newton iteration needs.

    With zᵢ = yᵢ − y, the stages satisfy z = h (A ⊗ I) f(y + z). Newton's method with the Jacobian J at the start of the
    step is carried out in w = T⁻¹ z, where A⁻¹ = T Λ T⁻¹ with one real eigenvalue and one pair of complex ones: the
    equations of all stages become one real and one complex system of the size of y, as in Hairer and Wanner, Solving
    Ordinary Differential Equations II, section IV.8. Stages are numbered from one.

    name            of the method, as reported in the statistics of a run
    error_order     the power of the step with which the error estimate grows
    fractions       the times c of the stages, as fractions of the step
    matrix          A
    is_adaptive     whether steps are chosen by the error estimate
    """

    name: str
    error_order: int
    fractions: tuple[float, ...]
    matrix: tuple[tuple[float, ...], ...]
    is_adaptive: bool = True

    @property
    def order(self) -> int:
        """The power of the step with which the error estimate grows."""
        return self.error_order

    @property
    def nodes(self) -> tuple[float, ...]:
        """The times at which k is evaluated: the start of the step, the stages, and the start for the error."""
        return (0.0, *self.fractions, 0.0)

    @property
    def errors(self) -> tuple[Factors, ...]:
        """The weights of k in the error estimate, which is the last one of them."""
        return ({STAGES + 1: 1.0},) if self.is_adaptive else ()

    @cached_property
    def fixed(self) -> Collocation:
        """The same method for fixed steps."""
        # always the same object: compiled programs are kept by their method
        return replace(self, is_adaptive=False) if self.is_adaptive else self

    @cached_property
    def eigenvalues(self) -> tuple[float, complex]:
        """The real eigenvalue of A⁻¹, and the complex one with positive imaginary part."""
        # computed, not tabulated: the published digits of a method need to be right in one place only
        found: Any = np.linalg.eigvals(np.linalg.inv(np.array(self.matrix)))
        return float(found[np.abs(found.imag).argmin()].real), complex(found[found.imag.argmax()])

    @cached_property
    def transformation(self) -> tuple[Floats, Floats]:
        """T and T⁻¹, whose last two columns are the real and the imaginary part of a complex eigenvector.

        Λ has the diagonal blocks γ and (α β; −β α) for the eigenvalues γ and α + iβ.
        """
        eigen: Any = np.linalg.eig(np.linalg.inv(np.array(self.matrix)))
        values, vectors = eigen
        real, pair = vectors[:, np.abs(values.imag).argmin()], vectors[:, values.imag.argmax()]
        found: Any = np.stack([real.real, pair.real, pair.imag], axis=1)
        return found, np.linalg.inv(found)

    @cached_property
    def error_weights(self) -> Floats:
        """Weights e (3,): (γ/h − J)⁻¹ (f(y) + Σ eᵢ zᵢ / h) is the difference to an embedded method.

        The embedded method has the weight 1/γ for the slope at the start, and order 3.
        """
        c, A, gamma = np.array(self.fractions), np.array(self.matrix), self.eigenvalues[0]
        # the conditions of order 3: Σ bᵢ cᵢᵏ = 1/(k + 1), with the slope at the start on the right side
        powers = np.array([c**k for k in range(STAGES)])
        embedded = np.linalg.solve(powers, 1 / np.arange(1, STAGES + 1) - np.array([1 / gamma, 0, 0]))
        # weights of slopes become weights of z by h k = A⁻¹ z
        return gamma * np.linalg.solve(A.T, embedded - A[-1])

    def step_tolerances(self, rtol: float, atol: Any) -> tuple[float, Any]:
        """Return the tolerances of the error estimate for those that are asked of the motion.

        The estimate is of lower order than the method, and by far too large, except in stiff directions: as in RADAU5,
        the relative tolerance of a step is 0.1 rtol^(2/3), and the absolute one in proportion. The proportion is
        bounded, other than in RADAU5: it grows as ``rtol`` becomes smaller, and with it would the errors of a motion
        that begins at rest.
        """
        own = 0.1 * rtol ** (2 / 3)
        return own, atol * min(own / rtol, MOST_ATOL_RATIO)

    def stiff_weights(self) -> tuple[float, float]:
        """Return c and the least ``own`` in c / √own, the weight of the stiff part of an error estimate.

        ``own`` is the relative tolerance of a step. In stiff directions the estimate is of the size of the error, which
        must not exceed ``STIFF_TOLERANCES`` times rtol = (10 own)^(3/2), the inverse of ``step_tolerances``.
        """
        return 1 / (STIFF_TOLERANCES * 1000**0.5), self.step_tolerances(LEAST_STIFF_RTOL, 0.0)[0]
