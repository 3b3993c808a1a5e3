# SPDX-License-Identifier: BSD-3-Clause
"""Analysis of models: well-posedness, classification of constraints, hidden constraints and the energy ledger."""
