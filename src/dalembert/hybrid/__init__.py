# SPDX-License-Identifier: BSD-3-Clause
"""Motion with events: phases of smooth or stick-slip motion, each with its own constraints and parameters."""
