# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of motions: flows and their gradients, linearizations, periodic motions."""
