# SPDX-License-Identifier: BSD-3-Clause
"""From symbols to compiled functions: the only folder that sees both SymPy and JAX."""
