# SPDX-License-Identifier: BSD-3-Clause
"""Numerical methods for arrays: rank and null spaces, states on the constraints, tolerances."""
