# SPDX-License-Identifier: BSD-3-Clause
"""Simulation of a plant under a sampled controller, whose inputs are held between two samples."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count, pairwise
from typing import Any, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.control.controller import Controller
from dalembert.control.controller_arguments import limit_value
from dalembert.control.held_plants import RoughPlant, SmoothPlant
from dalembert.equation.dynamics import Dynamics
from dalembert.errors import ConstraintError, SimulationError
from dalembert.integration.control_outputs import growth_reason
from dalembert.integration.method import Method
from dalembert.integration.progress import Progress
from dalembert.integration.run import accepted_start
from dalembert.integration.saturation import Saturation, joined, saturation_notes
from dalembert.integration.trajectory import Trajectory


class Hold(NamedTuple):
    """The time between two changes of the inputs (r,)."""

    start: float
    end: float
    inputs: Floats


@dataclass
class SampledSimulation:
    """A plant whose inputs are parameters, and the controller that sets them.

    plant       how it moves while its inputs are held
    dynamics    of the plant with held inputs
    p           values of its parameters by name; those of the inputs are set here
    held        names of the parameters that are inputs
    places      for each coordinate of the controller's model its number in the plant
    plant_limits    of the plant's actuators, expressions or None
    """

    plant: SmoothPlant | RoughPlant
    dynamics: Dynamics
    controller: Controller
    method: Method
    p: dict[str, float]
    held: tuple[str, ...]
    places: tuple[int, ...]
    plant_limits: tuple[Any, ...]
    holds: list[Hold] = field(default_factory=list[Hold])
    samples: list[float] = field(default_factory=list[float])
    bounds: list[float] = field(default_factory=list[float])  # the estimate at each sample
    notes: list[str] = field(default_factory=list[str])

    def run(
        self, q0: Floats, qd0: Floats, times: Floats, *, allow_violation: bool, progress: bool | None
    ) -> Trajectory:
        """Simulate from an initial state at ``times[0]`` and return the motion at all times."""
        t, t1 = float(times[0]), float(times[-1])
        first = tuple(self.p[name] for name in self.dynamics.parameters)
        y, self.notes = accepted_start(self.dynamics, self.method, q0, qd0, t, first, allow_violation=allow_violation)
        began = time.perf_counter()
        pending: deque[tuple[float, Floats]] = deque()
        inputs = np.zeros(len(self.held))
        measure = self._measurement()
        with Progress(t, t1, progress) as bar:
            for sample, following in pairwise(_samples(t, t1, self.controller.period)):
                pending.append((sample + self.controller.delay, self._inputs(measure(y), sample, times)))
                at = sample
                # inputs change when the delay of an earlier sample is over, which may be within this period
                while pending and pending[0][0] < following:
                    change, new = pending.popleft()
                    if change > at:
                        y = self._hold(y, at, change, inputs, times)
                        at = change
                    inputs = new
                y = self._hold(y, at, following, inputs, times)
                bar.show(following)
        return self._trajectory(times, time.perf_counter() - began)

    @cached_property
    def _limits(self) -> Floats:
        """The limits of the plant's actuators."""
        pairs = zip(self.controller.actuators, self.plant_limits, strict=True)
        return np.array([limit_value(name, limit, self.p) for name, limit in pairs])

    def _measurement(self) -> Callable[[Floats], Floats]:
        """Return the function from the state of the plant to the measured one of the controller's model."""
        draw, noise = np.random.default_rng(self.controller.seed), self.controller.noise
        n = len(self.dynamics.coordinates)
        seen = np.array([*self.places, *(n + place for place in self.places)])
        if noise is None:
            return lambda y: y[seen]
        return lambda y: y[seen] + noise * draw.standard_normal(len(seen))

    def _inputs(self, measured: Floats, t: float, times: Floats) -> Floats:
        n, own = len(self.places), self.controller
        self.samples.append(t)
        if own.adaptive is not None:
            self.bounds.append(self._next_bound if self.bounds else float(own.adaptive.start))
        try:
            inputs, size = own.evaluate(measured[:n], measured[n:], t, self.bounds[-1] if self.bounds else None)
        except ConstraintError as error:
            if not self.holds:
                raise
            raise SimulationError(
                f"the controller must have inputs at t = {t:.6g}: {error}", t, self._so_far(times)
            ) from None
        if own.adaptive is not None:
            self._next_bound = own.next_bound(self.bounds[-1], size)
        return np.clip(inputs, -self._limits, self._limits)

    def _hold(self, y: Floats, t: float, end: float, inputs: Floats, times: Floats) -> Floats:
        self.holds.append(Hold(t, end, inputs))
        p = self.p | dict(zip(self.held, map(float, inputs), strict=True))
        try:
            return self.plant.advance(y, t, end, p, times)
        except SimulationError as failed:
            self.holds[-1] = Hold(t, failed.time, inputs)
            servos = [servo.name for servo in self.controller.system.servos]
            cause = growth_reason(self.controller.actuators, servos, np.array([hold.inputs for hold in self.holds]))
            message = f"{failed} A possible cause: {cause}." if cause else str(failed)
            raise SimulationError(message, failed.time, self._so_far(times)) from None

    def _so_far(self, times: Floats) -> Trajectory:
        end = self.holds[-1].end if self.holds else float(times[0])
        return self._trajectory(np.unique(np.append(times[times <= end], end)), 0.0)

    def at(self, times: Floats) -> Trajectory:
        """Return the motion at increasing times within the run."""
        return self._trajectory(times, 0.0)

    @property
    def step_times(self) -> Floats:
        """The times of all integration steps."""
        return self.plant.step_times

    def _trajectory(self, times: Floats, seconds: float) -> Trajectory:
        found = self.plant.trajectory(times)
        ends = np.array([hold.end for hold in self.holds])
        # an output at the instant of a change belongs to the interval before it
        owner = np.minimum(np.searchsorted(ends, times, side="left"), len(ends) - 1)
        inputs = np.array([self.holds[k].inputs for k in owner])
        limited = self._saturation()
        return replace(
            found,
            parameters={name: value for name, value in self.p.items() if name not in self.held},
            statistics={**found.statistics, "seconds": seconds, "samples": len(self.samples)},
            inputs=dict(zip(self.controller.actuators, inputs.T, strict=True)),
            notes=(*self.notes, *found.notes, *saturation_notes(limited)),
            saturation=tuple(limited),
            estimated_bound=self._bound_at(times) if self.bounds else None,
        )

    def _saturation(self) -> list[Saturation]:
        """Return the intervals in which inputs were at their limits; neighbouring ones are joined."""
        limits = np.minimum(self._limits, list(self.controller.limits.values()))
        return joined(
            [
                Saturation(name, hold.start, hold.end)
                for j, name in enumerate(self.controller.actuators)
                for hold in self.holds
                if abs(hold.inputs[j]) >= limits[j]
            ]
        )

    def _bound_at(self, times: Floats) -> Floats:
        """Return the estimate of an adaptive controller, which is held between samples."""
        return np.array(self.bounds)[np.searchsorted(self.samples, times, side="right") - 1]


SHORTEST_INTERVAL = 1e-6
"""A last interval shorter than this fraction of the period is rounding of the end, and joined to the one before."""


def _samples(t: float, t1: float, period: float | None) -> Iterator[float]:
    """Yield the times of samples, then t1; products, because sums of periods would accumulate rounding."""
    assert period is not None
    for k in count():
        if k and t + k * period > t1 - SHORTEST_INTERVAL * period:
            break
        yield t + k * period
    yield t1
