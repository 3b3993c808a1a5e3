# SPDX-License-Identifier: BSD-3-Clause
"""Vakonomic motion: the variational principle with constraints, to compare with d'Alembert's."""
