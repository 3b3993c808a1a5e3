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

from dalembert.array_types import Floats
from dalembert.control.controller import Controller, limit_value
from dalembert.equation.dynamics import Dynamics
from dalembert.errors import ConstraintError, SimulationError
from dalembert.integration.failure import why
from dalembert.integration.integrate import integrate
from dalembert.integration.method import Method
from dalembert.integration.native_steps import native_of, native_steps
from dalembert.integration.path import Path
from dalembert.integration.progress import Progress
from dalembert.integration.run import corrected_start, outputs_along, statistics
from dalembert.integration.saturation import Saturation, joined, saturation_notes
from dalembert.integration.start_states import require_start
from dalembert.integration.trajectory import Trajectory


class Hold(NamedTuple):
    """The motion between two changes of the inputs.

    p         all parameters, with the inputs among them
    inputs    (r,)
    """

    path: Path
    p: tuple[float, ...]
    inputs: Floats


@dataclass
class SampledSimulation:
    """A plant whose inputs are parameters, and the controller that sets them.

    dynamics    of the plant with held inputs
    p           values of its parameters by name; those of the inputs are set here
    held        names of the parameters that are inputs
    places      for each coordinate of the controller's model its number in the plant
    plant_limits    of the plant's actuators, expressions or None
    """

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
        y = np.concatenate([q0, qd0]).astype(float)
        first, projected = self._values(np.zeros(len(self.held))), self.method.drift.projections > 0
        self.notes = require_start(
            self.dynamics, q0, qd0, t, first, allow_violation=allow_violation, projected=projected
        )
        if self.notes:
            y = corrected_start(self.dynamics, self.method, q0, qd0, t, first)
        began, advance = time.perf_counter(), self._advance()
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
                        y = self._hold(advance, y, at, change, inputs, times)
                        at = change
                    inputs = new
                y = self._hold(advance, y, at, following, inputs, times)
                bar.show(following)
        return self._trajectory(times, time.perf_counter() - began)

    def _values(self, inputs: Floats) -> tuple[Any, ...]:
        given = self.p | dict(zip(self.held, map(float, inputs), strict=True))
        values = (given[name] for name in self.dynamics.parameters)
        # as in ``verbs.prepared``: JAX would compile Python numbers as constants
        return tuple(values) if self._compiled else tuple(np.asarray(value) for value in values)

    @cached_property
    def _compiled(self) -> bool:
        values = tuple(self.p[name] for name in self.dynamics.parameters)
        return native_steps(self.dynamics, self.method, values) is not None

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

    def _advance(self) -> Callable[[Floats, float, float, tuple[float, ...]], Path]:
        """Return the function that integrates over one interval."""
        steps = native_steps(self.dynamics, self.method, self._values(np.zeros(len(self.held))))

        def advance(y: Floats, t: float, end: float, p: tuple[float, ...]) -> Path:
            if steps is not None:
                steps.p = np.array(p)
                found = steps.step_batch(y, t, end, self.method.max_steps)
                if found is not None and found.finished:
                    # a copy, since the next interval has other inputs
                    own = replace(steps)
                    path = Path(np.append(t, found.t), np.concatenate([y[None], found.y]), True, native=own)
                    path.steps, path.rejected = len(found.t), found.rejected
                    return path
            with Progress(t, end, False) as silent:
                return integrate(self.dynamics, self.method, y, t, end, p, silent)

        return advance

    def _hold(self, advance: Any, y: Floats, t: float, end: float, inputs: Floats, times: Floats) -> Floats:
        p = self._values(inputs)
        path = advance(y, t, end, p)
        self.holds.append(Hold(path, p, inputs))
        if not path.finished:
            message = why(self.dynamics, self.method, path, p, float(times[-1]))
            raise SimulationError(message, float(path.t[-1]), self._so_far(times))
        return path.y[-1]

    def _so_far(self, times: Floats) -> Trajectory:
        end = float(self.holds[-1].path.t[-1]) if self.holds else float(times[0])
        return self._trajectory(np.unique(np.append(times[times <= end], end)), 0.0)

    def _trajectory(self, times: Floats, seconds: float) -> Trajectory:
        parts: list[dict[str, Any]] = []
        ends = np.array([hold.path.t[-1] for hold in self.holds])
        # an output at the instant of a change belongs to the interval before it
        owner = np.minimum(np.searchsorted(ends, times, side="left"), len(ends) - 1)
        for k in np.unique(owner):
            hold, within = self.holds[k], times[owner == k]
            found = outputs_along(self.dynamics, self.method, hold.path, within, hold.p)
            own = {name: values for name, values in found.items() if name != "accurate"}
            y = np.concatenate([own["q"], own["qd"]], axis=1)
            parts.append(own | {"input_force": native_of(self.dynamics).control(y, within, hold.p).force})
        whole: dict[str, Any] = {
            name: None if parts[0][name] is None else np.concatenate([part[name] for part in parts])
            for name in parts[0]
        }
        inputs = np.array([self.holds[k].inputs for k in owner])
        paths = [hold.path for hold in self.holds]
        slowest = next((path for path in paths if path.native is None), paths[0])
        total = statistics(self.dynamics, self.method, slowest) | {
            "steps": sum(path.steps for path in paths),
            "rejected": sum(path.rejected for path in paths),
            "seconds": seconds,
            "samples": len(self.samples),
        }
        limited = self._saturation()
        return Trajectory(
            t=times,
            **whole,
            coordinates=self.dynamics.coordinates,
            constraints=self.dynamics.constraints,
            parameters={name: value for name, value in self.p.items() if name not in self.held},
            statistics=total,
            inputs=dict(zip(self.controller.actuators, inputs.T, strict=True)),
            notes=(*self.notes, *saturation_notes(limited)),
            saturation=tuple(limited),
            estimated_bound=self._bound_at(times) if self.bounds else None,
        )

    def _saturation(self) -> list[Saturation]:
        """Return the intervals in which inputs were at their limits; neighbouring ones are joined."""
        limits = np.minimum(self._limits, list(self.controller.limits.values()))
        return joined(
            [
                Saturation(name, float(hold.path.t[0]), float(hold.path.t[-1]))
                for j, name in enumerate(self.controller.actuators)
                for hold in self.holds
                if abs(hold.inputs[j]) >= limits[j]
            ]
        )

    def _bound_at(self, times: Floats) -> Floats:
        """Return the estimate of an adaptive controller, which is held between samples."""
        return np.array(self.bounds)[np.searchsorted(self.samples, times, side="right") - 1]


SHORTEST = 1e-6
"""A last interval shorter than this fraction of the period is rounding of the end, and joined to the one before."""


def _samples(t: float, t1: float, period: float | None) -> Iterator[float]:
    """Yield the times of samples, then t1; products, because sums of periods would accumulate rounding."""
    assert period is not None
    for k in count():
        if k and t + k * period > t1 - SHORTEST * period:
            break
        yield t + k * period
    yield t1
