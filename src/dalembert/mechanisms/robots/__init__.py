# SPDX-License-Identifier: BSD-3-Clause
"""Robot descriptions, URDF and MJCF, as mechanisms."""
