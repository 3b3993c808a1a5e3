# SPDX-License-Identifier: BSD-3-Clause
"""The system that a mechanism defines: mass matrix, forces, constraints and energies of all of its parts."""

from __future__ import annotations

from typing import Any

import sympy as sp

from dalembert.mechanisms.extra_coordinates import ExtraCoordinates
from dalembert.mechanisms.generalised_forces import shares_of
from dalembert.mechanisms.grouped_system import can_be_grouped, grouped_statement
from dalembert.mechanisms.joint import joints_with_parameters
from dalembert.mechanisms.joint_inertia import added_inertia
from dalembert.mechanisms.motors import with_directions
from dalembert.model import graph
from dalembert.model.laws import Prescribed
from dalembert.model.symbols import reaction
from dalembert.model.system import LARGEST_EXPANDED, System


def extra_coordinates_of(mechanism: Any) -> tuple[ExtraCoordinates, ...]:
    """Return the extra coordinates of a mechanism: its own, then those of its joints."""
    of_joints = [joint.contact_parameter for joint in joints_with_parameters(mechanism.joints)]
    return (*mechanism.extra_coordinates, *(own for own in of_joints if own is not None))


def system_of(mechanism: Any) -> System:
    """Return the system that a mechanism defines; its coordinates are those of the bodies, then the extra ones."""
    if sum(len(body.letters) for body in mechanism.bodies) > LARGEST_EXPANDED and can_be_grouped(mechanism):
        statement = grouped_statement(mechanism)
        if statement is not None:
            return System.from_statement(statement)
    bodies, extras = mechanism.bodies, extra_coordinates_of(mechanism)
    own = [q for extra in extras for q in extra.coordinates]
    coordinates = (*(q for body in bodies for q in body.coordinates), *own)
    mass: Any = sp.diag(*(body.mass_matrix for body in bodies), sp.zeros(len(own)))
    applied, laws = _forces_on_bodies(mechanism)
    force: Any = sp.Matrix([*applied, *sp.zeros(len(own), 1)])
    kinetic, potential = [body.kinetic for body in bodies], [part.potential(bodies) for part in mechanism.forces]
    for extra in extras:
        more_mass, more_force = extra.terms(coordinates)
        mass, force = mass + more_mass, force + more_force
        kinetic.append(extra.whole_kinetic)
        potential.append(extra.potential)
    rows = [c for part in (*bodies, *mechanism.joints) for c in part.constraints]
    added = added_inertia(mechanism, coordinates)
    return System(
        coordinates,
        added.to(mass),
        [own + more for own, more in zip(force, added.force, strict=True)],
        (*rows, *mechanism.constraints),
        [Prescribed([*law, *sp.zeros(len(own), 1)]) for law in laws],
        lagrangian=sp.Add(*kinetic, added.kinetic) - sp.Add(*potential),
        coefficients=tuple((type(part).__name__, c) for part in mechanism.forces for c in part.coefficients),
        servos=with_directions(mechanism.servos, coordinates),
    )


def _forces_on_bodies(mechanism: Any) -> tuple[list[Any], list[list[Any]]]:
    """Return the generalised applied forces on all bodies, and forces that depend on reactions, each by itself.

    The latter are laws: such a force changes the reactions on which it depends.
    """
    applied = {body.name: list(body.inertia_force) for body in mechanism.bodies}
    laws: list[list[Any]] = []
    for force in mechanism.forces:
        shares = shares_of(mechanism.bodies, force)
        if any(graph.has_kind(e, reaction) for share in shares.values() for e in share):
            still = {body.name: [sp.S.Zero] * len(body.coordinates) for body in mechanism.bodies}
            laws.append([e for share in (still | shares).values() for e in share])
            continue
        for name, share in shares.items():
            applied[name] = [a + b for a, b in zip(applied[name], share, strict=True)]
    return [component for share in applied.values() for component in share], laws
