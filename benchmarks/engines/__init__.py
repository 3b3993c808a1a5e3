# SPDX-License-Identifier: BSD-3-Clause
"""Ways to carry out one motion on one core, on the same problems as the peers: which should be behind ``simulate``."""
