# SPDX-License-Identifier: BSD-3-Clause
"""The straight-line programs of one system: acceleration, projection, and the account of a state."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

from dalembert.equation import straight_line as sl
from dalembert.equation.tolerance import CONSISTENCY_TOLERANCE
from dalembert.lowering.recording import NoMachineCodeError, Recorder
from dalembert.lowering.source import Laws, Source
from dalembert.native.elimination import CLEARLY_DEPENDENT, Elimination, eliminate, sparse_order
from dalembert.native.tape import Account, Books, Program, Tape

LEVELS = ("position", "velocity", "acceleration")

CLEARLY_UNIQUE = 0.999
"""Largest |G| in u − G |u| = u₀ at which machine code answers for there being one solution; at one there is not."""


class Programs:
    """Records programs for a choice of constraint rows and, optionally, stabilising rates."""

    def __init__(self, source: Source, rows: Sequence[int], rates: Sequence[tuple[float, float]] | None):
        self.source = source
        self.rates = rates
        self.n, self.m = len(source.form.applied_force), len(source.form.constraint_rhs)
        # low levels first: then a correction at one level uses a leading part of the elimination
        self.rows = tuple(sorted(rows, key=lambda k: (LEVELS.index(source.levels[k]), k)))
        classes = [LEVELS.index(source.levels[k]) for k in self.rows]
        masses = [{i for i, e in enumerate(row) if e != 0} for row in source.form.mass_matrix]
        touched = [{i for i, e in enumerate(source.form.constraint_matrix[k]) if e != 0} for k in self.rows]
        self.order = sparse_order(masses, touched, classes)

    def terms(self) -> Program:
        """M, Q, A, b and the residuals, entry by entry."""
        sheet, form = _Sheet(self), self.source.form
        nested = (*form.mass_matrix, form.applied_force, *form.constraint_matrix)
        vectors = (*nested, form.constraint_rhs, form.position, form.velocity)
        return Program(sheet.tape, [sheet.read(e) for vector in vectors for e in vector])

    def residuals(self) -> Program:
        """The residuals of all constraints at position and velocity level."""
        sheet, everything = _Sheet(self), range(self.m)
        levels = ("position", "velocity")
        return Program(sheet.tape, [r for level in levels for r in sheet.residuals(level, everything)])

    def acceleration(self) -> Program:
        """q̈, and one if the elimination may be trusted here, zero if not."""
        sheet = _Sheet(self)
        return Program(sheet.tape, [*sheet.motion().acceleration, sheet.trusted()])

    def agreement(self) -> Program:
        """One if the rows left out follow from those in use, both sides of them, zero if not."""
        sheet = _Sheet(self)
        acceleration = sheet.motion().acceleration
        record = sheet.tape.record
        agrees: Any = True
        pushes = [sheet.read(e) for e in self.source.form.applied_force]
        driven = sl.dot(pushes, [push / M for push, M in zip(pushes, sheet.diagonal, strict=True)])
        for k in (k for k in range(self.m) if k not in self.rows):
            row = sheet.row(k)
            left = sl.dot(row, sheet.elimination.solve(row, [0] * len(self.rows)).acceleration)
            whole = sl.dot(row, [a / M for a, M in zip(row, sheet.diagonal, strict=True)])
            agrees = record("and", agrees, record("<=", left, sl.mul(CLEARLY_DEPENDENT, whole)))
            terms = sl.times(sheet.row(k), acceleration)
            # forces that hold one another in balance leave rounding of their own size, not of the acceleration's
            scale = sl.add(sheet.absolute(sheet.target(k)), record("sqrt", sl.mul(whole, driven)))
            for term in terms:
                scale = sl.add(scale, sheet.absolute(term))
            miss = sheet.absolute(sl.sub(sl.dot(terms, [1] * self.n), sheet.target(k)))
            agrees = record("and", agrees, record("<=", miss, sl.mul(CONSISTENCY_TOLERANCE, scale)))
        return Program(sheet.tape, [record("select", agrees, 1.0, 0.0)])

    def projection(self, iterations: int) -> Program:
        """The state put back on the constraints, by the shortest way in the mass metric: positions, then velocities.

        The equations are factored once, where the step ended: corrections are so small that it serves for all of them.
        """
        sheet = _Sheet(self)
        elimination, q, qd = sheet.elimination, sheet.q, sheet.qd
        levels = self.source.levels
        at_position = [k for k in self.rows if levels[k] == "position"]
        at_velocity = [k for k in self.rows if levels[k] != "acceleration"]
        at_rest = [0] * self.n
        for _ in range(iterations if at_position else 0):
            off = sheet.at(q, qd).residuals("position", at_position)
            q = sl.minus(q, elimination.solve(at_rest, off, len(at_position)).acceleration)
        nonlinear = any(levels[k] == "velocity" for k in at_velocity)
        for _ in range((iterations if nonlinear else 1) if at_velocity else 0):
            off = sheet.at(q, qd).residuals("velocity", at_velocity)
            qd = sl.minus(qd, elimination.solve(at_rest, off, len(at_velocity)).acceleration)
        return Program(sheet.tape, [*q, *qd])

    def account(self) -> tuple[Program, Account]:
        """Everything that is told of a state, and how long each part of it is."""
        sheet = _Sheet(self)
        motion = sheet.motion()
        everything = range(self.m)
        multipliers, reactions = self._by_number(motion.multipliers), self._by_number(motion.reactions)
        residual = [sl.sub(sl.dot(sheet.row(k), motion.acceleration), sheet.target(k)) for k in everything]
        energy = [] if self.source.energy is None else [sheet.read(self.source.energy)]
        parts = (
            motion.acceleration,
            motion.ideal_force,
            motion.nonideal_force,
            multipliers,
            reactions,
            sheet.residuals("position", everything),
            sheet.residuals("velocity", everything),
            residual,
            energy,
            motion.nature,
            [entry for k in everything for entry in sheet.row(k)] if len(self.rows) < self.m else [],
        )
        return Program(sheet.tape, [x for part in parts for x in part]), Account(*map(len, parts))

    def books(self) -> tuple[Program, Books]:
        """Everything that a ledger is made of at a state, and how long each part of it is.

        The kinetic energy and the energy change with q and t, at a given q̇, at the rate that comes last.
        """
        from dalembert.native.derivatives import along  # whose special functions take long to import

        sheet = _Sheet(self)
        motion = sheet.motion()
        half = [sl.dot(row, sheet.qd) for row in sheet.mass_matrix]
        kinetic = sl.mul(0.5, sl.dot(sheet.qd, half))
        energy = kinetic if self.source.energy is None else sheet.read(self.source.energy)
        rates = {("y", i): rate for i, rate in enumerate(sheet.qd)} | {("t", 0): 1.0}
        parts = (
            [sheet.read(e) for e in self.source.form.applied_force],
            motion.ideal_force,
            self._by_number(motion.multipliers),
            [entry for share in motion.shares for entry in sheet.nonideal(share)],
            [entry for k in range(self.m) for entry in sheet.row(k)],
            [kinetic],
            [energy],
            along(sheet.tape, [energy], rates),
            [sheet.trusted()],
        )
        return Program(sheet.tape, [x for part in parts for x in part]), Books(*map(len, parts))

    def _by_number(self, multipliers: sl.Vector) -> list[Any]:
        """Multipliers of the rows in use, in the order of all constraints, zero for the others."""
        found: list[Any] = [0.0] * self.m
        for k, value in zip(self.rows, multipliers, strict=True):
            found[k] = value
        return found


class _Motion(NamedTuple):
    acceleration: sl.Vector
    ideal_force: sl.Vector
    nonideal_force: sl.Vector
    multipliers: sl.Vector
    reactions: sl.Vector
    nature: sl.Vector
    shares: list[sl.Vector]  # of the laws in C, one by one


class _Sheet:
    """The terms of a system on a tape, at the state given from outside or at one computed from it."""

    def __init__(self, programs: Programs, tape: Tape | None = None, q: Any = None, qd: Any = None):
        self.programs, self.source = programs, programs.source
        self.tape = tape or Tape()
        n = programs.n
        self.q = q if q is not None else [self.tape.input("y", i) for i in range(n)]
        self.qd = qd if qd is not None else [self.tape.input("y", n + i) for i in range(n)]
        symbols = self.source.form.symbols
        inputs = dict(zip((*symbols.q, *symbols.qd), (*self.q, *self.qd), strict=True))
        inputs[symbols.time] = self.tape.input("t", 0)
        inputs |= {symbol: self.tape.input("p", i) for i, symbol in enumerate(self.source.parameters)}
        self.read = Recorder(self.tape, inputs)
        self.conditions: list[tuple[Any, Any]] = []  # pairs of which the first must be the larger one

    def at(self, q: Any, qd: Any) -> _Sheet:
        return _Sheet(self.programs, self.tape, q, qd)

    def row(self, k: int) -> sl.Vector:
        return [self.read(e) for e in self.source.form.constraint_matrix[k]]

    def target(self, k: int) -> Any:
        return self.read(self.source.form.constraint_rhs[k])

    def residuals(self, level: str, rows: Sequence[int]) -> list[Any]:
        expressions = getattr(self.source.form, level)
        return [self.read(expressions[k]) for k in rows]

    def absolute(self, x: Any) -> Any:
        return self.tape.record("fabs", x)

    @cached_property
    def mass_matrix(self) -> sl.Matrix:
        return [[self.read(e) for e in row] for row in self.source.form.mass_matrix]

    @cached_property
    def elimination(self) -> Elimination:
        return eliminate(self.mass_matrix, [self.row(k) for k in self.programs.rows], self.programs.order)

    @property
    def diagonal(self) -> sl.Vector:
        return [row[i] for i, row in enumerate(self.mass_matrix)]

    def trusted(self) -> Any:
        fine: Any = True
        for larger, smaller in (*self.elimination.margins(), *self.conditions):
            fine = self.tape.record("and", fine, self.tape.record("<", smaller, larger))
        return self.tape.record("select", fine, 1.0, 0.0)

    def motion(self) -> _Motion:
        rows = [self.row(k) for k in self.programs.rows]
        ideal = self.elimination.solve([self.read(e) for e in self.source.form.applied_force], self._targets())
        ideal_force = _push(rows, ideal.multipliers, self.programs.n)
        if self.source.laws is None:
            nothing = [0.0] * self.programs.n
            return _Motion(ideal.acceleration, ideal_force, nothing, ideal.multipliers, ideal.multipliers, nothing, [])
        shares = self._law(self.source.laws, ideal_force, ideal.multipliers)
        C: sl.Vector = [0] * self.programs.n
        for share in shares:
            C = sl.plus(C, share)
        working = self.elimination.solve(C, [0] * len(rows))
        return _Motion(
            sl.plus(ideal.acceleration, working.acceleration),
            ideal_force,
            sl.plus(C, _push(rows, working.multipliers, self.programs.n)),
            ideal.multipliers,
            sl.plus(ideal.multipliers, working.multipliers),
            C,
            shares,
        )

    def nonideal(self, C: sl.Vector) -> sl.Vector:
        """The nonideal constraint force of a law: C, and what the constraints add to keep to themselves."""
        rows = [self.row(k) for k in self.programs.rows]
        return sl.plus(C, _push(rows, self.elimination.solve(C, [0] * len(rows)).multipliers, self.programs.n))

    def _targets(self) -> list[Any]:
        rows, rates = self.programs.rows, self.programs.rates
        targets = [self.target(k) for k in rows]
        if rates is None:
            return targets
        position, velocity = self.residuals("position", rows), self.residuals("velocity", rows)
        return [
            sl.sub(b, sl.add(sl.mul(rates[k][0], v), sl.mul(rates[k][1], x)))
            for k, b, v, x in zip(rows, targets, velocity, position, strict=True)
        ]

    def _law(self, laws: Laws, ideal_force: sl.Vector, multipliers: sl.Vector) -> list[sl.Vector]:
        """C of every law."""
        for symbol, value in zip(self.source.form.symbols.ideal_force, ideal_force, strict=True):
            self.read.define(symbol, value)
        for k, value in zip(self.programs.rows, multipliers, strict=True):
            self.read.define(laws.multipliers[k], value)
        shares = [[self.read(e) for e in components] for components in laws.components]
        shares = [
            sl.times(self._roots(), share) if scaled else share
            for share, scaled in zip(shares, laws.scaled, strict=True)
        ]
        if laws.actual:
            (law, *_) = laws.actual
            shares[law] = self._actual(laws, [s for i, s in enumerate(shares) if i != law], multipliers)
        return shares

    def _actual(self, laws: Laws, shares: list[sl.Vector], multipliers: sl.Vector) -> sl.Vector:
        """C of friction by the actual reaction: u − G |u| = u₀ for its normal force u (``equation/reaction.py``)."""
        (law, *further), (factors, *_) = laws.actual, laws.normals
        others: sl.Vector = [0] * self.programs.n
        for share in shares:
            others = sl.plus(others, share)
        if further:
            raise NoMachineCodeError("friction by the actual reaction of several contacts")
        unit = [self.read(e) for e in laws.components[law]]
        normal = [self.read(factors[k]) for k in self.programs.rows]
        nothing = [0] * len(multipliers)
        before = sl.plus(multipliers, self.elimination.solve(others, nothing).multipliers)
        offset = sl.dot(normal, before)
        G = sl.dot(normal, self.elimination.solve(unit, nothing).multipliers)
        self.conditions.append((CLEARLY_UNIQUE, self.absolute(G)))
        pressed = self.tape.record("<=", 0.0, offset)
        size = self.tape.record("select", pressed, offset / sl.sub(1, G), sl.sub(0, offset) / sl.add(1, G))
        return sl.plus([0] * self.programs.n, unit, size)

    def _roots(self) -> sl.Vector:
        """M^(1/2), by its diagonal."""
        M = self.mass_matrix
        if any(not sl.is_number(M[i][j], 0) for i in range(len(M)) for j in range(i)):
            raise NoMachineCodeError("the square root of a mass matrix that is not diagonal")
        return [self.tape.record("sqrt", entry) for entry in self.diagonal]


def _push(rows: sl.Matrix, multipliers: sl.Vector, n: int) -> sl.Vector:
    """Aᵀλ."""
    total: sl.Vector = [0] * n
    for row, factor in zip(rows, multipliers, strict=True):
        total = sl.plus(total, row, factor)
    return total
