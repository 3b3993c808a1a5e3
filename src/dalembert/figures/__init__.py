# SPDX-License-Identifier: BSD-3-Clause
"""Figures, animations and the HTML player. No window is opened; matplotlib is imported when a figure is drawn."""
