# SPDX-License-Identifier: BSD-3-Clause
"""The thresholds of the equation, each stated once."""

from dalembert.mass import SINGULAR_MASS as SINGULAR_MASS

RANK_TOLERANCE = 1e-10
"""A constraint row is dependent when, after taking off its components along the other rows, less than this fraction
of its length (in the metric of the inverse mass matrix) is left. Relative to the row, so that scaling a constraint
changes nothing."""

CONSISTENCY_TOLERANCE = 1e-8
"""Constraints contradict one another when more than this fraction of b − A a cannot be met by any acceleration."""

RESIDUAL_TOLERANCE = 1e-10
"""Largest relative residual of M q̈ = Q + Qᶜ, A q̈ = b and vᵀQᶜ = vᵀC, all scaled, of an answer that counts."""

ROUNDING = 1e-14
"""Relative size of what a few dozen operations in double precision leave behind."""
