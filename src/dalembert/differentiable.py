# SPDX-License-Identifier: BSD-3-Clause
"""The motion as one JAX function of its start and its parameters, to be differentiated, mapped and compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import diffrax
import equinox as eqx
import jax.numpy as jnp
from jax import Array

from dalembert.equation.formulation import Formulation
from dalembert.errors import InputError
from dalembert.integration.drift import Drift, Projection
from dalembert.integration.general_steps import solver_of
from dalembert.integration.guarded_solver import GuardedSolver, vector_field
from dalembert.integration.method import Method, halves
from dalembert.integration.run import suited_to
from dalembert.lowering.build import build
from dalembert.model.function_system import FunctionSystem
from dalembert.model.ordering import name_of, name_problems
from dalembert.model.sticking import contacts
from dalembert.model.system import System
from dalembert.model.values import time_values
from dalembert.settings import method_of

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
    does not satisfy the constraints, projection puts the end of the first step on them.

    Parameters
    ----------
    times        increasing times at which the motion is wanted, the first one being that of the start
    max_steps    most steps of one motion; reverse mode keeps all of them in memory
    others       as for ``da.simulate``

    Raises
    ------
    InputError    for numbers that do not fit, and for a system whose friction sticks: its motion is made of pieces

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
    if isinstance(system, System) and contacts(system):
        raise InputError(
            "a flow must be one smooth motion; this system has friction that sticks. Leave out `mu_static`, or use "
            "`da.simulate`."
        )
    method = method_of(formulation, drift, solver, rtol, atol, step, max_steps)
    dynamics = suited_to(build(system), method.formulation)
    outputs = jnp.asarray(time_values(times, "times", increasing=True))
    field = vector_field(dynamics, method.formulation, method.drift)
    solver = _both_ways(solver_of(method))
    guarded = GuardedSolver(solver, dynamics, method.drift, not method.formulation.compromises)

    def motion(q0: Any, qd0: Any, parameters: Mapping[Any, Any]) -> tuple[Array, Array]:
        p = _ordered(dynamics.parameters, parameters)
        y0 = jnp.concatenate([jnp.asarray(q0, float), jnp.asarray(qd0, float)])
        watch = dynamics.engine.watch(*halves(y0), outputs[0], p)
        solution = diffrax.diffeqsolve(
            field,
            guarded,
            t0=outputs[0],
            t1=outputs[-1],
            dt0=method.step,
            y0=y0,
            args=(p, watch),
            stepsize_controller=_controller(method, outputs),
            saveat=diffrax.SaveAt(ts=outputs),
            max_steps=method.max_steps,
            adjoint=diffrax.DirectAdjoint(),
        )
        assert solution.ys is not None
        return halves(solution.ys)

    return motion


def _both_ways(solver: Any) -> Any:
    """The solver with stages that can be differentiated forwards and backwards, as diffrax does for its own."""
    if getattr(solver, "scan_kind", "bounded") is not None:
        return solver
    return eqx.tree_at(lambda s: s.scan_kind, solver, "bounded", is_leaf=lambda x: x is None)


def _controller(method: Method, outputs: Array) -> diffrax.AbstractStepSizeController[Any, Any]:
    """Steps that end at every output: what comes with a high-order solver to interpolate is of lower order."""
    if method.step is not None:
        steady: Any = diffrax.ConstantStepSize()
    else:
        steady = diffrax.PIDController(rtol=method.rtol, atol=method.atol)
    return diffrax.ClipStepSizeController(steady, step_ts=outputs)


def _ordered(names: tuple[str, ...], given: Mapping[Any, Any]) -> tuple[Array, ...]:
    values = {name_of(key): value for key, value in given.items()}
    problems = name_problems(names, values, "parameters", "parameter")
    if problems:
        raise InputError(" ".join(problems))
    return tuple(jnp.asarray(values[name], float) for name in names)
