# SPDX-License-Identifier: BSD-3-Clause
"""The straight-line programs of one system: acceleration, projection, and the account of a state."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

from dalembert.equation import straight_line as sl
from dalembert.levels import LEVELS, STATE_LEVELS
from dalembert.lowering.compiling import flat
from dalembert.lowering.laws import law_terms
from dalembert.lowering.sheet import Sheet
from dalembert.lowering.source import Source
from dalembert.lowering.time_functions import functions_of
from dalembert.model.standard_form import gradient, time_derivative
from dalembert.native.elimination import sparse_order
from dalembert.native.tape import Account, Books, Program, Value
from dalembert.tolerances import CONSISTENCY_TOLERANCE, EXACT, LEAST_DISTANCE, RANK_TOLERANCE, ROUNDING, START_TOLERANCE
from dalembert.violation import DRIFTED

SYMMETRIC = 1e-10
"""How far two ways to write one entry of M may be apart, relative to the masses that it couples."""


class _Miss(NamedTuple):
    """The residual of a constraint at a level, the length of its gradient, what is allowed, and what rounding makes."""

    level: str
    size: Any
    length: Any
    allowed: Any
    rounding: Any


class Programs:
    """Records programs for a choice of constraint rows and, optionally, stabilising rates.

    With ``refined`` the solution of the equations is improved once: see ``elimination.needs_refinement``.
    """

    def __init__(
        self,
        source: Source,
        rows: Sequence[int],
        rates: Sequence[tuple[float, float]] | None,
        *,
        refined: bool = False,
    ):
        self.refined = refined
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
        levels = STATE_LEVELS
        return Program(sheet.tape, [r for level in levels for r in sheet.residuals(level, everything)])

    def hot(self, iterations: int | None) -> tuple[Program, Program | None, Program | None]:
        """What every step needs: the acceleration, the projection if there are iterations, the agreement of rows."""
        # constraints must agree as they are stated: stabilising terms differ by level
        stated = Programs(self.source, self.rows, None, refined=self.refined)
        return (
            self.acceleration(),
            self.projection(iterations) if iterations and self.rows else None,
            stated.agreement() if len(self.rows) < self.m else None,
        )

    def start(self) -> Program:
        """Whether a motion may start at a state, whether it satisfies the constraints exactly, and its scales (2n).

        It may if all terms are finite, M is symmetric and the constraints are not violated: this is a record of
        ``violation.violated`` and ``violation.state_scales``.
        """
        sheet = Sheet(self)
        record, fine, exact = sheet.tape.record, self._finite_and_symmetric(sheet), True
        for miss in self._misses(sheet, range(self.m)):
            fine = record("and", fine, record("<=", miss.size, miss.allowed))
            exact = record("and", exact, record("<=", miss.size, miss.rounding))
        flags = [record("select", flag, 1.0, 0.0) for flag in (fine, exact)]
        return Program(sheet.tape, [*flags, *self._state_scales(sheet)])

    def _state_scales(self, sheet: Sheet) -> list[Any]:
        """A record of ``violation.state_scales``."""
        record, larger = sheet.tape.record, sheet.larger
        q, qd = ([sheet.absolute(x) for x in state] for state in (sheet.q, sheet.qd))
        weights = [record("sqrt", sheet.absolute(entry)) for entry in sheet.diagonal]
        forces = [sheet.absolute(sheet.read(e)) for e in self.source.form.applied_force]
        L = rate = pull = most = 0.0
        for weight, x, v, force in zip(weights, q, qd, forces, strict=True):
            L, rate, most = larger(L, sl.mul(weight, x)), larger(rate, sl.mul(weight, v)), larger(most, x)
            pull = pull if sl.is_number(weight, 0) else larger(pull, force / weight)
        known = record("<", ROUNDING, most)
        V = larger(rate, larger(record("sqrt", sl.mul(L, pull)), L))
        ratio = record("select", known, V, 1.0) / record("select", known, L, 1.0)
        own_q = [larger(1.0, x) for x in q]
        own_qd = [larger(larger(1.0, v), sl.mul(own, ratio)) for v, own in zip(qd, own_q, strict=True)]
        found: list[Any] = []
        for S, sizes in ((L, own_q), (V, own_qd)):
            for weight, own in zip(weights, sizes, strict=True):
                bound = own if sl.is_number(weight, 0) else sheet.smaller(S / weight, own)
                found.append(record("select", known, 1.0 if sl.is_number(weight, 0) else bound, 1.0))
        return found

    def _misses(self, sheet: Sheet, rows: Sequence[int]) -> list[_Miss]:
        """Residuals of constraints at both levels, and the largest that are allowed."""
        of_q, of_qd = self._scales(sheet, sheet.q, 1.0), self._scales(sheet, sheet.qd, 0.0)
        unit = [sheet.larger(scale, sheet.absolute(x)) for scale, x in zip(of_q, sheet.q, strict=True)]
        of_level = {"position": unit, "velocity": [sheet.larger(*pair) for pair in zip(unit, of_qd, strict=True)]}
        found: list[_Miss] = []
        for k in rows:
            row = sheet.row(k)
            weights = [sheet.absolute(entry) for entry in row]
            length = sl.dot(weights, [1] * self.n)
            for level, state in (("position", sheet.q), ("velocity", sheet.qd)):
                (miss,) = sheet.residuals(level, [k])
                rest = sheet.absolute(sl.sub(miss, sl.dot(row, state)))
                own = sl.add(rest, sl.dot(weights, [sheet.absolute(x) for x in state]))
                least = sl.dot(weights, of_level[level])
                allowed = sl.add(sl.mul(START_TOLERANCE, own), sl.mul(LEAST_DISTANCE, least))
                found.append(_Miss(level, sheet.absolute(miss), length, allowed, sl.mul(EXACT, sl.add(own, least))))
        return found

    def _scales(self, sheet: Sheet, x: sl.Vector, otherwise: float) -> list[Any]:
        """A record of ``violation.scales``."""
        record = sheet.tape.record
        sizes = [sheet.absolute(entry) for entry in x]
        weights = [record("sqrt", sheet.absolute(entry)) for entry in sheet.diagonal]
        largest: Any = 0.0
        most: Any = 0.0
        for weight, size in zip(weights, sizes, strict=True):
            largest, most = sheet.larger(largest, sl.mul(weight, size)), sheet.larger(most, size)
        known = record("<", ROUNDING, most)
        found: list[Any] = []
        for weight in weights:
            smaller = record("<", largest, weight)  # false where there is no mass
            own = record("select", smaller, largest / weight, 1.0) if not sl.is_number(weight, 0) else 1.0
            found.append(record("select", known, own, otherwise))
        return found

    def _finite_and_symmetric(self, sheet: Sheet) -> Any:
        record, M, form = sheet.tape.record, sheet.mass_matrix, self.source.form
        terms = [*(e for row in M for e in row), *map(sheet.read, form.applied_force)]
        terms += [e for k in range(self.m) for e in (*sheet.row(k), sheet.target(k))]
        terms += [e for level in STATE_LEVELS for e in sheet.residuals(level, range(self.m))]
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

    def time_functions(self) -> Program | None:
        """Everything in the equations that depends on time alone, or None where it is known to have no isolated event.

        Sums and products of sines and cosines have none; what jumps or wakes up after a while is made of other things.
        """
        sheet = Sheet(self)
        residuals = [r for level in STATE_LEVELS for r in sheet.residuals(level, range(self.m))]
        targets = [sheet.target(k) for k in range(self.m)]  # of rows that are left out as well
        program = Program(sheet.tape, [*sheet.motion().acceleration, *targets, *residuals])
        found, steady = functions_of("t", program)
        return None if steady else Program(sheet.tape, found)

    def acceleration(self) -> Program:
        """q̈, and one if the elimination may be trusted here, zero if not."""
        sheet = Sheet(self)
        return Program(sheet.tape, [*sheet.motion().acceleration, sheet.trusted()])

    def sliding(self) -> Program | None:
        """For each contact that can stick its sliding velocity, and how that changes with time; None without any."""
        if not self.source.sliding:
            return None
        sheet, symbols = Sheet(self), self.source.form.symbols
        acceleration = sheet.motion().acceleration
        outputs: list[Any] = []
        for velocity in self.source.sliding:
            outputs += map(sheet.read, velocity)
            for v in velocity:
                slopes = [sheet.read(slope) for slope in gradient(v, symbols.qd)]
                outputs.append(sl.add(sl.dot(slopes, acceleration), sheet.read(time_derivative(v, symbols))))
        return Program(sheet.tape, outputs)

    def agreement(self) -> Program:
        """One if the rows left out follow from those in use, both sides of them, and hold as well; zero if not."""
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
            agrees = record("and", agrees, record("<=", left, sl.mul(RANK_TOLERANCE, whole)))
            terms = sl.times(sheet.row(k), acceleration)
            # forces that hold one another in balance leave rounding of their own size, not of the acceleration's
            scale = sl.add(sheet.absolute(sheet.target(k)), record("sqrt", sl.mul(whole, driven)))
            for term in terms:
                scale = sl.add(scale, sheet.absolute(term))
            miss = sheet.absolute(sl.sub(sl.dot(terms, [1] * self.n), sheet.target(k)))
            agrees = record("and", agrees, record("<=", miss, sl.mul(CONSISTENCY_TOLERANCE, scale)))
        used, others = (
            self._misses(sheet, self.rows),
            self._misses(sheet, [k for k in range(self.m) if k not in self.rows]),
        )
        for miss in others:  # as far off as the rows in use, which may drift, but no farther
            drift: Any = 0.0
            for own in used:
                if own.level == miss.level:
                    drift = sl.add(drift, own.size / own.length)
            allowed = sl.add(miss.allowed, sl.mul(sl.mul(DRIFTED, miss.length), drift))
            agrees = record("and", agrees, record("<=", miss.size, allowed))
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
            motion.nonideal_force,
            self._by_number(motion.multipliers),
            self._by_number(motion.reactions),
            [entry for share in motion.shares for entry in share],
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
