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
"""Number of segments of a profile, and of a circle that bodies roll on."""


def wheel(marker: Marker, u: Any, v: Any) -> Outline:
    """Return the ellipse with half axes u and v about a point, with a spoke that shows the rotation."""
    return Outline(marker, _ellipse(marker, u, v, RIM_POINTS), spoke=True)


def rim_about(marker: Marker, axis: Any, radius: Any) -> Outline:
    """Return the circle of a round body about an axis through a point, with a spoke that shows the rotation."""
    u, v = across(axis)
    return wheel(marker, radius * u, radius * v)


def circle_in_space(marker: Marker, axis: Any, radius: Any) -> Outline:
    """Return the circle about an axis through a point, of a surface that bodies roll on."""
    u, v = across(axis)
    return Outline(marker, _ellipse(marker, radius * u, radius * v, CURVE_POINTS))


def circle_in_plane(marker: Marker, radius: Any) -> Outline:
    """Return the circle about a point that bodies roll on, in the plane."""
    return Outline(marker, _ellipse(marker, radius * sp.Matrix([1, 0]), radius * sp.Matrix([0, 1]), CURVE_POINTS))


def _ellipse(marker: Marker, u: Any, v: Any, count: int) -> list[Any]:
    angles = np.linspace(0, 2 * np.pi, count + 1)
    return [sp.Matrix(marker.point) + float(np.cos(angle)) * u + float(np.sin(angle)) * v for angle in angles]


def curve(marker: Marker, profile: Any, span: tuple[float, float]) -> Outline:
    """Return a curve in the plane, counted from a point, over a range of its parameter."""
    places = np.linspace(*span, CURVE_POINTS + 1)
    return Outline(marker, [sp.Matrix(marker.point) + sp.Matrix(profile(sp.Float(s))) for s in places])
