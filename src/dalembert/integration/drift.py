# SPDX-License-Identifier: BSD-3-Clause
"""Drift cures: methods that keep a motion on its constraints despite rounding and truncation errors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.common.lazy_jax import lax
from dalembert.common.names import quoted
from dalembert.common.stabilisation import Gains
from dalembert.equation.dynamics import Dynamics
from dalembert.errors import InputError

if TYPE_CHECKING:
    from jax import Array


class Drift(ABC):
    """A drift cure: it acts on the accelerations (``gains``), by a projection after each step, by both, or not at all.

    A drift cure with another correction after each step overrides ``correct``; it needs the general integrator.
    """

    @abstractmethod
    def gains(self) -> Gains | None:
        """Return the stabilising gains of the constraint equations, or None."""

    @property
    def projections(self) -> int:
        """The number of Gauss–Newton iterations that project the state onto the constraints after each step."""
        return 0

    @property
    def integrals(self) -> tuple[Any, ...]:
        """The first integrals that the projection keeps at their initial values: ``"energy"`` or expressions."""
        return ()

    @property
    def in_machine_code(self) -> bool:
        """Whether ``gains`` and ``projections`` describe it completely, so that the compiled integrator supports it."""
        # another correction is a Python function, which machine code cannot call
        return type(self).correct is Drift.correct

    def correct(self, dynamics: Dynamics, q: Array, qd: Array, t: Any, p: Any, rows: Any) -> tuple[Array, Array]:
        """Return the state after a step, projected onto the constraints if ``projections`` is positive."""
        if not self.projections:
            return q, qd
        engine, levels = dynamics.engine, dynamics.levels
        # a loop rather than repeated calls, so that the Gauss–Newton step is compiled once
        if "position" in levels:
            q = lax.fori_loop(0, self.projections, lambda _, x: x + engine.position_step(x, qd, t, p, rows), q)
        if "velocity" in levels:  # ψ need not be linear in the velocities: iterate
            qd = lax.fori_loop(0, self.projections, lambda _, v: v + engine.velocity_step(q, v, t, p, rows), qd)
        elif "position" in levels:  # φ̇ is linear in the velocities: one step is exact
            qd = qd + engine.velocity_step(q, qd, t, p, rows)
        return q, qd


@dataclass(frozen=True)
class NoCure(Drift):
    """No drift cure; this is the meaning of ``drift=None``."""

    def gains(self) -> Gains | None:
        return None


@dataclass(frozen=True)
class Baumgarte(Drift):
    """Make violations decay: φ̈ + 2α φ̇ + β² φ = 0 at position level, ψ̇ + α ψ = 0 at velocity level.

    With β = α a violation decays like e^(−αt) at both levels. Large gains make the equations stiff. The accelerations
    and forces of a run are those of this equation, stabilising terms included.
    """

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        for argument in ("alpha", "beta"):
            _require_number(getattr(self, argument), argument)
        if not (self.alpha > 0 and self.beta >= 0):
            raise InputError(f"`alpha` must be positive and `beta` not negative; got {self.alpha} and {self.beta}.")

    def gains(self) -> Gains | None:
        return Gains(float(self.alpha), float(self.beta))


@dataclass(frozen=True)
class Projection(Drift):
    """Project the state onto the constraints after every step, in the mass metric: positions, then velocities.

    Each iteration is one Gauss–Newton step, in the compiled integrator with the gradients of the first one. Two
    iterations reduce the violation left by an adaptive step to rounding. Projection works with every solver.

    ``conserve`` names first integrals of the motion, which the projection then keeps at their initial values to
    rounding: ``"energy"``, the energy of the Lagrangian, an expression of coordinates, velocities, time and parameters,
    or a tuple of these. The state moves by the shortest distance along the constraints, coordinates and velocities
    together. A conserved integral no longer shows the error of the integration, which the tolerances still control.
    ``da.simulate`` raises an error for an integral that the motion does not conserve, because of damping, friction,
    drives or actuators, and where the compiled integrator cannot be used.

    Examples
    --------
    >>> import sympy
    >>> import dalembert as da
    >>> theta = da.coordinates("theta")
    >>> L = theta.diff(da.t) ** 2 / 2 + sympy.cos(theta)
    >>> pendulum = da.System.from_lagrangian(L, (theta,))
    >>> run = da.simulate(pendulum, (2,), (0,), [0, 500, 1000], drift=da.Projection(conserve="energy"))
    >>> bool(abs(run.energy - run.energy[0]).max() < 1e-14)
    True
    """

    iterations: int = 2
    conserve: Any = ()

    def __post_init__(self) -> None:
        if isinstance(self.conserve, list):
            object.__setattr__(self, "conserve", tuple(self.conserve))
        for given in self.integrals:
            if isinstance(given, str) and given != "energy":
                raise InputError(f'`conserve` must be "energy" or expressions; got the text {given!r}.')
        if not isinstance(self.iterations, (int, np.integer)) or self.iterations < 1:
            raise InputError(f"`iterations` must be a whole number, at least 1; got {self.iterations!r}.")

    def gains(self) -> Gains | None:
        return None

    @property
    def projections(self) -> int:
        return int(self.iterations)

    @property
    def integrals(self) -> tuple[Any, ...]:
        if self.conserve is None:
            return ()
        return self.conserve if isinstance(self.conserve, tuple) else (self.conserve,)


DRIFT_CURES: tuple[type[Drift], ...] = (Projection, Baumgarte)
"""All drift cures, by which model files find them; their fields are the entries of a file."""


def drift_notes(drift: Drift, integrals: Sequence[str] = ()) -> tuple[str, ...]:
    """Return notes on how a drift cure affects the reported forces and first integrals."""
    notes: list[str] = []
    if drift.gains() is not None:
        notes.append("Accelerations, constraint forces and multipliers include Baumgarte's stabilising terms.")
    if integrals:
        notes.append(
            f"The projection keeps {quoted(integrals)} at the initial value, so that the error of the integration does "
            f"not show there."
        )
    return tuple(notes)


def _require_number(value: Any, argument: str) -> None:
    """Raise an error unless the value is one finite real number."""
    real = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if not (real and np.isfinite(value)):
        raise InputError(f"`{argument}` must be one finite number, the same for all constraints; got {value!r}.")
