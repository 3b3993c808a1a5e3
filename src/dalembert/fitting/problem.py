# SPDX-License-Identifier: BSD-3-Clause
"""The least-squares problem of a fit: residuals and their Jacobian, from simulated motions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import DalembertError, InputError
from dalembert.fitting.fit_inputs import known_of, names_of, noise_of, observations_of, values_for
from dalembert.fitting.free_start import FreeStart
from dalembert.fitting.observation import Observation
from dalembert.integration.default_tolerances import USUAL_ATOL, usual_atol
from dalembert.integration.start_states import onto_constraints
from dalembert.integration.trajectory import Trajectory
from dalembert.lowering.build import build
from dalembert.model.input_values import state_values
from dalembert.model.system import System, kind_of_object
from dalembert.verbs import simulate

STEP = 1e-4
"""Relative step of the central differences: a run is accurate to about 1e-11, so the differences are to about 1e-7."""

FIT_ATOL = 1e-13 / USUAL_ATOL
"""Default absolute tolerance of the simulations, relative to the usual one: near rounding, since differences of runs
are used as derivatives."""

UNIT_TRIALS = 8
"""Trial steps after which the unit of a parameter with the guess zero is taken as it is."""

NO_MOTION_RESIDUAL = 1e8
"""Residual, relative to the data, for trial values without a motion: so large that the search rejects the step."""


@dataclass(frozen=True)
class Problem:
    """Residuals as a function of the unknowns: the parameters, then the free parameters of each initial state.

    failures    messages of simulations that failed; the list grows during the search
    """

    system: System
    observations: tuple[Observation, ...]
    names: tuple[str, ...]
    guess: Floats
    known: dict[str, float]
    noise: dict[str, float]
    starts: tuple[FreeStart, ...]
    settings: dict[str, Any]
    failures: list[str]

    @classmethod
    def of(
        cls,
        system: System,
        observations: Any,
        parameters: Any,
        guess: Any,
        known: Any,
        noise: Any,
        settings: dict[str, Any],
    ) -> Problem:
        """Validate the arguments of `da.fit` and return the problem."""
        if not isinstance(system, System):
            raise InputError(f"`system` must be a `da.System`; got {kind_of_object(system)}.")
        checked = observations_of(system, observations)
        names = names_of(parameters)
        values = values_for(guess, names, "guess")
        problem = cls(
            system=system,
            observations=checked,
            names=names,
            guess=np.array([values[name] for name in names]),
            known=known_of(known, system, names, checked),
            noise=noise_of(noise, checked),
            starts=(),
            settings=settings,
            failures=[],
        )
        return problem.with_starts()

    def with_starts(self) -> Problem:
        """Return the problem with the initial states of its observations."""
        dynamics, names = build(self.system), self.system.coordinate_names
        starts: list[FreeStart] = []
        for one in self.observations:
            q, qd = state_values(names, one.q0, "q0"), state_values(names, one.qd0, "qd0")
            p = self._parameter_values(self.guess, one)
            p = tuple(p[name] for name in dynamics.parameters)
            if one.free_start:
                starts.append(FreeStart.at(dynamics, q, qd, float(one.times[0]), p, one.sizes(names, q, qd)))
            else:
                starts.append(FreeStart.fixed(q, qd))
        return replace(self, starts=tuple(starts))

    @property
    def count(self) -> int:
        return sum(one.count for one in self.observations)

    @property
    def labels(self) -> list[str]:
        """Names of the unknowns for messages."""
        labels = list(self.names)
        for number, start in enumerate(self.starts, start=1):
            labels += [f"start {number}" if len(self.starts) > 1 else "start"] * start.count
        return labels

    def start(self) -> Floats:
        """Return the initial values of the unknowns."""
        return np.concatenate([self.guess, *(np.zeros(start.count) for start in self.starts)])

    def _parameter_values(self, unknowns: Floats, one: Observation) -> dict[str, float]:
        found = dict(zip(self.names, map(float, unknowns), strict=False))
        return {**self.known, **one.parameters, **found}

    def runs(self, unknowns: Floats) -> tuple[Trajectory, ...]:
        """Simulate the motions for some values of the unknowns."""
        found: list[Trajectory] = []
        used = len(self.names)
        dynamics = build(self.system)
        for one, start in zip(self.observations, self.starts, strict=True):
            values = self._parameter_values(unknowns, one)
            p = tuple(values[name] for name in dynamics.parameters)
            q, qd = start.state(unknowns[used : used + start.count])
            # trial parameters change the constraints, so the start must be projected again
            q, qd = onto_constraints(dynamics, q, qd, float(one.times[0]), p)
            used += start.count
            settings = dict(self.settings)
            if settings["atol"] is None:
                settings["atol"] = FIT_ATOL * float(np.min(usual_atol(dynamics, q, qd, float(one.times[0]), p)))
            named = dict(zip(dynamics.parameters, p, strict=True))
            found.append(simulate(self.system, q, qd, one.times, parameters=named, **settings))
        return tuple(found)

    def residuals(self, unknowns: Floats) -> Floats:
        """Return simulated less measured values, divided by the noise if it is known."""
        parts = [
            (run[name] - column)[mask] / self.noise[name]
            for run, one in zip(self.runs(unknowns), self.observations, strict=True)
            for (name, column), mask in zip(one.values.items(), one.measured.values(), strict=True)
        ]
        return np.concatenate(parts)

    def penalised_residuals(self, unknowns: Floats) -> Floats:
        """Return the residuals, or very large ones if no motion exists, so that the search rejects the step."""
        found = self._try_residuals(unknowns)
        return np.full(self.count, NO_MOTION_RESIDUAL * self.scale()) if found is None else found

    def _try_residuals(self, unknowns: Floats) -> Floats | None:
        """Return the residuals, or None if no motion exists; the failure is recorded."""
        try:
            return self.residuals(unknowns)
        except DalembertError as error:
            self.failures.append(str(error))
            return None

    def scale(self) -> float:
        """Return the largest measured value divided by its noise; one if all of them are zero."""
        return (
            max(
                float(np.abs(column[mask]).max(initial=0.0)) / self.noise[name]
                for one in self.observations
                for (name, column), mask in zip(one.values.items(), one.measured.values(), strict=True)
            )
            or 1.0
        )

    def units(self) -> Floats:
        """Return the units of the unknowns, in which they are of the order of one: so the search is the same for all
        units of the model."""
        start = self.start()
        parameters = [abs(value) or self._unit_at_zero(start, i) for i, value in enumerate(self.guess)]
        return np.concatenate([np.array(parameters), *(one.units for one in self.starts)])

    def _unit_at_zero(self, start: Floats, i: int) -> float:
        """Return the change of a parameter, zero at the start, that changes the motion by about its own size."""
        unit, step, known = 1.0, np.zeros_like(start), len(self.failures)
        for _ in range(UNIT_TRIALS):
            step[i] = STEP * unit
            effect = float(np.abs(self._difference(start, step)).max()) * unit / self.scale()
            if effect == 0 or 1 <= 10 * effect <= 100:
                break
            unit /= effect
        del self.failures[known:]  # the search does not use these trials
        return unit

    def jacobian(self, unknowns: Floats, units: Floats) -> Floats:
        """Return the Jacobian (count, k) of the residuals: central differences, one-sided next to missing motions."""
        columns: list[Floats] = []
        for i, (value, unit) in enumerate(zip(unknowns, units, strict=True)):
            step = np.zeros_like(unknowns)
            # relative to the unknown, but not below a minimum, so that an unknown at zero is varied, too
            step[i] = STEP * max(abs(value), (STEP if i < len(self.names) and self.guess[i] else 1.0) * unit)
            columns.append(self._difference(unknowns, step))
        return np.stack(columns, axis=1)

    def _difference(self, at: Floats, step: Floats) -> Floats:
        """Return a difference quotient from those of the three points at which a motion exists."""
        ahead, behind = self._try_residuals(at + step), self._try_residuals(at - step)
        if ahead is None and behind is None:
            return np.zeros(self.count)
        # the step has one nonzero entry; a central difference spans it twice
        width = float(step.sum()) * (1 + (ahead is not None and behind is not None))
        # the residuals at the point itself are needed only for a one-sided difference
        here = self.penalised_residuals(at) if ahead is None or behind is None else np.zeros(0)
        return ((here if ahead is None else ahead) - (here if behind is None else behind)) / width
