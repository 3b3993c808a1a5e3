# SPDX-License-Identifier: BSD-3-Clause
"""Compiled dynamics: the equation of motion of one system as pure functions of numbers.

Integration, drift cures and projection use these few functions and nothing else of the system. All take one state and
can be mapped, differentiated and compiled by JAX: q and qd of shape (n,), t a number, p a tuple of numbers in the order
of ``parameters``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from dalembert.common.array_types import Floats
from dalembert.common.extras import require
from dalembert.common.lazy_jax import jnp
from dalembert.common.names import listed, summary
from dalembert.common.stabilisation import Gains, damping
from dalembert.equation.answer import ConstrainedMotion
from dalembert.equation.formulation import Formulation, Law, solve
from dalembert.equation.reaction import NonidealForces
from dalembert.equation.stacked_least_squares import at_time
from dalembert.numerics.arrays import namespace_of
from dalembert.numerics.piecewise_polynomial import PiecewisePolynomial
from dalembert.numerics.terms import Terms
from dalembert.numerics.tolerances import CONSISTENCY_TOLERANCE, RESIDUAL_TOLERANCE

if TYPE_CHECKING:
    from jax import Array

    from dalembert.native.protocol import NativeDynamics


class RowSelection(NamedTuple):
    """The selection of constraint rows before a step, at a state that satisfies the constraints.

    rows     which constraint rows are independent there; used for the whole step, since rows that depend on one
             another where the constraints hold need not do so at the stages in between
    rank     how many they are
    valid    whether the other rows agree with them and the mass matrix is positive definite
    """

    rows: Any
    rank: Array
    valid: Array


class Engine(NamedTuple):
    """The functions that a solver calls at every stage.

    select_rows(q, qd, t, p) -> RowSelection
    acceleration(q, qd, t, p, rows, gains) -> (n,)    with those rows, wherever a solver's stage may be
    position_step(q, qd, t, p, rows) -> (n,)          shortest change of q, in the mass metric, that meets φ = 0 to
                                                      first order
    velocity_step(q, qd, t, p, rows) -> (n,)          the same for qd and the velocity residuals
    """

    select_rows: Callable[..., RowSelection]
    acceleration: Callable[..., Array]
    position_step: Callable[..., Array]
    velocity_step: Callable[..., Array]


class Compiled(NamedTuple):
    """A system as JAX functions.

    terms      (q, qd, t, p) -> Terms
    law        (q, qd, t, p, reaction) -> NonidealForces, or None when all constraints are ideal
    energy     (q, qd, t, p) -> number, or None when no Lagrangian is known
    engine     the functions called at every stage
    inputs     (q, qd, t, p) -> forces (r, n) of actuators, which are part of Q, or None without servo constraints
    mass       (q, qd, t, p) -> M, for derivatives of M alone: forces need not have any. None: that of ``terms``
    resolve    (t0, y0, t1, y1, p) -> whether a step resolves friction near rest, or None if there is nothing to resolve
    """

    terms: Callable[..., Terms]
    law: Callable[..., NonidealForces] | None
    energy: Callable[..., Array] | None
    engine: Engine
    inputs: Callable[..., Array] | None = None
    mass: Callable[..., Array] | None = None
    resolve: Callable[..., Array] | None = None


@dataclass(frozen=True, eq=False)
class Dynamics:
    """One system, compiled.

    coordinates, constraints, parameters    names, in the order of the arrays
    levels                                  "position", "velocity" or "acceleration", one per constraint
    compile                                 returns the JAX functions; called when they are first needed, which is
                                            never if the system runs in machine code
    native                                  the same system for machine code if it is symbolic, else None
    laws                                    (name of the constraint or "", name of the law), one per nonideal law
    law_remarks                             the assumptions about them, in sentences
    law_multipliers                         indices of the constraints whose multipliers the laws use
    contacts                                indices of the laws that depend on the actual reaction
    pressing                                whether the normal force of each of these cannot be negative
    actuators                               names of the r inputs that meet servo constraints
    servos                                  for each servo constraint, by its name, the numbers of its rows
    integrals                               names of the first integrals that the projection conserves
    unreported                              names of the parameters that a simulation sets and does not report
    general_time_functions                  returns the functions of time, where they are not in machine code
    negative_coefficient                    returns the first of some states at which a coefficient of a law that
                                            changes along a motion is negative, and why; None if none changes
    """

    coordinates: tuple[str, ...]
    constraints: tuple[str, ...]
    parameters: tuple[str, ...]
    levels: tuple[str, ...]
    compile: Callable[[], Compiled]
    native: NativeDynamics | None = None
    laws: tuple[tuple[str, str], ...] = ()
    law_remarks: tuple[str, ...] = ()
    law_multipliers: tuple[int, ...] = ()
    contacts: tuple[int, ...] = ()
    pressing: tuple[bool, ...] = ()
    actuators: tuple[str, ...] = ()
    servos: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    integrals: tuple[str, ...] = ()
    unreported: tuple[str, ...] = ()
    general_time_functions: Callable[[], Any] | None = None
    negative_coefficient: Callable[[Floats, Floats, Any], Any] | None = None

    def __repr__(self) -> str:
        return summary(
            f"Dynamics of {listed(self.coordinates)}",
            listed(self.constraints, "constraints"),
            listed((kind for _, kind in self.laws), "laws"),
            listed(self.parameters, "parameters"),
        )

    @cached_property
    def programs(self) -> dict[Any, Any]:
        """The programs compiled for this system; they are released together with it."""
        return {}

    @cached_property
    def compiled(self) -> Compiled:
        return self.compile()

    @property
    def terms(self) -> Callable[..., Terms]:
        return self.compiled.terms

    def mass_matrix(self, q: Array, qd: Array, t: Any, p: Any) -> Array:
        """Return M, by a function that can be differentiated even if the forces cannot."""
        mass = self.compiled.mass
        return self.terms(q, qd, t, p).M if mass is None else mass(q, qd, t, p)

    @property
    def resolve(self) -> Callable[..., Array] | None:
        return self.compiled.resolve

    @property
    def has_friction_near_rest(self) -> bool:
        """Whether a coefficient of friction changes with the speed near rest, on a scale that its law states."""
        native = self.machine_code
        return self.resolve is not None if native is None else native.has_friction_near_rest

    @property
    def law(self) -> Callable[..., NonidealForces] | None:
        return self.compiled.law

    @property
    def energy(self) -> Callable[..., Array] | None:
        return self.compiled.energy

    @property
    def knows_energy(self) -> bool:
        """Whether there is a Lagrangian."""
        # the JAX functions are compiled on first access, which this question must not cause
        native = self.machine_code
        return self.energy is not None if native is None else native.knows_energy

    @property
    def machine_code(self) -> NativeDynamics | None:
        """The system in machine code if every function in it can be compiled natively, else None."""
        return self.native if self.native is not None and self.native.possible else None

    @cached_property
    def _of_time(self) -> tuple[Callable[[Any, Any], Any] | None, Sequence[PiecewisePolynomial], list[int], int]:
        native = self.machine_code
        if native is not None:
            return native.time_functions, native.signals, native.parameters_of_time, native.time_decisions
        return (None, (), [], 0) if self.general_time_functions is None else self.general_time_functions()

    @property
    def time_functions(self) -> Callable[[Any, Any], Any] | None:
        """The explicit functions of time in the equations, (k, f) at k times, or None if none has isolated events."""
        return self._of_time[0]

    @property
    def time_decisions(self) -> int:
        """The number of these functions, the last ones, that decide between branches of others."""
        return self._of_time[3]

    @property
    def signals(self) -> Sequence[PiecewisePolynomial]:
        """The signals of time in the equations."""
        return self._of_time[1]

    @property
    def parameters_of_time(self) -> list[int]:
        """The indices of the parameters that the functions of time depend on."""
        return self._of_time[2]

    @property
    def engine(self) -> Engine:
        return self.compiled.engine

    def law_at(self, q: Array, qd: Array, t: Any, p: Any) -> Law | None:
        """Return the nonideal laws at a state as a function of the ideal forces."""
        law = self.law
        return None if law is None else lambda reaction: law(q, qd, t, p, reaction)

    def answer(
        self, q: Array, qd: Array, t: Any, p: Any, formulation: Formulation, gains: Gains | None = None
    ) -> ConstrainedMotion:
        """Return accelerations and forces at one state, unchecked; ``gains`` are those of Baumgarte's terms."""
        require("jax")
        from dalembert.equation.compiled_batch import answer_of  # which imports JAX and makes answers known to it

        terms = self.terms(q, qd, t, p)
        formulation = at_time(formulation, t, *terms.A.shape)
        b = stabilised(terms, self.levels, gains)
        if gains is not None and formulation.uses_engine:
            # off the constraints the terms of redundant rows may differ: those of the rows in use are integrated
            rows = self.engine.select_rows(q, qd, t, p).rows
            b = terms.A @ self.engine.acceleration(q, qd, t, p, rows, gains)
        return answer_of(formulation, terms.M, terms.Q, terms.A, b, self.law_at(q, qd, t, p), self.laws)

    def acceleration(
        self, q: Array, qd: Array, t: Any, p: Any, rows: Any, gains: Gains | None, formulation: Formulation
    ) -> Array:
        """Return the acceleration for an integrator: that of the engine if the formulation uses it."""
        if formulation.uses_engine:
            return self.engine.acceleration(q, qd, t, p, rows, gains)
        terms = self.terms(q, qd, t, p)
        b = stabilised(terms, self.levels, gains)
        formulation = at_time(formulation, t, *terms.A.shape)
        found = solve(formulation, terms.M, terms.Q, terms.A, b, self.law_at(q, qd, t, p))
        # a step that is NaN is rejected, and the run ends with the reason
        return jnp.where(found.residual <= RESIDUAL_TOLERANCE, found.acceleration, jnp.nan)


def native_of(dynamics: Dynamics) -> NativeDynamics:
    """Return the compiled form of a system that is known to have one."""
    assert dynamics.native is not None
    return dynamics.native


def damping_rates(levels: tuple[str, ...], gains: Gains | None) -> tuple[tuple[Any, Any], ...] | None:
    """Return the factors of ``damping`` for all constraints; None without stabilising terms."""
    return None if gains is None else tuple(damping(level, gains) for level in levels)


def stabilised(terms: Terms, levels: tuple[str, ...], gains: Gains | None) -> Array:
    """Return b less Baumgarte's stabilising terms."""
    if gains is None or not levels:
        return terms.b
    # each constraint is damped at its own level and below it
    of_velocity, of_position = zip(*(damping(level, gains) for level in levels), strict=True)
    xp = namespace_of(terms.b, *gains)
    return terms.b - xp.stack(of_velocity) * terms.velocity - xp.stack(of_position) * terms.position


def agrees(miss: Any, scale: Any) -> Any:
    """Return whether the residual of a dependent row is rounding, relative to the terms it is computed from."""
    return jnp.abs(miss) <= CONSISTENCY_TOLERANCE * scale
