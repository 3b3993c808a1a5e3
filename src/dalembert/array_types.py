# SPDX-License-Identifier: BSD-3-Clause
"""The types of arrays that signatures name."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
"""An array of float64; docstrings give its shape."""
