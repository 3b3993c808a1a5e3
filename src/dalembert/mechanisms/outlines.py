# SPDX-License-Identifier: BSD-3-Clause
"""Lines that show rolling bodies, and the curves and surfaces on which bodies move, fixed in their bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

from dalembert.mechanisms.frames import Marker
from dalembert.mechanisms.implicit_shapes import CURVE_STEPS, MOST_CURVE_STEPS, Region, lines_within
from dalembert.mechanisms.joint import Outline
from dalembert.mechanisms.vectors import across, evaluate
from dalembert.numerics.tolerances import TINY

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


def guide_lines(marker: Marker, function: Callable[..., Any], region: Region) -> list[Outline]:
    """Return the lines of a curve or surface on which a function of the components of a point vanishes."""
    origin = sp.Matrix(marker.point)
    return [Outline(marker, [origin + sp.Matrix(p) for p in line]) for line in lines_within(function, region)]


def straight_guide(marker: Marker, along: Any, region: Region) -> Outline:
    """Return the part of a line through a point that is beside a region, in the plane."""
    corners = np.array([(x, y) for x in (region.low[0], region.high[0]) for y in (region.low[1], region.high[1])])
    ends = corners @ evaluate(along, region.parameters)
    return Outline(marker, [sp.Matrix(marker.point) + float(s) * sp.Matrix(along) for s in (ends.min(), ends.max())])


def profile_guide(marker: Marker, profile: Any, start: float, beside: float, region: Region) -> Outline:
    """Return the part of a profile, from a parameter on in both directions, within a distance of a region."""
    s = sp.Dummy("s", real=True)
    place = sp.Matrix(profile(s))
    values = {symbol: region.parameters[str(symbol)] for symbol in place.free_symbols - {s}}
    compiled = sp.lambdify(s, sp.Matrix.hstack(place, place.diff(s)).subs(values), "numpy")
    step = region.size / CURVE_STEPS

    def end(sign: int) -> float:
        here = start
        for _ in range(MOST_CURVE_STEPS):
            point, slope = np.asarray(compiled(here), float).T
            if not ((point >= region.low - beside).all() and (point <= region.high + beside).all()):
                break
            here += sign * step / max(float(np.linalg.norm(slope)), TINY)
        return here

    return curve(marker, profile, (end(-1), end(1)))
