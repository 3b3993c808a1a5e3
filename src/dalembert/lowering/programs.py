# SPDX-License-Identifier: BSD-3-Clause
"""The straight-line programs of one system: acceleration, projection, and the account of a state."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

from dalembert.equation import scalar_arithmetic as sl
from dalembert.levels import LEVELS, STATE_LEVELS
from dalembert.lowering.jax_functions import flat
from dalembert.lowering.law_functions import law_terms
from dalembert.lowering.recorded_terms import RecordedTerms
from dalembert.lowering.source import Source
from dalembert.lowering.time_functions import functions_of
from dalembert.model.standard_form import gradient, time_derivative
from dalembert.native.elimination import sparse_order
from dalembert.native.tape import EnergyTerms, OutputLengths, Program, Value
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
        recorded, form = RecordedTerms(self), self.source.form
        nested = (*form.mass_matrix, form.applied_force, *form.constraint_matrix)
        vectors = (*nested, form.constraint_rhs, form.position, form.velocity)
        return Program(recorded.tape, [recorded.read(e) for vector in vectors for e in vector])

    def laws(self) -> Program:
        """What ``law_terms`` holds, entry by entry; ideal forces and multipliers come as further parameters."""
        recorded, form, laws = RecordedTerms(self), self.source.form, self.source.laws
        if laws is not None:
            further = (*form.symbols.ideal_force, *laws.multipliers)
            for i, symbol in enumerate(further, start=len(self.source.parameters)):
                recorded.read.define(symbol, recorded.tape.input("p", i))
        return Program(recorded.tape, [recorded.read(e) for e in flat(law_terms(self.source))])

    def residuals(self) -> Program:
        """The residuals of all constraints at position and velocity level."""
        recorded, everything = RecordedTerms(self), range(self.m)
        levels = STATE_LEVELS
        return Program(recorded.tape, [r for level in levels for r in recorded.residuals(level, everything)])

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
        recorded = RecordedTerms(self)
        record, fine, exact = recorded.tape.record, self._finite_and_symmetric(recorded), True
        for miss in self._misses(recorded, range(self.m)):
            fine = record("and", fine, record("<=", miss.size, miss.allowed))
            exact = record("and", exact, record("<=", miss.size, miss.rounding))
        flags = [record("select", flag, 1.0, 0.0) for flag in (fine, exact)]
        return Program(recorded.tape, [*flags, *self._state_scales(recorded)])

    def _state_scales(self, recorded: RecordedTerms) -> list[Any]:
        """A record of ``violation.state_scales``."""
        record, larger = recorded.tape.record, recorded.larger
        q, qd = ([recorded.absolute(x) for x in state] for state in (recorded.q, recorded.qd))
        weights = [record("sqrt", recorded.absolute(entry)) for entry in recorded.diagonal]
        forces = [recorded.absolute(recorded.read(e)) for e in self.source.form.applied_force]
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
                bound = own if sl.is_number(weight, 0) else recorded.smaller(S / weight, own)
                found.append(record("select", known, 1.0 if sl.is_number(weight, 0) else bound, 1.0))
        return found

    def _misses(self, recorded: RecordedTerms, rows: Sequence[int]) -> list[_Miss]:
        """Residuals of constraints at both levels, and the largest that are allowed."""
        of_q, of_qd = self._scales(recorded, recorded.q, 1.0), self._scales(recorded, recorded.qd, 0.0)
        unit = [recorded.larger(scale, recorded.absolute(x)) for scale, x in zip(of_q, recorded.q, strict=True)]
        of_level = {"position": unit, "velocity": [recorded.larger(*pair) for pair in zip(unit, of_qd, strict=True)]}
        found: list[_Miss] = []
        for k in rows:
            row = recorded.row(k)
            weights = [recorded.absolute(entry) for entry in row]
            length = sl.dot(weights, [1] * self.n)
            for level, state in (("position", recorded.q), ("velocity", recorded.qd)):
                (miss,) = recorded.residuals(level, [k])
                rest = recorded.absolute(sl.sub(miss, sl.dot(row, state)))
                own = sl.add(rest, sl.dot(weights, [recorded.absolute(x) for x in state]))
                least = sl.dot(weights, of_level[level])
                allowed = sl.add(sl.mul(START_TOLERANCE, own), sl.mul(LEAST_DISTANCE, least))
                found.append(_Miss(level, recorded.absolute(miss), length, allowed, sl.mul(EXACT, sl.add(own, least))))
        return found

    def _scales(self, recorded: RecordedTerms, x: sl.Vector, otherwise: float) -> list[Any]:
        """A record of ``violation.scales``."""
        record = recorded.tape.record
        sizes = [recorded.absolute(entry) for entry in x]
        weights = [record("sqrt", recorded.absolute(entry)) for entry in recorded.diagonal]
        largest: Any = 0.0
        most: Any = 0.0
        for weight, size in zip(weights, sizes, strict=True):
            largest, most = recorded.larger(largest, sl.mul(weight, size)), recorded.larger(most, size)
        known = record("<", ROUNDING, most)
        found: list[Any] = []
        for weight in weights:
            smaller = record("<", largest, weight)  # false where there is no mass
            own = record("select", smaller, largest / weight, 1.0) if not sl.is_number(weight, 0) else 1.0
            found.append(record("select", known, own, otherwise))
        return found

    def _finite_and_symmetric(self, recorded: RecordedTerms) -> Any:
        record, M, form = recorded.tape.record, recorded.mass_matrix, self.source.form
        terms = [*(e for row in M for e in row), *map(recorded.read, form.applied_force)]
        terms += [e for k in range(self.m) for e in (*recorded.row(k), recorded.target(k))]
        terms += [e for level in STATE_LEVELS for e in recorded.residuals(level, range(self.m))]
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
        recorded = RecordedTerms(self)
        residuals = [r for level in STATE_LEVELS for r in recorded.residuals(level, range(self.m))]
        targets = [recorded.target(k) for k in range(self.m)]  # of rows that are left out as well
        program = Program(recorded.tape, [*recorded.motion().acceleration, *targets, *residuals])
        found, steady = functions_of("t", program)
        return None if steady else Program(recorded.tape, found)

    def acceleration(self) -> Program:
        """q̈, and one if the elimination may be trusted here, zero if not."""
        recorded = RecordedTerms(self)
        return Program(recorded.tape, [*recorded.motion().acceleration, recorded.well_conditioned()])

    def sliding(self) -> Program | None:
        """For each contact that can stick its sliding velocity, and how that changes with time; None without any."""
        if not self.source.sliding:
            return None
        recorded, symbols = RecordedTerms(self), self.source.form.symbols
        acceleration = recorded.motion().acceleration
        outputs: list[Any] = []
        for velocity in self.source.sliding:
            outputs += map(recorded.read, velocity)
            for v in velocity:
                slopes = [recorded.read(slope) for slope in gradient(v, symbols.qd)]
                outputs.append(sl.add(sl.dot(slopes, acceleration), recorded.read(time_derivative(v, symbols))))
        return Program(recorded.tape, outputs)

    def agreement(self) -> Program:
        """One if the rows left out follow from those in use, both sides of them, and hold as well; zero if not."""
        recorded = RecordedTerms(self)
        acceleration = recorded.motion().acceleration
        record = recorded.tape.record
        agrees: Any = True
        pushes = [recorded.read(e) for e in self.source.form.applied_force]
        driven = sl.dot(pushes, [push / M for push, M in zip(pushes, recorded.diagonal, strict=True)])
        for k in (k for k in range(self.m) if k not in self.rows):
            row = recorded.row(k)
            left = sl.dot(row, recorded.elimination.solve(row, [0] * len(self.rows)).acceleration)
            whole = sl.dot(row, [a / M for a, M in zip(row, recorded.diagonal, strict=True)])
            agrees = record("and", agrees, record("<=", left, sl.mul(RANK_TOLERANCE, whole)))
            terms = sl.times(recorded.row(k), acceleration)
            # forces that hold one another in balance leave rounding of their own size, not of the acceleration's
            scale = sl.add(recorded.absolute(recorded.target(k)), record("sqrt", sl.mul(whole, driven)))
            for term in terms:
                scale = sl.add(scale, recorded.absolute(term))
            miss = recorded.absolute(sl.sub(sl.dot(terms, [1] * self.n), recorded.target(k)))
            agrees = record("and", agrees, record("<=", miss, sl.mul(CONSISTENCY_TOLERANCE, scale)))
        used, others = (
            self._misses(recorded, self.rows),
            self._misses(recorded, [k for k in range(self.m) if k not in self.rows]),
        )
        for miss in others:  # as far off as the rows in use, which may drift, but no farther
            drift: Any = 0.0
            for own in used:
                if own.level == miss.level:
                    drift = sl.add(drift, own.size / own.length)
            allowed = sl.add(miss.allowed, sl.mul(sl.mul(DRIFTED, miss.length), drift))
            agrees = record("and", agrees, record("<=", miss.size, allowed))
        return Program(recorded.tape, [record("select", agrees, 1.0, 0.0)])

    def projection(self, iterations: int) -> Program:
        """The state put back on the constraints, by the shortest way in the mass metric: positions, then velocities.

        The equations are factored once, where the step ended: corrections are so small that it serves for all of them.
        """
        recorded = RecordedTerms(self)
        elimination, q, qd = recorded.elimination, recorded.q, recorded.qd
        levels = self.source.levels
        at_position = [k for k in self.rows if levels[k] == "position"]
        at_velocity = [k for k in self.rows if levels[k] != "acceleration"]
        at_rest = [0] * self.n
        for _ in range(iterations if at_position else 0):
            off = recorded.at(q, qd).residuals("position", at_position)
            q = sl.minus(q, elimination.solve(at_rest, off, len(at_position)).acceleration)
        nonlinear = any(levels[k] == "velocity" for k in at_velocity)
        for _ in range((iterations if nonlinear else 1) if at_velocity else 0):
            off = recorded.at(q, qd).residuals("velocity", at_velocity)
            qd = sl.minus(qd, elimination.solve(at_rest, off, len(at_velocity)).acceleration)
        return Program(recorded.tape, [*q, *qd])

    def outputs(self) -> tuple[Program, OutputLengths]:
        """Everything that is told of a state, and how long each part of it is."""
        recorded = RecordedTerms(self)
        motion = recorded.motion()
        everything = range(self.m)
        multipliers, reactions = self._by_number(motion.multipliers), self._by_number(motion.reactions)
        residual = [sl.sub(sl.dot(recorded.row(k), motion.acceleration), recorded.target(k)) for k in everything]
        energy = [] if self.source.energy is None else [recorded.read(self.source.energy)]
        parts = (
            motion.acceleration,
            motion.ideal_force,
            motion.nonideal_force,
            multipliers,
            reactions,
            recorded.residuals("position", everything),
            recorded.residuals("velocity", everything),
            residual,
            energy,
            motion.nature,
            [entry for k in everything for entry in recorded.row(k)] if len(self.rows) < self.m else [],
        )
        return Program(recorded.tape, [x for part in parts for x in part]), OutputLengths(*map(len, parts))

    def energy_terms(self) -> tuple[Program, EnergyTerms]:
        """Everything that a ledger is made of at a state, and how long each part of it is.

        The kinetic energy and the energy change with q and t, at a given q̇, at the rate that comes last.
        """
        from dalembert.native.derivatives import along  # whose special functions take long to import

        recorded = RecordedTerms(self)
        motion = recorded.motion()
        half = [sl.dot(row, recorded.qd) for row in recorded.mass_matrix]
        kinetic = sl.mul(0.5, sl.dot(recorded.qd, half))
        energy = kinetic if self.source.energy is None else recorded.read(self.source.energy)
        rates = {("y", i): rate for i, rate in enumerate(recorded.qd)} | {("t", 0): 1.0}
        parts = (
            [recorded.read(e) for e in self.source.form.applied_force],
            motion.ideal_force,
            motion.nonideal_force,
            self._by_number(motion.multipliers),
            self._by_number(motion.reactions),
            [entry for share in motion.shares for entry in share],
            [entry for share in motion.shares for entry in recorded.nonideal(share)],
            [entry for k in range(self.m) for entry in recorded.row(k)],
            [kinetic],
            [energy],
            along(recorded.tape, [energy], rates),
            [recorded.well_conditioned()],
        )
        return Program(recorded.tape, [x for part in parts for x in part]), EnergyTerms(*map(len, parts))

    def _by_number(self, multipliers: sl.Vector) -> list[Any]:
        """Multipliers of the rows in use, in the order of all constraints, zero for the others."""
        found: list[Any] = [0.0] * self.m
        for k, value in zip(self.rows, multipliers, strict=True):
            found[k] = value
        return found
