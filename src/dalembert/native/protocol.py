# SPDX-License-Identifier: BSD-3-Clause
"""The interface of a compiled system to integration, ensembles and analysis, none of which see its symbols."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

from dalembert.array_types import Floats
from dalembert.equation.formulation import Law
from dalembert.native.engine import NativeEngine
from dalembert.native.tableau import Tableau

Rows = tuple[int, ...]
"""Numbers of the constraint rows in use."""

Rates = tuple[tuple[Any, Any], ...] | None
"""Stabilising rates of all constraints, of velocity and position: see ``equation.dynamics.damping_rates``."""

SwitchingFunctions = tuple[tuple[str, ...], Callable[[Floats, Floats, Any], Floats]]
"""Texts of expressions, and a function of states, times and parameters that returns their values."""


class NativeDynamics(Protocol):
    """One system in machine code, compiled on demand; ``lowering.NativeSystem`` is the implementation.

    States y have shape (2n,), many of them (k, 2n), times then (k,); p holds the values of the parameters.
    """

    usual_rows: Rows | None
    """The rows chosen for the last motion, None before the first one."""

    # those that are cached where they are implemented are cached properties here too: type checkers tell them apart
    @cached_property
    def possible(self) -> bool:
        """Whether everything in the system has a counterpart in machine code."""
        ...

    @cached_property
    def answers(self) -> bool:
        """Whether terms and laws have one: then a single state needs no JAX."""
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
        """Whether a law uses a multiplier, which redundant constraints may leave open."""
        ...

    @property
    def constant_rows(self) -> bool:
        """Whether A is the same everywhere."""
        ...

    @cached_property
    def time_functions(self) -> Callable[[Floats, Any], Floats] | None:
        """The functions of time alone in the equations, of (t, p); None if there are none."""
        ...

    @cached_property
    def parameters_of_time(self) -> list[int]:
        """The numbers of the parameters that these depend on."""
        ...

    @cached_property
    def switching_functions(self) -> SwitchingFunctions:
        """The expressions of the state at whose zeros a force may jump."""
        ...

    def start(self, y: Floats, t: float, p: Any) -> tuple[bool, bool, Floats]:
        """Whether a motion may start at a state, if that satisfies the constraints exactly, and its scales (2n,)."""
        ...

    def terms(self, q: Any, qd: Any, t: Any, p: Any) -> tuple[Floats, ...]:
        """The entries of ``Terms`` at one state."""
        ...

    def terms_of_many(self, y: Floats, t: Floats, p: Floats) -> tuple[Floats, ...]:
        """The same at k states with their own parameters p (k, number of them), each with a leading axis k."""
        ...

    def rows_of_many(self, y: Floats, t: Floats, p: Floats) -> Floats:
        """A (k, m, n) alone, for one set of parameters."""
        ...

    def law_at(self, q: Any, qd: Any, t: Any, p: Any) -> Law | None:
        """The nonideal laws at one state as a function of the ideal forces; None if all constraints are ideal."""
        ...

    def energy_terms(self, rows: Rows, rates: Rates, y: Floats, t: Floats, p: Any) -> dict[str, Floats]:
        """The terms of a ledger at k states, by the names of ``tape.EnergyTerms``."""
        ...

    def small_changes(self, rows: Rows, y: Floats, t: float, p: Any) -> tuple[Floats, Floats, Floats]:
        """q̈ (n,), its derivatives (n, 2n) by the state, and those of all residuals (2m, 2n)."""
        ...

    @property
    def engine(self) -> Callable[[Rows, int | None, Rates, bool, Tableau], NativeEngine]:
        """Makes the integrator for (rows, iterations of the projection, rates, whether to refine, method)."""
        ...

    @property
    def motions(self) -> Callable[[Rows, int | None, Rates, Callable[..., Any], Tableau, bool], Any]:
        """Makes what moves ensemble members, by (rows, iterations, rates, its class, method, whether to refine)."""
        ...
