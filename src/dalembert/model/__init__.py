# SPDX-License-Identifier: BSD-3-Clause
"""Models in symbols: systems, constraints and laws. SymPy only; nothing here computes numbers."""
