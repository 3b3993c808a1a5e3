# SPDX-License-Identifier: BSD-3-Clause
"""What a system is: symbols, constraints, laws. SymPy only; nothing here computes numbers."""
