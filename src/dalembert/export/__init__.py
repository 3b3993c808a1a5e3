# SPDX-License-Identifier: BSD-3-Clause
"""Systems as files for other tools: C, Python, and functional mock-up units."""
