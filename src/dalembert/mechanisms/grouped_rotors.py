# SPDX-License-Identifier: BSD-3-Clause
"""The rotors of a large mechanism in groups: those on hinges in space are derived once, others one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import sympy as sp

from dalembert.mechanisms.frames import Ground
from dalembert.mechanisms.joint_inertia import Rotor
from dalembert.mechanisms.joints import Revolute
from dalembert.mechanisms.part_copies import Copies, abstract, by_kind, coordinate_names
from dalembert.mechanisms.vectors import dot
from dalembert.model.differentiation import gradient
from dalembert.model.similar_terms import similar_groups
from dalembert.model.symbol_arrays import Substitutions
from dalembert.model.symbols import functions_of_time, t
from dalembert.model.term_groups import AppliedForce, LagrangianTerm, RateInertia


class GroupedRotors(NamedTuple):
    """The inertia of rotors in groups, their forces, and their kinetic energies."""

    rates: tuple[RateInertia, ...]
    forces: tuple[AppliedForce, ...]
    energies: tuple[LagrangianTerm, ...]


class _Kind(NamedTuple):
    """Rate, inertia and damping of rotors of one kind, in placeholders."""

    rate: Any
    inertia: Any
    damping: Any
    copies: Substitutions


def grouped_rotors(mechanism: Any) -> GroupedRotors:
    """Return the rotors of a mechanism in groups."""
    rotors = [force for force in mechanism.forces if isinstance(force, Rotor)]
    hinges = [r for r in rotors if type(r.joint) is Revolute and r.joint.dimension == 3]
    others = [(rate, r.inertia, r.damping) for r in rotors if r not in hinges for rate in r.rates]
    light = [(rate, damping) for rate, inertia, damping in others if inertia == 0]
    kinds = [
        _Kind(hinge.rate, hinge.inertia, hinge.damping, copies.substitutions(hinge.coordinates))
        for copies in by_kind(enumerate(hinges), _add_hinge)
        for hinge in (copies.template,)
    ]
    heavy = [own for own in others if own[1] != 0]
    kinds += [_Kind(rate, inertia, c, copies) for (rate, inertia, c), copies in similar_groups(heavy)]
    kinds += [_Kind(rate, sp.S.Zero, damping, copies) for (rate, damping), copies in similar_groups(light)]
    with_inertia = [kind for kind in kinds if kind.inertia != 0]
    rates = tuple(RateInertia(kind.rate, kind.inertia, kind.copies) for kind in with_inertia)
    return GroupedRotors(
        rates,
        tuple(force for kind in kinds if (force := _forces(kind)).components),
        tuple(LagrangianTerm(own.kinetic, own.substitutions) for own in rates),
    )


class _Hinge(NamedTuple):
    """A rotor on a hinge in space with symbols for its numbers, and the coordinates of its bodies."""

    rate: Any
    inertia: Any
    damping: Any
    coordinates: Sequence[Any]


def _add_hinge(kinds: dict[Any, Copies], number: int, rotor: Rotor, zeros: bool) -> None:
    """Add a rotor on a hinge in space to those of its kind."""
    values: list[float] = []
    joint, bodies = rotor.joint, [marker.body for marker in rotor.joint.markers]
    axes = [abstract(axis, values, zeros) for axis in joint.axis]
    # an inertia of zero belongs to the kind: it has no term in the mass matrix
    inertia, damping = abstract(rotor.inertia, values, True), abstract(rotor.damping, values, zeros)
    key = (*map(type, bodies), *map(sp.ImmutableMatrix, axes), inertia, damping)
    if key not in kinds:
        first, second = (
            body if isinstance(body, Ground) else replace(body, name=name)
            for name, body in zip(("first", "second"), bodies, strict=True)
        )
        rate = dot(axes[1], second.own_turning) - dot(axes[0], first.own_turning)
        q = [x for body in (first, second) if not isinstance(body, Ground) for x in body.coordinates]
        kinds[key] = Copies(_Hinge(rate, inertia, damping, q))
    kind = kinds[key]
    kind.members.append(number)
    kind.names.append(tuple(n for body in bodies if not isinstance(body, Ground) for n in coordinate_names(body)))
    kind.numbers.append(values)


def _forces(kind: _Kind) -> AppliedForce:
    """Return −w a ȧᵀq̇ − c a r, the forces by the change of direction of a rate r = aᵀq̇ and by its damping c."""
    own = sorted(functions_of_time(kind.rate), key=str)
    speeds = [q.diff(t) for q in own]
    drift = sp.Add(*(slope * v for slope, v in zip(gradient(kind.rate, own), speeds, strict=True)))
    along = -kind.inertia * drift - kind.damping * kind.rate
    slopes = zip(own, gradient(kind.rate, speeds), strict=True)
    return AppliedForce({q: a * along for q, a in slopes if a * along != 0}, kind.copies)
