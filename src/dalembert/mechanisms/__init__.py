# SPDX-License-Identifier: BSD-3-Clause
"""Mechanisms: bodies, joints and forces that make up a system."""
