# SPDX-License-Identifier: BSD-3-Clause
"""Coordinates of a mechanism that belong to no body: elastic modes, contact parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.errors import ModelError
from dalembert.mechanisms.vectors import number, numbers
from dalembert.model.constraint import Constraint
from dalembert.model.ordering import in_order
from dalembert.model.representation import representation
from dalembert.model.standard_form import constraint_row, euler_lagrange
from dalembert.model.symbols import StateSymbols, functions_of_time, t


@dataclass(frozen=True, repr=False)
class ExtraCoordinates:
    """Coordinates of a mechanism in addition to those of its bodies, with their energies and forces.

    Energies may depend on coordinates and velocities of bodies, too, as those of an elastic body do: what is given is
    added to the energies of the bodies. Constraints may contain the coordinates.

    Parameters
    ----------
    name             of the group
    coordinates      made by ``da.coordinates``
    kinetic          the kinetic energy that they add
    potential        the potential energy that they add
    force            generalised forces without a potential, one for each coordinate, in order or by name
    start            initial values, at least approximately; zero by default
    rates            initial velocities; zero by default
    determined_by    expressions φ that determine coordinates without inertia, where the mechanism has constraints
                     φ = 0. The energy (dφ/dt)²/2 is added for each: it vanishes with the constraint, changes nothing in
                     the motion, and makes the mass matrix regular

    Examples
    --------
    >>> import dalembert as da
    >>> rod = da.PlanarBody("rod", 1, 0.1)
    >>> w = da.coordinates("w")
    >>> mode = da.ExtraCoordinates("mode", w, kinetic=w.diff(da.t)**2 / 4, potential=50 * w**2)
    >>> da.Mechanism(rod, extra_coordinates=mode).system.coordinate_names
    ('x_rod', 'y_rod', 'theta_rod', 'w')
    """

    name: str
    coordinates: Any
    kinetic: Any = 0
    potential: Any = 0
    force: Any = None
    start: Any = None
    rates: Any = None
    determined_by: Any = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ModelError([f"the name of extra coordinates must be a text that is not empty; got {self.name!r}."])
        given = self.coordinates if isinstance(self.coordinates, (tuple, list)) else (self.coordinates,)
        if not given or not all(isinstance(q, AppliedUndef) for q in given):
            raise ModelError(
                [f"`coordinates` of {self.name} must be made by `da.coordinates`; got {self.coordinates!r}."]
            )
        object.__setattr__(self, "coordinates", tuple(given))
        for energy in ("kinetic", "potential"):
            object.__setattr__(self, energy, number(getattr(self, energy), f"{energy} energy of {self.name}"))
        object.__setattr__(self, "force", self._forces())
        rows = self.determined_by if isinstance(self.determined_by, (tuple, list)) else (self.determined_by,)
        argument = f"determined_by of {self.name}"
        object.__setattr__(self, "determined_by", tuple(number(row, argument) for row in rows))
        for field in ("start", "rates"):
            object.__setattr__(self, field, self._values(field))

    def __repr__(self) -> str:
        return representation(self)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the coordinates."""
        return tuple(q.func.__name__ for q in self.coordinates)

    def _forces(self) -> tuple[Any, ...]:
        if self.force is None:
            return (sp.S.Zero,) * len(self.coordinates)
        values, problems = in_order(self.names, self.force, f"force of {self.name}", "coordinate")
        if problems:
            raise ModelError(problems)
        return tuple(number(value, f"force of {self.name}") for value in values)

    def _values(self, field: str) -> tuple[float, ...]:
        given = getattr(self, field)
        argument = f"{field} of {self.name}"
        if given is None:
            return (0.0,) * len(self.coordinates)
        if isinstance(given, dict):
            given, problems = in_order(self.names, given, argument, "coordinate")
            if problems:
                raise ModelError(problems)
        return numbers(given, argument, (len(self.coordinates),))

    @property
    def whole_kinetic(self) -> Any:
        """The kinetic energy with that of coordinates without inertia, which vanishes."""
        return self.kinetic + sp.Add(*(row.diff(t) ** 2 / 2 for row in self.determined_by))

    def terms(self, coordinates: Sequence[Any]) -> tuple[Any, Any]:
        """Return the contributions to the mass matrix (n, n) and to the force (n, 1) of n coordinates."""
        n = len(coordinates)
        mass, force = sp.zeros(n), sp.zeros(n, 1)
        for q, own in zip(self.coordinates, self.force, strict=True):
            force[coordinates.index(q)] += own
        parts = [(euler_lagrange, self.kinetic - self.potential), *((_vanishing, row) for row in self.determined_by)]
        for derive, expression in parts:
            moving = functions_of_time(expression)
            rows = [k for k, q in enumerate(coordinates) if q in moving]
            if not rows:
                continue
            own_mass, own_force = derive(expression, StateSymbols(tuple(coordinates[k] for k in rows)))
            for i, row in enumerate(rows):
                force[row] += own_force[i]
                for j, column in enumerate(rows):
                    mass[row, column] += own_mass[i, j]
        return mass, force


def _vanishing(row: Any, symbols: StateSymbols) -> tuple[Any, Any]:
    """Return M and Q of the energy (dφ/dt)²/2: g gᵀ with the gradient g, and g b with φ̈ = g·q̈ − b.

    Lagrange's equations have further terms, which vanish with dφ/dt.
    """
    found = constraint_row(Constraint(row), symbols)
    g = sp.Matrix([symbols.restore(slope) for slope in found.gradient])
    return g * g.T, g * symbols.restore(found.rhs)
