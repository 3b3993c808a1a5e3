# SPDX-License-Identifier: BSD-3-Clause
"""The tolerances that decide between two answers, with the purpose and the reason of each value.

Double precision has 16 digits. The result of a few dozen operations is accurate to ``ROUNDING``. A state that an
iteration found is accurate to about 1e-12 and, near a singular position, where errors enter as their square root, to
half the digits. Every tolerance below is relative: to a row, to a constraint's own terms, or to the coordinates' own
units, so that neither the units of a problem nor the scale in which a constraint is written change an answer.

Numbers that only steer an iteration (step lengths, counts, error estimates) stay with the algorithm they belong to.
"""

from __future__ import annotations

import numpy as np

# -- rounding ----------------------------------------------------------------------------------------------------------

TINY = float(np.finfo(float).tiny)
"""The smallest normal number: added to a denominator or a scale that may be zero."""

ROUNDING = 1e-14
"""The rounding error of a few dozen operations, relative to their arguments. No smaller number sets a scale."""

EXACT = 1e-12
"""A residual below this fraction of a constraint's own terms is rounding, and a state with such residuals needs no
projection: a hundred times ``ROUNDING``, for residuals that are sums of many terms."""

SAME_VALUE = 1e-9
"""Two formulas of one quantity are equal if their values at random points differ by less than this fraction: rounding
of long formulas is far smaller, and different formulas differ by far more."""

# -- rank --------------------------------------------------------------------------------------------------------------

RANK_TOLERANCE = 1e-10
"""A constraint row is dependent if less than this fraction of its length (in the metric of the inverse mass matrix) is
left after orthogonalisation against the other rows. This is for states known to rounding: rounding leaves 1e-14, and
the remainder of a row needs some digits to define a direction."""

SOLVED_RANK_TOLERANCE = 1e-8
"""The same for states that an iteration found: redundant rows are dependent only where the constraints hold, and near a
singular position they hold to half the digits."""

DEGENERATE_RANK_TOLERANCE = 1e-5
"""The same where the constraint set itself is degenerate (a taut chain): an iteration towards such a state converges
linearly and stops with a third of the digits."""

CLEARLY_INDEPENDENT = 1e-4
"""Rows of which more than this fraction is left are independent without a search for pivots: elimination has lost no
more than four of its sixteen digits."""

DEPENDENT_PIVOT = 1e-12
"""The same in elimination, where a pivot is the square of the remainder: a row is dependent if no more than this
fraction of its squared length is left, a sine of 1e-6. Squares have half the digits, and rounding leaves 1e-15."""

DEPENDENT_SPARSE_PIVOT = 1e-11
"""The same for large systems: rounding leaves up to 1e-12 in chains of 10⁴ rows."""

SHARE_TOLERANCE = 1e-7
"""A coefficient of unit rows, or an entry of a unit null vector, below this is zero: an entry of a vector that is
determined to ``SOLVED_RANK_TOLERANCE``, with one digit to spare."""

NAMED_SHARE = 1e-3
"""A row is named as part of a dependency or contradiction if its entry in the null vector exceeds this: smaller entries
may come from null vectors that are mixed by rounding, and would name the wrong constraint."""

UNIQUE_SHARE = 1e-6
"""A multiplier is undetermined when null vectors of Aᵀ have a part of this size along it: the square root of the error
of a null vector."""

# -- mass --------------------------------------------------------------------------------------------------------------

SINGULAR_MASS = 1e-12
"""A mass matrix is singular when, scaled to a unit diagonal, it has an eigenvalue that is less than this fraction of
its largest one: when its condition number in the coordinates' own units exceeds 1e12. A change of units of a coordinate
scales its row and column of M, and changes nothing."""

MASSLESS = 1e-9
"""An allowed motion is massless if M times it is less than this fraction of what the inertia of its surroundings would
give: an iteration finds such motions to about nine digits. Masses that small by themselves are seen in M already."""

SYMMETRY_TOLERANCE = 1e-10
"""Entries Mᵢⱼ and Mⱼᵢ may differ by this fraction: they may have been computed by different formulas."""

# -- answers -----------------------------------------------------------------------------------------------------------

CONSISTENCY_TOLERANCE = 1e-8
"""Constraints are contradictory if more than this fraction of b − A a cannot be satisfied by any acceleration."""

SOLVED_CONSISTENCY_TOLERANCE = 1e-7
"""The same for right sides at states that an iteration found, relative to the terms of each right side."""

RESIDUAL_TOLERANCE = 1e-10
"""Largest relative residual of M q̈ = Q + Qᶜ, A q̈ = b and vᵀQᶜ = vᵀC, all scaled, of an answer that is returned."""

# -- states ------------------------------------------------------------------------------------------------------------

START_TOLERANCE = 1e-8
"""A state may miss a constraint by this fraction of the constraint's own terms there: starts are often given with eight
digits, and projection moves them onto the constraints."""

LEAST_DISTANCE = 1e-10
"""In addition, a state may miss a constraint by this distance along each coordinate, relative to its scale or size: for
constraints whose own terms are small."""
