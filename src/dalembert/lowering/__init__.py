# SPDX-License-Identifier: BSD-3-Clause
"""Compilation of symbolic systems: the only folder that imports both SymPy and JAX."""
