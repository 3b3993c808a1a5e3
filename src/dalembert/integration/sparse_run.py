# SPDX-License-Identifier: BSD-3-Clause
"""A run of a large system: steps, outputs at the requested times, and the trajectory or the error that results."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.common.names import LISTED_NAMES, quoted
from dalembert.errors import SimulationError
from dalembert.integration.default_tolerances import USUAL_ATOL, coarse_notes
from dalembert.integration.drift import drift_notes
from dalembert.integration.method import Method, split_state
from dalembert.integration.progress import Progress
from dalembert.integration.run_events import RunEvent
from dalembert.integration.saturation import Saturation, saturation_notes
from dalembert.integration.sparse_contradictions import inconsistency, refuse_contradiction
from dalembert.integration.sparse_control import run_control
from dalembert.integration.sparse_dependencies import Dependencies, shortest
from dalembert.integration.sparse_events import EventFunctions, EventWatch
from dalembert.integration.sparse_laws import refuse_lost_reaction, refuse_negative_laws
from dalembert.integration.sparse_limits import LimitWatch
from dalembert.integration.sparse_masses import refuse_undetermined_motion
from dalembert.integration.sparse_motion import refuse_unmet_servos, solution
from dalembert.integration.sparse_start import nearest_sparse_state, projection_notes, require_start
from dalembert.integration.sparse_steps import NoStepError, SparseStep, SparseSteps
from dalembert.integration.sparse_tangents import FIRST_STEPS, REJECTED_PART, only_touching
from dalembert.integration.trajectory import Trajectory
from dalembert.native.protocol import Control
from dalembert.native.sparse_system import LargeDynamics
from dalembert.numerics.tolerances import CONSISTENCY_TOLERANCE
from dalembert.numerics.violation import state_scales_of

COLUMNS = ("q", "qd", "acceleration", "ideal_force", "nonideal_force", "multipliers", "reactions", "violation")
COLUMNS += ("velocity_violation", "rank", "inconsistency", "energy")


class SparseRun:
    """A run of a large system from a state at ``times[0]``: its outputs, one after the other."""

    def __init__(
        self,
        dynamics: LargeDynamics,
        method: Method,
        numbers: Floats,
        times: Floats,
        events: EventFunctions | None = None,
    ):
        self.dynamics, self.method, self.times = dynamics, method, times
        self.steps = SparseSteps(dynamics, method, numbers)
        self.numbers = numbers
        self.outputs: dict[str, list[Any]] = {name: [] for name in ("t", *COLUMNS)}
        self.step_times: list[float] = []
        self.controls: list[Control] = []
        self.saturation: list[Saturation] = []
        self.began = time.perf_counter()
        self.redundant: dict[int, tuple[float, Any]] = {}
        self.events: list[RunEvent] = []
        self._watched, self._notes = events, list[str]()

    def follow(self, y: Floats, bar: Progress) -> None:
        """Take all steps and keep the motion at the requested times; raise ``NoStepError`` if it cannot continue."""
        self.steps.choose_rows(y, float(self.times[0]))
        self._keep(y, float(self.times[0]))
        count = 1
        watch = LimitWatch(self.steps, self.controls[0]) if self._has_limits else None
        events = (
            None if self._watched is None else EventWatch(self.steps, self._watched, *map(float, self.times[[0, -1]]))
        )
        for step in self.steps.all_steps(y, float(self.times[0]), float(self.times[-1])):
            self.step_times.append(step.t)
            self._examine(y, step.t)
            if watch is not None:
                self.saturation = watch.after(step)
            last = None if events is None else self._last_event(events, step)
            end = step.t if last is None else last.t
            while count < len(self.times) and self.times[count] <= end:
                self._output(step, float(self.times[count]))
                count += 1
            if last is not None:
                if self.outputs["t"][-1] < end:
                    self._keep(np.array(last.before), end)
                return
            bar.show(step.t, len(self.step_times))

    def _examine(self, start: Floats, t: float) -> None:
        """Raise an error if many of the first steps were rejected because constraints only touch at the start."""
        count = len(self.step_times)
        if count != FIRST_STEPS or self.steps.rejected < REJECTED_PART * count:
            return
        rows, t0 = self.steps.rows, float(self.times[0])
        reason = only_touching(self.steps, start, t0, t)
        if reason:
            raise NoStepError(t, reason)
        self.steps.rows = rows
        self.steps.restart()

    def _last_event(self, events: EventWatch, step: SparseStep) -> RunEvent | None:
        """Record the events within a step; return the one that ends the motion, if any."""
        rows = self.steps.rows
        found, stop = events.after(step)
        # states within a step have steps of their own, which must leave no trace in those of the run
        self.steps.rows = rows
        self.steps.restart()
        self.events += found
        if stop is not None:
            self._notes.append(f"The motion ends at t = {stop.t:.6g} by the event `{stop.name}`.")
        return stop

    @property
    def _has_limits(self) -> bool:
        servos = self.dynamics.code.servos
        return servos is not None and len(servos.layout.limited) > 0

    def _output(self, step: SparseStep, t: float) -> None:
        rows = self.steps.rows
        # an output has a step of its own, which must leave no trace in the steps of the run
        self._keep(self.steps.between(step, t), t)
        self.steps.rows = rows
        self.steps.restart()

    def _keep(self, y: Floats, t: float) -> None:
        """Append the motion at a state; raise an error if constraints are contradictory there."""
        steps, code = self.steps, self.dynamics.code
        steps.choose_rows(y, t)
        found = solution(self.dynamics, steps.gains)
        dependencies, (position, velocity) = Dependencies(code), code.residuals
        share = inconsistency(code, found)
        if share > CONSISTENCY_TOLERANCE:
            if not self.outputs["t"]:
                refuse_contradiction(self.dynamics, found)
            # on the way it ends the run with the motion so far, at the start it is an error of the user
            raise NoStepError(t, "constraints contradict one another there")
        # once, at the start: coefficients of large systems are parameters, which do not change
        if not self.outputs["t"]:
            refuse_undetermined_motion(self.dynamics)
            refuse_negative_laws(self.dynamics)
            refuse_lost_reaction(self.dynamics, found.C, t)
            refuse_unmet_servos(self.dynamics, found, t)
        q, qd = split_state(y)
        levels, lam = self.dynamics.levels, shortest(dependencies, found.multipliers)
        actual = lam if code.laws is None else shortest(dependencies, found.multipliers + found.effect)
        # each constraint at its own level; one of accelerations is violated by what is left of A q̈ = b
        accelerated = np.where(levels == 2, found.left, velocity)
        values = {
            "t": t,
            "q": q,
            "qd": qd,
            "acceleration": found.acceleration,
            "ideal_force": found.ideal_force,
            "nonideal_force": found.C + code.A_transposed @ found.effect,
            "multipliers": lam,
            "reactions": actual,
            "violation": np.where(levels == 0, position, accelerated),
            "velocity_violation": velocity,
            "rank": code.m - len(dependencies.rows),
            "inconsistency": share,
            "energy": code.energies(q, qd, t, self.numbers).energy if code.knows_energy else np.nan,
        }
        for name, value in values.items():
            self.outputs[name].append(value)
        if found.control is not None:
            self.controls.append(found.control)
        if len(dependencies.rows):
            # the first time of each rank is enough for a note
            self.redundant.setdefault(len(dependencies.rows), (t, dependencies.rows))

    def trajectory(self, parameters: Mapping[str, Any], notes: list[str], source: Any) -> Trajectory:
        """Return the motion at the times reached."""
        found: dict[str, Any] = {name: np.array(values) for name, values in self.outputs.items()}
        if not self.dynamics.code.knows_energy:
            found["energy"] = None
        return Trajectory(
            **found,
            **run_control(self.dynamics.code.servos, self.controls),
            saturation=tuple(self.saturation),
            events=tuple(self.events),
            coordinates=self.dynamics.coordinates,
            constraints=self.dynamics.constraints,
            parameters=dict(parameters),
            statistics=self._statistics(),
            notes=(
                *notes,
                *self._notes,
                *coarse_notes(self.method, found["q"]),
                *drift_notes(self.method.drift),
                *self._redundancies(),
                *saturation_notes(self.saturation),
            ),
            source=source,
        )

    def _statistics(self) -> dict[str, Any]:
        method = self.method
        return {
            "steps": len(self.step_times),
            "rejected": self.steps.rejected,
            "seconds": time.perf_counter() - self.began,
            "solver": method.solver_name,
            "formulation": type(method.formulation).__name__,
            "drift": type(method.drift).__name__,
            "program": "templates",
            "rtol": method.rtol,
            "atol": method.least_atol,
        }

    def _redundancies(self) -> list[str]:
        notes: list[str] = []
        for count, (t, rows) in self.redundant.items():
            names = quoted(self.dynamics.constraints[i] for i in rows[:LISTED_NAMES])
            more = f" and {count - LISTED_NAMES} more" if count > LISTED_NAMES else ""
            m = self.dynamics.code.m
            notes.append(f"At t = {t:.6g} the constraints have rank {m - count} of {m}; redundant: {names}{more}.")
        return notes


def usual_tolerances(dynamics: LargeDynamics, q: Floats, qd: Floats) -> Floats:
    """Return the absolute tolerances (2n,) of a motion from the state of the last evaluation, by its scales."""
    code = dynamics.code
    return USUAL_ATOL * state_scales_of(np.sqrt(np.abs(code.mass.diagonal)), code.force, q, qd)


def accepted_sparse_start(
    dynamics: LargeDynamics, method: Method, q0: Floats, qd0: Floats, t0: float, numbers: Floats, allow_violation: bool
) -> tuple[Floats, list[str]]:
    """Return the state to start from, on the constraints if the given one misses them by little, and notes on it."""
    exact = require_start(dynamics, q0, qd0, t0, numbers, allow_violation=allow_violation)
    given = np.concatenate([q0, qd0])
    # without a projection a start that misses the constraints is kept, and its drift is reported
    if exact or not method.drift.projections:
        return given, []
    found = nearest_sparse_state(dynamics, q0, qd0, t0, numbers)
    return np.concatenate(found), projection_notes(dynamics, (q0, qd0), found, t0, numbers)


def sparse_run(
    dynamics: LargeDynamics,
    method: Method,
    start: tuple[Floats, Floats],
    times: Floats,
    numbers: Floats,
    *,
    parameters: Mapping[str, Any],
    allow_violation: bool,
    progress: bool | None,
    source: Any,
    events: EventFunctions | None = None,
) -> Trajectory:
    """Simulate a large system from a start at ``times[0]`` and return the motion at all times."""
    t0, t1 = float(times[0]), float(times[-1])
    y, notes = accepted_sparse_start(dynamics, method, *start, t0, numbers, allow_violation)
    run = SparseRun(dynamics, method, numbers, times, events)
    try:
        with Progress(t0, t1, progress) as bar:
            run.follow(y, bar)
    except NoStepError as end:
        raise SimulationError(
            f"the motion must be continued to t = {t1:.6g}; it ended at t = {end.t:.6g}: {end}.",
            end.t,
            run.trajectory(parameters, notes, source),
        ) from None
    return run.trajectory(parameters, notes, source)
