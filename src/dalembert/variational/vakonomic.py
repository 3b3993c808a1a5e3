# SPDX-License-Identifier: BSD-3-Clause
"""Vakonomic mechanics: another theory of constrained motion, for comparison with d'Alembert's.

It makes ∫L dt stationary among all motions with g(q, q̇, t) = 0. For nonholonomic constraints this differs from
d'Alembert's principle, and experiments agree with d'Alembert (Lemos et al., appendix).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp
from jax import Array

from dalembert.common.array_types import Floats
from dalembert.common.lazy_jax import refuse_forked_process
from dalembert.common.names import listed, summary
from dalembert.equation.multipliers import Multipliers
from dalembert.errors import ConstraintError, InputError, MassMatrixError, ModelError, SimulationError
from dalembert.integration.start_states import require_start, terms_at
from dalembert.integration.trajectory import Trajectory
from dalembert.lowering.build import build
from dalembert.model.input_values import parameter_values, scalar_value, state_values, time_values
from dalembert.model.numeric_function import numeric_function
from dalembert.model.ordering import in_order, quoted
from dalembert.model.standard_form import NOT_PERMANENT, euler_lagrange, standard_form
from dalembert.model.symbols import coordinates, t
from dalembert.model.system import System, kind_of_object
from dalembert.numerics.linear_algebra import dependence_shares, rank, unit_rows
from dalembert.numerics.tolerances import NAMED_SHARE, RANK_TOLERANCE, SAME_VALUE, TINY
from dalembert.variational.vakonomic_run import arrays_of, original_motion
from dalembert.verbs import simulate


def vakonomic(system: System) -> Vakonomic:
    """Return the vakonomic equations of a system with a Lagrangian, in place of those by d'Alembert's principle.

    d/dt ∂L/∂q̇ − ∂L/∂q = F + Σ λ (∂g/∂q − d/dt ∂g/∂q̇) − Σ λ̇ ∂g/∂q̇,  g(q, q̇, t) = 0

    Each velocity-level constraint is a g; a position-level one enters by its time derivative. F is the part of
    ``applied_force`` that is not in the Lagrangian; it is unchanged, as in Hamilton's extended principle.

    Raises
    ------
    InputError    if ``system`` is not stated in symbols
    ModelError    listing every reason why it has no vakonomic form: no Lagrangian or one with another mass matrix, no
                  constraint or one at acceleration level, a nonideal law

    Notes
    -----
    For holonomic constraints the motion is that of ``da.simulate``, whose multipliers are −λ̇. For nonholonomic ones it
    differs in general, and depends on λ at the start, which nothing in mechanics determines.
    With coordinates Λ whose velocities are λ, L + Σ Λ̇ g is a Lagrangian without constraints, and its equations are
    those above: the equation of Λ is dg/dt = 0.

    References
    ----------
    Lemos et al., equations 52 to 57; Arnold, Kozlov and Neishtadt, Mathematical Aspects of Classical Mechanics.

    Examples
    --------
    >>> import sympy as sp
    >>> import dalembert as da
    >>> x, y, theta = da.coordinates("x y theta")
    >>> blade = da.Constraint(x.diff(da.t) * sp.sin(theta) - y.diff(da.t) * sp.cos(theta), name="blade")
    >>> L = (x.diff(da.t)**2 + y.diff(da.t)**2 + theta.diff(da.t)**2) / 2 + 3 * x
    >>> skate = da.vakonomic(da.System.from_lagrangian(L, (x, y, theta), constraints=blade))
    >>> skate.simulate((0, 0, 0), (0, 0, 2), [0, 1, 2], multipliers0={"blade": 0})
    <Trajectory (vakonomic) of x, y, theta: 3 times, 0 to 2; ...>
      note: By vakonomic mechanics, not d'Alembert's principle, with the chosen multipliers `blade` = 0 at the ...
    """
    refuse_forked_process()
    if not isinstance(system, System):
        raise InputError(
            f"`system` must be a `da.System`, stated in symbols, to have vakonomic equations; "
            f"got {kind_of_object(system)}."
        )
    if system.servos:
        raise InputError(
            f"`system` must have no servo constraints to have vakonomic equations; got `{system.servos[0].name}`. "
            f"State the requirement as a `da.Constraint`."
        )
    problems = _problems(system)
    if problems:
        raise ModelError(problems)
    return Vakonomic(system, _extended(system))


@dataclass(frozen=True)
class Vakonomic:
    """A system and its vakonomic equations; made by ``da.vakonomic``.

    system       the original system
    equations    the system of the Lagrangian L + Σ Λ̇ g, with one more coordinate Λ for each constraint. Its mass matrix
                 [[M + Σ λ ∂²g/∂q̇², Aᵀ], [A, 0]] is indefinite: to simulate it directly, use ``da.Multipliers()``
    """

    system: System
    equations: System

    def __repr__(self) -> str:
        return summary(
            f"Vakonomic equations of {listed(self.system.coordinate_names)}",
            listed(self.system.constraint_names, "constraints"),
            listed(self.system.parameter_names, "parameters"),
        )

    def simulate(
        self,
        q0: Any,
        qd0: Any,
        times: Any,
        *,
        multipliers0: Any = None,
        parameters: Any = None,
        rtol: float = 1e-9,
        atol: float = 1e-11,
        solver: Any = None,
        step: float | None = None,
        max_steps: int = 1_000_000,
        allow_violation: bool = False,
        progress: bool | None = None,
    ) -> Trajectory:
        """Return the vakonomic motion from a given initial state; figures and tables label it as vakonomic.

        In the trajectory, ``multipliers`` are λ, ``ideal_force`` is M q̈ − Q, the constraint force of this theory (it
        may do virtual work), and ``energy`` is that of L. There is no drift cure: the constraints hold to the accuracy
        of the integration, see ``violation``.

        Parameters
        ----------
        multipliers0    λ at ``times[0]``, one number per constraint, as a sequence or a mapping by name; never assumed
        others          as for ``da.simulate``

        Raises
        ------
        InputError         missing, unknown, misshapen or non-finite numbers; times that do not increase
        StateError         a start that does not satisfy the constraints
        ConstraintError    constraints that depend on one another at the start
        MassMatrixError    accelerations that are not determined for these multipliers
        SimulationError    the motion could not be continued; carries the trajectory so far
        """
        system, names = self.system, self.system.coordinate_names
        q0, qd0 = state_values(names, q0, "q0"), state_values(names, qd0, "qd0")
        chosen = _multiplier_values(system.constraint_names, multipliers0)
        values = dict(zip(system.parameter_names, parameter_values(system.parameter_names, parameters), strict=True))
        times = time_values(times, "times", increasing=True)
        require_start(build(system), q0, qd0, times[0], arrays_of(values), allow_violation=allow_violation)
        # some parameters drop out: the length of a rod is not in the time derivative of its constraint
        own = {name: values[name] for name in self.equations.parameter_names}
        start = (np.append(q0, np.zeros_like(chosen)), np.append(qd0, chosen))
        _require_regular(self, *start, times[0], arrays_of(own))
        options: dict[str, Any] = {"rtol": rtol, "atol": atol, "solver": solver, "step": step, "progress": progress}
        options |= {"max_steps": max_steps, "formulation": Multipliers(), "drift": None}
        try:
            run = simulate(self.equations, *start, times, parameters=own, **options)
        except SimulationError as error:
            raise SimulationError(
                f"{error} Of the vakonomic equations, [[M + Σ λ ∂²g/∂q̇², Aᵀ], [A, 0]] may also have become singular.",
                error.time,
                original_motion(system, error.trajectory, chosen, values),
            ) from None
        return original_motion(system, run, chosen, values)


def _problems(system: System) -> list[str]:
    """Return the reasons why a system has no vakonomic equations, as sentences; empty if it has."""
    problems: list[str] = []
    if system.lagrangian is None:
        problems.append(
            "a vakonomic system must have a Lagrangian, whose action its motion makes stationary; it has none. State "
            "it with `da.System.from_lagrangian`."
        )
    elif not _has_own_hessian(system):
        problems.append(
            "the Lagrangian of a vakonomic system must have the mass matrix for its Hessian ∂²L/∂q̇²; it has not. State "
            "the system with `da.System.from_lagrangian`."
        )
    if not system.constraints:
        problems.append("a vakonomic system must have a constraint; it has none. Use `da.simulate`.")
    problems += [NOT_PERMANENT.format(c.name) for c in system.constraints if not c.is_permanent]
    accelerations = [c.name for c in system.constraints if c.level == "acceleration"]
    if accelerations:
        problems.append(
            f"the constraints of a vakonomic system must be at position or velocity level; {quoted(accelerations)} is "
            f"at acceleration level. Give its integral if it has one, or use `da.simulate`."
        )
    if system.laws:
        laws = quoted(placed.kind for placed in system.laws)
        problems.append(
            f"a vakonomic system must be ideal, since a stationary action has no `nonideal` force; the system has "
            f"{laws}. Leave it out, or use `da.simulate`."
        )
    return problems


def _has_own_hessian(system: System) -> bool:
    """Return whether M is the Hessian of the Lagrangian, by form or at random points.

    SymPy's ``simplify`` would decide the general case, but may take hours.
    """
    hessian, _ = euler_lagrange(system.lagrangian, system.symbols)
    own, stated = (tuple(map(system.symbols.plain, M)) for M in (hessian, system.mass_matrix))
    if own == stated:
        return True
    unknowns = sorted({symbol for entry in own + stated for symbol in entry.free_symbols}, key=str)
    values = numeric_function(unknowns, (own, stated), "numpy")
    points = np.random.default_rng(20020101).uniform(0.5, 1.5, (3, len(unknowns)))
    with np.errstate(all="ignore"):
        return all(np.allclose(*values(*point), rtol=SAME_VALUE, atol=0) for point in points)


def _extended(system: System) -> System:
    """Return the system of the Lagrangian L + Σ Λ̇ g, with the force that L does not contain."""
    symbols, m = system.symbols, len(system.constraints)
    extra = coordinates([f"{_free_name(system)}{k}" for k in range(1, m + 1)])
    g = [symbols.restore(velocity) for velocity in standard_form(system).velocity]
    lagrangian = system.lagrangian + sp.Add(*(rate.diff(t) * row for rate, row in zip(extra, g, strict=True)))
    force = (*_beyond_lagrangian(system), *[0] * m)
    return System.from_lagrangian(lagrangian, (*system.coordinates, *extra), applied_force=force)


def _beyond_lagrangian(system: System) -> list[Any]:
    """Return the part of the applied force that the Lagrangian does not contain."""
    symbols = system.symbols
    _, own = euler_lagrange(system.lagrangian, symbols)
    pairs = zip(system.applied_force, own, strict=True)
    return [symbols.restore(symbols.plain(Q) - symbols.plain(part)) for Q, part in pairs]


def _free_name(system: System) -> str:
    """Return a name for the Λ with which no name of the system begins."""
    name = "Lambda"
    while any(taken.startswith(name) for taken in (*system.coordinate_names, *system.parameter_names)):
        name += "_"
    return name


def _multiplier_values(names: tuple[str, ...], given: Any) -> Floats:
    """Return a finite number for every constraint, in their order."""
    if given is None:
        raise InputError(
            f"`multipliers0` must give λ at the initial time for every constraint ({quoted(names)}): the vakonomic "
            f"motion depends on it, and nothing else determines it. Choose one number per constraint."
        )
    values, problems = in_order(names, given, "multipliers0", "constraint")
    if problems:
        raise InputError(" ".join(problems))
    return np.array([scalar_value(value, f"multipliers0[{name}]") for name, value in zip(names, values, strict=True)])


def _require_regular(vakonomic: Vakonomic, q: Floats, qd: Floats, t0: Any, p: tuple[Array, ...]) -> None:
    """Raise an error unless q̈ and λ̇ are determined at the start."""
    names, n = vakonomic.system.constraint_names, len(vakonomic.system.coordinates)
    saddle = np.asarray(terms_at(build(vakonomic.equations), q, qd, t0, p).M)
    W, A = saddle[:n, :n], unit_rows(saddle[n:, :n])[0]
    shares = dependence_shares(A)
    if shares.any():
        involved = np.flatnonzero(shares > NAMED_SHARE)
        raise ConstraintError(
            f"the constraints must be independent to have vakonomic multipliers; at the initial state they have rank "
            f"{rank(A)} of {len(A)} because of {quoted(names[int(k)] for k in involved)}. Remove what follows from the "
            f"others."
        )
    # scaled, so that neither the unit of mass nor that of a constraint matters
    W = W / max(np.abs(W).max(), TINY)
    values = np.linalg.svd(np.block([[W, A.T], [A, np.zeros((len(A), len(A)))]]), compute_uv=False)
    if values[-1] <= RANK_TOLERANCE * values[0]:
        raise MassMatrixError(
            f"[[M + Σ λ ∂²g/∂q̇², Aᵀ], [A, 0]] must be regular for the acceleration to be unique; with these "
            f"`multipliers0` its smallest singular value is {values[-1]:.1e} (scaled). Choose others."
        )
