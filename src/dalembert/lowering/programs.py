# SPDX-License-Identifier: BSD-3-Clause
"""The straight-line programs of one system: terms, acceleration, projection, checks and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from dalembert.common.levels import LEVELS, STATE_LEVELS
from dalembert.equation import scalar_arithmetic as sl
from dalembert.lowering.friction_resolution import friction_resolution
from dalembert.lowering.input_sources import ESTIMATED_BOUND
from dalembert.lowering.jax_functions import flat
from dalembert.lowering.law_functions import law_terms
from dalembert.lowering.recorded_control import RecordedControl
from dalembert.lowering.recorded_integrals import restored, rows_of_state, values_and_rates
from dalembert.lowering.recorded_terms import RecordedTerms
from dalembert.lowering.source import Source
from dalembert.lowering.state_checks import agreement, finite_and_symmetric, resolved, sized_residuals, state_scales
from dalembert.model.standard_form import gradient, time_derivative
from dalembert.native.constant_factors import with_constants_combined
from dalembert.native.derivatives import along
from dalembert.native.elimination import Elimination, sparse_order
from dalembert.native.partitioned_elimination import PartitionedElimination
from dalembert.native.tape import EnergyTerms, HotPrograms, OutputLengths, Program, operations

CLEARLY_FEWER = 0.8
"""Share of the operations below which another elimination is used: near one the compiled programs take equal time."""


class Programs:
    """Records programs for a selection of constraint rows and, optionally, stabilising rates.

    With ``refined`` the solution of the equations is refined once: see ``elimination.needs_refinement``. With
    ``tolerant`` the rows may be dependent on one another.
    """

    def __init__(
        self,
        source: Source,
        rows: Sequence[int],
        rates: Sequence[tuple[float, float]] | None,
        *,
        refined: bool = False,
        tolerant: bool = False,
    ):
        self.refined, self.tolerant = refined, tolerant
        self.source = source
        self.rates = rates
        self.n, self.m = len(source.form.applied_force), len(source.form.constraint_rhs)
        # low levels first, so that a correction at one level uses a leading part of the elimination
        self.rows = tuple(sorted(rows, key=lambda k: (LEVELS.index(source.levels[k]), k)))
        levels = [LEVELS.index(source.levels[k]) for k in self.rows]
        self.classes = [level - levels[0] for level in levels]
        masses = [{i for i, e in enumerate(row) if e != 0} for row in source.form.mass_matrix]
        touched = [{i for i, e in enumerate(source.form.constraint_matrix[k]) if e != 0} for k in self.rows]
        self.order = sparse_order(masses, touched, self.classes)

    @cached_property
    def is_partitioned(self) -> bool:
        """Whether elimination in independent coordinates takes clearly fewer operations than that of all unknowns."""
        if self.refined or self.tolerant or not self.rows:
            return False
        # its margins are relative to the masses, and none of them is met with a massless coordinate
        if any(row[i] == 0 for i, row in enumerate(self.source.form.mass_matrix)):
            return False
        recorded = RecordedTerms(self)
        partitioned = recorded.partitioned_elimination
        if not partitioned.partition.rows:
            return False
        f = [recorded.read(e) for e in self.source.form.applied_force]
        e = [recorded.target(k) for k in self.rows]

        def cost(elimination: Elimination | PartitionedElimination) -> int:
            # limits that depend on parameters alone are not computed in every step
            pairs = [x for pair in elimination.margins() for x in pair if not recorded.tape.is_constant(x)]
            return operations(Program(recorded.tape, [*elimination.solve(f, e).acceleration, *pairs]))

        return cost(partitioned) < CLEARLY_FEWER * cost(recorded.sparse_elimination)

    @classmethod
    def of_all_rows(cls, source: Source) -> Programs:
        """Return the programs that do not depend on a selection of rows."""
        return cls(source, range(len(source.levels)), None, tolerant=True)

    def terms(self) -> Program:
        """Record M, Q, A, b and the residuals, entry by entry."""
        recorded, form = RecordedTerms(self), self.source.form
        masses = [recorded.read(e) for row in form.mass_matrix for e in row]
        rows = [recorded.read(e) for row in form.constraint_matrix for e in row]
        vectors = (form.constraint_rhs, form.position, form.velocity)
        others = [recorded.read(e) for vector in vectors for e in vector]
        return Program(recorded.tape, [*masses, *recorded.applied_force, *rows, *others])

    def terms_without_inputs(self) -> Program:
        """Record the acceleration without inputs of actuators, and the directions and gradients of its control."""
        recorded, control = RecordedTerms(self), self.source.control
        assert control is not None
        own = [e for direction in control.directions for e in direction]
        own += [e for requirement in control.requirements for e in (*requirement.row.gradient, requirement.row.rhs)]
        masses = [e for row in recorded.mass_matrix for e in row]
        return Program(recorded.tape, [*recorded.free_acceleration, *masses, *map(recorded.read, own)])

    def controller(self) -> Program:
        """Record the inputs of the actuators and ‖z‖; an estimated bound is one more parameter."""
        recorded = RecordedTerms(self)
        # between the samples of a controller the bound is held, and is no state of the plant
        recorded.read.define(ESTIMATED_BOUND, recorded.tape.input("p", len(self.source.parameters)))
        control = recorded.control
        assert isinstance(control, RecordedControl)
        return Program(recorded.tape, [*control.inputs, control.filtered_size])

    def control(self) -> tuple[Program, tuple[int, ...]]:
        """Record the parts of ``Control``, and return their lengths as well."""
        recorded = RecordedTerms(self)
        control = recorded.control
        assert control is not None
        # an acceleration-level requirement has no error in the state
        errors = [own[0] if own else 0.0 for own in control.errors]
        force: sl.Vector = [0] * self.n
        for own in control.input_forces:
            force = sl.plus(force, own)
        parts = (control.inputs, errors, control.margins(), control.excess(), force, [control.cost_margin()])
        parts = (*parts, control.equations())
        return Program(recorded.tape, [x for part in parts for x in part]), tuple(map(len, parts))

    def requirement_gradients(self) -> Program:
        """Record the gradient of each requirement, A₂, entry by entry."""
        recorded, control = RecordedTerms(self), self.source.control
        assert control is not None
        return Program(recorded.tape, [recorded.read(e) for own in control.requirements for e in own.row.gradient])

    def laws(self) -> Program:
        """Record the expressions of ``law_terms``; ideal forces, multipliers and reactions are further parameters."""
        recorded, form, laws = RecordedTerms(self), self.source.form, self.source.laws
        if laws is not None:
            further = (*form.symbols.ideal_force, *laws.multipliers, *laws.reactions)
            for i, symbol in enumerate(further, start=len(self.source.parameters)):
                recorded.read.define(symbol, recorded.tape.input("p", i))
        return Program(recorded.tape, [recorded.read(e) for e in flat(law_terms(self.source))])

    def residuals(self) -> Program:
        """Record the residuals of all constraints at position and velocity level."""
        recorded, everything = RecordedTerms(self), range(self.m)
        levels = STATE_LEVELS
        return Program(recorded.tape, [r for level in levels for r in recorded.residuals(level, everything)])

    def hot(self, iterations: int | None) -> HotPrograms:
        """Record the programs of every step, with a projection if there are iterations."""
        # the rows must agree without stabilising terms, which differ by level
        stated = Programs(self.source, self.rows, None, refined=self.refined)
        projection = self.projection(iterations) if iterations and (self.rows or self.source.integrals) else None
        return HotPrograms(
            with_constants_combined(self.acceleration()),
            None if projection is None else with_constants_combined(projection),
            stated.agreement() if len(self.rows) < self.m else None,
            friction_resolution(self),
        )

    def start(self) -> Program:
        """Record whether a motion may start at a state, whether the constraints hold exactly, and the scales (2n).

        A motion may start if all terms are finite, M is symmetric and no constraint is violated: this records
        ``violation.violated`` and ``violation.state_scales``.
        """
        recorded = RecordedTerms(self)
        record, valid, exact = recorded.tape.record, finite_and_symmetric(recorded), True
        residuals = sized_residuals(recorded, range(self.m))
        for residual in residuals:
            valid = record("and", valid, record("<=", residual.size, residual.allowed))
            exact = record("and", exact, record("<=", residual.size, residual.rounding))
        valid = record("and", valid, resolved(recorded, residuals))
        flags = [record("select", flag, 1.0, 0.0) for flag in (valid, exact)]
        return Program(recorded.tape, [*flags, *state_scales(recorded)])

    def energy(self) -> Program:
        """Record the energy, if it is known."""
        recorded = RecordedTerms(self)
        return Program(recorded.tape, [] if self.source.energy is None else [recorded.read(self.source.energy)])

    def acceleration(self) -> Program:
        """Record q̈, and one if the elimination is well conditioned, else zero."""
        recorded = RecordedTerms(self)
        return Program(recorded.tape, [*recorded.motion().acceleration, recorded.well_conditioned()])

    def tangent(self) -> Program:
        """Record a directional derivative of q̈; the direction follows the state in y."""
        # one direction, not the Jacobian: its 2n columns would be 2n copies of the program
        recorded, size = RecordedTerms(self), 2 * self.n
        acceleration, tape = recorded.motion().acceleration, recorded.tape
        directions: dict[Any, Any] = {("y", i): tape.input("y", size + i) for i in range(size)}
        return Program(tape, along(tape, acceleration, directions))

    def sliding(self) -> Program | None:
        """Record the sliding velocity of each contact that can stick, and its time derivative; None without any."""
        if not self.source.sliding:
            return None
        recorded, symbols = RecordedTerms(self), self.source.form.symbols
        acceleration = recorded.motion().acceleration
        outputs: list[Any] = []
        for velocity in self.source.sliding:
            # with the derivative, since two values at the ends of a step do not show a reversal inside it
            outputs += map(recorded.read, velocity)
            for v in velocity:
                slopes = [recorded.read(slope) for slope in gradient(v, symbols.qd)]
                outputs.append(sl.add(sl.dot(slopes, acceleration), recorded.read(time_derivative(v, symbols))))
        return Program(recorded.tape, outputs)

    def agreement(self) -> Program:
        """Record one if the rows left out, with their right sides, follow from those in use and hold, else zero."""
        recorded = RecordedTerms(self)
        return Program(recorded.tape, [recorded.tape.record("select", agreement(recorded), 1.0, 0.0)])

    def projection(self, iterations: int) -> Program:
        """Record the projection of the state onto the constraints in the mass metric: positions, then velocities.

        The equations are factored once, at the end of the step: corrections are so small that all can use it. First
        integrals to be conserved are restored last.
        """
        recorded = RecordedTerms(self)
        elimination, q, qd = recorded.elimination, recorded.q, recorded.qd
        levels = self.source.levels
        at_position, at_velocity = self.rows_of_state
        at_rest = [0] * self.n
        for _ in range(iterations if at_position else 0):
            off = recorded.at(q, qd).residuals("position", at_position)
            q = sl.minus(q, elimination.solve(at_rest, off, len(at_position)).acceleration)
        # φ̇ is linear in the velocities, so that one step is exact for it; ψ need not be
        nonlinear = any(levels[k] == "velocity" for k in at_velocity)
        for _ in range((iterations if nonlinear else 1) if at_velocity else 0):
            off = recorded.at(q, qd).residuals("velocity", at_velocity)
            qd = sl.minus(qd, elimination.solve(at_rest, off, len(at_velocity)).acceleration)
        if self.source.integrals:
            q, qd = restored(recorded, q, qd, iterations)
        return Program(recorded.tape, [*q, *qd])

    @property
    def rows_of_state(self) -> tuple[list[int], list[int]]:
        """The rows in use that constrain positions, and those that constrain velocities."""
        return rows_of_state(self.rows, self.source.levels)

    def first_integrals(self) -> Program:
        """Record value, size, rate and size of the rate of each first integral."""
        recorded = RecordedTerms(self)
        return Program(recorded.tape, values_and_rates(recorded))

    def outputs(self) -> tuple[Program, OutputLengths]:
        """Record all outputs at a state; return the program and the length of each part."""
        recorded = RecordedTerms(self)
        motion = recorded.motion()
        everything = range(self.m)
        multipliers, reactions = self.by_number(motion.multipliers), self.by_number(motion.reactions)
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
            motion.nonideal_c,
            # A serves only to share the multipliers among redundant rows
            [entry for k in everything for entry in recorded.row(k)] if len(self.rows) < self.m else [],
            [recorded.well_conditioned()],
        )
        return Program(recorded.tape, [x for part in parts for x in part]), OutputLengths(*map(len, parts))

    def energy_terms(self) -> tuple[Program, EnergyTerms]:
        """Record the terms of a ledger at a state; return the program and the length of each part.

        The part ``transport`` is the rate of change of the energy due to q and t at fixed q̇.
        """
        recorded = RecordedTerms(self)
        motion = recorded.motion()
        momentum = [sl.dot(row, recorded.qd) for row in recorded.mass_matrix]
        kinetic = sl.mul(0.5, sl.dot(recorded.qd, momentum))
        energy = kinetic if self.source.energy is None else recorded.read(self.source.energy)
        rates = {("y", i): rate for i, rate in enumerate(recorded.qd)} | {("t", 0): 1.0}
        parts = (
            [recorded.read(e) for e in self.source.form.applied_force],
            [] if recorded.control is None else [e for force in recorded.control.input_forces for e in force],
            motion.ideal_force,
            motion.nonideal_force,
            self.by_number(motion.multipliers),
            self.by_number(motion.reactions),
            [entry for share in motion.shares for entry in share],
            [entry for share in motion.shares for entry in recorded.nonideal(share)],
            [entry for k in range(self.m) for entry in recorded.row(k)],
            [kinetic],
            [energy],
            along(recorded.tape, [energy], rates),
            [recorded.well_conditioned()],
        )
        return Program(recorded.tape, [x for part in parts for x in part]), EnergyTerms(*map(len, parts))

    def by_number(self, multipliers: sl.Vector) -> list[Any]:
        """Return the multipliers of the rows in use in the order of all constraints, zero for the others."""
        found: list[Any] = [0.0] * self.m
        for k, value in zip(self.rows, multipliers, strict=True):
            found[k] = value
        return found
