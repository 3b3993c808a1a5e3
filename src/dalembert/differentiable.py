# SPDX-License-Identifier: BSD-3-Clause
"""The motion as one JAX function of its start and its parameters, to be differentiated, mapped and compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import sympy as sp
from jax import Array
from jax.core import Tracer

from dalembert.equation.dynamics import Dynamics
from dalembert.equation.formulation import Formulation
from dalembert.equation.verdict import require_fit
from dalembert.errors import InputError, SimulationError
from dalembert.integration.drift import Drift, Projection
from dalembert.integration.general_steps import solver_of
from dalembert.integration.guarded_solver import GuardedSolver, vector_field
from dalembert.integration.method import Method, halves
from dalembert.integration.run import run, suited_to
from dalembert.later import refuse_forked_process
from dalembert.lowering.build import build
from dalembert.lowering.compiling import compiled
from dalembert.model.friction import Friction
from dalembert.model.function_system import FunctionSystem
from dalembert.model.ordering import by_name, in_order, name_problems
from dalembert.model.sticking import contacts
from dalembert.model.system import System
from dalembert.model.values import parameter_values, state_values, time_values
from dalembert.settings import method_of, require_system

Flow = Callable[[Any, Any, Mapping[Any, Any]], tuple[Array, Array]]
"""From q0, qd0 and parameters by name: coordinates and velocities (T, n)."""


def flow(
    system: System | FunctionSystem,
    times: Any,
    *,
    rtol: float = 1e-9,
    atol: float = 1e-11,
    drift: Drift | None = Projection(),
    solver: Any = None,
    formulation: Formulation | None = None,
    step: float | None = None,
    max_steps: int = 1024,
) -> Flow:
    """The motion of a system as a function (q0, qd0, parameters) -> (q, qd) for JAX to differentiate, map and compile.

    Forward and reverse mode both work, through every step and its projection. The start is taken as it is: where it
    does not satisfy the constraints, projection puts the end of the first step on them. Where sliding under dry
    friction turns round between two of the times, friction jumps, and derivatives, which do not know how that instant
    moves, are NaN: smooth it, or take differences of runs.

    Parameters
    ----------
    times        increasing times at which the motion is wanted, the first one being that of the start
    max_steps    most steps of one motion; reverse mode keeps all of them in memory
    others       as for ``da.simulate``

    Raises
    ------
    InputError    for numbers that do not fit, and for a system whose friction sticks: its motion is made of pieces
    others        as ``da.simulate`` does, where the numbers are known. Within JAX's transformations they are not: names
                  and lengths are checked all the same, and a motion that does not reach the last time is an error of
                  equinox

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
    if isinstance(system, System) and contacts(system):
        raise InputError(
            "a flow must be one smooth motion; this system has friction that sticks. Leave out `mu_static`, or use "
            "`da.simulate`."
        )
    method = method_of(formulation, drift, solver, rtol, atol, step, max_steps)
    dynamics = suited_to(build(system, differentiated=True), method.formulation)
    require_fit(method.formulation, len(dynamics.coordinates), len(dynamics.constraints))
    moments = time_values(times, "times", increasing=True)
    if method.step is not None and (needed := np.diff(moments).sum() / method.step) > method.max_steps:
        raise InputError(f"`max_steps` must allow for the steps asked for, {needed:.0f} and more; got {max_steps}.")
    outputs = jnp.asarray(moments)
    field = vector_field(dynamics, method.formulation, method.drift)
    solver = _both_ways(solver_of(method))
    guarded = GuardedSolver(solver, None, dynamics, method.drift, not method.formulation.compromises)
    turned = _turned(system) if isinstance(system, System) else None

    def motion(q0: Any, qd0: Any, parameters: Mapping[Any, Any]) -> tuple[Array, Array]:
        known = not any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves((q0, qd0, parameters)))
        q, qd = (_state(dynamics.coordinates, x, name, known) for x, name in ((q0, "q0"), (qd0, "qd0")))
        p = _ordered(dynamics.parameters, parameters, known)
        watch = dynamics.engine.watch(q, qd, outputs[0], p)
        solution = diffrax.diffeqsolve(
            field,
            guarded,
            t0=outputs[0],
            t1=outputs[-1],
            dt0=None,
            y0=jnp.concatenate([q, qd]),
            args=(p, watch),
            stepsize_controller=_controller(method, outputs),
            saveat=diffrax.SaveAt(ts=outputs),
            max_steps=method.max_steps,
            adjoint=diffrax.DirectAdjoint(),
            throw=False,
        )
        failed = solution.result != diffrax.RESULTS.successful
        if known and bool(failed):
            _explain(dynamics, method, np.asarray(q), np.asarray(qd), moments, p)
        y = eqx.error_if(solution.ys, failed, UNFINISHED)
        if turned is not None:
            y = _with_slope(y, jnp.where(turned(y, outputs, p), jnp.nan, 1.0))
        return halves(y)

    return motion


UNFINISHED = (
    "the motion must be continued to the last time; it ended before. Raise `max_steps`, or call the flow, or "
    "`da.simulate`, with these numbers outside of JAX's transformations, which tells why."
)


def _explain(dynamics: Dynamics, method: Method, q: Any, qd: Any, times: Any, p: Any) -> None:
    """Raise what ``da.simulate`` would, or that it would not."""
    found = run(dynamics, method, q, qd, times, p, allow_violation=True, progress=False)
    raise SimulationError(
        f"the motion must be continued to t = {times[-1]:.6g}; {method.max_steps} steps that end at all `times` did "
        f"not get there. Raise `max_steps`. `da.simulate` does get there: the motion is in `error.trajectory`.",
        float(times[-1]),
        found,
    )


def _turned(system: System) -> Callable[[Array, Array, Any], Array] | None:
    """Whether friction that jumps where sliding turns round has done so between two outputs; None if none jumps."""
    laws = [placed.law for placed in system.laws if isinstance(placed.law, Friction) and placed.law.smoothing is None]
    if not laws:
        return None
    symbols = system.symbols
    parameters = tuple(sp.Symbol(name, real=True) for name in system.parameter_names)
    velocities = tuple(tuple(map(symbols.plain, law.sliding_velocity(system.coordinates))) for law in laws)
    sliding = compiled((symbols.q, symbols.qd, symbols.time, parameters), velocities)

    def turned(y: Array, times: Array, p: Any) -> Array:
        def along(y: Array, t: Array) -> Any:
            q, qd = halves(y)
            return [jnp.stack([jnp.asarray(c, float) for c in v]) for v in sliding(tuple(q), tuple(qd), t, tuple(p))]

        found = jax.vmap(along)(y, times)
        return jnp.stack([jnp.any(jnp.sum(v[1:] * v[:-1], axis=1) < 0) for v in found]).any()

    return turned


@jax.custom_jvp
def _with_slope(x: Array, factor: Array) -> Array:
    """x itself, with its derivatives times a factor."""
    return x


@_with_slope.defjvp
def _(primals: Any, tangents: Any) -> tuple[Array, Array]:
    x, factor = primals
    return x, factor * tangents[0]


def _both_ways(solver: Any) -> Any:
    """The solver with stages that can be differentiated forwards and backwards, as diffrax does for its own."""
    if getattr(solver, "scan_kind", "bounded") is not None:
        return solver
    return eqx.tree_at(lambda s: s.scan_kind, solver, "bounded", is_leaf=lambda x: x is None)


def _controller(method: Method, outputs: Array) -> diffrax.AbstractStepSizeController[Any, Any]:
    """Steps that end at every output: what comes with a high-order solver to interpolate is of lower order."""
    if method.step is not None:
        return diffrax.StepTo(ts=equal_steps(np.asarray(outputs), method.step))
    adaptive = diffrax.PIDController(rtol=method.rtol, atol=method.atol)
    return diffrax.ClipStepSizeController(adaptive, step_ts=outputs)


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
