# SPDX-License-Identifier: BSD-3-Clause
"""The arrays of a simulated motion, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.common.frozen_instances import replaced
from dalembert.common.names import listed, members, name_of, quoted_arrays
from dalembert.errors import InputError
from dalembert.integration.run_events import RunEvent
from dalembert.integration.run_source import RunSource, saved_run_sources
from dalembert.integration.saturation import Saturation
from dalembert.integration.trajectory_dataset import USUAL_THEORY


@dataclass(frozen=True, eq=False, repr=False)
class MotionData:
    """The fields of a trajectory, which ``Trajectory`` describes, and access to them by name."""

    t: Floats
    q: Floats
    qd: Floats
    acceleration: Floats
    ideal_force: Floats
    nonideal_force: Floats
    multipliers: Floats
    reactions: Floats
    violation: Floats
    velocity_violation: Floats
    rank: NDArray[np.int64]
    inconsistency: Floats
    energy: Floats | None
    coordinates: tuple[str, ...]
    constraints: tuple[str, ...]
    parameters: dict[str, float]
    statistics: dict[str, Any]
    notes: tuple[str, ...] = ()
    theory: str = USUAL_THEORY
    events: tuple[RunEvent, ...] = ()
    source: RunSource | None = None
    inputs: Mapping[str, Floats] = field(default_factory=dict[str, Floats])
    input_force: Floats | None = None
    servo_error: Mapping[str, Floats] = field(default_factory=dict[str, Floats])
    estimated_bound: Floats | None = None
    saturation: tuple[Saturation, ...] = ()
    model: str = ""

    def __getitem__(self, name: Any) -> Floats:
        """Return the history (T,) of a coordinate, of its velocity or acceleration, or of a multiplier.

        Names are ``"x"``, ``"x'"`` and ``"x''"``, or symbols such as ``x`` and ``x.diff(da.t)``; a multiplier has the
        name of its constraint, and is that of the problem without nonideal laws: see ``reaction``. The name of an array
        of coordinates, or of a group of constraints, gives the histories (T, …) of all.
        """
        key = name_of(name)
        for primes, values in {"": self.q, "'": self.qd, "''": self.acceleration}.items():
            coordinate = key.removesuffix(primes)
            if key == coordinate + primes and coordinate in self.coordinates:
                return values[:, self.coordinates.index(coordinate)]
            if key == coordinate + primes and (columns := members(self.coordinates, coordinate)):
                return values[:, columns]
        if key in self.constraints:
            return self.multipliers[:, self.constraints.index(key)]
        if columns := members(self.constraints, key):
            return self.multipliers[:, columns]
        raise InputError(
            f"`{key}` must be a coordinate or a constraint of the run; it has "
            f"{quoted_arrays((*self.coordinates, *self.constraints))}. Velocities and accelerations are those of a "
            f"coordinate with one prime and two, as `{self.coordinates[0]}'`."
        )

    def reaction(self, name: Any) -> Floats:
        """Return the actual reaction (T,) of a constraint, which its nonideal laws may change.

        Its force is the reaction times the row of the constraint. It is the reaction that must press, Λ ≥ 0, while a
        one-sided constraint is closed. ``run["wall"]`` is the multiplier of the problem without nonideal laws; both
        are equal if there are none.

        Raises
        ------
        InputError    if there is no such constraint
        """
        return self.reactions[:, self.constraint_column(name)]

    def constraint_column(self, name: Any) -> int:
        """Return the column of a constraint, given by its name or itself."""
        key = name_of(name)
        if key not in self.constraints:
            raise InputError(
                f"`{key}` must be a constraint of the run; it has {quoted_arrays(self.constraints) or 'none'}."
            )
        return self.constraints.index(key)

    def replaced(self, **fields: Any) -> Self:
        """Return the motion with other values of some fields, several times as fast as ``dataclasses.replace``."""
        return replaced(self, fields)

    @property
    def constraint_force(self) -> Floats:
        """Qᶜ (T, n), ideal and nonideal part together."""
        return self.ideal_force + self.nonideal_force

    @property
    def mark(self) -> str:
        """The name of the theory to show with the motion; empty for d'Alembert's."""
        return "" if self.theory == USUAL_THEORY else self.theory

    def __len__(self) -> int:
        return len(self.t)

    def summary(self) -> str:
        """Return one line on the motion: its coordinates, times, steps and largest violation."""
        span = f"{self.t[0]:g} to {self.t[-1]:g}" if len(self) else "empty"
        worst = float(np.abs(self.violation).max(initial=0.0))
        mark = f" ({self.mark})" if self.mark else ""
        steps, count = self.statistics.get("steps", "?"), len(self.events)
        events = f"; {count} event{'s' * (count > 1)}" if count else ""
        return (
            f"Trajectory{mark} of {listed(self.coordinates)}: {len(self)} times, {span}; "
            f"{steps} step{'s' * (steps != 1)}; largest violation {worst:.1e}{events}"
        )

    def require_source(self, needed_for: str) -> RunSource:
        """Return the source of the run, or raise an error that says how to get one.

        The system in the file of a run is compiled and simulated again when it is first needed.
        """
        if self.source is None and self.model and saved_run_sources:
            object.__setattr__(self, "source", self._source_of_file(needed_for))
        if self.source is None:
            again = "da.reproduce(run)" if self.model else "da.reproduce(system, run)"
            raise InputError(
                f"{needed_for} needs the system that the run is a motion of; a run that was read from a file or a "
                f"pickle does not have it{' compiled' if self.model else ''}. Use the run that `{again}` returns."
            )
        return self.source

    def _source_of_file(self, needed_for: str) -> RunSource:
        (source_of,) = saved_run_sources
        try:
            return source_of(self)
        except InputError as error:
            raise InputError(
                f"{needed_for} needs the run to be simulated again with the system in its file, with the default "
                f"options; this failed: {error} Use the run that `da.reproduce(run, ...)` returns."
            ) from None
