# SPDX-License-Identifier: BSD-3-Clause
"""A motion by Moreau's and Jean's scheme: its steps, and the trajectory at the requested times."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.hybrid.contact_steps import ContactStep, ContactSteps, StepImpulses
from dalembert.integration.progress import Progress
from dalembert.integration.run_source import RunSource
from dalembert.integration.trajectory import Trajectory

SAME_TIME = 1e-9
"""Distance of an output from the end of a step, relative to its length, at which both are the same."""


@dataclass(eq=False)
class SteppedMotion:
    """The steps of a run, its outputs, and the work (e,) of all entries since its start."""

    steps: ContactSteps
    times: Floats
    outputs: list[tuple[float, ContactStep, Floats, Floats, Floats]] = field(
        default_factory=list[tuple[float, ContactStep, Floats, Floats, Floats]]
    )
    step_times: list[float] = field(default_factory=list[float])
    turnover: float = 0.0
    sweeps: int = 0
    residual: tuple[float, float] = (0.0, 0.0)
    unsolved: int = 0
    deepest: tuple[float, float, int] = (0.0, 0.0, -1)
    seconds: float = 0.0

    def follow(self, q: Floats, v: Floats, bar: Progress) -> None:
        """Take all steps; raise ``NoStepError`` if the motion cannot continue."""
        h, t0, began = self.steps.method.step, float(self.times[0]), time.perf_counter()
        last = np.zeros(self.steps.code.m)
        count, k = 0, 0
        work = np.zeros(0)
        while count < len(self.times):
            # not by adding h to t, whose rounding would grow with the number of steps
            t = t0 + k * h
            step = self.steps.step(t, q, v, h, last)
            work = work if len(work) else np.zeros(len(step.work))
            while count < len(self.times) and self.times[count] <= t + h * (1 + SAME_TIME):
                self._output(step, (t, q, v), float(self.times[count]), work)
                count += 1
            if t >= self.times[-1]:
                break
            self._count(step)
            q, v, last, work = step.q, step.v, step.impulses.values, work + step.work
            k += 1
            self.step_times.append(t + h)
            bar.show(t + h, k)
        self.seconds = time.perf_counter() - began

    def keep_start(self, q: Floats, v: Floats) -> None:
        """Keep the start as the only output, without forces: no step could be taken."""
        code, t, nothing = self.steps.code, float(self.times[0]), np.zeros(len(q))
        code.evaluate(q, v, t, self.steps.numbers)
        none = StepImpulses(np.zeros(code.m), v, v, np.zeros(0, np.int64), 0, 0.0)
        step = ContactStep(t, self.steps.method.step, q, v, v, none, np.zeros(1), nothing, None, code.A.data.copy())
        self.outputs.append((t, step, q, v, np.zeros(1)))

    def _count(self, step: ContactStep) -> None:
        """Add a step to the statistics of the run."""
        found = step.impulses
        self.sweeps += found.sweeps
        self.turnover += float(np.abs(step.work).sum())
        # a pair, so that the time of the largest residual is kept with it
        self.residual = max(self.residual, (found.residual, step.t))
        self.unsolved += found.residual > self.steps.method.tolerance
        gaps = np.where(self.steps.model.one_sided, self._gaps(step), 0.0)
        worst = int(gaps.argmin()) if len(gaps) else -1
        if worst >= 0 and gaps[worst] < self.deepest[0]:
            self.deepest = float(gaps[worst]), step.t, worst

    def _gaps(self, step: ContactStep) -> Floats:
        self.steps.code.evaluate(step.q, step.v, step.t, self.steps.numbers)
        return self.steps.code.residuals.position[: len(self.steps.model.names)]

    def _output(self, step: ContactStep, start: tuple[float, Floats, Floats], t: float, work: Floats) -> None:
        """Keep the motion at a time within a step: by a shorter step, unless it is the end of this one."""
        before, q, v = start
        if abs(t - before) <= SAME_TIME * step.h:  # the start of the run: the forces are those of its first step
            # the end of the step before has been kept as this output already
            if self.outputs and self.outputs[-1][0] == t:
                return
            self.outputs.append((t, step, q, v, work))
            return
        if abs(t - before - step.h) > SAME_TIME * step.h:
            # impulses grow with the length of a step, and so does the guess for the shorter one
            step = self.steps.step(before, q, v, t - before, step.impulses.values * ((t - before) / step.h))
        self.outputs.append((t, step, step.q, step.v, work + step.work))

    def trajectory(self, source: RunSource) -> Trajectory:
        """Return the motion at the times reached."""
        columns = [self._columns(*output) for output in self.outputs]
        found: dict[str, Any] = {name: np.array([one[name] for one in columns]) for name in columns[0]}
        if not self.steps.code.knows_energy:
            found["energy"] = None
        return Trajectory(
            t=np.array([t for t, *_ in self.outputs]),
            **found,
            coordinates=self.steps.dynamics.coordinates,
            constraints=self.steps.model.names,
            parameters=dict(self.steps.p),
            statistics=self._statistics(),
            notes=self._notes(),
            source=source,
        )

    def _columns(self, t: float, step: ContactStep, q: Floats, v: Floats, _: Floats) -> dict[str, Any]:
        """Return the motion at an output; forces are the means of the step that ends there."""
        steps, model = self.steps, self.steps.model
        m = len(model.names)
        forces = step.impulses.values / step.h
        rows = self.steps.gradients(step)
        # the rows of friction follow those of the constraints
        rubbing = forces[m:] @ rows[m:]
        others = np.zeros(len(q)) if step.laws is None else np.asarray(step.laws.sum(axis=0)).ravel()
        code = steps.code
        code.evaluate(q, v, t, steps.numbers)
        position, velocity = (residual[:m] for residual in code.residuals)
        closed = np.zeros(m, bool)
        closed[steps.normals[step.impulses.active]] = True
        at_velocity = steps.dynamics.levels[:m] == 1
        return {
            "q": q,
            "qd": v,
            "acceleration": (step.v - step.before) / step.h,
            "ideal_force": forces[:m] @ rows[:m],
            "nonideal_force": rubbing + others,
            "multipliers": forces[:m],
            "reactions": forces[:m],
            "violation": np.where(
                model.one_sided, np.minimum(position, 0.0), np.where(at_velocity, velocity, position)
            ),
            "velocity_violation": np.where(model.one_sided, np.where(closed, np.minimum(velocity, 0.0), 0.0), velocity),
            "rank": int((closed | ~model.one_sided).sum()),
            "inconsistency": 0.0,
            "energy": code.energies(q, v, t, steps.numbers).energy if code.knows_energy else np.nan,
        }

    def _statistics(self) -> dict[str, Any]:
        return {
            "steps": len(self.step_times),
            "rejected": 0,
            "seconds": self.seconds,
            "solver": "MoreauJean",
            "program": "templates",
            **asdict(self.steps.method),
            "sweeps": self.sweeps,
            "largest_residual": self.residual[0],
            "largest_penetration": -self.deepest[0],
        }

    def _notes(self) -> tuple[str, ...]:
        method = self.steps.method
        notes = [
            f"Fixed time steps of {method.step:.6g}: impacts are not located, and forces are means over a step, with "
            f"the impulses of impacts in it."
        ]
        gap, t, worst = self.deepest
        if worst >= 0:
            notes.append(f"The deepest penetration is {-gap:.2e}, at t = {t:.6g} in `{self.steps.model.names[worst]}`.")
        if self.unsolved:
            notes.append(
                f"In {self.unsolved} of {len(self.step_times)} steps the impulses miss the laws of contact by more "
                f"than the tolerance after {method.max_sweeps} sweeps; the largest residual is {self.residual[0]:.1e} "
                f"of the velocities, at t = {self.residual[1]:.6g}. Raise `max_sweeps`, or pass a shorter `step`."
            )
        return tuple(notes)
