# SPDX-License-Identifier: BSD-3-Clause
"""The motion of a plant whose inputs are parameters, held from one change to the next."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Dynamics, native_of
from dalembert.errors import SimulationError
from dalembert.integration.failure import failure_reason
from dalembert.integration.integrate import integrate
from dalembert.integration.method import Method
from dalembert.integration.native_steps import native_steps
from dalembert.integration.path import Path
from dalembert.integration.path_outputs import outputs_along
from dalembert.integration.progress import Progress
from dalembert.integration.run_notes import statistics
from dalembert.integration.trajectory import Trajectory
from dalembert.stick_slip.simulation import StickSlipSimulation


class SmoothPlant:
    """The motion of a plant without contacts that can stick, from one change of its inputs to the next.

    segments    the path between two changes, and the values of all parameters on it
    """

    def __init__(self, dynamics: Dynamics, method: Method, p: tuple[float, ...]) -> None:
        self.dynamics, self.method = dynamics, method
        self.steps = native_steps(dynamics, method, p)
        self.segments: list[tuple[Path, tuple[Any, ...]]] = []

    def advance(self, y: Floats, t: float, end: float, p: dict[str, float], times: Floats) -> Floats:
        """Append the motion from (t, y) to a time, and return the state there."""
        values = tuple(p[name] for name in self.dynamics.parameters)
        if self.steps is None:
            values = tuple(map(np.asarray, values))  # JAX would compile Python numbers as constants
        path = self._path(y, t, end, values)
        self.segments.append((path, values))
        if not path.finished:
            message = failure_reason(self.dynamics, self.method, path, values, float(times[-1]))
            raise SimulationError(message, float(path.t[-1]), self.trajectory(path.t[-1:]))
        return path.y[-1]

    def _path(self, y: Floats, t: float, end: float, p: tuple[Any, ...]) -> Path:
        if self.steps is not None:
            self.steps.p = np.array(p)
            found = self.steps.step_batch(y, t, end, self.method.max_steps)
            if found is not None and found.finished:
                # a copy, since the next interval has other inputs
                own = replace(self.steps)
                path = Path(np.append(t, found.t), np.concatenate([y[None], found.y]), True, native=own)
                path.steps, path.rejected = len(found.t), found.rejected
                return path
        with Progress(t, end, False) as silent:
            return integrate(self.dynamics, self.method, y, t, end, p, silent)

    @property
    def step_times(self) -> Floats:
        """The times of all integration steps so far."""
        return np.concatenate([path.t for path, _ in self.segments])

    def trajectory(self, times: Floats) -> Trajectory:
        """Return the motion so far at times."""
        ends = np.array([path.t[-1] for path, _ in self.segments])
        # an output at the instant of a change belongs to the interval before it
        owner = np.minimum(np.searchsorted(ends, times, side="left"), len(ends) - 1)
        parts: list[dict[str, Any]] = []
        for k in np.unique(owner):
            (path, p), within = self.segments[k], times[owner == k]
            found = outputs_along(self.dynamics, self.method, path, within, p)
            y = np.concatenate([found["q"], found["qd"]], axis=1)
            parts.append(found | {"input_force": native_of(self.dynamics).control(y, within, p).force})
            del parts[-1]["accurate"]
        whole: dict[str, Any] = {
            name: None if parts[0][name] is None else np.concatenate([part[name] for part in parts])
            for name in parts[0]
        }
        paths = [path for path, _ in self.segments]
        slowest = next((path for path in paths if path.native is None), paths[0])
        total = statistics(self.method, slowest) | {
            "steps": sum(path.steps for path in paths),
            "rejected": sum(path.rejected for path in paths),
        }
        return Trajectory(
            t=times,
            **whole,
            coordinates=self.dynamics.coordinates,
            constraints=self.dynamics.constraints,
            parameters={},
            statistics=total,
        )


class RoughPlant:
    """The motion of a plant with contacts that can stick, from one change of its inputs to the next."""

    def __init__(self, simulation: StickSlipSimulation) -> None:
        self.simulation = simulation

    def advance(self, y: Floats, t: float, end: float, p: dict[str, float], times: Floats) -> Floats:
        """Append the motion from (t, y) to a time, and return the state there."""
        own = self.simulation
        own.p = p
        phase, y = own.resumed(y, t, times) if own.segments else own.started(y, t)
        with Progress(t, end, False) as silent:
            return own.follow(phase, y, t, end, times, silent)

    @property
    def step_times(self) -> Floats:
        """The times of all integration steps so far."""
        return self.simulation.step_times

    def trajectory(self, times: Floats) -> Trajectory:
        """Return the motion so far at times."""
        return self.simulation.trajectory(times)
