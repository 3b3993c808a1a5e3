# SPDX-License-Identifier: BSD-3-Clause
"""Tools that build the documentation site; no part of the library."""
