# SPDX-License-Identifier: BSD-3-Clause
"""The direction from which a picture in space is seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import InputError


def checked_view(view: Any) -> tuple[float, float]:
    """Return azimuth and elevation as numbers."""
    try:
        azimuth, elevation = map(float, view)
    except (TypeError, ValueError):
        raise InputError(f"`view` must be an azimuth and an elevation in degrees; got {view!r}.") from None
    return azimuth, elevation


def picture_axes(up: Floats, view: tuple[float, float]) -> Floats:
    """Return the directions (2, 3) to the right and upwards of a picture, seen from an azimuth and an elevation."""
    level = np.eye(3)[int(np.argmin(np.abs(up)))]
    level = level - up * (up @ level)
    level /= np.linalg.norm(level)
    azimuth, elevation = np.radians(view)
    ahead = np.cos(azimuth) * level + np.sin(azimuth) * np.cross(up, level)
    right = np.cross(ahead, up)
    return np.stack([right, np.cos(elevation) * up + np.sin(elevation) * ahead])
