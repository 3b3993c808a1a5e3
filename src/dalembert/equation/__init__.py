# SPDX-License-Identifier: BSD-3-Clause
"""The equation of constrained motion: arrays in, arrays out; one formulation per file."""
