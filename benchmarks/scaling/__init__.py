# SPDX-License-Identifier: BSD-3-Clause
"""Growth of the cost: with the size of a system, and with the number of members of an ensemble."""
