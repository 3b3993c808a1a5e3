# SPDX-License-Identifier: BSD-3-Clause
"""Runs on disk: written while they are computed, and simulated again from a file."""
