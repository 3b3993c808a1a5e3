# SPDX-License-Identifier: BSD-3-Clause
"""The torsion springs of a large mechanism in groups: linear ones on hinges in space are derived once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import sympy as sp

from dalembert.mechanisms.frames import Ground
from dalembert.mechanisms.joint import relative_rotation
from dalembert.mechanisms.part_copies import Copies, abstract, by_kind, coordinate_names
from dalembert.mechanisms.springs import TorsionSpring
from dalembert.mechanisms.vectors import across, dot
from dalembert.model import graph
from dalembert.model.term_groups import AppliedForce, LagrangianTerm


def has_template(force: Any) -> bool:
    """Return whether a force is a spring that is derived once for all of its kind."""
    return isinstance(force, TorsionSpring) and force.torque is None and force.joint.dimension == 3


class GroupedSprings(NamedTuple):
    """The forces of springs in groups, and their energies."""

    forces: tuple[AppliedForce, ...]
    energies: tuple[LagrangianTerm, ...]


class _Spring(NamedTuple):
    """The energy of a spring with symbols for its numbers, its generalised forces, and the coordinates."""

    energy: Any
    forces: Sequence[Any]
    coordinates: Sequence[Any]


def grouped_springs(forces: Sequence[Any]) -> GroupedSprings:
    """Return the springs among some forces that have templates, in groups."""
    kinds = by_kind(enumerate(force for force in forces if has_template(force)), _add_spring)
    found = [(kind.template, kind.substitutions(kind.template.coordinates)) for kind in kinds]
    return GroupedSprings(
        tuple(
            AppliedForce({q: e for q, e in zip(own.coordinates, own.forces, strict=True) if e != 0}, copies)
            for own, copies in found
        ),
        tuple(LagrangianTerm(-own.energy, copies) for own, copies in found),
    )


def _add_spring(kinds: dict[Any, Copies], number: int, spring: TorsionSpring, zeros: bool) -> None:
    """Add a torsion spring to those of its kind."""
    values: list[float] = []
    joint, bodies = spring.joint, [marker.body for marker in spring.joint.markers]
    u, v = across(joint.axis[0])
    given = (joint.axis[0], joint.axis[1], u, v, relative_rotation(*joint.markers).T * u)
    vectors = [sp.ImmutableMatrix(abstract(sp.Matrix(x), values, zeros)) for x in given]
    numbers = [abstract(x, values, zeros) for x in (spring.stiffness, spring.angle, spring.damping)]
    key = (*map(type, bodies), *vectors, *numbers)
    if key not in kinds:
        kinds[key] = Copies(_template(bodies, vectors, numbers))
    kind = kinds[key]
    kind.members.append(number)
    kind.names.append(tuple(n for body in bodies if not isinstance(body, Ground) for n in coordinate_names(body)))
    kind.numbers.append(values)


def _template(bodies: Sequence[Any], vectors: Sequence[Any], numbers: Sequence[Any]) -> _Spring:
    """Return the equations of a spring between two bodies, as ``TorsionSpring`` states them."""
    first, second = (
        body if isinstance(body, Ground) else replace(body, name=name)
        for name, body in zip(("first", "second"), bodies, strict=True)
    )
    (axis, other_axis, u, v, side), (stiffness, angle, damping) = vectors, numbers
    turned = second.turn(side)
    deflection = graph.arc_tangent(dot(turned, first.turn(v)), dot(turned, first.turn(u))) - angle
    rate = dot(other_axis, second.own_turning) - dot(axis, first.own_turning)
    torque = (-stiffness * deflection - damping * rate) * first.turn(axis)
    still = sp.zeros(3, 1)
    moving = [(body, sign) for body, sign in ((first, -1), (second, 1)) if not isinstance(body, Ground)]
    forces = [e for body, sign in moving for e in body.generalised(still, still, sign * torque)]
    return _Spring(stiffness * deflection**2 / 2, forces, [q for body, _ in moving for q in body.coordinates])
