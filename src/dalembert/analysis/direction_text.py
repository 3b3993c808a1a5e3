# SPDX-License-Identifier: BSD-3-Clause
"""The mass matrix: what kind it is at a state, and along which direction it fails."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.array_types import Floats


def spoken(direction: Floats, names: Sequence[str]) -> str:
    """A direction as a combination of coordinates, its largest part first made 1.

    >>> import numpy as np
    >>> spoken(np.array([-0.5, 0.0, 1.0]), ("x", "y", "z"))
    '-0.5 x + z'
    """
    scaled = direction / direction[int(np.argmax(np.abs(direction)))]
    parts: list[str] = []
    for value, name in zip(scaled, names, strict=True):
        if abs(value) > 1e-6:
            size = "" if abs(abs(value) - 1) < 1e-6 else f"{abs(value):.3g} "
            parts.append(("- " if value < 0 else "+ ") + size + name)
    text = " ".join(parts)
    return text[2:] if text.startswith("+ ") else "-" + text[2:]
