# SPDX-License-Identifier: BSD-3-Clause
"""Many motions on an accelerator: fixed steps of Runge and Kutta's method of order 4, float64, beside what others do.

Run where JAX finds a GPU: ``python -m benchmarks.gpu``.
"""
