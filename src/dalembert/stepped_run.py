# SPDX-License-Identifier: BSD-3-Clause
"""Runs by Moreau's and Jean's scheme: their arguments, the motion at the requested times, and their ledger."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, diags_array, vstack

from dalembert.array_types import Floats
from dalembert.errors import InputError, SimulationError, StateError
from dalembert.hybrid.contact_steps import ContactStep, ContactSteps, StepImpulses
from dalembert.hybrid.gaps import TOUCHING
from dalembert.hybrid.moreau_jean import MoreauJean
from dalembert.integration.drift import Drift, Projection
from dalembert.integration.progress import Progress
from dalembert.integration.sparse_start import require_start
from dalembert.integration.sparse_steps import NoStepError
from dalembert.integration.trajectory import Trajectory
from dalembert.lowering.expressions_along import values_of_part
from dalembert.lowering.large_system import compiled
from dalembert.model.coefficients import refuse_negative_coefficients
from dalembert.model.constraint import RESTITUTION_RANGE
from dalembert.model.contact_statement import contact_statement
from dalembert.model.input_values import parameter_values, state_values, time_values
from dalembert.model.system import System
from dalembert.names import LISTED_NAMES, quoted
from dalembert.simulated_run import times_within

if TYPE_CHECKING:
    from dalembert.analysis.ledger import Ledger
    from dalembert.integration.motion_data import MotionData

SAME_TIME = 1e-9
"""Distance of an output from the end of a step, relative to its length, at which both are the same."""


def simulate_by_steps(
    system: Any,
    q0: Any,
    qd0: Any,
    times: Any,
    parameters: Any,
    method: MoreauJean,
    *,
    allow_violation: bool,
    progress: bool | None,
) -> Trajectory:
    """Simulate a system by Moreau's and Jean's scheme; see ``da.simulate``."""
    if not isinstance(system, System) or system.servos or system.conserved is not None:
        raise InputError("`da.MoreauJean` needs a `da.System` without servos and conserved integrals; got another one.")
    model = contact_statement(system)
    q, qd = (state_values(system.coordinate_names, x, name) for x, name in ((q0, "q0"), (qd0, "qd0")))
    p = _parameters(system, parameters)
    statement = model.statement
    if statement.laws.needs_forces:
        raise InputError(
            "nonideal laws with fixed time steps must be dry friction, or depend on the state only; one depends on "
            "reactions in another way. Leave out `solver`."
        )
    dynamics = compiled(statement)
    numbers = dynamics.numbers(statement.values({name: p[name] for name in statement.parameters}))
    steps = ContactSteps(dynamics, model, method, numbers, p)
    times = time_values(times, "times", increasing=True)
    _refuse_coefficients(steps)
    _refuse_start(steps, q, qd, float(times[0]), allow_violation=allow_violation)
    run = SteppedMotion(steps, times)
    source = SteppedRun(steps)
    try:
        with Progress(float(times[0]), float(times[-1]), progress) as bar:
            run.follow(np.array(q, float), np.array(qd, float), bar)
    except NoStepError as end:
        if not run.outputs:
            run.keep_start(np.array(q, float), np.array(qd, float))
        raise SimulationError(
            f"the motion must continue to t = {times[-1]:.6g}; it ends at t = {end.t:.6g}: {end}.",
            end.t,
            run.trajectory(source),
        ) from None
    return run.trajectory(source)


def refuse_other_methods(
    formulation: Any, step: Any, max_step: Any, events: Any, control: Any, drift: Drift | None
) -> None:
    """Raise an error for arguments of ``da.simulate`` that do not go together with ``da.MoreauJean``."""
    given = {"formulation": formulation, "step": step, "max_step": max_step, "control": control}
    names = [name for name, value in given.items() if value is not None]
    names += ["events"] if events not in ((), []) else []
    names += [] if drift == Projection() else ["drift"]
    if names:
        raise InputError(
            f"{quoted(names)} must be left out with `da.MoreauJean`, which has a step of its own, keeps equations by "
            f"its impulses, and does not locate events."
        )


def _parameters(system: System, given: Any) -> dict[str, Any]:
    """Return the values of all parameters by name; an array for a parameter that is one."""
    if system.is_large and system.statement is not None:
        sizes, values = system.statement.parameters, system.statement.values(given)
        parts = np.split(values, np.cumsum([size or 1 for size in sizes.values()])[:-1]) if sizes else []
        return {name: part if size else float(part[0]) for (name, size), part in zip(sizes.items(), parts, strict=True)}
    flat = given if system.statement is None else system.statement.flat_parameters(given)
    values = parameter_values(system.parameter_names, flat)
    refuse_negative_coefficients(system, values)
    return dict(zip(system.parameter_names, map(float, values), strict=True))


def _refuse_coefficients(steps: ContactSteps) -> None:
    """Raise an error for a coefficient out of its range."""
    outside = np.flatnonzero(~((steps.restitution >= 0) & (steps.restitution <= 1)))
    if len(outside):
        name = steps.model.names[steps.normals[outside[0]]]
        raise InputError(f"constraint `{name}`: {RESTITUTION_RANGE.format(steps.restitution[outside[0]])}")


def _refuse_start(steps: ContactSteps, q: Floats, qd: Floats, t: float, *, allow_violation: bool) -> None:
    """Raise an error for a start that violates equations or penetrates contacts."""
    m = len(steps.model.names)
    among = np.zeros(steps.code.m, bool)
    among[:m] = ~steps.model.one_sided
    require_start(steps.dynamics, q, qd, t, steps.numbers, allow_violation=allow_violation, among=among)
    gap, sizes = steps.code.residuals.position[:m], abs(steps.code.A[:m])
    size = np.abs(gap - steps.code.A[:m] @ q) + sizes @ (np.abs(q) + 1)
    deep = np.flatnonzero(steps.model.one_sided & (gap < -TOUCHING * size))
    if len(deep) and not allow_violation:
        worst = deep[np.argsort(gap[deep])][:LISTED_NAMES]
        listed = ", ".join(f"`{steps.model.names[i]}`, whose gap is {gap[i]:.3g}" for i in worst)
        raise StateError(
            f"bodies must not penetrate one another; at t = {t:.6g} they do at {listed}. Start with gaps that are zero "
            f"or positive."
        )


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
        none = StepImpulses(np.zeros(code.m), v, np.zeros(0, np.int64), 0, 0.0)
        step = ContactStep(t, self.steps.method.step, q, v, v, none, np.zeros(1), nothing, None, code.A.data.copy())
        self.outputs.append((t, step, q, v, np.zeros(1)))

    def _count(self, step: ContactStep) -> None:
        """Add a step to the statistics of the run."""
        found = step.impulses
        self.sweeps += found.sweeps
        self.turnover += float(np.abs(step.work).sum())
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
            if self.outputs and self.outputs[-1][0] == t:
                return
            self.outputs.append((t, step, q, v, work))
            return
        if abs(t - before - step.h) > SAME_TIME * step.h:
            step = self.steps.step(before, q, v, t - before, step.impulses.values * ((t - before) / step.h))
        self.outputs.append((t, step, step.q, step.v, work + step.work))

    def trajectory(self, source: SteppedRun) -> Trajectory:
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
            "step": self.steps.method.step,
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


@dataclass(frozen=True, eq=False)
class SteppedRun:
    """The compiled system of a run by fixed time steps; an implementation of ``RunSource``."""

    motion: ContactSteps

    @property
    def write_page(self) -> Callable[..., Path]:
        raise InputError(
            "a live page must be of a system whose constraints hold all the time; this run has fixed time steps for "
            "contacts. `run.animate` shows the motion as it was computed."
        )

    def _again(self, run: Trajectory, times: Floats) -> SteppedMotion:
        """Take the steps of a run once more, with outputs at other times."""
        again = SteppedMotion(self.motion, times)
        with Progress(float(times[0]), float(times[-1]), False) as bar:
            again.follow(np.array(run.q[0]), np.array(run.qd[0]), bar)
        return again

    def at(self, run: Trajectory, times: Any) -> Trajectory:
        """Return the motion at one time, or at increasing ones, within those of the run."""
        asked = times_within(run, times)
        if np.isin(asked, run.t).all():
            return run.taken(np.searchsorted(run.t, asked))
        wanted = np.unique(np.concatenate([run.t[[0, -1]], asked]))
        found = self._again(run, wanted).trajectory(self)
        return replace(found.taken(np.searchsorted(wanted, asked)), notes=run.notes, statistics=run.statistics)

    def steps(self, run: Trajectory) -> Floats:
        """Return the times of the steps, from the first time of the run to its last."""
        count = int(np.ceil((run.t[-1] - run.t[0]) / self.motion.method.step * (1 - SAME_TIME)))
        return np.minimum(run.t[0] + self.motion.method.step * np.arange(count + 1), run.t[-1])

    def ledger(self, run: Trajectory) -> Ledger:
        """Return the work and energy of all forces; forces and powers are means over steps."""
        from dalembert.analysis.ledger import Ledger, entries_of

        motion, model = self.motion, self.motion.model
        again = self._again(run, run.t)
        energies = [motion.code.energies(q, v, t, motion.numbers) for t, _, q, v, _ in again.outputs]
        kinetic, energy = (np.array([getattr(one, name) for one in energies]) for name in ("kinetic", "energy"))
        work = np.array([done for *_, done in again.outputs])
        power = np.array([step.work / step.h for _, step, *_ in again.outputs])
        return Ledger(
            t=run.t,
            entries=tuple(entries_of(model.names, (*model.laws, *motion.dynamics.laws))),
            coordinates=motion.dynamics.coordinates,
            force=tuple(self._forces(step) for _, step, *_ in again.outputs),
            power=power,
            work=work,
            split_power=power,
            split_work=work,
            kinetic=kinetic,
            potential=energy - kinetic if motion.code.knows_energy else None,
            audit=energy - energy[0] - work.sum(axis=1),
            turnover=again.turnover,
            rtol=motion.method.tolerance,
            atol=0.0,
            notes=("Forces and powers are means over the step that ends at each time.",),
        )

    def _forces(self, step: ContactStep) -> Any:
        """Return the forces (e, n) of all entries, sparse."""
        m, forces = len(self.motion.model.names), step.impulses.values / step.h
        own = csr_array(diags_array(forces) @ self.motion.gradients(step))
        rubbing = csr_array(self.motion.friction_sums @ own)
        applied = step.force if step.laws is None else step.force - np.asarray(step.laws.sum(axis=0)).ravel()
        laws = [] if step.laws is None else [step.laws]
        return vstack([csr_array(applied[None]), own[:m], rubbing, *laws], format="csr")

    def _evaluated(self, run: MotionData) -> Iterator[None]:
        for q, qd, t in zip(run.q, run.qd, run.t, strict=True):
            yield self.motion.code.evaluate(np.array(q), np.array(qd), float(t), self.motion.numbers)

    def mass_and_rows(self, run: MotionData) -> tuple[Floats, Floats]:
        """Return M (T, n, n) and A (T, m, n) along the run."""
        code, m = self.motion.code, len(self.motion.model.names)
        terms = [(code.mass.matrix().toarray(), code.A[:m].toarray()) for _ in self._evaluated(run)]
        return np.array([M for M, _ in terms]), np.array([A for _, A in terms])

    def row_of(self, run: MotionData, i: int) -> Floats:
        """Return row i of A (T, n) along the run."""
        return np.array([self.motion.code.A[[i]].toarray()[0] for _ in self._evaluated(run)])

    def requirement_gradients(self, run: MotionData) -> Floats:
        raise InputError("a split of input forces must be of a run with inputs; this one has fixed time steps.")

    def values(self, run: Trajectory, expression: Any) -> Floats:
        """Return the values (T, …) of an expression, or of nested sequences of expressions, along the run."""
        return values_of_part(run, expression)
