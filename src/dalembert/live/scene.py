# SPDX-License-Identifier: BSD-3-Clause
"""The drawing of a live page: points as expressions of the state, lines between them, and the direction of view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.common.names import name_of, quoted
from dalembert.common.start_values import StartValue
from dalembert.errors import InputError, ModelError
from dalembert.figures.points import guessed_points
from dalembert.figures.view import checked_view, picture_axes
from dalembert.model.expressions import as_expression
from dalembert.model.symbols import t as time
from dalembert.model.system import System

USUAL_VIEW = (30.0, 20.0)
"""Azimuth and elevation in degrees from which a picture in space is seen at first."""


@dataclass(frozen=True)
class Scene:
    """Points by name, each two or three expressions, and how they are drawn.

    lines     (owner, names of points): lines of one owner have one colour, those without owner are grey
    marked    names of the points that are drawn as dots, or as squares if they do not move
    traced    names of the points whose paths are drawn
    upwards   in space, the direction that stays upright
    view      in space, the azimuth and the elevation from which it is seen at first, in degrees
    thin      numbers of the lines that are drawn thin
    springs   numbers of the lines that are drawn as springs, between two points
    """

    points: Mapping[str, tuple[Any, ...]]
    lines: tuple[tuple[str, tuple[str, ...]], ...] = ()
    marked: tuple[str, ...] = ()
    traced: tuple[str, ...] = ()
    upwards: tuple[float, ...] = (0.0, 0.0, 1.0)
    view: tuple[float, float] = USUAL_VIEW
    thin: tuple[int, ...] = ()
    springs: tuple[int, ...] = ()

    @property
    def dimension(self) -> int:
        """The number of coordinates of every point: 2 in the plane, 3 in space."""
        return len(next(iter(self.points.values()), (0, 0)))

    def described(self) -> dict[str, Any]:
        """Return the scene for the script ``stage.js``, with points by their numbers."""
        number = {name: k for k, name in enumerate(self.points)}
        owners = {owner: k for k, owner in enumerate(dict.fromkeys(owner for owner, _ in self.lines if owner))}
        return {
            "count": len(self.points),
            "dimension": self.dimension,
            "lines": [[owners.get(owner), [number[name] for name in line]] for owner, line in self.lines],
            "thin": list(self.thin),
            "springs": list(self.springs),
            "marks": [number[name] for name in self.marked],
            "fixed": [number[name] for name, place in self.points.items() if _is_fixed(place)],
            "traced": [number[name] for name in self.traced],
            "up": list(self.upwards),
            "view": picture_axes(np.array(self.upwards), self.view).tolist(),
        }


def _is_fixed(place: tuple[Any, ...]) -> bool:
    """Return whether a position consists of numbers and parameters, so that it does not change in time."""
    return not any(e.has(AppliedUndef, time) for e in place)


def scene_of_points(system: System, points: Any, links: Any, view: Any = USUAL_VIEW) -> Scene:
    """Return the scene of a system: its points, or those guessed from the names of its coordinates, and links.

    Without points that can be guessed, the scene is empty.
    """
    places = _guessed(system) if points is None else _checked_points(system, points)
    checked = _checked_links(links, places)
    moving = tuple(name for name, place in places.items() if not _is_fixed(place))
    lines = tuple(("links", link) for link in checked)
    return Scene(places, lines, tuple(places), moving, view=checked_view(view))


def _guessed(system: System) -> dict[str, tuple[Any, ...]]:
    """Return the points whose coordinates pair up by name; in space if every point has a third coordinate."""
    names = system.coordinate_names
    try:
        points = guessed_points(names)
    except InputError:
        return {}
    return {name: tuple(system.coordinates[names.index(part)] for part in place) for name, place in points.items()}


def _checked_points(system: System, points: Any) -> dict[str, tuple[Any, ...]]:
    if not isinstance(points, Mapping):
        raise InputError(
            f"`points` must map names to pairs (horizontal, vertical) or triples of expressions; got {points!r}."
        )
    found = {str(name): _place(system, str(name), place) for name, place in points.items()}
    if len({len(place) for place in found.values()}) > 1:
        raise InputError("`points` must be all in the plane or all in space; got pairs and triples.")
    return found


def _place(system: System, name: str, place: Any) -> tuple[Any, ...]:
    """Return the position of a point as expressions."""
    place = place.in_motion if isinstance(place, StartValue) else place
    place = tuple(place.flat()) if isinstance(place, sp.MatrixBase) else place
    if not isinstance(place, (tuple, list)) or len(place) not in (2, 3):
        raise InputError(f"point `{name}` must be two or three numbers, coordinates or expressions; got {place!r}.")
    named = dict(zip(system.coordinate_names, system.coordinates, strict=True))
    parts = [named.get(part, part) if isinstance(part, str) else part for part in place]
    try:
        expressions = tuple(as_expression(part, f"point `{name}`") for part in parts)
    except ModelError:
        expressions = ()
    symbols = system.symbols
    known = {*symbols.q, *symbols.qd, symbols.time, *(sp.Symbol(name, real=True) for name in system.parameter_names)}
    plain = [symbols.plain(e) for e in expressions]
    unknown = sorted({name_of(s) for e in plain for s in (e.free_symbols | e.atoms(AppliedUndef)) - known})
    if not expressions or unknown:
        found = f"`{unknown[0]}` is not one" if unknown else f"got {place!r}"
        raise InputError(
            f"point `{name}` must consist of finite numbers, coordinates and parameters of the system; {found}."
        )
    return expressions


def _checked_links(links: Any, places: Mapping[str, Any]) -> list[tuple[str, ...]]:
    given: Sequence[Any] = links if isinstance(links, (tuple, list)) else (links,)
    for link in given:
        if not isinstance(link, (tuple, list)) or len(link) != 2:
            raise InputError(f"`links` must hold pairs of names of points; got {link!r}.")
        for end in link:
            if end not in places:
                raise InputError(f"`links` must join points ({quoted(places)}); `{name_of(end)}` is none of them.")
    return [tuple(map(str, link)) for link in given]


def plain_points(system: System, scene: Scene) -> list[Any]:
    """Return all components of all points in plain symbols, point by point."""
    return [system.symbols.plain(sp.sympify(e, strict=True)) for place in scene.points.values() for e in place]
