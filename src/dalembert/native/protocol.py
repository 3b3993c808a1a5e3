# SPDX-License-Identifier: BSD-3-Clause
"""The interface of a compiled system for integration, ensembles and analysis, none of which see its symbols."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.equation.formulation import Law
from dalembert.native.collocation import Collocation
from dalembert.native.engine import NativeEngine
from dalembert.native.tableau import Tableau
from dalembert.numerics.piecewise_polynomial import PiecewisePolynomial

Rows = tuple[int, ...]
"""Numbers of the constraint rows in use."""

Rates = tuple[tuple[Any, Any], ...] | None
"""Stabilising rates of all constraints, of velocity and position: see ``equation.dynamics.damping_rates``."""

SwitchingFunctions = tuple[tuple[str, ...], Callable[[Floats, Floats, Any], Floats]]
"""Texts of expressions, and a function of states, times and parameters that returns their values."""


class Control(NamedTuple):
    """Inputs (k, r) of the actuators at k states, and errors (k, rows) of the servo constraints at their own level.

    ``margins`` (k, rows) exceed one where the inputs act on a requirement independently of those before it,
    ``cost_margin`` (k, 1) where the cost is positive definite. ``excess``
    (k, r) is positive where an input is at its limit; without a limit it is −1. ``force`` (k, n) is the generalised
    force of all inputs. ``equations`` (k, rows) are the sums of the equations of each requirement without inputs,
    which are finite if all of their terms are.
    """

    inputs: Floats
    errors: Floats
    margins: Floats
    excess: Floats
    force: Floats
    cost_margin: Floats
    equations: Floats


class StateEquations(NamedTuple):
    """Equations of states that satisfy the constraints and meet the requirements of servo constraints.

    levels          what each equation restricts: "position", "velocity", or "both" together
    constraints     the numbers of the constraints of the first equations
    requirements    the names of the requirements of the others
    at              (y, t, p) -> residuals (k,) and their derivatives (k, 2n) by the state y
    """

    levels: tuple[str, ...]
    constraints: tuple[int, ...]
    requirements: tuple[str, ...]
    at: Callable[[Floats, float, Any], tuple[Floats, Floats]]


class FirstIntegralValues(NamedTuple):
    """Values (k, r) of r first integrals at k states, and their rates of change along the motion.

    Each has a size: the sum of the absolute values of its terms, to which its rounding error is proportional.
    """

    value: Floats
    size: Floats
    rate: Floats
    rate_size: Floats


class NativeDynamics(Protocol):
    """One system in machine code, compiled on demand; ``lowering.NativeSystem`` is the implementation.

    States y have shape (2n,), many of them (k, 2n), times then (k,); p holds the values of the parameters.
    """

    usual_rows: Rows | None
    """The rows chosen for the last motion, None before the first one."""

    # cached in the implementation, and therefore here: for type checkers a cached property is another type
    @cached_property
    def possible(self) -> bool:
        """Whether every function in the system can be compiled natively."""
        ...

    @cached_property
    def answers(self) -> bool:
        """Whether terms and laws can be compiled natively, so that a single state needs no JAX."""
        ...

    @property
    def knows_energy(self) -> bool:
        """Whether the system has a Lagrangian."""
        ...

    @cached_property
    def masses_differ(self) -> bool:
        """Whether a constraint couples coordinates of different masses."""
        ...

    @property
    def needs_multipliers(self) -> bool:
        """Whether a law uses a multiplier, which redundant constraints may leave undetermined."""
        ...

    @cached_property
    def constant_rows(self) -> bool:
        """Whether A is constant."""
        ...

    @cached_property
    def time_functions(self) -> Callable[[Floats, Any], Floats] | None:
        """The explicit functions of time in the equations, of (t, p); None if there are none."""
        ...

    @cached_property
    def time_decisions(self) -> int:
        """The number of these functions, the last ones, that decide between branches of the others."""
        ...

    @cached_property
    def signals(self) -> tuple[PiecewisePolynomial, ...]:
        """The signals of time in the equations, whose breakpoints are events."""
        ...

    @cached_property
    def parameters_of_time(self) -> list[int]:
        """The indices of the parameters that these depend on."""
        ...

    @cached_property
    def switching_functions(self) -> SwitchingFunctions:
        """The expressions of the state at whose zeros a force may jump."""
        ...

    def start(self, y: Floats, t: float, p: Any) -> tuple[bool, bool, Floats]:
        """Return whether a motion may start at a state, whether the constraints hold exactly, and the scales (2n,)."""
        ...

    def starts_of_many(self, y: Floats, t: Floats, p: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_], Floats]:
        """Return the same at k states with parameters p (k, number of them), each with a leading axis k."""
        ...

    @property
    def has_friction_near_rest(self) -> bool:
        """Whether a coefficient of friction changes with the speed near rest."""
        ...

    def resolves_friction(self, t: Floats, y: Floats, p: Floats) -> NDArray[np.bool_]:
        """Return which of the steps between k states resolve such friction, (k − 1,)."""
        ...

    def terms(self, q: Any, qd: Any, t: Any, p: Any) -> tuple[Floats, ...]:
        """Return the entries of ``Terms`` at one state."""
        ...

    def terms_of_many(self, y: Floats, t: Floats, p: Floats) -> tuple[Floats, ...]:
        """Return the same at k states with parameters p (k, number of them), each with a leading axis k."""
        ...

    def rows_of_many(self, y: Floats, t: Floats, p: Floats) -> Floats:
        """Return A (k, m, n) alone; the parameters may be the same (number,) for all states."""
        ...

    @property
    def orientation_test(self) -> Callable[[Rows], Callable[[Floats, Floats, Floats, float, int], NDArray[np.int64]]]:
        """A function rows -> test, which returns the steps between k states in which the rows may change their
        orientation: of states, times, parameters, the longest step that is not examined inside, and into how many
        parts longer ones are divided."""
        ...

    def law_at(self, q: Any, qd: Any, t: Any, p: Any) -> Law | None:
        """Return the nonideal laws at one state as a function of the ideal forces; None without such laws."""
        ...

    def control(self, y: Floats, t: Floats, p: Any) -> Control:
        """Return inputs and errors of the servo constraints at k states."""
        ...

    def requirement_gradients(self, y: Floats, t: Floats, p: Any) -> Floats:
        """Return A₂ (k, rows, n) of the servo constraints at k states."""
        ...

    @cached_property
    def state_equations(self) -> StateEquations:
        """The equations of states that satisfy the constraints and meet the requirements of servo constraints."""
        ...

    def first_integrals(self, y: Floats, t: Floats, p: Any) -> FirstIntegralValues:
        """Return the first integrals to be conserved at k states; p may have a leading axis k."""
        ...

    def energy_terms(self, rows: Rows, rates: Rates, y: Floats, t: Floats, p: Any) -> dict[str, Floats]:
        """Return the terms of a ledger at k states, by the names of ``tape.EnergyTerms``."""
        ...

    def small_changes(self, rows: Rows, y: Floats, t: float, p: Any) -> tuple[Floats, Floats, Floats]:
        """Return q̈ (n,), its derivatives (n, 2n) by the state, and those of all residuals (2m, 2n)."""
        ...

    @property
    def engine(self) -> Callable[[Rows, int | None, Rates, bool, Tableau | Collocation], NativeEngine]:
        """A function (rows, iterations of the projection, rates, whether to refine, method) -> integrator."""
        ...

    @property
    def motions(self) -> Callable[[Rows, int | None, Rates, Callable[..., Any], Tableau, bool], Any]:
        """A function (rows, iterations, rates, class, method, whether to refine) -> integrator of ensemble members."""
        ...
