# SPDX-License-Identifier: BSD-3-Clause
"""Simulation with first integrals that the projection conserves: the system, and the parameters that it needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Dynamics
from dalembert.errors import InputError
from dalembert.integration.integral_checks import initial_values, refuse_changing
from dalembert.integration.method import Method
from dalembert.integration.run import corrected_start
from dalembert.integration.start_states import require_start
from dalembert.lowering.build import build
from dalembert.model.first_integrals import conserving
from dalembert.model.friction_contacts import contacts
from dalembert.model.system import System, kind_of_object


def conserved(
    system: Any, method: Method, control: Any, start: tuple[Any, Any, Any], p: tuple[Any, ...], *, allow_violation: bool
) -> tuple[System, Dynamics, tuple[Any, ...]]:
    """Return a system with the first integrals of a method, its dynamics, and its parameters for a start (q, qd, t)."""
    if not isinstance(system, System):
        raise InputError(f"`conserve` must be used with a `da.System`; got {kind_of_object(system)}. Leave it out.")
    extended = conserving(system, method.drift.integrals)
    dynamics = build(extended)
    _refuse_unsupported(system, dynamics, method, control)
    q, qd, t = start
    given = dict(zip(system.parameter_names, p, strict=True))
    values = initial_values(dynamics, np.concatenate([q, qd]), float(t), given)
    if require_start(dynamics, q, qd, t, values, allow_violation=allow_violation, projected=True):
        # the motion starts from the state on the constraints, and conserves the values there
        y = corrected_start(dynamics, method, q, qd, t, values)
        values = initial_values(dynamics, y, float(t), given)
    else:
        y = np.concatenate([q, qd])
    refuse_changing(dynamics, y[None], np.array([float(t)]), values)
    return extended, dynamics, values


def conserved_members(system: System, method: Method, t: float, y: Floats, p: Floats) -> tuple[System, Floats]:
    """Return a system with the first integrals of a method, and the parameters of N members at states y (2n, N)."""
    extended = conserving(system, method.drift.integrals)
    dynamics = build(extended)
    _refuse_unsupported(system, dynamics, method, None)
    found = np.empty((len(dynamics.parameters), y.shape[1]))
    for k, (state, values) in enumerate(zip(np.ascontiguousarray(y.T), p.T, strict=True)):
        given = dict(zip(system.parameter_names, values, strict=True))
        # members that are not finite fail later, with a reason
        is_finite = np.isfinite(state).all() and np.isfinite(values).all()
        found[:, k] = initial_values(dynamics, state, t, given) if is_finite else np.nan
    return extended, found


def refuse_changing_members(dynamics: Dynamics, times: Floats, y: Floats, p: Floats, first: int) -> None:
    """Raise an error if the motion of a member changes a first integral, from states y (N, T, 2n) at T times.

    ``first`` is the number of the first of these members.
    """
    for k, states in enumerate(y):
        reached = np.isfinite(states).all(axis=1)
        try:
            refuse_changing(dynamics, states[reached], times[reached], p[:, k])
        except InputError as error:
            raise InputError(f"member {first + k}: {error}") from None


def _refuse_unsupported(system: System, dynamics: Dynamics, method: Method, control: Any) -> None:
    """Raise an error that names the argument with which no first integrals can be conserved."""
    reason = ""
    if contacts(system):
        reason = "dry friction that can stick. Leave `conserve` out"
    elif control is not None and control.period is not None:
        reason = "a sampled controller. Leave `conserve` out"
    elif method.tableau is None:
        reason = f"the solver {method.solver_name}. Leave `solver` out"
    elif not method.formulation.uses_engine:
        reason = f"the formulation {type(method.formulation).__name__}. Leave `formulation` out"
    elif not (method.drift.projections and method.drift.in_machine_code):
        reason = f"the drift cure {type(method.drift).__name__}, which does not project. Use `da.Projection`"
    elif dynamics.machine_code is None:
        reason = "a function or a law that cannot be compiled. Leave `conserve` out"
    if reason:
        raise InputError(f"`conserve` must be used with the compiled integrator alone; got {reason}.")
