# SPDX-License-Identifier: BSD-3-Clause
"""Many motions of one system: different starts, different parameters."""
