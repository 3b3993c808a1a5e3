# SPDX-License-Identifier: BSD-3-Clause
"""Derivations on paper: from a model to its equations of motion in closed form, as text that a person reads."""
