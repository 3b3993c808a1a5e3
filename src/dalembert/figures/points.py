# SPDX-License-Identifier: BSD-3-Clause
"""Points of an animation: their positions along a run, in a plane or in space."""

from __future__ import annotations

import re
from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.common.names import quoted
from dalembert.errors import InputError
from dalembert.figures.trajectory_figures import history
from dalembert.figures.view import checked_view, picture_axes

if TYPE_CHECKING:
    from dalembert.integration.motion_data import MotionData

Points = Mapping[str, tuple[Any, ...]]
Positions = dict[str, Floats]

PAIRS = ("xy", "xz", "yz")
"""Pairs of coordinate names that are drawn as horizontal and vertical."""
ROLES_OF_POINTS = {2: ("horizontal", "vertical"), 3: ("x", "y", "z")}
"""Names of the components of a position, by their number."""
UPWARDS = np.array([0.0, 0.0, 1.0])
"""The direction in space that a picture shows upright."""


def guessed_points(coordinates: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return the particles whose coordinates belong together by name.

    They are (x, y), (x1, y1), (x[1], y[1]), (a_x, a_y), or (x, z) without y. If all of them
    also have a z, they are in space.
    """
    found, known = dict[str, tuple[str, ...]](), set(coordinates)
    for name in coordinates:
        if not (match := re.fullmatch(r"([xy])(_?\w*(?:\[\d+\])?)|(\w+_)([xy])", name)):
            continue
        before, letter, after = match[3] or "", match[1] or match[4], match[2] or ""
        for first, second in PAIRS:
            other, particle = f"{before}{second}{after}", (before + after).strip("_")
            if first == letter and other in known:
                third = (f"{before}z{after}",) if second == "y" else ()
                found.setdefault(particle, (name, other, *third))
    if not found:
        raise InputError(
            f"the coordinates ({quoted(coordinates)}) must pair up by name, as `x1` and `y1`, to be taken as points. "
            f"Pass `points`, a mapping from names to pairs (horizontal, vertical), or triples in space, of "
            f"coordinates, numbers, expressions or arrays."
        )
    in_space = all(len(point) == 3 and point[2] in known for point in found.values())
    return found if in_space else {name: point[:2] for name, point in found.items()}


def positions_along(run: MotionData, points: Points) -> Positions:
    """Return the positions of all points over time, (T, 2) or (T, 3).

    Raises
    ------
    InputError    if a point is not a pair or a triple of coordinates, numbers or arrays, or if there are both
    """
    if not isinstance(points, Mapping) or not points:
        raise InputError(
            f"`points` must map at least one name to a pair (horizontal, vertical), or to a triple in space; got "
            f"{points!r}."
        )
    found = {name: _position(run, name, point) for name, point in points.items()}
    if len({place.shape[1] for place in found.values()}) > 1:
        raise InputError("`points` must be all in the plane or all in space; got pairs and triples.")
    return found


def _position(run: MotionData, name: str, point: Any) -> Floats:
    if not isinstance(point, tuple | list) or len(point) not in ROLES_OF_POINTS:
        raise InputError(f"point `{name}` must be a pair (horizontal, vertical), or a triple in space; got {point!r}.")
    columns: list[Floats] = []
    for role, value in zip(ROLES_OF_POINTS[len(point)], point, strict=True):
        label = f"the {role} position of point `{name}`"
        columns.append(np.full(len(run), float(value)) if isinstance(value, Real) else history(run, value, label))
        if not np.isfinite(columns[-1]).all():
            raise InputError(f"{label} must be finite at all times of the run.")
    return np.stack(columns, axis=1)


def is_in_space(positions: Positions) -> bool:
    """Return whether positions have three components."""
    return next(iter(positions.values())).shape[1] == 3


def in_picture(positions: Positions, view: Any) -> Positions:
    """Return positions in the plane of the picture, (T, 2), seen from an azimuth and an elevation in degrees."""
    towards = picture_axes(UPWARDS, checked_view(view))
    return {name: place @ towards.T for name, place in positions.items()} if is_in_space(positions) else positions
