# SPDX-License-Identifier: BSD-3-Clause
"""Figures, animations and the HTML player. Nothing is shown on a screen; matplotlib is imported when one is drawn."""
