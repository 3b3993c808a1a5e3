# SPDX-License-Identifier: BSD-3-Clause
"""What a search for parameters sees: residuals and their derivatives, from simulated motions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalembert.array_types import Floats
from dalembert.errors import DalembertError, InputError
from dalembert.fitting.fit_inputs import known_of, names_of, noise_of, observations_of, values_for
from dalembert.fitting.free_start import FreeStart
from dalembert.fitting.observation import Observation
from dalembert.integration.start_states import onto_constraints
from dalembert.integration.trajectory import Trajectory
from dalembert.lowering.build import build
from dalembert.model.input_values import state_values
from dalembert.model.system import System, kind_of_object
from dalembert.verbs import simulate

STEP = 1e-4
"""Relative step of the central differences: a run is good to about 1e-11, so that they are to about 1e-7."""

UNREACHABLE = 1e8
"""Residual, in units of the data, where numbers on trial allow no motion: the search turns back."""


@dataclass(frozen=True)
class Problem:
    """Residuals as a function of the unknowns: the parameters, then the free numbers of each start."""

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
        if not isinstance(system, System):
            raise InputError(f"`system` must be a `da.System`; got {kind_of_object(system)}.")
        seen = observations_of(system, observations)
        names = names_of(parameters)
        values = values_for(guess, names, "guess")
        problem = cls(
            system=system,
            observations=seen,
            names=names,
            guess=np.array([values[name] for name in names]),
            known=known_of(known, system, names, seen),
            noise=noise_of(noise, seen),
            starts=(),
            settings=settings,
            failures=[],
        )
        return problem.with_starts()

    def with_starts(self) -> Problem:
        dynamics, names = build(self.system), self.system.coordinate_names
        starts: list[FreeStart] = []
        for one in self.observations:
            q, qd = state_values(names, one.q0, "q0"), state_values(names, one.qd0, "qd0")
            p = self._numbers(self.guess, one)
            p = tuple(p[name] for name in dynamics.parameters)
            starts.append(FreeStart.at(dynamics, q, qd, float(one.times[0]), p, free=one.free_start))
        return replace(self, starts=tuple(starts))

    @property
    def count(self) -> int:
        return sum(one.count for one in self.observations)

    @property
    def labels(self) -> list[str]:
        """What each unknown is called."""
        labels = list(self.names)
        for number, start in enumerate(self.starts, start=1):
            labels += [f"start {number}" if len(self.starts) > 1 else "start"] * start.count
        return labels

    def start(self) -> Floats:
        return np.concatenate([self.guess, *(np.zeros(start.count) for start in self.starts)])

    def _numbers(self, unknowns: Floats, one: Observation) -> dict[str, float]:
        found = dict(zip(self.names, map(float, unknowns), strict=False))
        return {**self.known, **one.parameters, **found}

    def runs(self, unknowns: Floats) -> tuple[Trajectory, ...]:
        """The motions for some values of the unknowns."""
        found: list[Trajectory] = []
        used = len(self.names)
        dynamics = build(self.system)
        for one, start in zip(self.observations, self.starts, strict=True):
            numbers = self._numbers(unknowns, one)
            p = tuple(numbers[name] for name in dynamics.parameters)
            q, qd = start.state(unknowns[used : used + start.count])
            q, qd = onto_constraints(dynamics, q, qd, float(one.times[0]), p)
            used += start.count
            run = simulate(
                self.system,
                q,
                qd,
                one.times,
                parameters=dict(zip(dynamics.parameters, p, strict=True)),
                **self.settings,
            )
            found.append(run)
        return tuple(found)

    def residuals(self, unknowns: Floats) -> Floats:
        """Motion less measurement, in units of the noise where that is known."""
        parts = [
            (run[name] - column)[mask] / self.noise[name]
            for run, one in zip(self.runs(unknowns), self.observations, strict=True)
            for (name, column), mask in zip(one.values.items(), one.seen.values(), strict=True)
        ]
        return np.concatenate(parts)

    def on_trial(self, unknowns: Floats) -> Floats:
        """The residuals, or very large ones where there is no motion, so that a search turns back."""
        found = self._if_any(unknowns)
        return np.full(self.count, UNREACHABLE * self._scale()) if found is None else found

    def _if_any(self, unknowns: Floats) -> Floats | None:
        """The residuals, or None where there is no motion, which is remembered."""
        try:
            return self.residuals(unknowns)
        except DalembertError as refusal:
            self.failures.append(str(refusal))
            return None

    def _scale(self) -> float:
        """The largest number that was seen, in units of the least noise."""
        largest = max(
            float(np.nanmax(np.abs(c)))
            for one in self.observations
            for c in one.values.values()
            if np.isfinite(c).any()
        )
        return (largest or 1.0) / min(self.noise.values())

    def jacobian(self, unknowns: Floats) -> Floats:
        """Derivatives of the residuals (count, k): central differences, one-sided at the edge of what can move."""
        columns: list[Floats] = []
        for i, value in enumerate(unknowns):
            step = np.zeros_like(unknowns)
            step[i] = STEP * max(abs(value), STEP if i < len(self.names) else 1.0)
            columns.append(self._difference(unknowns, step))
        return np.stack(columns, axis=1)

    def _difference(self, at: Floats, step: Floats) -> Floats:
        ahead, behind = self._if_any(at + step), self._if_any(at - step)
        if ahead is None and behind is None:
            return np.zeros(self.count)
        width = float(step.sum()) * (1 + (ahead is not None and behind is not None))
        here = self.on_trial(at) if ahead is None or behind is None else np.zeros(0)
        return ((here if ahead is None else ahead) - (here if behind is None else behind)) / width
