"""The power of every entry of a ledger, by SymPy and NumPy alone, from states, reactions and inputs of a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

import dalembert as da
from dalembert.model.symbols import plain_multiplier

NODES = 5
"""Gauss's nodes in each interval of a quadrature."""

SLIDING = 1e-9
"""Sliding velocities below this, relative to the largest velocity, are those of sticking contacts."""


class Powers(NamedTuple):
    """Powers along a run, at its T times.

    reactions (T, m)    λ A·q̇ of each constraint, with its actual reaction λ
    laws (T, l)         C·q̇ of each law; NaN where dry friction sticks or its constraint does not hold: there C does
                        not describe it
    inputs (T, r)       u B·q̇ of each actuator
    constraint (T,)     of the whole constraint force, which reactions and laws share
    driven (T, m)       −λ ∂φ/∂t, or −λ ψ at q̇ = 0 for ψ linear in q̇: those of the reactions where constraints hold
    """

    reactions: np.ndarray
    laws: np.ndarray
    inputs: np.ndarray
    constraint: np.ndarray
    driven: np.ndarray


def gauss_times(edges: Any) -> tuple[np.ndarray, np.ndarray]:
    """Times with both ends of every interval between edges among them, and their weights in an integral."""
    edges = np.asarray(edges, float)
    place, weight = np.polynomial.legendre.leggauss(NODES)
    half = np.diff(edges)[:, None] / 2
    times = np.concatenate([edges[:-1, None], edges[:-1, None] + half * (1 + place)], axis=1).ravel()
    weights = np.concatenate([np.zeros_like(half), half * weight], axis=1).ravel()
    return np.append(times, edges[-1]), np.append(weights, 0.0)


@dataclass(frozen=True)
class OwnPowers:
    """The powers and the energy of a system, computed from its expressions as they were given."""

    system: da.System

    def along(self, run: da.Trajectory) -> Powers:
        """Compute the powers along a run."""
        m, inputs = len(self.system.constraints), self._inputs
        with np.errstate(divide="ignore", invalid="ignore"):  # C is not defined where friction sticks
            found = self._values(self._powers, run)
        counts = np.cumsum([m, len(self.system.laws), len(inputs), m])
        reactions, laws, rates, driven, speeds = np.split(found, counts, axis=1)
        # friction acts along the constraint, and a velocity off it has a part that is not sliding
        least = SLIDING * (1 + np.abs(run.qd).max())
        off = np.abs(run.velocity_violation).max(axis=1, initial=0, keepdims=True) > least
        dry = np.array([_is_dry(placed.law) for placed in self.system.laws], bool)
        laws = np.where(dry & (off | (np.abs(speeds) <= least)), np.nan, laws)
        given = np.stack([run.inputs[name] for name in inputs], axis=1) if inputs else rates
        return Powers(reactions, laws, rates * given, np.sum(run.constraint_force * run.qd, axis=1), driven)

    def energy(self, run: da.Trajectory) -> np.ndarray:
        """Jacobi's energy q̇·∂L/∂q̇ − L (T,), or the kinetic energy if no Lagrangian is known."""
        return self._values(self._energy, run)[:, 0]

    def _values(self, compute: Any, run: da.Trajectory) -> np.ndarray:
        numbers = [run.parameters[name] for name in self.system.parameter_names]
        forces = (*run.ideal_force.T, *run.multipliers.T, *run.reactions.T)
        values = compute(run.t, *run.q.T, *run.qd.T, *forces, *numbers)
        rows = [np.broadcast_to(value, run.t.shape) for value in values]
        return np.reshape(rows, (len(rows), len(run.t))).T

    def _compiled(self, expressions: list[Any]) -> Any:
        symbols, p = self.system.symbols, [sp.Symbol(name, real=True) for name in self.system.parameter_names]
        state = [symbols.time, *symbols.q, *symbols.qd]
        return sp.lambdify([*state, *symbols.ideal_force, *self._ideal, *self._actual, *p], expressions, cse=True)

    @cached_property
    def _ideal(self) -> list[Any]:
        return [plain_multiplier(name) for name in self.system.constraint_names]

    @cached_property
    def _actual(self) -> list[Any]:
        return [sp.Symbol(f"actual{k}") for k in range(len(self.system.constraints))]

    @cached_property
    def _powers(self) -> Any:
        pairs = list(zip(self._actual, self.system.constraints, strict=True))
        reactions = [λ * self._rate(_row(c, self.system.symbols)) for λ, c in pairs]
        driven = [-λ * self._moving(c) for λ, c in pairs]
        laws = [self._power_of_law(placed) for placed in self.system.laws]
        speeds = [self._sliding_speed(placed.law) for placed in self.system.laws]
        return self._compiled([*reactions, *laws, *self._inputs.values(), *driven, *speeds])

    @cached_property
    def _energy(self) -> Any:
        symbols = self.system.symbols
        rates = sp.Matrix(symbols.qd)
        if self.system.lagrangian is None:
            M = sp.Matrix(self.system.mass_matrix).applyfunc(symbols.plain)
            return self._compiled([(rates.T * M * rates)[0] / 2])
        L = symbols.plain(self.system.lagrangian)
        return self._compiled([sum((v * L.diff(v) for v in symbols.qd), -L)])

    @cached_property
    def _inputs(self) -> dict[str, Any]:
        """B·q̇ of each actuator by name; a servo without actuators has a force on every coordinate."""
        rates: dict[str, Any] = {}
        for servo in self.system.servos:
            if not servo.by:
                rates |= {str(x.func): v for x, v in zip(self.system.coordinates, self.system.symbols.qd, strict=True)}
            for actuator in servo.by or ():
                direction = actuator.direction(self.system.coordinates)
                rates[actuator.name] = self._rate([self.system.symbols.plain(b) for b in direction])
        return rates

    def _rate(self, direction: Any) -> Any:
        return sum((c * v for c, v in zip(direction, self.system.symbols.qd, strict=True)), sp.S.Zero)

    def _moving(self, constraint: da.Constraint) -> Any:
        """The rate at which a constraint moves by itself: A·q̇ = −rate where it holds."""
        symbols = self.system.symbols
        residual = symbols.plain(constraint.expression)
        if constraint.level == "position":
            return residual.diff(symbols.time)
        if constraint.level == "velocity":
            return residual.xreplace(dict.fromkeys(symbols.qd, sp.S.Zero))
        return -self._rate(_row(constraint, symbols))

    def _power_of_law(self, placed: Any) -> Any:
        """C·q̇, with the actual reactions in the place of the ideal multipliers if the law depends on those."""
        components = placed.law.components(self.system.coordinates)
        power = self._rate([self.system.symbols.plain(sp.sympify(c)) for c in components])
        return power.xreplace(dict(zip(self._ideal, self._actual, strict=True))) if placed.actual else power

    def _sliding_speed(self, law: Any) -> Any:
        """The sliding velocity of dry friction, and 1 for laws that are defined at every velocity."""
        if not _is_dry(law):
            return sp.S.One
        return sp.sqrt(sum(self.system.symbols.plain(sp.sympify(v)) ** 2 for v in law.velocity))


def _is_dry(law: Any) -> bool:
    return isinstance(law, da.Coulomb) and law.smoothing is None


def _row(constraint: da.Constraint, symbols: Any) -> list[Any]:
    """The row of A: derivatives of the constraint with respect to the highest derivatives in it."""
    highest = {"position": symbols.q, "velocity": symbols.qd, "acceleration": symbols.qdd}[constraint.level]
    return [symbols.plain(constraint.expression).diff(x) for x in highest]
