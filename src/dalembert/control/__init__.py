# SPDX-License-Identifier: BSD-3-Clause
"""Controllers: servo constraints solved by a model, on a plant that differs from it."""
