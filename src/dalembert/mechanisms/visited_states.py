# SPDX-License-Identifier: BSD-3-Clause
"""Positions that a motion visits: of points of bodies, and of a joint's second point in the axes of its first body."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp

from dalembert.common.array_types import Floats
from dalembert.mechanisms.frames import Ground
from dalembert.mechanisms.implicit_shapes import Region
from dalembert.mechanisms.joint import Joint
from dalembert.mechanisms.part_copies import coordinate_names
from dalembert.mechanisms.vectors import evaluate
from dalembert.model import graph
from dalembert.model.symbols import t as time


@lru_cache(maxsize=4)  # asked for each point of a mechanism of many bodies
def _places(names: tuple[str, ...]) -> dict[str, int]:
    return {name: i for i, name in enumerate(names)}


@dataclass(frozen=True)
class VisitedStates:
    """Positions of a motion at T times, by which a drawing chooses how much of a curve or a surface it shows.

    q (T, n)
    t (T,)
    parameters    values by name
    margin        by how much more is shown than the motion visits, relative to that
    symbolic      whether lines are expressions of the parameters, as on a page on which these can be changed
    """

    q: Floats
    t: Floats
    parameters: Mapping[str, float]
    margin: float = 0.3
    symbolic: bool = False

    def region_of(self, mechanism: Any, joint: Joint) -> Region:
        """Return the region of the first body of a joint in which the second point moves."""
        first, second = (self.positions(mechanism, m.body, m.point) for m in joint.markers[:2])
        away = second - first
        body = joint.first.body
        if not isinstance(body, Ground):
            away = np.einsum("tij,ti->tj", body.axes_along(self._columns(mechanism, body)), away)
        low, high = away.min(axis=0), away.max(axis=0)
        wider = self.margin * (max(float(np.ptp(away, axis=0).max()), self._size(mechanism)) or 1.0)
        return Region(low - wider, high + wider, away[0], self.parameters, float(self.t[0]), self.symbolic)

    def positions(self, mechanism: Any, body: Any, point: Any) -> Floats:
        """Return the positions (T, d) of a point of a body, which consists of numbers, parameters and the time."""
        here = self._in_body(point)
        if isinstance(body, Ground):
            return here
        q = self._columns(mechanism, body)
        return q[:, : body.dimension] + np.einsum("tij,tj->ti", body.axes_along(q), here)

    def _in_body(self, point: Any) -> Floats:
        if time not in graph.free_symbols(*point):
            return np.broadcast_to(evaluate(point, self.parameters), (len(self.t), len(point)))
        values = {s: self.parameters[str(s)] for s in graph.free_symbols(*point) - {time}}
        columns = [sp.lambdify(time, graph.replace(e, values), "numpy")(self.t) for e in point]
        return np.stack([np.broadcast_to(column, self.t.shape) for column in columns], axis=1)

    def _columns(self, mechanism: Any, body: Any) -> Floats:
        places = _places(mechanism.system.coordinate_names)
        return self.q[:, [places[name] for name in coordinate_names(body)]]

    def extent(self, mechanism: Any) -> float:
        """Return the largest distance along an axis between points of bodies at the first state."""
        parts = (*mechanism.joints, *mechanism.forces)
        markers = [m for part in parts for m in part.markers if not isinstance(m.body, Ground)]
        markers += [body.center_of_mass for body in mechanism.bodies]
        places = np.array([self.positions(mechanism, m.body, m.point)[0] for m in markers])
        return float(np.ptp(places, axis=0).max())

    def _size(self, mechanism: Any) -> float:
        """Return a third of the size of the mechanism, which is drawn of a curve on which a point does not move."""
        markers = [m for part in (*mechanism.joints, *mechanism.forces) for m in part.markers]
        places = np.array([self.positions(mechanism, m.body, m.point)[0] for m in markers])
        return float(np.ptp(places, axis=0).max()) / 3
