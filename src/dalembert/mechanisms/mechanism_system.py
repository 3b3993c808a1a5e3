# SPDX-License-Identifier: BSD-3-Clause
"""The system that a mechanism defines: mass matrix, forces, constraints and energies of all of its parts."""

from __future__ import annotations

from typing import Any

import sympy as sp

from dalembert.mechanisms.extra_coordinates import ExtraCoordinates
from dalembert.mechanisms.frames import Ground
from dalembert.mechanisms.motors import with_directions
from dalembert.model.system import System


def extra_coordinates_of(mechanism: Any) -> tuple[ExtraCoordinates, ...]:
    """Return the extra coordinates of a mechanism: its own, then those of its joints."""
    of_joints = [joint.contact_parameter for joint in mechanism.joints if joint.contact_parameter is not None]
    return (*mechanism.extra_coordinates, *of_joints)


def system_of(mechanism: Any) -> System:
    """Return the system that a mechanism defines; its coordinates are those of the bodies, then the extra ones."""
    bodies, extras = mechanism.bodies, extra_coordinates_of(mechanism)
    own = [q for extra in extras for q in extra.coordinates]
    coordinates = (*(q for body in bodies for q in body.coordinates), *own)
    mass: Any = sp.diag(*(body.mass_matrix for body in bodies), sp.zeros(len(own)))
    force: Any = sp.Matrix([*_forces_on_bodies(mechanism), *sp.zeros(len(own), 1)])
    kinetic, potential = [body.kinetic for body in bodies], [part.potential(bodies) for part in mechanism.forces]
    for extra in extras:
        more_mass, more_force = extra.terms(coordinates)
        mass, force = mass + more_mass, force + more_force
        kinetic.append(extra.kinetic)
        potential.append(extra.potential)
    rows = [c for part in (*bodies, *mechanism.joints) for c in part.constraints]
    return System(
        coordinates,
        mass,
        list(force),
        (*rows, *mechanism.constraints),
        lagrangian=sp.Add(*kinetic) - sp.Add(*potential),
        coefficients=tuple((type(part).__name__, c) for part in mechanism.forces for c in part.coefficients),
        servos=with_directions(mechanism.servos, coordinates),
    )


def _forces_on_bodies(mechanism: Any) -> list[Any]:
    """Return the generalised forces on all bodies, in the order of their coordinates."""
    shares = {body.name: list(body.inertia_force) for body in mechanism.bodies}
    for force in mechanism.forces:
        for marker, push, torque in force.loads(mechanism.bodies):
            if isinstance(marker.body, Ground):
                continue
            nothing = sp.zeros(marker.dimension, 1)
            still = sp.S.Zero if marker.dimension == 2 else nothing
            share = marker.body.generalised(
                nothing if push is None else push, marker.point, still if torque is None else torque
            )
            shares[marker.body.name] = [a + b for a, b in zip(shares[marker.body.name], share, strict=True)]
    return [component for body in mechanism.bodies for component in shares[body.name]]
