# SPDX-License-Identifier: BSD-3-Clause
"""The function ``flow``: the motion of a system as a JAX function of its start and parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from jax import Array

from dalembert.common.lazy_jax import refuse_forked_process
from dalembert.derivatives.flow_program import FlowProgram
from dalembert.equation.answer_checks import require_fit
from dalembert.equation.formulation import Formulation
from dalembert.errors import InputError
from dalembert.integration.drift import Drift, Projection
from dalembert.integration.run import suited_to
from dalembert.lowering.build import build
from dalembert.model.function_system import FunctionSystem
from dalembert.model.input_values import time_values
from dalembert.model.signal_ranges import require_in_range
from dalembert.model.system import System
from dalembert.settings import method_of, require_system

Flow = Callable[[Any, Any, Mapping[Any, Any]], tuple[Array, Array]]
"""A function of q0, qd0 and parameters by name that returns coordinates and velocities (T, n)."""


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
    """Return the motion of a system as a function (q0, qd0, parameters) -> (q, qd) that JAX can differentiate and map.

    Both forward and reverse mode work, through every step and its projection, with step sizes held fixed. The initial
    state must satisfy the constraints, as for ``da.simulate``; with ``allow_violation`` it is used as it is, and
    projection moves the end of the first step onto the constraints. Steps end at the jumps of explicit functions of
    time that do not depend on parameters; prescribed velocities may jump there.

    Under dry friction every contact must slide in one direction: where it comes to rest or reverses, friction jumps,
    and the derivative would not include the change of that instant. In that case use a law with ``smoothing``, or take
    differences of runs of ``da.simulate``. Other forces that jump with the state, such as ``sign(x)``, raise an
    error when a derivative is taken.

    Parameters
    ----------
    times        increasing times of the output; the first one is that of the initial state
    max_steps    largest number of steps; reverse mode keeps all of them in memory
    others       as for ``da.simulate``

    Raises
    ------
    InputError         missing, unknown, misshapen or non-finite numbers
    SimulationError    if a contact under dry friction comes to rest or reverses
    others             as ``da.simulate``, if the values are known. Inside JAX's transformations they are not: names and
                       lengths are still checked, and a coefficient of the wrong sign, an initial state off the
                       constraints, or a motion that does not reach the last time raises JAX's own
                       ``JaxRuntimeError`` or ``ValueError``, whose text ends with the class and the message

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
    if method.drift.integrals:
        raise InputError("`drift` must not `conserve` first integrals in `da.flow`, which JAX compiles; leave it out.")
    if method.is_implicit:
        raise InputError(
            "`solver` of `da.flow` must be one of diffrax, which JAX can differentiate; got `da.Implicit()`. Pass "
            "`diffrax.Kvaerno5()` instead."
        )
    dynamics = suited_to(build(system), method.formulation)
    require_fit(method.formulation, len(dynamics.coordinates), len(dynamics.constraints))
    moments = time_values(times, "times", increasing=True)
    require_in_range(system, moments)
    if method.step is not None and (needed := np.diff(moments).sum() / method.step) > method.max_steps:
        raise InputError(f"`max_steps` must allow for the steps asked for, {needed:.0f} and more; got {max_steps}.")
    return FlowProgram(system, dynamics, method, moments, allow_violation=allow_violation).motion
