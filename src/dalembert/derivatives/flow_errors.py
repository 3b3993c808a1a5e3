# SPDX-License-Identifier: BSD-3-Clause
"""Errors of a flow: with known numbers, and inside of a compiled program, which learns its numbers when it runs.

A compiled program raises an error through a callback. JAX wraps it in a ``JaxRuntimeError``, whose text ends with ours.
JAX must not be called from a callback, so these messages are found by NumPy from the state in which the motion ended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import equinox.internal as eqxi
import jax
import numpy as np
from jax import Array, lax

from dalembert.common.array_types import Floats
from dalembert.common.names import counted, quoted
from dalembert.equation.dynamics import Dynamics
from dalembert.errors import DalembertError, SimulationError, StateError
from dalembert.hybrid.jumps_with_the_state import ForceJump, first_jump
from dalembert.integration.default_tolerances import with_tolerances
from dalembert.integration.failure import SO_FAR, failure_reason
from dalembert.integration.method import Method
from dalembert.integration.native_steps import native_steps
from dalembert.integration.path import Path
from dalembert.integration.run import run
from dalembert.integration.start_states import require_start
from dalembert.integration.state_answer import answer_at, answers_by_numpy, trouble_at
from dalembert.integration.step_check import first_unreached, projects_fixed_steps
from dalembert.integration.time_segments import jump_times, segments_of
from dalembert.lowering.build import build
from dalembert.model.expression_values import expression_values
from dalembert.model.friction_contacts import contacts
from dalembert.model.function_system import FunctionSystem
from dalembert.model.system import System
from dalembert.stick_slip.segment import Segment
from dalembert.stick_slip.simulation import StickSlipSimulation

CHECKED_STEPS = 1000
"""Steps at a time that are searched for jumps of the forces."""

SLOW_CONTACT = 1e-6
"""Sliding speed, relative to all velocities, of a contact that comes to rest: adaptive steps shrink as it does."""


class Ending(NamedTuple):
    """The time and the state (2n,) in which a motion ended, the number of steps, and whether its solver stopped it."""

    t: Any
    y: Any
    steps: Any
    stopped: Any


def raise_if(x: Array, failed: Array, severity: Array, error: Callable[..., Exception], numbers: Any) -> Array:
    """Return x; the compiled program raises ``error(*numbers)`` if the motion failed.

    Of several motions, mapped by ``jax.vmap``, the first one with the highest severity is reported.
    """

    def raise_first(severity: Any, *leaves: Any) -> Any:
        severity = np.asarray(severity)
        k = np.unravel_index(int(np.argmax(severity)), severity.shape)
        raise error(*jax.tree.unflatten(structure, [np.asarray(leaf)[k] for leaf in leaves]))

    # without derivatives: those of a callback are not known, and x has its own
    failed, severity, numbers = jax.tree.map(lax.stop_gradient, (failed, severity, numbers))
    leaves, structure = jax.tree.flatten(numbers)
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)

    def call() -> Array:
        return jax.pure_callback(raise_first, shape, severity, *leaves, vmap_method="broadcast_all")

    return lax.cond(eqxi.unvmap_any(failed), call, lambda: x)


def unless_forces_jump(dynamics: Dynamics, method: Method, times: Any, given: Any) -> Any:
    """Return one; the compiled program raises an error if a force jumps with the state along the motion.

    ``given`` are (q, qd, p). Without expressions of the state at whose zeros a force may jump, nothing is called.
    """
    native = dynamics.machine_code
    if native is None or not answers_by_numpy(dynamics) or not native.switching_functions[0]:
        return 1.0

    def check(*numbers: Any) -> Any:
        return _refuse_force_jumps(dynamics, method, times, *numbers)

    return jax.pure_callback(
        check, jax.ShapeDtypeStruct((), float), *lax.stop_gradient(given), vmap_method="sequential"
    )


def _refuse_force_jumps(dynamics: Dynamics, method: Method, times: Any, q: Any, qd: Any, p: Any) -> Floats:
    """Return one; raise an error if a force jumps with the state along a motion, whose derivatives leave that out.

    The motion is integrated once more, by the compiled integrator. Systems that it does not support are not checked.
    """
    native = dynamics.machine_code
    assert native is not None
    names, values = native.switching_functions
    q, qd, p = np.asarray(q), np.asarray(qd), np.array([float(x) for x in p])
    method = with_tolerances(dynamics, replace(method, solver=None), q, qd, times[0], p)
    steps, y = native_steps(dynamics, method, p), np.concatenate([q, qd])

    def rate(t: float, y: Floats) -> Floats:
        q, qd = np.split(y, 2)
        return np.asarray(answer_at(dynamics, q, qd, t, p, method.formulation).acceleration)

    for t, end, _ in segments_of(dynamics, p, float(times[0]), float(times[-1])):
        while steps is not None and t < end:
            batch = steps.step_batch(y, t, end, CHECKED_STEPS)
            if batch is None:
                return np.ones(())
            moments, states = np.append(t, batch.t), np.vstack([y, batch.y])
            lines, spans = (np.stack([x[:-1], x[1:]], axis=1) for x in (states, moments))
            found = first_jump(tuple(names), lambda y, at: values(y, at, p), rate, spans, lines)
            if found is not None:
                raise _not_differentiable(found)
            t, y = float(batch.t[-1]), batch.y[-1]
    return np.ones(())


def _not_differentiable(jump: ForceJump) -> Exception:
    no_trajectory: Any = None
    return SimulationError(
        f"forces must not jump with the state for a flow to be differentiated; at t = {jump.t:.6g} one does, where "
        f"`{jump.name}` vanishes, and the derivatives would leave out the change of that instant. Smooth the force, or "
        f"take differences of runs of `da.simulate`.",
        jump.t,
        no_trajectory,
    )


def start_error(dynamics: Dynamics, method: Method, q: Any, qd: Any, times: Any, p: Any) -> Exception:
    """Return the error of a start off the constraints, by name if that needs no JAX."""
    if dynamics.machine_code is not None:
        try:
            require_start(dynamics, q, qd, times[0], p, allow_violation=False)
        except DalembertError as error:
            return error
    return StateError(
        "the initial state must satisfy the constraints; it does not. Start from `da.consistent_state(system, q0, "
        "qd0, ...)`, or, if the violation is meant, pass `allow_violation=True`."
    )


def ending_error(
    system: System | FunctionSystem,
    dynamics: Dynamics,
    method: Method,
    q: Any,
    qd: Any,
    times: Any,
    p: Any,
    end: Ending,
) -> Exception:
    """Return the error of a motion that ended before the last time, with the reason if that needs no JAX."""
    t, t1, y = float(end.t), float(times[-1]), np.asarray(end.y)
    by_numpy = dynamics.machine_code is not None and answers_by_numpy(dynamics)
    if by_numpy:
        try:
            refuse_unreached(dynamics, method, times, p, end)
        except SimulationError as error:
            return error
    resting, speed = _slowest_contact(system, t, y, p)
    if resting and speed > SLOW_CONTACT * max(np.abs(qd).max(), np.abs(y[len(qd) :]).max()):
        # a fixed step ends at the speed it had before the contact came to rest, with equations that have a solution
        trouble = by_numpy and _trouble(dynamics, method, t, y, p)
        resting = resting if end.stopped and not trouble else ""
    if resting:
        message = f"{_not_smooth(resting, t)} Use `da.simulate`, or a law with `smoothing`."
    elif by_numpy:
        method = with_tolerances(dynamics, method, q, qd, times[0], p)
        path = Path(
            np.array([times[0], t]), np.stack([np.concatenate([q, qd]), y]), finished=False, steps=int(end.steps)
        )
        message = failure_reason(dynamics, method, path, p, t1).replace(SO_FAR, "")
    else:
        message = (
            f"the motion must be continued to t = {t1:.6g}; it ended at t = {t:.6g}, after "
            f"{counted(int(end.steps), 'step')}. Raise `max_steps`, or call the flow, or `da.simulate`, with "
            f"these numbers outside of JAX's transformations, to see the reason."
        )
    no_trajectory: Any = None  # only the text of the error leaves the compiled program
    return SimulationError(message, t, no_trajectory)


def refuse_unreached(dynamics: Dynamics, method: Method, times: Any, p: Any, end: Ending) -> None:
    """Raise an error if a motion ended because its fixed steps are too long to be projected onto the constraints."""
    if not projects_fixed_steps(dynamics, method):
        return
    t, (q, qd) = float(end.t), np.split(np.asarray(end.y), 2)
    unreached = first_unreached(dynamics, q[None], qd[None], np.array([t]), p)
    if unreached is not None:
        no_trajectory: Any = None
        message = f"the motion must be continued to t = {times[-1]:.6g}; it ended at t = {t:.6g}: {unreached[1]}"
        raise SimulationError(message, t, no_trajectory)


def _trouble(dynamics: Dynamics, method: Method, t: float, y: Floats, p: Any) -> str:
    q, qd = np.split(y, 2)
    return trouble_at(dynamics, answer_at(dynamics, q, qd, t, p, method.formulation), method.formulation)


def _slowest_contact(system: System | FunctionSystem, t: float, y: Floats, p: Any) -> tuple[str, float]:
    """Return the contact under dry friction that slides most slowly, and its speed; an empty name without contacts."""
    if not isinstance(system, System) or not contacts(system):
        return "", 0.0
    numbers = dict(zip(system.parameter_names, map(float, p), strict=True))
    speeds = {c.name: np.linalg.norm(expression_values(system, c.velocity)(t, y, numbers)) for c in contacts(system)}
    name = min(speeds, key=lambda name: speeds[name])
    return name, float(speeds[name])


def _not_smooth(name: str, t: float) -> str:
    return f"a flow must be one smooth motion; friction of `{name}` comes to rest or reverses at about t = {t:.6g}."


def explain(dynamics: Dynamics, method: Method, q: Any, qd: Any, times: Any, p: Any) -> None:
    """Raise the error of ``da.simulate`` or, if it succeeds, one on the number of steps."""
    found = run(dynamics, method, q, qd, times, p, allow_violation=True, progress=False)
    native, begin = dynamics.machine_code, float(times[0])
    jumps = jump_times(segments_of(dynamics, p, begin, float(times[-1])), begin)
    if native is not None and native.parameters_of_time and len(jumps):
        names = quoted(dynamics.parameters[k] for k in native.parameters_of_time)
        raise SimulationError(
            f"the jumps of functions of time in a flow must not depend on parameters; those with {names} jump at t = "
            f"{jumps[0]:.6g}. Give them as numbers, or use `da.simulate`, whose motion is in `error.trajectory`.",
            float(jumps[0]),
            found,
        )
    raise SimulationError(
        f"the motion must be continued to t = {times[-1]:.6g}; {method.max_steps} steps that end at all `times` did "
        f"not get there. Raise `max_steps`. `da.simulate` does get there: the motion is in `error.trajectory`.",
        float(times[-1]),
        found,
    )


def _turned_by_jump(simulation: StickSlipSimulation, segment: Segment) -> list[str]:
    """Return the contacts that a jump of a prescribed velocity after a segment turns round, or whose friction acts."""
    if segment.path.resumes is None:
        return []
    following = simulation.segments[simulation.segments.index(segment) + 1].phase.directions
    turned = [c.name for c, d in segment.phase.directions.items() if c in following and d @ following[c] < 0]
    first = 1 + len(simulation.system.constraints)
    works = [own.work for own in simulation.impulses if own.work is not None and own.t == segment.end]
    pressed = {k for work in works for k in np.flatnonzero(work[0, first:])}
    return [*turned, *(c.name for c in simulation.contacts if c.number in pressed)]


def refuse_rest(system: System, method: Method, q: Any, qd: Any, times: Any, p: Any) -> None:
    """Raise an error if a contact under dry friction comes to rest or reverses during the motion."""
    touching = contacts(system)
    if not touching:
        return
    method = with_tolerances(build(system), method, q, qd, times[0], p)
    stick_slip = StickSlipSimulation(
        system, touching, method, dict(zip(system.parameter_names, map(float, p), strict=True))
    )
    found = stick_slip.run(q, qd, times, allow_violation=True, progress=False)
    for segment in stick_slip.segments:
        begin, resting = float(segment.path.t[0]), segment.phase.mode.sticking
        names = {c.name: begin for c in resting} or {c.name: segment.end for c in segment.stopped()}
        names = names or dict.fromkeys(_turned_by_jump(stick_slip, segment), segment.end)
        if names:
            name, time = next(iter(names.items()))
            raise SimulationError(
                f"{_not_smooth(name, time)} Use `da.simulate`, whose motion is in `error.trajectory`, or a law with "
                f"`smoothing`.",
                time,
                found,
            )
