# SPDX-License-Identifier: BSD-3-Clause
"""Linearisation of constrained motion about an equilibrium or a steady motion."""

from __future__ import annotations

from collections.abc import Mapping, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from dalembert.common.array_types import Floats, vector_of
from dalembert.common.table import aligned
from dalembert.derivatives.nearby_rates import STEADY_RATE, Nearby, rates_near, recorder_of
from dalembert.equation.dynamics import Dynamics
from dalembert.errors import InputError, ModelError, StateError
from dalembert.integration.start_states import require_start
from dalembert.lowering.recording import NoMachineCodeError
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
from dalembert.native.tape import Program
from dalembert.numerics.linear_algebra import rank
from dalembert.numerics.tolerances import SOLVED_RANK_TOLERANCE
from dalembert.settings import prepared
from dalembert.stick_slip.transitions import contacts_at_rest

SAME_GROWTH = 1e-12
"""Difference of real parts, relative to the largest eigenvalue, that is rounding."""

UNDETERMINED_PART = 1e-9
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
    near = rates_near(system, dynamics, x, t, p)
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
    undetermined = residual.max(axis=1) > UNDETERMINED_PART * terms.max(axis=1)
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
    tape, read = recorder_of(system)
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
