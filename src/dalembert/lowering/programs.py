# SPDX-License-Identifier: BSD-3-Clause
"""The straight-line programs of one system: acceleration, projection, and the account of a state."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from dalembert.equation import straight_line as sl
from dalembert.equation.tolerance import CONSISTENCY_TOLERANCE
from dalembert.lowering.compiling import flat
from dalembert.lowering.laws import law_terms
from dalembert.lowering.sheet import Sheet
from dalembert.lowering.source import Source
from dalembert.native.elimination import CLEARLY_DEPENDENT, sparse_order
from dalembert.native.tape import Account, Books, Program, Value
from dalembert.violation import LEAST_DISTANCE, START_TOLERANCE

LEVELS = ("position", "velocity", "acceleration")


SYMMETRIC = 1e-10
"""How far two ways to write one entry of M may be apart, relative to the masses that it couples."""


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
        sheet, form = Sheet(self), self.source.form
        nested = (*form.mass_matrix, form.applied_force, *form.constraint_matrix)
        vectors = (*nested, form.constraint_rhs, form.position, form.velocity)
        return Program(sheet.tape, [sheet.read(e) for vector in vectors for e in vector])

    def laws(self) -> Program:
        """What ``law_terms`` holds, entry by entry; ideal forces and multipliers come as further parameters."""
        sheet, form, laws = Sheet(self), self.source.form, self.source.laws
        if laws is not None:
            further = (*form.symbols.ideal_force, *laws.multipliers)
            for i, symbol in enumerate(further, start=len(self.source.parameters)):
                sheet.read.define(symbol, sheet.tape.input("p", i))
        return Program(sheet.tape, [sheet.read(e) for e in flat(law_terms(self.source))])

    def residuals(self) -> Program:
        """The residuals of all constraints at position and velocity level."""
        sheet, everything = Sheet(self), range(self.m)
        levels = ("position", "velocity")
        return Program(sheet.tape, [r for level in levels for r in sheet.residuals(level, everything)])

    def hot(self, iterations: int | None) -> tuple[Program, Program | None, Program | None]:
        """What every step needs: the acceleration, the projection if there are iterations, the agreement of rows."""
        return (
            self.acceleration(),
            self.projection(iterations) if iterations and self.rows else None,
            self.agreement() if len(self.rows) < self.m else None,
        )

    def sound(self) -> Program:
        """One if all terms are finite, M is symmetric and the state satisfies the constraints, zero if not.

        For the last see ``violation.violated``, of which this is a record.
        """
        sheet = Sheet(self)
        record, fine = sheet.tape.record, self._finite_and_symmetric(sheet)
        sizes = [record("fabs", q) for q in sheet.q]
        units = [record("select", record("<", 1.0, size), size, 1.0) for size in sizes]
        for k in range(self.m):
            row = sheet.row(k)
            weights = [record("fabs", entry) for entry in row]
            for level, state in (("position", sheet.q), ("velocity", sheet.qd)):
                (miss,) = sheet.residuals(level, [k])
                rest = record("fabs", sl.sub(miss, sl.dot(row, state)))
                own = sl.add(rest, sl.dot(weights, [record("fabs", x) for x in state]))
                allowed = sl.add(sl.mul(START_TOLERANCE, own), sl.mul(LEAST_DISTANCE, sl.dot(weights, units)))
                fine = record("and", fine, record("<=", record("fabs", miss), allowed))
        return Program(sheet.tape, [record("select", fine, 1.0, 0.0)])

    def _finite_and_symmetric(self, sheet: Sheet) -> Any:
        record, M, form = sheet.tape.record, sheet.mass_matrix, self.source.form
        terms = [*(e for row in M for e in row), *map(sheet.read, form.applied_force)]
        terms += [e for k in range(self.m) for e in (*sheet.row(k), sheet.target(k))]
        terms += [e for level in ("position", "velocity") for e in sheet.residuals(level, range(self.m))]
        nothing: Any = 0
        for term in {term.line: term for term in terms if isinstance(term, Value)}.values():
            # zero, or no number; a product less itself would not be zero where LLVM fuses the two
            nothing = record("fadd", nothing, record("fmul", term, 0.0))
        fine = record("==", nothing, 0.0)
        for i, j in combinations(range(self.n), 2):
            if M[i][j] is not M[j][i]:
                off, allowed = sl.sub(M[i][j], M[j][i]), sl.mul(SYMMETRIC**2, sl.mul(M[i][i], M[j][j]))
                fine = record("and", fine, record("<=", sl.mul(off, off), allowed))
        return fine

    def acceleration(self) -> Program:
        """q̈, and one if the elimination may be trusted here, zero if not."""
        sheet = Sheet(self)
        return Program(sheet.tape, [*sheet.motion().acceleration, sheet.trusted()])

    def agreement(self) -> Program:
        """One if the rows left out follow from those in use, both sides of them, zero if not."""
        sheet = Sheet(self)
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
        sheet = Sheet(self)
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
        sheet = Sheet(self)
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

        sheet = Sheet(self)
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
