# SPDX-License-Identifier: BSD-3-Clause
"""Small modules that need nothing of the mechanics: types, names, texts, files, optional packages."""
