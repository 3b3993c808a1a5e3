# SPDX-License-Identifier: BSD-3-Clause
"""What a system is like, and how else it could move: questions about a model beyond its motion."""
