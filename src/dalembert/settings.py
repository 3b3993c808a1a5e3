# SPDX-License-Identifier: BSD-3-Clause
"""Validation of the arguments of ``simulate`` and related functions."""

from __future__ import annotations

from collections.abc import Sized
from functools import lru_cache
from typing import Any

import numpy as np

from dalembert.common.extras import require
from dalembert.equation.dynamics import Dynamics
from dalembert.equation.factored import checked_formulation
from dalembert.errors import InputError
from dalembert.integration.drift import Drift, NoCure
from dalembert.integration.method import Implicit, Method
from dalembert.lowering.build import build
from dalembert.model.coefficients import refuse_negative_coefficients
from dalembert.model.function_system import FunctionSystem
from dalembert.model.function_values import require_function_values
from dalembert.model.input_values import parameter_values, state_values, tolerance_value
from dalembert.model.moving_coefficients import moving_coefficients
from dalembert.model.ordering import by_name
from dalembert.model.signal_ranges import require_in_range, require_state_in_range
from dalembert.model.system import System, kind_of_object
from dalembert.native.tableau import Tableau

AnySystem = System | FunctionSystem


def require_system(system: Any) -> None:
    """Raise an error unless the argument is a system."""
    if not isinstance(system, (System, FunctionSystem)):
        raise InputError(f"`system` must be a `da.System` or `da.FunctionSystem`; got {kind_of_object(system)}.")


def prepared(
    system: AnySystem, q: Any, qd: Any, parameters: Any, arguments: tuple[str, str]
) -> tuple[Dynamics, Any, Any, tuple[Any, ...]]:
    """Return compiled dynamics and checked numbers, with q and qd in coordinate order."""
    require_system(system)
    if isinstance(system, FunctionSystem):
        size = len(q) if isinstance(q, Sized) else 1
        system = system.sized(size, list(by_name(parameters, "parameters", "parameter")[0] or ()))
    if isinstance(system, System) and system.statement is not None:
        parameters = system.statement.flat_parameters(parameters)
    names = system.coordinate_names
    q, qd = state_values(names, q, arguments[0]), state_values(names, qd, arguments[1])
    # arrays, not Python numbers: those would be compiled as constants, and every new value would recompile
    p = tuple(np.asarray(value) for value in parameter_values(system.parameter_names, parameters))
    if p and isinstance(system, System):
        refuse_negative_coefficients(system, p)
    return build(system), q, qd, p


def require_values(system: AnySystem, times: Any, argument: str, q: Any, qd: Any, p: Any) -> None:
    """Raise an error if a signal or a Python function in a system has no value at the start, or a signal at a time.

    The first of the times, or the only one, is that of the start; ``argument`` is their name.
    """
    if not isinstance(system, System) or not (system.signals or system.python_functions):
        return
    require_in_range(system, times, argument)
    start = np.ravel(times)[0]
    require_state_in_range(system, q, qd, start, p)
    require_function_values(system, q, qd, start, p)


def require_coefficients(system: AnySystem, t: Any, q: Any, qd: Any, p: Any) -> None:
    """Raise an error if a coefficient of a law that changes with time or state is negative at a state."""
    moving = moving_coefficients(system) if isinstance(system, System) and system.laws else None
    if moving is not None:
        moving.require(t, q, qd, p)


def method_of(
    formulation: Any, drift: Any, solver: Any, rtol: Any, atol: Any, step: Any, max_steps: Any, max_step: Any = None
) -> Method:
    """Return the integration method for the arguments of ``da.simulate``."""
    if solver is None:
        try:
            return _default_solver_method(formulation, drift, rtol, atol, step, max_steps, max_step)
        except TypeError:  # an argument that cannot be hashed
            pass
    return _checked_method(formulation, drift, solver, rtol, atol, step, max_steps, max_step)


@lru_cache(maxsize=64, typed=True)
def _default_solver_method(
    formulation: Any, drift: Any, rtol: Any, atol: Any, step: Any, max_steps: Any, max_step: Any
) -> Method:
    """Return the method without a ``solver``; most calls repeat the arguments of an earlier one."""
    return _checked_method(formulation, drift, None, rtol, atol, step, max_steps, max_step)


def _checked_method(
    formulation: Any, drift: Any, solver: Any, rtol: Any, atol: Any, step: Any, max_steps: Any, max_step: Any
) -> Method:
    if step is not None and max_step is not None:
        raise InputError("`max_step` must not be given along with a fixed `step`; leave out one of them.")
    return Method(
        formulation=checked_formulation(formulation),
        drift=_drift(drift),
        solver=_solver(solver, step),
        rtol=_relative_tolerance(rtol),
        atol=None if atol is None else tolerance_value(atol, "atol"),
        step=None if step is None else tolerance_value(step, "step"),
        max_steps=_count(max_steps),
        max_step=np.inf if max_step is None else tolerance_value(max_step, "max_step"),
    )


LEAST_RTOL = 100 * np.finfo(float).eps
"""The smallest relative tolerance: below it the error estimate is rounding, as in SciPy's ``solve_ivp``."""


def _relative_tolerance(rtol: Any) -> float:
    value = tolerance_value(rtol, "rtol")
    if value < LEAST_RTOL:
        raise InputError(
            f"`rtol` must be at least {LEAST_RTOL:.1e}, a hundred times the rounding of float64; got {rtol!r}. "
            f"Pass a larger one; 1e-12 is nearly as accurate as float64 allows."
        )
    return value


def _drift(drift: Any) -> Drift:
    """Return a drift cure; None stands for no cure."""
    drift = NoCure() if drift is None else drift
    if not isinstance(drift, Drift):
        raise InputError(f"`drift` must be a drift cure such as `da.Projection()`, or None; got {drift!r}.")
    return drift


def _solver(solver: Any, step: float | None) -> Any:
    """Return a diffrax solver or a tableau that supports the kind of steps, or None for the default solver."""
    if solver is None:
        return None
    if isinstance(solver, Implicit):
        return solver
    if isinstance(solver, Tableau):
        if step is None and not solver.is_adaptive:
            raise InputError(f"`solver` must estimate its error; {solver.name} does not. Pass a fixed `step`.")
        return solver
    require("diffrax")
    import diffrax

    if not isinstance(solver, diffrax.AbstractSolver):
        raise InputError(
            f"`solver` must be `da.Implicit()`, or a diffrax solver such as `diffrax.Dopri8()`; got {solver!r}."
        )
    if solver.term_structure is not diffrax.AbstractTerm:
        raise InputError(
            f"`solver` must be one for ordinary differential equations; {type(solver).__name__} is for equations in "
            f"several parts. Take one such as `diffrax.Dopri8()`, or `da.Implicit()` for stiff systems."
        )
    if step is None and not isinstance(solver, diffrax.AbstractAdaptiveSolver):
        raise InputError(
            f"`solver` must estimate its error; {type(solver).__name__} does not. Wrap it in `diffrax.HalfSolver`, "
            f"or pass a fixed `step`."
        )
    return solver


def _count(max_steps: Any) -> int:
    if not isinstance(max_steps, (int, np.integer)) or max_steps < 1:
        raise InputError(f"`max_steps` must be a whole number, at least 1; got {max_steps!r}.")
    return int(max_steps)
