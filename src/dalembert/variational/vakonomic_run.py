# SPDX-License-Identifier: BSD-3-Clause
"""Vakonomic motions as trajectories of the original system."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dalembert.common.array_types import Floats
from dalembert.common.levels import rows_at
from dalembert.equation.dynamics import Dynamics, Terms
from dalembert.errors import InputError
from dalembert.integration.motion_data import MotionData
from dalembert.integration.run_source import kinetic_energies
from dalembert.integration.trajectory import Trajectory
from dalembert.lowering.build import build
from dalembert.lowering.expressions_along import values_along
from dalembert.model.system import System
from dalembert.numerics.linear_algebra import rank, unit_rows


def original_motion(system: System, run: Trajectory, chosen: Floats, parameters: dict[str, float]) -> Trajectory:
    """Return a run of the extended system as a motion of the original one."""
    dynamics, n = build(system), len(system.coordinates)
    q, qd, acceleration = run.q[:, :n], run.qd[:, :n], run.acceleration[:, :n]
    terms, energy = _terms_and_energy(dynamics, q, qd, run.t, arrays_of(parameters))
    M, Q, A, _, position, velocity = (np.asarray(term) for term in terms)
    at_position = rows_at(dynamics.levels, "position")
    start = ", ".join(f"`{name}` = {value:g}" for name, value in zip(dynamics.constraints, chosen, strict=True))
    note = (
        f"By vakonomic mechanics, not d'Alembert's principle, with the chosen multipliers {start} at the initial time."
    )
    return replace(
        run,
        q=q,
        qd=qd,
        acceleration=acceleration,
        ideal_force=np.einsum("tij,tj->ti", M, acceleration) - Q,
        nonideal_force=np.zeros_like(q),
        multipliers=run.qd[:, n:],
        reactions=run.qd[:, n:],
        violation=np.where(at_position, position, velocity),
        velocity_violation=velocity,
        rank=rank(unit_rows(A)[0]),
        energy=np.asarray(energy),
        coordinates=dynamics.coordinates,
        constraints=dynamics.constraints,
        parameters=parameters,
        notes=(note, *run.notes),
        theory="vakonomic",
        source=VakonomicRun(system, run, chosen, parameters),
    )


@dataclass(frozen=True, eq=False)
class VakonomicRun:
    """The source of a vakonomic run, by the run of the extended system; an implementation of ``RunSource``."""

    system: System
    extended: Trajectory
    chosen: Floats
    parameters: dict[str, float]

    def model_text(self) -> str:
        """Return an empty text, since ``da.reproduce`` follows d'Alembert's principle."""
        return ""

    def ledger(self, run: Trajectory) -> Any:
        raise InputError(
            "a ledger is of constraint forces by d'Alembert's principle; this run is vakonomic. Use `da.simulate`."
        )

    def at(self, run: Trajectory, times: Any) -> Trajectory:
        """Return the motion at increasing times within the run."""
        moved = original_motion(self.system, self.extended.at(times), self.chosen, self.parameters)
        return replace(moved, notes=run.notes)

    def pieces(self, run: Trajectory) -> list[Trajectory]:
        """Return the run: no event changes its parameters."""
        return [run]

    def steps(self, run: Trajectory) -> Floats:
        """Return the times of the integration steps."""
        return self.extended.require_source("a vakonomic run").steps(self.extended)

    def mass_and_rows(self, run: MotionData) -> tuple[Floats, Floats]:
        """Return M (T, n, n) and A (T, m, n) along the run."""
        dynamics = build(self.system)
        terms, _ = _terms_and_energy(dynamics, run.q, run.qd, run.t, arrays_of(self.parameters))
        return np.asarray(terms.M), np.asarray(terms.A)

    def kinetic_energy(self, run: MotionData) -> Floats:
        """Return ½ q̇ᵀM q̇ (T,) along the run."""
        return kinetic_energies(self.mass_and_rows(run)[0], run.qd)

    def values(self, run: Trajectory, expression: Any) -> Floats:
        """Return the values (T, …) of an expression along the run."""
        return values_along(run, self.system.symbols, expression)


@eqx.filter_jit
def _terms_and_energy(dynamics: Dynamics, q: Any, qd: Any, times: Any, p: Any) -> tuple[Terms, Array]:
    """Return the terms and the energy of the original system along a motion."""
    energy = dynamics.energy
    assert energy is not None  # a vakonomic system has a Lagrangian

    def at(q: Array, qd: Array, now: Array) -> tuple[Terms, Array]:
        return dynamics.terms(q, qd, now, p), jnp.asarray(energy(q, qd, now, p), float)

    return jax.vmap(at)(q, qd, times)


def arrays_of(values: dict[str, float]) -> tuple[Array, ...]:
    """Return the values of parameters as arrays."""
    # arrays, not Python numbers: those would be compiled as constants, and every new value would recompile
    return tuple(jnp.asarray(value) for value in values.values())
