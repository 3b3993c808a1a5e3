# SPDX-License-Identifier: BSD-3-Clause
"""From measurements to numbers: parameters of a system, and which law an experiment supports."""
