# SPDX-License-Identifier: BSD-3-Clause
"""Directions in the space of coordinates as text for messages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.numerics.tolerances import UNIQUE_SHARE

PRINTED_COMPONENT = UNIQUE_SHARE
"""Components below this are omitted, and those that differ from ±1 by less are printed without a number: a null vector
is known to about this accuracy."""


def format_direction(direction: Floats, names: Sequence[str]) -> str:
    """Return a direction as a combination of coordinates, scaled so that its largest component is 1.

    >>> import numpy as np
    >>> format_direction(np.array([-0.5, 0.0, 1.0]), ("x", "y", "z"))
    '-0.5 x + z'
    """
    scaled = direction / direction[int(np.argmax(np.abs(direction)))]
    parts: list[str] = []
    for value, name in zip(scaled, names, strict=True):
        if abs(value) > PRINTED_COMPONENT:
            size = "" if abs(abs(value) - 1) < PRINTED_COMPONENT else f"{abs(value):.3g} "
            parts.append(("- " if value < 0 else "+ ") + size + name)
    text = " ".join(parts)
    return text[2:] if text.startswith("+ ") else "-" + text[2:]
