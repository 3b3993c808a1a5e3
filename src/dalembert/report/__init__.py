# SPDX-License-Identifier: BSD-3-Clause
"""Derivations of the equations of motion in closed form, as text, TeX and HTML, and the pages of the gallery."""
