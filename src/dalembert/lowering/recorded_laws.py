# SPDX-License-Identifier: BSD-3-Clause
"""The forces C of nonideal laws recorded on a tape, with the normal forces and reactions on which they depend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dalembert.equation import scalar_arithmetic as sl
from dalembert.lowering.implicit_reactions import RecordedLaws, implicit_reactions
from dalembert.lowering.normal_forces import normal_forces
from dalembert.lowering.recording import NoMachineCodeError, Recorder
from dalembert.lowering.source import Laws

if TYPE_CHECKING:
    from dalembert.lowering.recorded_terms import RecordedTerms


def law_components(terms: RecordedTerms, laws: Laws, ideal_force: sl.Vector, multipliers: sl.Vector) -> list[sl.Vector]:
    """Record C of every law."""
    for symbol, value in zip(terms.source.form.symbols.ideal_force, ideal_force, strict=True):
        terms.read.define(symbol, value)
    for k, value in zip(terms.programs.rows, multipliers, strict=True):
        terms.read.define(laws.multipliers[k], value)
    if laws.implicit:
        _define_reactions(terms, laws, ideal_force, multipliers)
    shares = [[terms.read(e) for e in components] for components in laws.components]
    shares = [
        sl.times(_roots(terms), share) if scaled else share for share, scaled in zip(shares, laws.scaled, strict=True)
    ]
    return _with_actual(terms, laws, shares, multipliers) if laws.actual else shares


def _define_reactions(terms: RecordedTerms, laws: Laws, ideal_force: sl.Vector, multipliers: sl.Vector) -> None:
    """Record the actual reactions on which laws depend, and define their symbols."""
    rows = terms.programs.rows
    missing = [k for k in laws.implicit if k not in rows]
    if missing:
        raise NoMachineCodeError("a law of the reaction of a redundant constraint")
    places = [rows.index(k) for k in laws.implicit]
    unknowns = [laws.reactions[k] for k in laws.implicit]
    known = terms.inputs | dict(zip(terms.source.form.symbols.ideal_force, ideal_force, strict=True))
    known |= {laws.multipliers[k]: value for k, value in zip(rows, multipliers, strict=True)}

    def at(r: sl.Vector) -> RecordedLaws:
        read = Recorder(terms.tape, known | dict(zip(unknowns, r, strict=True)))
        force: sl.Vector = [0] * terms.programs.n
        for components in laws.components:
            force = sl.plus(force, [read(e) for e in components])
        return RecordedLaws(force, [[read(e) for e in column] for column in laws.slopes])

    found, conditions = implicit_reactions(
        terms.tape, [multipliers[i] for i in places], [_response(terms, i) for i in places], at
    )
    # where a condition fails, the reaction may not be unique; the integrator then hands over
    terms.conditions += conditions
    for symbol, value in zip(unknowns, found, strict=True):
        terms.read.define(symbol, value)


def _response(terms: RecordedTerms, place: int) -> sl.Vector:
    """Record the change of a multiplier of the rows in use for a unit force along each coordinate.

    By symmetry it is minus the acceleration by which the row would be met that asks for one.
    """
    # with symmetry one solution gives a whole row of W; unit forces would take n of them
    unit = [1.0 if i == place else 0 for i in range(len(terms.programs.rows))]
    return [sl.sub(0, a) for a in terms.solve([0] * terms.programs.n, unit).acceleration]


def _with_actual(terms: RecordedTerms, laws: Laws, shares: list[sl.Vector], multipliers: sl.Vector) -> list[sl.Vector]:
    """Record C of every law; ``shares`` of laws of the actual reaction are those of a unit normal force.

    See ``equation/reaction.py``.
    """
    zeros: sl.Vector = [0] * len(multipliers)
    others: sl.Vector = [0] * terms.programs.n
    for share in (share for i, share in enumerate(shares) if i not in laws.actual):
        others = sl.plus(others, share)
    # normal forces are affine in the friction: without it, and the change for a unit normal force of each contact
    before = sl.plus(multipliers, terms.solve(others, zeros).multipliers)
    changes = [terms.solve(shares[i], zeros).multipliers for i in laws.actual]
    rows = [[[terms.read(part[k]) for k in terms.programs.rows] for part in parts] for parts in laws.normals]
    offsets = [
        [sl.add(sl.dot(row, before), terms.read(part[-1])) for row, part in zip(own, parts, strict=True)]
        for own, parts in zip(rows, laws.normals, strict=True)
    ]
    coupling = [[[sl.dot(row, change) for row in own] for change in changes] for own in rows]
    sizes, conditions = normal_forces(terms.tape, coupling, offsets, laws.pressing)
    # where a condition fails, several motions or none may exist; the integrator then hands over
    terms.conditions += conditions
    for i, size in zip(laws.actual, sizes, strict=True):
        shares[i] = sl.plus([0] * terms.programs.n, shares[i], size)
    return shares


def _roots(terms: RecordedTerms) -> sl.Vector:
    """Record the diagonal of M^(1/2), for a diagonal M."""
    M = terms.mass_matrix
    if any(not sl.is_number(M[i][j], 0) for i in range(len(M)) for j in range(i)):
        raise NoMachineCodeError("the square root of a mass matrix that is not diagonal")
    return [terms.tape.record("sqrt", entry) for entry in terms.diagonal]
