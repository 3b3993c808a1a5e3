# SPDX-License-Identifier: BSD-3-Clause
"""Simulated runs: their ledger and expressions along them; events, large systems, fixed time steps through contacts."""
