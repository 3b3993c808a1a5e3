# SPDX-License-Identifier: BSD-3-Clause
"""Models of ``sympy.physics.mechanics``, by Kane's method or Lagrange's, as the arguments of a ``System``.

Kane's equations M_u u̇ = f are formed without the constraints, for all generalised speeds u. With the kinematic
equations solved for the speeds, u = Y q̇ + y, they become M = Yᵀ M_u Y and Q = Yᵀ (f − M_u (Ẏ q̇ + ẏ)).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.physics import mechanics as me

from dalembert.common.array_types import Floats
from dalembert.errors import ModelError
from dalembert.model import graph
from dalembert.model.constraint import Constraint
from dalembert.model.numeric_function import numeric_function
from dalembert.model.ordering import name_of, quoted
from dalembert.model.symbols import coordinates, t
from dalembert.numerics.linear_algebra import independent_rows
from dalembert.numerics.tolerances import SAME_VALUE

COMPARED_STATES = 3
"""Random states at which two formulas are compared."""


def system_arguments(method: Any) -> dict[str, Any]:
    """Return the arguments of ``System``, or of ``System.from_lagrangian`` if a Lagrangian states the motion."""
    if isinstance(method, me.JointsMethod):
        method = method.method or _formed(method)
    if isinstance(method, me.System):
        method = method.eom_method or _model_without_equations(method)
    if isinstance(method, me.LagrangesMethod):
        return _lagrange_arguments(method)
    if isinstance(method, me.KanesMethod):
        method = _kane_model(method)
    if not isinstance(method, SpeedModel):
        raise ModelError(
            [
                f"`method` must be a `KanesMethod`, `LagrangesMethod`, `System` or `JointsMethod` of "
                f"`sympy.physics.mechanics`; got {type(method).__name__}."
            ]
        )
    return method.arguments()


def _formed(method: Any) -> Any:
    """Return the method of a ``JointsMethod`` whose equations have not been formed, without changing the object."""
    copied = copy.copy(method)
    copied.form_eoms()
    return copied.method


def _model_without_equations(system: Any) -> Any:
    """Return the model of a ``System`` whose equations have not been formed."""
    if set(system.u) <= set(system.q.diff(t)):  # SymPy's Kane's method does not accept these speeds
        copied = copy.copy(system)
        copied.form_eoms(me.LagrangesMethod)
        return copied.eom_method
    loads = (*system.loads, *(load for actuator in system.actuators for load in actuator.to_loads()))
    _refuse_auxiliary(system.u_aux)
    return SpeedModel(
        system.frame,
        tuple(system.q),
        tuple(system.u),
        sp.Matrix(system.kdes),
        tuple(system.bodies),
        loads,
        tuple(system.holonomic_constraints),
        tuple(system.velocity_constraints),
    )


def _kane_model(method: Any) -> SpeedModel:
    # SymPy has no public names for the constraints and the auxiliary speeds of a KanesMethod
    _refuse_auxiliary(method._uaux)
    if not method._k_kqdot_implicit:
        raise ModelError(["`method` must have kinematic equations; it has none. Pass `kd_eqs` to `KanesMethod`."])
    if not method.bodies:
        raise ModelError(
            ["`method` must have bodies; it has none. Pass `bodies` to `KanesMethod`, or call its `kanes_equations`."]
        )
    u, rates = method.u, method.q.diff(t)
    rows = bool(method._k_nh)
    return SpeedModel(
        method._inertial,
        tuple(method.q),
        tuple(u),
        method._k_ku_implicit * u + method._k_kqdot_implicit * rates + method._f_k_implicit,
        tuple(method.bodies),
        tuple(method.loads or ()),
        tuple(method._f_h),
        tuple(method._k_nh * u + method._f_nh) if rows else (),
        tuple(method._k_dnh * u.diff(t) + method._f_dnh) if rows else (),
    )


def _refuse_auxiliary(speeds: Any) -> None:
    if len(speeds):
        raise ModelError(
            [
                f"`method` must have no auxiliary speeds; got {quoted(map(name_of, speeds))}. Leave them out: the "
                f"forces that they bring into evidence are those of constraints, which every run contains."
            ]
        )


def _lagrange_arguments(method: Any) -> dict[str, Any]:
    if method.forcelist and method.inertial is None:
        raise ModelError(["`method` must have a frame for its loads; it has none. Pass `frame` to `LagrangesMethod`."])
    rates = method.q.diff(t)
    force = sp.zeros(len(method.q), 1)
    for place, load in method.forcelist:
        turns = isinstance(place, me.ReferenceFrame)
        velocity = place.ang_vel_in(method.inertial) if turns else place.vel(method.inertial)
        force += sp.Matrix([velocity.diff(rate, method.inertial).dot(load) for rate in rates])
    positions = method._hol_coneqs
    rows = [*positions, *method.coneqs[len(positions) :]]
    return {
        "lagrangian": method._L[0],
        "coordinates": tuple(method.q),
        "applied_force": list(force),
        "constraints": tuple(map(Constraint, rows)),
    }


@dataclass(frozen=True)
class SpeedModel:
    """A model of Kane's method: n coordinates q, generalised speeds u, bodies, loads and constraints.

    kinematics       n expressions that vanish, linear in q̇ and u
    configuration    constraints on q
    velocity         constraints on u and q̇; those that follow from ``configuration`` may be among them
    acceleration     their derivatives, if they were given; expressions of u̇
    """

    frame: Any
    q: tuple[Any, ...]
    u: tuple[Any, ...]
    kinematics: Any
    bodies: tuple[Any, ...]
    loads: tuple[Any, ...]
    configuration: tuple[Any, ...] = ()
    velocity: tuple[Any, ...] = ()
    acceleration: tuple[Any, ...] = ()

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of ``System``."""
        mass, force = self._equations()
        return {
            "coordinates": self.coordinates,
            "mass_matrix": mass,
            "applied_force": list(force),
            "constraints": tuple(map(Constraint, (*self.configuration, *self._velocity_rows()))),
            "lagrangian": self._lagrangian(),
        }

    @cached_property
    def _extra(self) -> tuple[Any, ...]:
        """The speeds that belong to no coordinate, such as the spin of a wheel whose angle nothing depends on."""
        if len(self.kinematics) != len(self.q):
            raise ModelError(
                [
                    f"`method` must have one kinematic equation for each coordinate ({quoted(map(name_of, self.q))}); "
                    f"got {len(self.kinematics)}."
                ]
            )
        if len(self.u) < len(self.q):
            raise ModelError(
                [
                    f"`method` must have a generalised speed for each coordinate; got the speeds "
                    f"{quoted(map(name_of, self.u))} for {quoted(map(name_of, self.q))}. Leave out coordinates whose "
                    f"rates are given by the speeds of others, or add a speed and a velocity constraint for each."
                ]
            )
        columns = [tuple(column) for column in self.kinematics.jacobian(self.u).T.tolist()]
        (values,) = _samples(columns, count=1)
        own = independent_rows(np.array(values))
        if len(own) < len(self.q):
            raise ModelError(
                [
                    f"the kinematic equations of `method` must determine a generalised speed for each coordinate; "
                    f"those of {quoted(map(name_of, self.q))} cannot be solved for {quoted(map(name_of, self.u))}."
                ]
            )
        return tuple(speed for k, speed in enumerate(self.u) if k not in own)

    @cached_property
    def coordinates(self) -> tuple[Any, ...]:
        """The coordinates, with the time integrals of speeds that belong to none."""
        return (*self.q, *(coordinates(f"integral_{name_of(speed)}") for speed in self._extra))

    @cached_property
    def _speeds(self) -> Any:
        """The speeds as a column of expressions of the coordinates and their rates."""
        added = [q.diff(t) - speed for q, speed in zip(self.coordinates[len(self.q) :], self._extra, strict=True)]
        equations = sp.Matrix([*self.kinematics, *added])
        at_rest = graph.replace(equations, dict.fromkeys(self.u, sp.S.Zero))
        return -equations.jacobian(self.u).LUsolve(at_rest)

    @cached_property
    def _rules(self) -> Mapping[Any, Any]:
        """The speeds and their derivatives by the coordinates."""
        rules = dict(zip(self.u, self._speeds, strict=True))
        return rules | {speed.diff(t): found.diff(t) for speed, found in rules.items()}

    def _equations(self) -> tuple[Any, Any]:
        """Return the mass matrix and the applied force."""
        speeds = self._speeds
        method = me.KanesMethod(self.frame, q_ind=self.q, u_ind=self.u, kd_eqs=self.kinematics)
        method.kanes_equations(self.bodies, self.loads or None)
        by_speeds, forcing = (graph.replace(term, self._rules) for term in (method.mass_matrix, method.forcing))
        Y = speeds.jacobian([q.diff(t) for q in self.coordinates])
        steady = graph.replace(speeds.diff(t), {q.diff(t, 2): sp.S.Zero for q in self.coordinates})
        mass = Y.T * by_speeds * Y
        # symmetric by definition; equal entries in one form need no comparison
        mass = sp.Matrix(*mass.shape, lambda i, j: mass[min(i, j), max(i, j)])
        return mass, Y.T * (forcing - by_speeds * steady)

    def _velocity_rows(self) -> list[Any]:
        """Return the velocity constraints that do not follow from those on the configuration.

        Where SymPy was given another derivative of a constraint, the acceleration constraint replaces it.
        """
        rows = [graph.replace(row, self._rules) for row in self.velocity]
        given = [graph.replace(row, self._rules) for row in self.acceleration]
        for k, (row, own) in enumerate(zip(rows, given, strict=False)):
            if not _equal_at_samples(row.diff(t), own):
                rows[k] = own
        implied = self._implied(rows)
        return [row for k, row in enumerate(rows) if k not in implied]

    def _implied(self, rows: Sequence[Any]) -> set[int]:
        """Return the indices of velocity constraints that are combinations of derivatives of position constraints."""
        if not self.configuration:
            return set()
        rates = [q.diff(t) for q in self.coordinates]
        lines = [self._line(row.diff(t), rates) for row in self.configuration]
        m, found = len(lines), set(range(len(rows)))
        for values in _samples([*lines, *(self._line(row, rates) for row in rows)]):
            known, further = np.array(values[:m]), np.array(values[m:])
            parts = np.linalg.lstsq(known.T, further.T, rcond=None)[0].T @ known
            near = np.linalg.norm(further - parts, axis=1) <= SAME_VALUE * np.linalg.norm(further, axis=1)
            found &= set(np.flatnonzero(near).tolist())
        return found

    @staticmethod
    def _line(row: Any, rates: Sequence[Any]) -> tuple[Any, ...]:
        """Return the coefficients of the rates in a row, and the remainder."""
        return (*(row.diff(rate) for rate in rates), graph.replace(row, dict.fromkeys(rates, sp.S.Zero)))

    def _lagrangian(self) -> Any:
        """Return kinetic minus potential energy if the bodies have potential energies; None otherwise."""
        potential = me.potential_energy(*self.bodies)
        if potential == 0:
            return None
        return graph.replace(me.kinetic_energy(self.frame, *self.bodies) - potential, self._rules)


def _equal_at_samples(left: Any, right: Any) -> bool:
    values = np.array(_samples([(left, right)]))[:, 0]
    return bool(np.all(np.abs(values[:, 0] - values[:, 1]) <= SAME_VALUE * (1 + np.abs(values).max(axis=1))))


def _samples(lines: Sequence[Sequence[Any]], count: int = COMPARED_STATES) -> list[list[Floats]]:
    """Return lines of expressions as numbers at random values of all their symbols and functions of time."""
    entries = [entry for line in lines for entry in line]
    unknowns: dict[Any, Any] = {}
    for kinds in ((sp.Derivative,), (AppliedUndef,)):
        for entry in entries:
            unknowns |= {node: sp.Dummy() for node in graph.atoms(entry, *kinds) if node not in unknowns}
    plain = [[graph.replace(entry, unknowns) for entry in line] for line in lines]
    names = sorted(graph.free_symbols(*(entry for line in plain for entry in line)), key=str)
    evaluate = numeric_function(names, plain, "numpy")
    draw = np.random.default_rng(20020101)
    with np.errstate(all="ignore"):
        return [[np.array(line, float) for line in evaluate(*draw.uniform(0.5, 1.5, len(names)))] for _ in range(count)]
