# SPDX-License-Identifier: BSD-3-Clause
"""Rates near a state and their derivatives, by which a system is linearised."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import sympy as sp

from dalembert.common.array_types import Floats, vector_of
from dalembert.common.lazy_jax import refuse_forked_process
from dalembert.equation.dynamics import Dynamics
from dalembert.equation.factored import Factored
from dalembert.integration.start_states import terms_at
from dalembert.integration.state_answer import answer_at
from dalembert.lowering.recording import NoMachineCodeError, Recorder
from dalembert.model.system import System
from dalembert.native.derivatives import differentiated
from dalembert.native.tape import Program, Tape
from dalembert.numerics.linear_algebra import independent_rows, null_space, unit_rows
from dalembert.numerics.tolerances import ROUNDING, SOLVED_RANK_TOLERANCE
from dalembert.numerics.violation import state_scales
from dalembert.settings import AnySystem

STEADY_RATE = 1e-8
"""Largest rate of change of a steady state, relative to the terms of the rate: states are given with eight digits."""


class Nearby(NamedTuple):
    """The rate ẋ (2n,) of a state, its Jacobian (2n, 2n), and a basis (2n, d) of the directions on the constraints.

    ``steady`` (2n,) are rates that count as zero.
    """

    slope: Floats
    jacobian: Floats
    tangent: Floats
    steady: Floats


def rates_near(system: AnySystem, dynamics: Dynamics, x: Floats, t: float, p: Any) -> Nearby:
    """Differentiate the rates of a state and the residuals of the constraints."""
    n = len(x) // 2
    native = dynamics.machine_code
    if native is not None:
        rows = independent_rows(np.asarray(terms_at(dynamics, x[:n], x[n:], t, p).A))
        acceleration, slopes, across = native.small_changes(rows, x, t, p)
        jacobian = np.vstack([np.eye(2 * n)[n:], slopes])
        slope = np.concatenate([x[n:], acceleration])
    else:
        slope, jacobian, across = _by_jax(dynamics, x, t, p)
    # residuals that do not depend on the state, such as position residuals of velocity constraints, restrict nothing
    across = across[np.abs(across).max(axis=1, initial=0.0) > 0]
    steady = STEADY_RATE * _sizes_of_terms(system, dynamics, jacobian, x, t, p)
    return Nearby(slope, jacobian, _kernel(across, len(x)), steady)


def _sizes_of_terms(system: AnySystem, dynamics: Dynamics, jacobian: Floats, x: Floats, t: float, p: Any) -> Floats:
    """Return the sizes (2n,) of the terms that make up the rate of a state, which cancel in a steady one."""
    n = len(x) // 2
    answer = answer_at(dynamics, x[:n], x[n:], t, p, Factored())
    M, Q = np.asarray(answer.mass_matrix), np.asarray(answer.applied_force)
    forces = _sizes_of_forces(system, x, t, p) if isinstance(system, System) else np.abs(Q)
    forces = forces + np.abs(answer.ideal_force) + np.abs(answer.nonideal_force)
    accelerations = np.abs(np.linalg.pinv(M)) @ forces
    # at coordinates that are all zero there is no scale, and they are exact up to rounding
    has_scale = np.abs(x[:n]).max() > ROUNDING
    scales = state_scales(M, Q, x[:n], x[n:]) if has_scale else np.full(2 * n, ROUNDING / STEADY_RATE)
    return np.abs(jacobian) @ scales + np.concatenate([np.zeros(n), accelerations])


def _sizes_of_forces(system: System, x: Floats, t: float, p: Any) -> Floats:
    """Return the sum (n,) of the absolute values of the terms of each applied force."""
    terms = [sp.Add.make_args(sp.sympify(force, strict=True)) for force in system.applied_force]
    tape, read = recorder_of(system)
    try:
        values = [read(system.symbols.plain(term)) for of_one in terms for term in of_one]
    except NoMachineCodeError:  # functions in Python: their forces are not divided into terms
        return np.zeros(len(terms))
    sizes, _ = differentiated(Program(tape, values), x, t, vector_of(p))
    owners = np.repeat(np.arange(len(terms)), [len(of_one) for of_one in terms])
    return np.asarray(np.bincount(owners, np.abs(sizes), minlength=len(terms)), float)


def recorder_of(system: System) -> tuple[Tape, Recorder]:
    """Return a tape with the state, the time and the parameters of a system as inputs, and its recorder."""
    tape, symbols, n = Tape(), system.symbols, len(system.coordinates)
    state = [tape.input("y", i) for i in range(2 * n)]
    inputs = dict(zip((*symbols.q, *symbols.qd), state, strict=True)) | {symbols.time: tape.input("t", 0)}
    inputs |= {sp.Symbol(name, real=True): tape.input("p", i) for i, name in enumerate(system.parameter_names)}
    return tape, Recorder(tape, inputs)


def _by_jax(dynamics: Dynamics, x: Floats, t: float, p: Any) -> tuple[Floats, ...]:
    """Return ẋ, its Jacobian and that of the residuals, for systems that cannot be compiled natively."""
    refuse_forked_process()
    n = len(x) // 2
    rows = dynamics.engine.select_rows(jnp.asarray(x[:n]), jnp.asarray(x[n:]), t, p).rows

    def rates(x: Any) -> Any:
        return jnp.concatenate([x[n:], dynamics.engine.acceleration(x[:n], x[n:], t, p, rows, None)])

    def residuals(x: Any) -> Any:
        terms = dynamics.terms(x[:n], x[n:], t, p)
        return jnp.concatenate([terms.position, terms.velocity])

    def everything(x: Any) -> Any:
        return rates(x), jax.jacfwd(rates)(x), jax.jacfwd(residuals)(x)

    # without optimisation it compiles faster, and it runs only once
    compiled: Any = jax.jit(everything, compiler_options={"xla_backend_optimization_level": 0})
    return tuple(np.asarray(part, float) for part in compiled(jnp.asarray(x)))


def _kernel(rows: Floats, size: int) -> Floats:
    if not len(rows):
        return np.eye(size)
    return null_space(unit_rows(rows)[0], SOLVED_RANK_TOLERANCE).T
