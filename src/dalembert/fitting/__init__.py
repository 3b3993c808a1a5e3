# SPDX-License-Identifier: BSD-3-Clause
"""Estimation of parameters from measured motions, and comparison of force laws by information criteria."""
