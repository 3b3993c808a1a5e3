# SPDX-License-Identifier: BSD-3-Clause
"""The motion as one JAX function of its start and its parameters, to be differentiated, mapped and compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import sympy as sp
from jax import Array, lax
from jax.core import Tracer

from dalembert.equation.answer_checks import require_fit
from dalembert.equation.dynamics import Dynamics, Terms
from dalembert.equation.formulation import Formulation
from dalembert.errors import InputError, SimulationError
from dalembert.integration.default_tolerances import USUAL_ATOL, with_tolerances
from dalembert.integration.drift import Drift, Projection
from dalembert.integration.general_steps import solver_of
from dalembert.integration.guarded_solver import GuardedSolver, vector_field
from dalembert.integration.method import Method, split_state
from dalembert.integration.run import run, suited_to
from dalembert.integration.start_states import require_start
from dalembert.integration.time_segments import segments_of
from dalembert.lazy_jax import refuse_forked_process
from dalembert.lowering.build import build
from dalembert.lowering.jax_functions import compiled
from dalembert.model.coefficients import refuse_negative_coefficients
from dalembert.model.friction_contacts import contacts
from dalembert.model.function_system import FunctionSystem
from dalembert.model.input_values import parameter_values, state_values, time_values
from dalembert.model.ordering import by_name, in_order, name_problems
from dalembert.model.system import System
from dalembert.settings import method_of, require_system
from dalembert.stick_slip.simulation import StickSlipSimulation
from dalembert.violation import state_scales, violated

Flow = Callable[[Any, Any, Mapping[Any, Any]], tuple[Array, Array]]
"""From q0, qd0 and parameters by name: coordinates and velocities (T, n)."""


def flow(
    system: System | FunctionSystem,
    times: Any,
    *,
    rtol: float = 1e-9,
    atol: float | None = None,
    drift: Drift | None = Projection(),
    solver: Any = None,
    formulation: Formulation | None = None,
    step: float | None = None,
    max_steps: int = 1024,
    allow_violation: bool = False,
) -> Flow:
    """The motion of a system as a function (q0, qd0, parameters) -> (q, qd) for JAX to differentiate, map and compile.

    Forward and reverse mode both work, through every step and its projection. The start must satisfy the constraints,
    as for ``da.simulate``; under ``allow_violation`` it is taken as it is, and projection puts the end of the first
    step on them. Steps end at the jumps of explicit functions of time that no parameter moves. Under dry friction every
    contact must slide one way all the time: where one comes to rest or turns round friction jumps, and derivatives
    would not know how that instant moves. Smooth it then, or take differences of runs of ``da.simulate``.

    Parameters
    ----------
    times        increasing times at which the motion is wanted, the first one being that of the start
    max_steps    most steps of one motion; reverse mode keeps all of them in memory
    others       as for ``da.simulate``

    Raises
    ------
    InputError         for numbers that do not fit
    SimulationError    where a contact under dry friction comes to rest or turns round
    others             as ``da.simulate`` does, where the numbers are known. Within JAX's transformations they are not:
                       names and lengths are checked all the same, and a start off the constraints, or a motion that
                       does not reach the last time, is an error of equinox

    Examples
    --------
    >>> import jax
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> k = da.parameters("k")
    >>> motion = da.flow(da.System((x,), [[1]], (-k * x,)), times=[0, 1])
    >>> end = lambda k: motion([1.0], [0.0], {"k": k})[0][-1, 0]
    >>> print(f"{end(4.0):.6f} {jax.grad(end)(4.0):.6f}")  # cos 2 and −sin(2)/4
    -0.416147 -0.227324
    """
    require_system(system)
    refuse_forked_process()
    method = method_of(formulation, drift, solver, rtol, atol, step, max_steps)
    dynamics = suited_to(build(system), method.formulation)
    require_fit(method.formulation, len(dynamics.coordinates), len(dynamics.constraints))
    moments = time_values(times, "times", increasing=True)
    if method.step is not None and (needed := np.diff(moments).sum() / method.step) > method.max_steps:
        raise InputError(f"`max_steps` must allow for the steps asked for, {needed:.0f} and more; got {max_steps}.")
    outputs = jnp.asarray(moments)
    field = vector_field(dynamics, method.formulation, method.drift)
    slides = _slides(system) if isinstance(system, System) else None
    strict = not method.formulation.compromises
    stops = _with_events(dynamics, moments)

    def motion(q0: Any, qd0: Any, parameters: Mapping[Any, Any]) -> tuple[Array, Array]:
        known = not any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((q0, qd0, parameters)))
        q, qd = (_state(dynamics.coordinates, x, name, known) for x, name in ((q0, "q0"), (qd0, "qd0")))
        p = _ordered(dynamics.parameters, parameters, known)
        if known and isinstance(system, System):
            refuse_negative_coefficients(system, p)
        if known:
            numbers = np.asarray(q), np.asarray(qd), moments[0], p
            require_start(dynamics, *numbers, allow_violation=allow_violation)
        ys, failed, off = solve(q, qd, p)
        if known and bool(failed):
            if isinstance(system, System):
                _refuse_rest(system, method, np.asarray(q), np.asarray(qd), moments, p)
            _explain(dynamics, method, np.asarray(q), np.asarray(qd), moments, p)
        if not known:  # an error raised from within a program, which JAX then does not keep for the next session
            ys = eqx.error_if(ys, off, OFF) if len(dynamics.constraints) else ys
            ys = eqx.error_if(ys, failed, UNFINISHED if slides is None else UNFINISHED + RESTS)
        return split_state(ys)

    @jax.jit  # outside of JAX's transformations too, where every operation would be a program of its own
    def solve(q: Array, qd: Array, p: tuple[Array, ...]) -> tuple[Array, Array, Array]:
        """The states at all times, whether the last one was not reached, and whether the start is off."""
        terms = dynamics.terms(q, qd, outputs[0], p)
        atol = method.atol
        if atol is None:
            atol = USUAL_ATOL * lax.stop_gradient(state_scales(terms.M, terms.Q, q, qd, xp=jnp))
        own = replace(method, atol=atol)
        tolerances = None if allow_violation or step is not None else (jnp.asarray(own.rtol), jnp.asarray(atol))
        inner = _both_ways(solver_of(own))
        guarded = GuardedSolver(
            inner, tolerances, dynamics, method.drift, strict, slides, step is not None, allow_violation
        )
        off = jnp.asarray(False) if allow_violation else _is_off(terms, q, qd)
        watch = dynamics.engine.watch(q, qd, outputs[0], p)
        solution = diffrax.diffeqsolve(
            field,
            guarded,
            t0=outputs[0],
            t1=outputs[-1],
            dt0=None,
            y0=jnp.concatenate([q, qd]),
            args=(p, watch),
            stepsize_controller=_controller(own, stops),
            saveat=diffrax.SaveAt(ts=outputs),
            max_steps=method.max_steps,
            adjoint=diffrax.DirectAdjoint(),
            throw=False,
        )
        ys: Any = solution.ys
        return ys, solution.result != diffrax.RESULTS.successful, off

    return motion


OFF = (
    "the start must satisfy the constraints; it does not. Start from `da.consistent_state(system, q0, qd0, ...)`, or, "
    "if the violation is meant, pass `allow_violation=True`."
)

UNFINISHED = (
    "the motion must be continued to the last time; it ended before. Raise `max_steps`, or call the flow, or "
    "`da.simulate`, with these numbers outside of JAX's transformations, which tells why."
)

RESTS = (
    " Or friction comes to rest or turns round on the way, where the motion is not smooth: use `da.simulate`, or a law "
    "with `smoothing`."
)


def _is_off(terms: Terms, q: Array, qd: Array) -> Array:
    """Whether a start violates a constraint."""
    off = violated(terms.position, terms.A, q, mass_matrix=terms.M, xp=jnp)
    return jnp.any(off | violated(terms.velocity, terms.A, qd, q, terms.M, xp=jnp))


def _with_events(dynamics: Dynamics, moments: Any) -> Any:
    """The times at which steps end: outputs, and the events of functions of time that no parameter moves."""
    native = dynamics.machine_code
    if native is None or native.time_functions is None or native.parameters_of_time:
        return moments
    found = segments_of(dynamics, np.zeros(len(dynamics.parameters)), float(moments[0]), float(moments[-1]))
    short = [np.arange(part.start, part.end, part.max_step) for part in found if np.isfinite(part.max_step)]
    ends = [time for part in found for time in (part.start, part.end)]
    return np.unique(np.concatenate([moments, ends, *short]))


def _explain(dynamics: Dynamics, method: Method, q: Any, qd: Any, times: Any, p: Any) -> None:
    """Raise what ``da.simulate`` would, or that it would not."""
    found = run(dynamics, method, q, qd, times, p, allow_violation=True, progress=False)
    raise SimulationError(
        f"the motion must be continued to t = {times[-1]:.6g}; {method.max_steps} steps that end at all `times` did "
        f"not get there. Raise `max_steps`. `da.simulate` does get there: the motion is in `error.trajectory`.",
        float(times[-1]),
        found,
    )


def _refuse_rest(system: System, method: Method, q: Any, qd: Any, times: Any, p: Any) -> None:
    """Raise if a contact under dry friction comes to rest or turns round on the way."""
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
        if names:
            name, time = next(iter(names.items()))
            raise SimulationError(
                f"a flow must be one smooth motion; friction of `{name}` comes to rest or turns round at about "
                f"t = {time:.6g}. Use `da.simulate`, whose motion is in `error.trajectory`, or a law with `smoothing`.",
                time,
                found,
            )


def _slides(system: System) -> Callable[..., Array] | None:
    """Whether every contact under dry friction slides one way from one state to another; None if there are none."""
    touching = contacts(system)
    if not touching:
        return None
    symbols = system.symbols
    parameters = tuple(sp.Symbol(name, real=True) for name in system.parameter_names)
    velocities = tuple(tuple(map(symbols.plain, contact.velocity)) for contact in touching)
    sliding = compiled((symbols.q, symbols.qd, symbols.time, parameters), velocities)

    def at(t: Any, y: Array, p: Any) -> list[list[Array]]:
        q, qd = split_state(y)
        return [[jnp.asarray(c, float) for c in v] for v in sliding(tuple(q), tuple(qd), t, tuple(p))]

    def slides(t0: Any, y0: Array, t1: Any, y1: Array, p: Any) -> Array:
        pairs = zip(at(t0, y0, p), at(t1, y1, p), strict=True)
        return jnp.stack([sum(a * b for a, b in zip(*pair, strict=True)) > 0 for pair in pairs]).all()

    return slides


def _both_ways(solver: Any) -> Any:
    """The solver with stages that can be differentiated forwards and backwards, as diffrax does for its own."""
    if getattr(solver, "scan_kind", "bounded") is not None:
        return solver
    return eqx.tree_at(lambda s: s.scan_kind, solver, "bounded", is_leaf=lambda x: x is None)


def _controller(method: Method, stops: Any) -> diffrax.AbstractStepSizeController[Any, Any]:
    """Steps that end at all outputs: what comes with a high-order solver to interpolate is of lower order."""
    if method.step is not None:
        return diffrax.StepTo(ts=equal_steps(stops, method.step))
    adaptive = diffrax.PIDController(rtol=method.rtol, atol=method.atol)
    return diffrax.ClipStepSizeController(adaptive, step_ts=jnp.asarray(stops))


def equal_steps(times: Any, step: float) -> Any:
    """Times with each span between two of them divided into equal steps, no longer than one of them may be."""
    counts = np.ceil(np.diff(times) / step * (1 - 1e-12)).astype(int)
    spans = [np.linspace(a, b, k, endpoint=False) for a, b, k in zip(times[:-1], times[1:], counts, strict=True)]
    return np.append(np.concatenate(spans), times[-1])


def _state(names: tuple[str, ...], given: Any, argument: str, known: bool) -> Array:
    """q or qd in order; their numbers are checked where they are known."""
    if known:
        return jnp.asarray(state_values(names, given, argument))
    values, problems = in_order(names, given, argument, "coordinate")
    if problems:
        raise InputError(" ".join(problems))
    return jnp.stack([_real(value, argument) for value in values])


def _ordered(names: tuple[str, ...], given: Any, known: bool) -> tuple[Array, ...]:
    if known:
        return tuple(jnp.asarray(value) for value in parameter_values(names, given))
    values, problems = by_name({} if given is None else given, "parameters", "parameter")
    values = values or {}
    problems += name_problems(names, values, "parameters", "parameter")
    if problems:
        raise InputError(" ".join(problems))
    return tuple(_real(values[name], "parameters") for name in names)


def _real(value: Any, argument: str) -> Array:
    if jnp.iscomplexobj(value):
        raise InputError(f"`{argument}` must be real; got complex numbers. Give their real parts, `.real`.")
    return jnp.asarray(value, float)
