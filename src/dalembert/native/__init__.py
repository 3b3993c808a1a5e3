# SPDX-License-Identifier: BSD-3-Clause
"""Machine code for one motion on one core: arithmetic is recorded, handed to LLVM, and run in a tight loop."""
