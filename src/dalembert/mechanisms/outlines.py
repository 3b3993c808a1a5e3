# SPDX-License-Identifier: BSD-3-Clause
"""Lines that show rolling bodies and the curves that they roll on, fixed in their bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from dalembert.mechanisms.frames import Marker
from dalembert.mechanisms.joint import Outline
from dalembert.mechanisms.vectors import across

RIM_POINTS = 24
"""Number of points on the rim of a wheel."""

CURVE_POINTS = 60
"""Number of segments of a profile."""


def wheel(marker: Marker, u: Any, v: Any) -> Outline:
    """Return the ellipse with half axes u and v about a point, with a spoke that shows the rotation."""
    angles = np.linspace(0, 2 * np.pi, RIM_POINTS + 1)
    rim = [sp.Matrix(marker.point) + float(np.cos(angle)) * u + float(np.sin(angle)) * v for angle in angles]
    return Outline(marker, rim, spoke=True)


def circle_in_space(marker: Marker, axis: Any, radius: Any) -> Outline:
    """Return the circle about an axis through a point, without a spoke."""
    u, v = across(axis)
    return wheel(marker, radius * u, radius * v)._replace(spoke=False)


def curve(marker: Marker, profile: Any, span: tuple[float, float]) -> Outline:
    """Return a curve in the plane, counted from a point, over a range of its parameter."""
    places = np.linspace(*span, CURVE_POINTS + 1)
    return Outline(marker, [sp.Matrix(marker.point) + sp.Matrix(profile(sp.Float(s))) for s in places])
