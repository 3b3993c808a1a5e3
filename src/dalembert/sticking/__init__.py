# SPDX-License-Identifier: BSD-3-Clause
"""Motion with friction that sticks: pieces of sliding and sticking, each an ordinary motion of its own system."""
