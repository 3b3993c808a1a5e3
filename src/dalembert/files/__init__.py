# SPDX-License-Identifier: BSD-3-Clause
"""ModelFile files: TOML files that hold a system or a mechanism, with numbers to run it."""
