# SPDX-License-Identifier: BSD-3-Clause
"""Linearisation of constrained motion about an equilibrium or a steady motion."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
import sympy as sp
from numpy.typing import NDArray

from dalembert.common.array_types import Floats, vector_of
from dalembert.common.lazy_jax import refuse_forked_process
from dalembert.common.table import aligned
from dalembert.equation.dynamics import Dynamics
from dalembert.equation.factored import Factored
from dalembert.errors import InputError, ModelError, StateError
from dalembert.integration.start_states import require_start, terms_at
from dalembert.integration.state_answer import answer_at
from dalembert.lowering.recording import NoMachineCodeError, Recorder
from dalembert.model.expressions import as_expression
from dalembert.model.friction_contacts import contacts
from dalembert.model.function_system import FunctionSystem
from dalembert.model.input_values import scalar_value
from dalembert.model.ordering import name_of, quoted, unknown_names
from dalembert.model.signal_ranges import require_in_range, require_state_in_range
from dalembert.model.symbols import free_parameters
from dalembert.model.system import System
from dalembert.model.validation import expression_problems
from dalembert.native.derivatives import along, differentiated
from dalembert.native.tape import Program, Tape
from dalembert.numerics.linear_algebra import independent_rows, null_space, rank, unit_rows
from dalembert.numerics.tolerances import ROUNDING, SOLVED_RANK_TOLERANCE
from dalembert.numerics.violation import state_scales
from dalembert.settings import AnySystem, prepared
from dalembert.stick_slip.transitions import contacts_at_rest

STEADY_RATE = 1e-8
"""Largest rate of change of a steady state, relative to the terms of the rate: states are given with eight digits."""

SAME_GROWTH = 1e-12
"""Difference of real parts, relative to the largest eigenvalue, that is rounding."""

CLOSED = 1e-9
"""Largest part of the rates of outputs, relative to them, that the outputs do not determine: differentiation and the
pseudo-inverse leave some 1e-12."""


@dataclass(frozen=True, eq=False)
class Linearization:
    """Small motions ż = matrix · z about a steady state.

    names          names of the k components of z: deviations of coordinates, velocities or outputs
    matrix         (k, k)
    eigenvalues    (k,), the fastest growing first
    modes          (k, k), one column per eigenvalue, of length one
    """

    names: tuple[str, ...]
    matrix: Floats
    eigenvalues: NDArray[np.complex128]
    modes: NDArray[np.complex128]

    @property
    def growth(self) -> float:
        """The largest real part of an eigenvalue: positive for an unstable motion."""
        return float(self.eigenvalues.real.max(initial=-np.inf))

    def __repr__(self) -> str:
        head = ("eigenvalue", *self.names)
        rows = [
            (f"{value:.6g}", *(f"{abs(part):.3f}" for part in mode))
            for value, mode in zip(self.eigenvalues, self.modes.T, strict=True)
        ]
        title = f"Small motions in {quoted(self.names)}, with the share of each in the modes"
        return "\n".join([title, *aligned([head, *rows])])


def linearize(
    system: System | FunctionSystem,
    q: Any,
    qd: Any = None,
    t: float = 0.0,
    *,
    parameters: Any = None,
    outputs: Mapping[str, Any] | None = None,
) -> Linearization:
    """Return the linear dynamics of small motions on the constraints, by automatic differentiation.

    Parameters
    ----------
    q, qd         the state, on the constraints; at rest when ``qd`` is left out
    parameters    a value for every constant of the model
    outputs       expressions of coordinates and velocities by name, for a steady motion that is no equilibrium, such
                  as a rolling wheel. They must be constant in the steady motion, and their rates of change must depend
                  on the outputs only. If left out, the state must be an equilibrium, and independent coordinates and
                  velocities are used

    Raises
    ------
    InputError    for arguments of wrong shape, and for outputs that are dependent or not sufficient
    StateError    if the state violates the constraints, is not steady, or has surfaces under dry friction at rest,
                  where the motion is not smooth

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> rod = da.Constraint(x**2 + y**2 - 1, name="rod")
    >>> pendulum = da.System((x, y), [[1, 0], [0, 1]], (0, -9), rod)
    >>> print(da.linearize(pendulum, q=(0, -1)).eigenvalues.imag.round(9))
    [ 3. -3.]
    """
    at_rest = np.zeros(len(q) if isinstance(q, Sized) else 1) if qd is None else qd
    dynamics, q, qd, p = prepared(system, q, at_rest, parameters, ("q", "qd"))
    t = float(scalar_value(t, "t"))
    require_in_range(system, t, "t")
    require_state_in_range(system, q, qd, t, p)
    require_start(dynamics, q, qd, t, p, allow_violation=False)
    x = np.concatenate([q, qd])
    if isinstance(system, System):
        _refuse_dry_rest(system, x, t, dict(zip(dynamics.parameters, map(float, p), strict=True)))
    near = _rates_near(system, dynamics, x, t, p)
    if outputs is None:
        return _about_equilibrium(dynamics, near)
    if not isinstance(outputs, Mapping):
        raise InputError(f"`outputs` must be a mapping from names to expressions; got {outputs!r}.")
    if isinstance(system, FunctionSystem):
        raise InputError("`outputs` must be left out for a `da.FunctionSystem`, which has no symbols for them.")
    named = {name_of(key): expression for key, expression in outputs.items()}
    if len(named) < len(outputs):
        raise InputError(f"`outputs` must have different names; got {quoted(map(name_of, outputs))}.")
    return _of_outputs(system, named, x, t, p, near)


def _refuse_dry_rest(system: System, x: Floats, t: float, p: dict[str, float]) -> None:
    """Raise an error if surfaces under dry friction are at rest."""
    found = contacts_at_rest(system, contacts(system), x, t, p)
    if found:
        raise StateError(
            f"small motions must be smooth; at this state dry friction of {quoted(c.name for c in found)} is at rest, "
            f"and holds or jumps. Give the law a width of `smoothing`, or leave it out."
        )


class Nearby(NamedTuple):
    """The rate ẋ (2n,) of a state, its Jacobian (2n, 2n), and a basis (2n, d) of the directions on the constraints.

    ``steady`` (2n,) are rates that count as zero.
    """

    slope: Floats
    jacobian: Floats
    tangent: Floats
    steady: Floats


def _rates_near(system: AnySystem, dynamics: Dynamics, x: Floats, t: float, p: Any) -> Nearby:
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
    terms = [sp.Add.make_args(sp.sympify(force)) for force in system.applied_force]
    tape, read = _recorder(system)
    try:
        values = [read(system.symbols.plain(term)) for of_one in terms for term in of_one]
    except NoMachineCodeError:  # functions in Python: their forces are not divided into terms
        return np.zeros(len(terms))
    sizes, _ = differentiated(Program(tape, values), x, t, vector_of(p))
    owners = np.repeat(np.arange(len(terms)), [len(of_one) for of_one in terms])
    return np.asarray(np.bincount(owners, np.abs(sizes), minlength=len(terms)), float)


def _recorder(system: System) -> tuple[Tape, Recorder]:
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


def _about_equilibrium(dynamics: Dynamics, near: Nearby) -> Linearization:
    """Linearise in independent coordinates and velocities about an equilibrium."""
    slope, jacobian, tangent, steady = near
    n = len(slope) // 2
    names = [*dynamics.coordinates, *(f"{name}'" for name in dynamics.coordinates)]
    moving = np.flatnonzero(np.abs(slope) > steady)
    if len(moving):
        fast = quoted(names[k] for k in moving[:3])
        raise StateError(
            f"the state must be an equilibrium; {fast} {'changes' if len(moving) == 1 else 'change'} in time. "
            f"Find one first, or pass `outputs` that stay constant in a steady motion."
        )
    # pivoting selects the best conditioned coordinates and velocities among those that describe all directions
    _, _, order = scipy.linalg.qr(tangent.T, pivoting=True)  # pyright: ignore  (its stubs know no third part)
    chosen = sorted(order[: tangent.shape[1]], key=lambda k: (k >= n, k))
    basis = tangent @ np.linalg.inv(tangent[chosen])
    return _with_modes([names[k] for k in chosen], (jacobian @ basis)[chosen])


def _of_outputs(
    system: System,
    outputs: dict[str, Any],
    x: Floats,
    t: float,
    p: Any,
    near: Nearby,
) -> Linearization:
    """Linearise in terms of outputs about a steady motion."""
    slope, jacobian, tangent, steady = near
    n, names = len(x) // 2, list(outputs)
    program = _record_outputs(system, outputs)
    inputs = (vector_of(p), slope[n:], jacobian[n:])
    values, slopes = differentiated(program, x, t, *inputs)
    # the program returns the outputs first, then their rates of change
    drift, first, second = values[len(names) :], slopes[: len(names)], slopes[len(names) :]
    known, wanted = first @ tangent, second @ tangent
    moving = np.abs(drift) > np.abs(first) @ (STEADY_RATE * np.abs(slope) + steady)
    if moving.any():
        fast = quoted(name for name, off in zip(names, moving, strict=True) if off)
        raise StateError(f"`outputs` must stay constant in a steady motion; {fast} changes in time.")
    sizes = np.linalg.norm(known, axis=1)  # of outputs, which may have any units
    if not sizes.all() or rank(known / sizes[:, None], SOLVED_RANK_TOLERANCE) < len(names):
        raise InputError(f"`outputs` must be independent of one another on the constraints; {quoted(names)} are not.")
    matrix = wanted @ np.linalg.pinv(known / sizes[:, None]) / sizes
    residual = np.abs(wanted - matrix @ known)
    terms = np.abs(second) @ np.abs(tangent) + np.abs(matrix) @ np.abs(known)
    undetermined = residual.max(axis=1) > CLOSED * terms.max(axis=1)
    if undetermined.any():
        shown = quoted(name for name, off in zip(names, undetermined, strict=True) if off)
        raise InputError(
            f"`outputs` must determine their own rates; the rate of {shown} depends on something else. Add what is "
            f"missing, such as the velocities of the coordinates."
        )
    return _with_modes(names, matrix)


def _record_outputs(system: System, outputs: dict[str, Any]) -> Program:
    """Record the outputs and their rates of change as a program of the state and of the accelerations, inputs ``a``."""
    outputs, problems = _expressions(outputs)
    for name, expression in outputs.items():
        problems += expression_problems(system, expression, f"output `{name}`")
    used = free_parameters(outputs.values())
    problems += unknown_names(system.parameter_names, sorted(s.name for s in used), "outputs", "parameter")
    if problems or not outputs:
        raise InputError(" ".join(problems) or "`outputs` must name at least one expression; got none.")
    tape, read = _recorder(system)
    n = len(system.coordinates)
    try:
        values = [read(system.symbols.plain(expression)) for expression in outputs.values()]
    except NoMachineCodeError as unknown:
        raise InputError(f"`outputs` must consist of known functions; `{unknown}` is not one.") from None
    rates: dict[Any, Any] = {("y", i): tape.input("y", n + i) for i in range(n)} | {
        ("y", n + i): tape.input("a", i) for i in range(n)
    }
    return Program(tape, [*values, *along(tape, values, rates | {("t", 0): 1.0})])


def _expressions(outputs: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the outputs that are expressions, and problems of the others."""
    found: dict[str, Any] = {}
    problems: list[str] = []
    for name, given in outputs.items():
        try:
            found[name] = as_expression(given, f"output `{name}`")
        except ModelError as error:
            problems += error.problems
    return found, problems


def _with_modes(names: Any, matrix: Floats) -> Linearization:
    """Compute the eigenvalues and modes of a matrix, sorted by growth."""
    values, modes = np.linalg.eig(matrix)
    values, modes = np.asarray(values, complex), np.asarray(modes, complex)
    unit = SAME_GROWTH * np.abs(values).max(initial=0.0) or 1.0
    order = np.lexsort((-np.imag(values), -np.round(np.real(values) / unit)))
    return Linearization(tuple(names), matrix, values[order], modes[:, order])
