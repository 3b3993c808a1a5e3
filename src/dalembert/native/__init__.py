# SPDX-License-Identifier: BSD-3-Clause
"""The compiled integrator: recorded arithmetic and the loop over steps, translated to machine code by LLVM."""
