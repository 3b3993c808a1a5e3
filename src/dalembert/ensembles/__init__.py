# SPDX-License-Identifier: BSD-3-Clause
"""Ensembles: many motions of one system, with different initial states or parameters."""
