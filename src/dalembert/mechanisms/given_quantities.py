# SPDX-License-Identifier: BSD-3-Clause
"""The quantities of bodies that are given as the start of a mechanism: positions, angles, velocities, spins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.mechanisms.particle import Particle
from dalembert.mechanisms.planar_body import PlanarBody
from dalembert.mechanisms.rotations import Rotation
from dalembert.mechanisms.vectors import half_turning, rotation


@dataclass(frozen=True)
class Quantity:
    """A quantity of a body, a linear function of its coordinates or, at given coordinates, of its velocities.

    name     such as "spin of crank"
    level    "position" or "velocity"
    given    its given values (k,)
    rows     a function of q that returns the matrix (k, n) which makes its values from q or from the velocities
    turns    whether it is an orientation, whose changes are measured as angles
    """

    name: str
    level: str
    given: tuple[float, ...]
    rows: Callable[[Floats], Floats]
    turns: bool = False

    def values(self, q: Floats, qd: Floats) -> tuple[float, ...]:
        """Return its values at a state."""
        found = self.rows(q) @ (q if self.level == "position" else qd)
        return tuple(map(float, found))

    def change(self, values: Sequence[float]) -> float:
        """Return the size of its change from the given values; that of an orientation is an angle."""
        if self.turns:
            before, after = (Rotation(tuple(part)) for part in (self.given, values))  # pyright: ignore
            return (after * before.inverse).angle
        return float(np.linalg.norm(np.subtract(values, self.given)))


def given_quantities(bodies: Sequence[Any], names: Sequence[str]) -> list[Quantity]:
    """Return the quantities of bodies; ``names`` are those of all n coordinates."""
    found: list[Quantity] = []
    for body in bodies:
        columns = [names.index(f"{letter}_{body.name}") for letter in body.letters]
        place = _selected(columns[: body.dimension], len(names))
        turned = _selected(columns[body.dimension :], len(names))
        found.append(Quantity(f"position of {body.name}", "position", tuple(body.position), place))
        if isinstance(body, PlanarBody):
            found.append(Quantity(f"angle of {body.name}", "position", (body.angle,), turned))
        elif not isinstance(body, Particle):
            given = tuple(map(float, body.orientation))
            found.append(Quantity(f"orientation of {body.name}", "position", given, turned, turns=True))
        found.append(Quantity(f"velocity of {body.name}", "velocity", tuple(body.velocity), place))
        if isinstance(body, PlanarBody):
            found.append(Quantity(f"spin of {body.name}", "velocity", (body.spin,), turned))
        elif not isinstance(body, Particle):
            rows = _spin_rows(columns[3:], len(names))
            found.append(Quantity(f"spin of {body.name}", "velocity", tuple(body.spin), rows))
    return found


def coordinate_quantities(name: str, names: Sequence[str], q: Sequence[float], qd: Sequence[float]) -> list[Quantity]:
    """Return a coordinate and its velocity as quantities."""
    i = names.index(name)
    rows = _selected([i], len(names))
    return [Quantity(name, "position", (q[i],), rows), Quantity(name, "velocity", (qd[i],), rows)]


def _selected(columns: Sequence[int], n: int) -> Callable[[Floats], Floats]:
    rows = np.eye(n)[list(columns)]
    return lambda q: rows


def _spin_rows(columns: Sequence[int], n: int) -> Callable[[Floats], Floats]:
    """Return the function of q that returns the angular velocity in world axes by the velocities: 2 R H ė."""

    def rows(q: Floats) -> Floats:
        e = tuple(q[list(columns)])
        found = np.zeros((3, n))
        found[:, list(columns)] = 2 * np.asarray(rotation(e)) @ np.asarray(half_turning(e))
        return found

    return rows
