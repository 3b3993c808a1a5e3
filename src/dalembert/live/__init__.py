# SPDX-License-Identifier: BSD-3-Clause
"""Live pages: HTML files that run a system in a browser, with the same machine code as ``da.simulate``."""
