# SPDX-License-Identifier: BSD-3-Clause
"""How the cost grows: with the size of a system, and with the number of members of an ensemble."""
