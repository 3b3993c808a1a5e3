# SPDX-License-Identifier: BSD-3-Clause
"""Runs by Moreau's and Jean's scheme: their arguments, and their ledger and motion at other times."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, diags_array, vstack

from dalembert.common.array_types import Floats
from dalembert.common.names import LISTED_NAMES, quoted
from dalembert.errors import InputError, SimulationError, StateError
from dalembert.hybrid.contact_steps import ContactStep, ContactSteps
from dalembert.hybrid.gaps import TOUCHING
from dalembert.hybrid.moreau_jean import MoreauJean
from dalembert.hybrid.stepped_motion import SAME_TIME, SteppedMotion
from dalembert.integration.drift import Drift, Projection
from dalembert.integration.progress import Progress
from dalembert.integration.run_source import kinetic_energies
from dalembert.integration.sparse_start import require_start
from dalembert.integration.sparse_steps import NoStepError
from dalembert.integration.trajectory import Trajectory
from dalembert.lowering.expressions_along import values_of_part
from dalembert.lowering.large_system import compiled
from dalembert.model.coefficients import refuse_negative_coefficients
from dalembert.model.constraint import RESTITUTION_RANGE
from dalembert.model.contact_statement import contact_statement
from dalembert.model.input_values import parameter_values, state_values, time_values
from dalembert.model.moving_coefficients import moving_coefficients
from dalembert.model.system import System
from dalembert.runs.simulated_run import times_within

if TYPE_CHECKING:
    from dalembert.analysis.ledger import Ledger
    from dalembert.integration.motion_data import MotionData


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
            f"the motion must be continued to t = {times[-1]:.6g}; it ended at t = {end.t:.6g}: {end}.",
            end.t,
            run.trajectory(source),
        ) from None
    found = run.trajectory(source)
    moving = None if system.is_large else moving_coefficients(system)
    states = np.concatenate([found.q, found.qd], axis=1)
    negative = None if moving is None else moving.first_negative(found.t, states, tuple(p.values()))
    if negative is not None:
        place = slice(None, negative.place + 1)
        raise SimulationError(
            f"{negative.sentence} End the motion before.", found.t[negative.place], found.taken(place)
        )
    return found


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


@dataclass(frozen=True, eq=False)
class SteppedRun:
    """The compiled system of a run by fixed time steps; an implementation of ``RunSource``."""

    motion: ContactSteps

    def model_text(self) -> str:
        """Return an empty text: systems that are given by arrays cannot be written as a model file."""
        return ""

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

    def pieces(self, run: Trajectory) -> list[Trajectory]:
        """Return the run: no event changes its parameters."""
        return [run]

    def steps(self, run: Trajectory) -> Floats:
        """Return the times of the steps, from the first time of the run to its last."""
        count = int(np.ceil((run.t[-1] - run.t[0]) / self.motion.method.step * (1 - SAME_TIME)))
        return np.minimum(run.t[0] + self.motion.method.step * np.arange(count + 1), run.t[-1])

    def ledger(self, run: Trajectory) -> Ledger:
        """Return the work and energy of all forces; forces and powers are means over steps."""
        from dalembert.analysis.ledger import Ledger
        from dalembert.analysis.ledger_entries import entries_of

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

    def kinetic_energy(self, run: MotionData) -> Floats:
        """Return ½ q̇ᵀM q̇ (T,) along the run."""
        return kinetic_energies(self.mass_and_rows(run)[0], run.qd)

    def row_of(self, run: MotionData, i: int) -> Floats:
        """Return row i of A (T, n) along the run."""
        return np.array([self.motion.code.A[[i]].toarray()[0] for _ in self._evaluated(run)])

    def requirement_gradients(self, run: MotionData) -> Floats:
        raise InputError("a split of input forces must be of a run with inputs; this one has fixed time steps.")

    def values(self, run: Trajectory, expression: Any) -> Floats:
        """Return the values (T, …) of an expression, or of nested sequences of expressions, along the run."""
        return values_of_part(run, expression)
