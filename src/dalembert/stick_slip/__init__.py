# SPDX-License-Identifier: BSD-3-Clause
"""Stick-slip motion under dry friction: segments of smooth motion, each with its own set of sticking contacts."""
