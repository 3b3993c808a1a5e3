# SPDX-License-Identifier: BSD-3-Clause
"""Impacts: impulses of contacts and constraints, which change velocities at an instant."""
