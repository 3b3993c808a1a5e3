# SPDX-License-Identifier: BSD-3-Clause
"""Types of arrays in signatures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
"""An array of float64; docstrings give its shape."""
