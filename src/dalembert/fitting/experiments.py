# SPDX-License-Identifier: BSD-3-Clause
"""The measured motions of a fit: their simulation for trial values of the unknowns, here or on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.common.dask_client import result_of, sent, submitted, thread_count
from dalembert.errors import DalembertError
from dalembert.fitting.free_start import FreeStart
from dalembert.fitting.observation import Observation
from dalembert.integration.default_tolerances import USUAL_ATOL, usual_atol
from dalembert.integration.start_states import onto_constraints
from dalembert.integration.trajectory import Trajectory
from dalembert.lowering.build import build
from dalembert.model.system import System
from dalembert.verbs import simulate

FIT_ATOL = 1e-13 / USUAL_ATOL
"""Default absolute tolerance of the simulations, relative to the usual one: near rounding, since differences of runs
are used as derivatives."""

PARTS_PER_THREAD = 4
"""Parts into which the simulations of a call are divided for each thread of a cluster, because they take different
times."""

Trial = tuple[int, Floats]
"""The number of an experiment, and the unknowns that it depends on: the parameters, then those of its own start."""

Outcome = Floats | str
"""The residuals of a trial, or why no motion exists."""


@dataclass(frozen=True)
class Experiments:
    """The measured motions of a fit; they can be sent to other processes.

    names     of the parameters to estimate
    noise     by coordinate: standard deviations by which residuals are divided
    starts    the initial state of each motion
    """

    system: System
    observations: tuple[Observation, ...]
    names: tuple[str, ...]
    known: dict[str, float]
    noise: dict[str, float]
    starts: tuple[FreeStart, ...]
    settings: dict[str, Any]

    def parameters(self, unknowns: Floats, number: int) -> dict[str, float]:
        """Return the values of all parameters in an experiment."""
        found = dict(zip(self.names, map(float, unknowns), strict=False))
        return {**self.known, **self.observations[number].parameters, **found}

    def run(self, number: int, unknowns: Floats) -> Trajectory:
        """Simulate the motion of an experiment."""
        one, dynamics = self.observations[number], build(self.system)
        values = self.parameters(unknowns, number)
        p = tuple(values[name] for name in dynamics.parameters)
        q, qd = self.starts[number].state(unknowns[len(self.names) :])
        # trial parameters change the constraints, so the start must be projected again
        q, qd = onto_constraints(dynamics, q, qd, float(one.times[0]), p)
        settings = dict(self.settings)
        if settings["atol"] is None:
            settings["atol"] = FIT_ATOL * float(np.min(usual_atol(dynamics, q, qd, float(one.times[0]), p)))
        named = dict(zip(dynamics.parameters, p, strict=True))
        return simulate(self.system, q, qd, one.times, parameters=named, **settings)

    def residuals(self, number: int, unknowns: Floats) -> Floats:
        """Return simulated less measured values of an experiment, divided by the noise if it is known."""
        run, one = self.run(number, unknowns), self.observations[number]
        columns = zip(one.values.items(), one.measured.values(), strict=True)
        return np.concatenate([(run[name] - column)[mask] / self.noise[name] for (name, column), mask in columns])


def outcomes(experiments: Experiments, trials: Sequence[Trial]) -> list[Outcome]:
    """Return the outcomes of trials, one after another."""
    return [_outcome(experiments, *trial) for trial in trials]


def _outcome(experiments: Experiments, number: int, unknowns: Floats) -> Outcome:
    try:
        return experiments.residuals(number, unknowns)
    except DalembertError as error:
        return str(error)


def outcomes_on_cluster(client: Any) -> Callable[[Experiments, Sequence[Trial]], list[Outcome]]:
    """Return the function ``outcomes`` with simulations on the workers of a client."""
    known: list[tuple[Experiments, Any]] = []  # the last experiments, sent once

    def found(experiments: Experiments, trials: Sequence[Trial]) -> list[Outcome]:
        if not known or known[0][0] is not experiments:
            known[:] = [(experiments, sent(client, experiments))]
        count = min(PARTS_PER_THREAD * thread_count(client), len(trials))
        cuts = np.linspace(0, len(trials), count + 1).astype(int)
        futures = [submitted(client, outcomes, known[0][1], trials[a:b]) for a, b in pairwise(cuts)]
        try:
            parts = [result_of(future, "experiments", "fit fewer times") for future in futures]
        except BaseException:  # including Ctrl-C
            if client.status == "running":
                client.cancel(futures)
            raise
        return [one for part in parts for one in part]

    return found
