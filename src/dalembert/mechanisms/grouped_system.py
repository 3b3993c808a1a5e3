# SPDX-License-Identifier: BSD-3-Clause
"""The system of a large mechanism, stated by groups of similar bodies, joints and forces.

The equations of one body of each kind are derived, with symbols for its numbers; so are those of ball joints and
hinges, and of rotors and springs on them. Other joints and forces are derived one by one, and collected in groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from dalembert.errors import ModelError
from dalembert.mechanisms.couplings import Drive
from dalembert.mechanisms.forces import Gravity
from dalembert.mechanisms.frames import Ground, Marker
from dalembert.mechanisms.generalised_forces import shares_of
from dalembert.mechanisms.grouped_rotors import grouped_rotors
from dalembert.mechanisms.grouped_springs import grouped_springs, has_template
from dalembert.mechanisms.joint import Joint, Rows
from dalembert.mechanisms.joint_inertia import Rotor
from dalembert.mechanisms.joints import Revolute, together
from dalembert.mechanisms.motors import with_directions
from dalembert.mechanisms.part_copies import Copies, abstract, by_kind, coordinate_names
from dalembert.mechanisms.particle import Particle
from dalembert.mechanisms.planar_body import PlanarBody
from dalembert.mechanisms.spatial_body import Body
from dalembert.mechanisms.spatial_joints import Spherical
from dalembert.mechanisms.vectors import across, dot
from dalembert.model import graph
from dalembert.model.abrupt_functions import functions_abrupt_in_time_alone
from dalembert.model.constraint import Constraint
from dalembert.model.control_form import servo_problems
from dalembert.model.large_statement import LargeStatement
from dalembert.model.law_groups import PlacedLaws
from dalembert.model.python_functions import python_functions_in
from dalembert.model.signal_checks import signals_in
from dalembert.model.similar_terms import (
    along,
    checked_coefficients,
    constraint_groups,
    lagrangian_terms,
    with_constraints,
)
from dalembert.model.symbols import ConstraintSymbol
from dalembert.model.term_groups import AppliedForce, ConstraintGroup, LagrangianTerm, MassEntries

INERTIA = ("mass", "inertia", "center")
"""The fields of a body on which its equations depend."""


def can_be_grouped(mechanism: Any) -> bool:
    """Return whether the equations of a mechanism can be stated by groups."""
    kinds = (Particle, PlanarBody, Body)
    plain = all(isinstance(joint, Drive) or _is_plain(joint) for joint in mechanism.joints)
    bodies = all(type(body) in kinds for body in mechanism.bodies)
    rotors = all(not isinstance(f, Rotor) or f.inertia.is_number for f in mechanism.forces)
    further = all(constraint.is_permanent and not constraint.nonideal for constraint in mechanism.constraints)
    return plain and bodies and rotors and further and not mechanism.extra_coordinates


def _is_plain(joint: Any) -> bool:
    return isinstance(joint, Joint) and not joint.nonideal and joint.contact_parameter is None and not joint.contact


def grouped_statement(mechanism: Any) -> LargeStatement | None:
    """Return the statement of a mechanism by groups.

    It is None if forces depend on reactions, and if constraints or servos need what groups do not have: functions with
    jumps or kinks in time, signals, and functions written in Python.
    """
    bodies, gravity = mechanism.bodies, [f for f in mechanism.forces if isinstance(f, Gravity)]
    others = [force for force in mechanism.forces if not isinstance(force, Gravity)]
    pieces = tuple(name for body in bodies for name in coordinate_names(body))
    found = _of_bodies(bodies, gravity)
    rotors, springs = grouped_rotors(mechanism), grouped_springs(others)
    single = [force for force in others if not has_template(force)]
    forces = _of_forces(bodies, single)
    if any(graph.has_kind(e, ConstraintSymbol) for group in forces for e in group.components.values()):
        return None
    constraints, order = _of_joints(mechanism, found.constraints)
    coefficients = [(type(part).__name__, c) for part in others for c in part.coefficients]
    stated = LargeStatement(
        pieces,
        tuple(found.masses),
        (*found.forces, *forces, *rotors.forces, *springs.forces),
        constraints,
        order,
        lagrangian=(
            *(*found.energies, *rotors.energies, *springs.energies),
            *lagrangian_terms(-part.potential(bodies) for part in single),
        ),
        rates=rotors.rates,
        placed=PlacedLaws(tuple(checked_coefficients(coefficients))),
        servos=with_directions(mechanism.servos),
    )
    stated = with_constraints(stated, mechanism.constraints)
    others = [e for expressions, _ in replace(stated, forces=()).groups() for e in expressions]
    if functions_abrupt_in_time_alone(others) or signals_in(others) or python_functions_in(others):
        return None
    problems = servo_problems(stated.servos, stated.coordinate_names, stated.constraint_names)
    if problems:
        raise ModelError(problems)
    return stated


@dataclass
class _BodyGroups:
    """The groups of all bodies; of constraints with the numbers of their bodies."""

    masses: list[MassEntries] = field(default_factory=list[MassEntries])
    forces: list[AppliedForce] = field(default_factory=list[AppliedForce])
    energies: list[LagrangianTerm] = field(default_factory=list[LagrangianTerm])
    constraints: list[tuple[ConstraintGroup, list[int]]] = field(
        default_factory=list[tuple[ConstraintGroup, list[int]]]
    )


def _of_bodies(bodies: Sequence[Any], gravity: Sequence[Gravity]) -> _BodyGroups:
    """Return masses, forces by inertia and gravity, energies and constraints of all bodies, by kinds."""
    found = _BodyGroups()
    for kind in by_kind(enumerate(bodies), _add_body):
        _add_kind(found, kind, bodies, gravity)
    return found


def _add_body(kinds: dict[Any, Copies], number: int, body: Any, zeros: bool) -> None:
    """Add a body to those of its kind."""
    numbers: list[float] = []
    own = {f.name: abstract(getattr(body, f.name), numbers, zeros) for f in fields(body) if f.name in INERTIA}
    key = (
        type(body),
        body.dimension,
        *(sp.ImmutableMatrix(x) if isinstance(x, sp.MatrixBase) else x for x in own.values()),
    )
    if key not in kinds:
        kinds[key] = Copies(replace(body, name="body", **own))
    kind = kinds[key]
    kind.members.append(number)
    kind.names.append(coordinate_names(body))
    kind.numbers.append(numbers)


def _add_kind(found: _BodyGroups, kind: Copies, bodies: Sequence[Any], gravity: Sequence[Gravity]) -> None:
    """Add the equations of all bodies of one kind."""
    body, q = kind.template, kind.template.coordinates
    copies, mass = kind.substitutions(q), body.mass_matrix
    entries = {(q[i], q[j]): mass[i, j] for i in range(len(q)) for j in range(i + 1) if mass[i, j] != 0}
    found.masses.append(MassEntries(entries, copies))
    still = 0 if body.dimension == 2 else sp.zeros(3, 1)
    center = body.center_of_mass.point
    pulls = [body.generalised(body.mass * force.acceleration, center, still) for force in gravity]
    totals = [sp.Add(*parts) for parts in zip(body.inertia_force, *pulls, strict=True)]
    found.forces.append(AppliedForce({x: e for x, e in zip(q, totals, strict=True) if e != 0}, copies))
    potential = sp.Add(*(force.potential([body]) for force in gravity))
    found.energies.append(LagrangianTerm(body.kinetic - potential, copies))
    for k, constraint in enumerate(body.constraints):
        names = tuple(str(bodies[i].constraint_names[k]) for i in kind.members)
        found.constraints.append((ConstraintGroup(constraint, copies, names), kind.members))


def _of_forces(bodies: Sequence[Any], forces: Sequence[Any]) -> tuple[AppliedForce, ...]:
    """Return the forces other than gravity, derived one by one."""
    known = {body.name: body for body in bodies}
    pushed = [
        (q, e)
        for f in forces
        for name, own in shares_of(bodies, f).items()
        for q, e in zip(known[name].coordinates, own, strict=True)
    ]
    return along([e for _, e in pushed], [q for q, _ in pushed])


def _of_joints(
    mechanism: Any, of_bodies: Iterable[tuple[ConstraintGroup, list[int]]]
) -> tuple[tuple[ConstraintGroup, ...], Any]:
    """Return the constraints of bodies and joints in groups, and their numbers in the order of the mechanism."""
    groups = [(group, np.array(members)) for group, members in of_bodies]
    first = sum(len(group) for group, _ in groups)
    ranks = np.cumsum([0, *(len(body.constraint_names) for body in mechanism.bodies)])
    groups = [(group, ranks[members]) for group, members in groups]
    single: list[tuple[int, Constraint]] = []
    templates: list[tuple[int, Any]] = []
    starts: list[int] = []
    for i, joint in enumerate(mechanism.joints):
        starts.append(first)
        count = _rows_of_template(joint)
        if count:
            templates.append((i, joint))
        else:
            single += [(first + k, constraint) for k, constraint in enumerate(joint.constraints)]
            count = len(joint.constraints)
        first += count
    for kind in by_kind(templates, _add_joint):
        groups += _joint_groups(kind, mechanism.joints, np.array(starts))
    numbers = np.array([number for number, _ in single], np.int64)
    for group, members in constraint_groups([constraint for _, constraint in single]):
        groups.append((group, numbers[members]))
    order = np.concatenate([np.zeros(0, np.int64), *(own for _, own in groups)])
    return tuple(group for group, _ in groups), order


def _rows_of_template(joint: Any) -> int:
    """Return the number of equations of a joint that is derived once for all of its kind; zero for another one."""
    if type(joint) is Revolute:
        return 2 if joint.dimension == 2 else 5
    return 3 if type(joint) is Spherical else 0


class _JointTemplate(NamedTuple):
    """Points that coincide; for a hinge also an axis of the second body, and two directions of the first across it."""

    first: Marker
    second: Marker
    axis: Any = None
    sides: tuple[Any, ...] = ()

    def rows(self) -> Rows:
        axis = None if self.axis is None else self.second.body.turn(self.axis)
        hinge = [(f"axis {k}", dot(self.first.body.turn(side), axis)) for k, side in enumerate(self.sides, start=1)]
        return [*together(self), *hinge]


def _add_joint(kinds: dict[Any, Copies], number: int, joint: Any, zeros: bool) -> None:
    """Add a ball joint or a hinge to those of its kind."""
    values: list[float] = []
    bodies = [marker.body for marker in joint.markers]
    hinge = type(joint) is Revolute and joint.dimension == 3
    directions = (joint.axis[1], *across(joint.axis[0])) if hinge else ()
    vectors = [abstract(v, values, zeros) for v in (*(marker.point for marker in joint.markers), *directions)]
    key = (*map(type, bodies), *map(sp.ImmutableMatrix, vectors))
    if key not in kinds:
        templates = [
            body if isinstance(body, Ground) else replace(body, name=name)
            for name, body in zip(("first", "second"), bodies, strict=True)
        ]
        ends = [Marker(body, point) for body, point in zip(templates, vectors[:2], strict=True)]
        kinds[key] = Copies(_JointTemplate(ends[0], ends[1], vectors[2] if hinge else None, tuple(vectors[3:])))
    kind = kinds[key]
    kind.members.append(number)
    kind.names.append(tuple(n for body in bodies if not isinstance(body, Ground) for n in coordinate_names(body)))
    kind.numbers.append(values)


def _joint_groups(kind: Copies, joints: Sequence[Any], starts: Any) -> list[tuple[ConstraintGroup, Any]]:
    """Return the equations of joints of one kind, each with the numbers of its constraints."""
    template = kind.template
    ends = (template.first, template.second)
    q = [x for marker in ends if not isinstance(marker.body, Ground) for x in marker.body.coordinates]
    copies = kind.substitutions(q)
    found: list[tuple[ConstraintGroup, Any]] = []
    for k, (about, expression) in enumerate(template.rows()):
        names = tuple(joints[i].row_name(about) for i in kind.members)
        group = ConstraintGroup(Constraint(expression, name=names[0]), copies, names)
        found.append((group, starts[kind.members] + k))
    return found
