# SPDX-License-Identifier: BSD-3-Clause
"""Motion in time. Knows compiled dynamics and nothing of how a system was stated."""
