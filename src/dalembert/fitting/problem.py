# SPDX-License-Identifier: BSD-3-Clause
"""The least-squares problem of a fit: residuals and their Jacobian, from simulated motions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import InputError
from dalembert.fitting.experiments import Experiments, Outcome, Trial, outcomes, outcomes_on_cluster
from dalembert.fitting.fit_inputs import known_of, names_of, noise_of, observations_of, values_for
from dalembert.fitting.free_start import FreeStart
from dalembert.fitting.observation import Observation
from dalembert.integration.trajectory import Trajectory
from dalembert.lowering.build import build
from dalembert.model.input_values import state_values
from dalembert.model.system import System, kind_of_object

STEP = 1e-4
"""Relative step of the central differences: a run is accurate to about 1e-11, so the differences are to about 1e-7."""

UNIT_TRIALS = 8
"""Trial steps after which the unit of a parameter with the guess zero is taken as it is."""

NO_MOTION_RESIDUAL = 1e8
"""Residual, relative to the data, for trial values without a motion: so large that the search rejects the step."""


@dataclass(frozen=True)
class Problem:
    """Residuals as a function of the unknowns: the parameters, then the free parameters of each initial state.

    evaluate    returns the outcomes of trials
    failures    messages of trials without a motion; the list grows during the search
    """

    experiments: Experiments
    guess: Floats
    evaluate: Callable[[Experiments, Sequence[Trial]], list[Outcome]]
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
        client: Any = None,
    ) -> Problem:
        """Validate the arguments of `da.fit` and return the problem."""
        if not isinstance(system, System):
            raise InputError(f"`system` must be a `da.System`; got {kind_of_object(system)}.")
        checked = observations_of(system, observations)
        names = names_of(parameters)
        values = values_for(guess, names, "guess")
        experiments = Experiments(
            system=system,
            observations=checked,
            names=names,
            known=known_of(known, system, names, checked),
            noise=noise_of(noise, checked),
            starts=(),
            settings=settings,
        )
        first = np.array([values[name] for name in names])
        starts = _starts(experiments, first)
        evaluate = outcomes if client is None else outcomes_on_cluster(client)
        return cls(replace(experiments, starts=starts), first, evaluate, [])

    @property
    def names(self) -> tuple[str, ...]:
        return self.experiments.names

    @property
    def noise(self) -> dict[str, float]:
        return self.experiments.noise

    @property
    def observations(self) -> tuple[Observation, ...]:
        return self.experiments.observations

    @property
    def starts(self) -> tuple[FreeStart, ...]:
        return self.experiments.starts

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

    @cached_property
    def _places(self) -> list[Any]:
        """The places of the unknowns that each experiment depends on."""
        k, ends = len(self.names), len(self.names) + np.cumsum([start.count for start in self.starts])
        return [np.r_[:k, end - start.count : end].astype(int) for start, end in zip(self.starts, ends, strict=True)]

    def runs(self, unknowns: Floats) -> tuple[Trajectory, ...]:
        """Simulate the motions for some values of the unknowns."""
        return tuple(self.experiments.run(i, unknowns[places]) for i, places in enumerate(self._places))

    def residuals(self, unknowns: Floats) -> Floats:
        """Return simulated less measured values, divided by the noise if it is known."""
        return np.concatenate([self.experiments.residuals(i, unknowns[own]) for i, own in enumerate(self._places)])

    def penalised_residuals(self, unknowns: Floats) -> Floats:
        """Return the residuals, or very large ones if no motion exists, so that the search rejects the step."""
        (found,) = self._try_residuals([unknowns])
        return np.full(self.count, NO_MOTION_RESIDUAL * self.scale()) if found is None else found

    def _try_residuals(self, points: Sequence[Floats]) -> list[Floats | None]:
        """Return the residuals for several values of the unknowns, or None if no motion exists; failures are recorded.

        An experiment is simulated once for equal values of the unknowns that it depends on.
        """
        trials: dict[tuple[int, bytes], Trial] = {}
        keys = [[(i, point[own].tobytes()) for i, own in enumerate(self._places)] for point in points]
        for point, own_keys in zip(points, keys, strict=True):
            trials |= {key: (key[0], point[self._places[key[0]]]) for key in own_keys}
        found = dict(zip(trials, self.evaluate(self.experiments, [*trials.values()]), strict=True))
        residuals: list[Floats | None] = []
        for own_keys in keys:
            parts = [found[key] for key in own_keys]
            reason = next((part for part in parts if isinstance(part, str)), None)
            if reason is not None:
                self.failures.append(reason)
            residuals.append(None if reason is not None else np.concatenate(parts))
        return residuals

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
            effect = float(np.abs(self._differences(start, step[None])[0]).max()) * unit / self.scale()
            if effect == 0 or 1 <= 10 * effect <= 100:
                break
            unit /= effect
        del self.failures[known:]  # the search does not use these trials
        return unit

    def jacobian(self, unknowns: Floats, units: Floats) -> Floats:
        """Return the Jacobian (count, k) of the residuals: central differences, one-sided next to missing motions."""
        steps = np.zeros((len(unknowns), len(unknowns)))
        for i, (value, unit) in enumerate(zip(unknowns, units, strict=True)):
            # relative to the unknown, but not below a minimum, so that an unknown at zero is varied, too
            steps[i, i] = STEP * max(abs(value), (STEP if i < len(self.names) and self.guess[i] else 1.0) * unit)
        return np.stack(self._differences(unknowns, steps), axis=1)

    def _differences(self, at: Floats, steps: Floats) -> list[Floats]:
        """Return a difference quotient for each step, from those of three points at which a motion exists.

        Each step (k,) has one entry that is not zero.
        """
        around = self._try_residuals([*(at + steps), *(at - steps)])
        here: Floats | None = None
        found: list[Floats] = []
        for step, ahead, behind in zip(steps, around[: len(steps)], around[len(steps) :], strict=True):
            if ahead is None and behind is None:
                found.append(np.zeros(self.count))
                continue
            if (ahead is None or behind is None) and here is None:
                here = self.penalised_residuals(at)  # needed only for a one-sided difference
            before, after = here if behind is None else behind, here if ahead is None else ahead
            assert before is not None and after is not None
            width = step.sum() * (1 + (ahead is not None and behind is not None))
            found.append((after - before) / width)
        return found


def _starts(experiments: Experiments, guess: Floats) -> tuple[FreeStart, ...]:
    """Return the initial states of the experiments."""
    dynamics, names = build(experiments.system), experiments.system.coordinate_names
    starts: list[FreeStart] = []
    for number, one in enumerate(experiments.observations):
        q, qd = state_values(names, one.q0, "q0"), state_values(names, one.qd0, "qd0")
        if one.free_start:
            values = experiments.parameters(guess, number)
            p = tuple(values[name] for name in dynamics.parameters)
            starts.append(FreeStart.at(dynamics, q, qd, float(one.times[0]), p, one.sizes(names, q, qd)))
        else:
            starts.append(FreeStart.fixed(q, qd))
    return tuple(starts)
