# SPDX-License-Identifier: BSD-3-Clause
"""Integration in time of compiled dynamics, whatever model they were compiled from."""
