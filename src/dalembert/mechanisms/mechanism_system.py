# SPDX-License-Identifier: BSD-3-Clause
"""The system that a mechanism defines: mass matrix, forces, constraints and energies of all of its parts."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import sympy as sp

from dalembert.mechanisms.extra_coordinates import ExtraCoordinates
from dalembert.mechanisms.generalised_forces import shares_of
from dalembert.mechanisms.grouped_system import can_be_grouped, grouped_statement
from dalembert.mechanisms.joint import joints_with_parameters
from dalembert.mechanisms.joint_inertia import Rotor, added_inertia
from dalembert.mechanisms.motors import with_directions
from dalembert.model import graph
from dalembert.model.deferred_fields import LARGEST_EXPANDED, Deferred
from dalembert.model.force_parts import REST, ForcePart
from dalembert.model.laws import Prescribed
from dalembert.model.symbols import functions_of_time, reaction, t
from dalembert.model.system import System


def extra_coordinates_of(mechanism: Any) -> tuple[ExtraCoordinates, ...]:
    """Return the extra coordinates of a mechanism: its own, then those of its joints."""
    of_joints = [joint.contact_parameter for joint in joints_with_parameters(mechanism.joints)]
    return (*mechanism.extra_coordinates, *(own for own in of_joints if own is not None))


LARGEST_STRAIGHT_LINE = 100
"""Most coordinates of a mechanism that is compiled to straight-line machine code although it could be stated by groups.
For a quadruped of 91 coordinates the first simulation takes 33 s with straight lines and 3 s with groups; later steps
take a sixth of the time with straight lines."""


def system_of(mechanism: Any) -> System:
    """Return the system that a mechanism defines; its coordinates are those of the bodies, then the extra ones."""
    n = sum(len(body.letters) for body in mechanism.bodies)
    large = n > LARGEST_EXPANDED
    plain = n > LARGEST_STRAIGHT_LINE and not mechanism.servos and not mechanism.constraints
    if (large or plain) and can_be_grouped(mechanism):
        statement = grouped_statement(mechanism)
        if statement is not None:
            derive = partial(derived_system, mechanism)
            return System.from_statement(statement) if large else System.from_deferred(Deferred(statement, derive))
    return derived_system(mechanism)


def derived_system(mechanism: Any) -> System:
    """Return the system of a mechanism, derived term by term."""
    bodies, extras = mechanism.bodies, extra_coordinates_of(mechanism)
    own = [q for extra in extras for q in extra.coordinates]
    coordinates = (*(q for body in bodies for q in body.coordinates), *own)
    mass: Any = sp.diag(*(body.mass_matrix for body in bodies), sp.zeros(len(own)))
    kinetic, potential = [body.kinetic for body in bodies], [part.potential(bodies) for part in mechanism.forces]
    shares, laws = _forces_on_bodies(mechanism)
    parts = _named_parts(mechanism, shares, potential, len(own))
    inertia = [component for body in bodies for component in body.inertia_force]
    applied = [sp.Add(own, *(share[i] for share in shares.values())) for i, own in enumerate(inertia)]
    force: Any = sp.Matrix([*applied, *sp.zeros(len(own), 1)])
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
        force_parts=parts,
    )


def _forces_on_bodies(mechanism: Any) -> tuple[dict[int, list[Any]], list[list[Any]]]:
    """Return the generalised force on all bodies of each force, by its place, and of those that depend on reactions.

    The latter are laws: such a force changes the reactions on which it depends.
    """
    still = {body.name: [sp.S.Zero] * len(body.letters) for body in mechanism.bodies}
    shares: dict[int, list[Any]] = {}
    laws: list[list[Any]] = []
    for k, force in enumerate(mechanism.forces):
        whole = [e for share in (still | shares_of(mechanism.bodies, force)).values() for e in share]
        if any(graph.has_kind(e, reaction) for e in whole):
            laws.append(whole)
        else:
            shares[k] = whole
    return shares, laws


def _named_parts(mechanism: Any, shares: Any, potentials: list[Any], further: int) -> tuple[ForcePart, ...]:
    """Return the parts of the applied force whose work a ledger lists."""
    parts: list[ForcePart] = []
    seen: Counter[str] = Counter()
    for k, share in shares.items():
        force, potential = mechanism.forces[k], potentials[k]
        if isinstance(force, Rotor):
            continue
        seen[force.label] += 1
        name = force.label if seen[force.label] == 1 else f"{force.label} ({seen[force.label]})"
        damped = any(coefficient.value != 0 for coefficient in force.coefficients)
        moving = dict.fromkeys(functions_of_time(potential), sp.S.Zero)
        does_work = potential == 0 or damped or t in potential.xreplace(moving).free_symbols
        parts.append(ForcePart(name, sp.ImmutableMatrix([*share, *[0] * further]), potential, does_work))
    rotors = [force for force in mechanism.forces if isinstance(force, Rotor)]
    others = any(rotor.damping != 0 for rotor in rotors) or any(any(own.force) for own in mechanism.extra_coordinates)
    return (*parts, *([ForcePart(REST, None)] if others else []))
