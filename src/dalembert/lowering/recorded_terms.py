# SPDX-License-Identifier: BSD-3-Clause
"""The terms of one system recorded on a tape, and the constrained motion they determine."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from dalembert.equation import scalar_arithmetic as sl
from dalembert.lowering.input_sources import Feedback, Held
from dalembert.lowering.recorded_control import RecordedControl
from dalembert.lowering.recorded_feedback import RecordedFeedback, RecordedHeld
from dalembert.lowering.recorded_laws import law_components
from dalembert.lowering.recording import Recorder
from dalembert.native.coordinate_partitioning import partition
from dalembert.native.elimination import Elimination, Solution, eliminate
from dalembert.native.partitioned_elimination import PartitionedElimination
from dalembert.native.tape import Tape
from dalembert.native.tape_polynomials import TapePolynomials

if TYPE_CHECKING:
    from dalembert.lowering.programs import Programs


class Motion(NamedTuple):
    """The recorded motion; ``nonideal_c`` is C of all laws together, ``shares`` are those of the single laws."""

    acceleration: sl.Vector
    ideal_force: sl.Vector
    nonideal_force: sl.Vector
    multipliers: sl.Vector
    reactions: sl.Vector
    nonideal_c: sl.Vector
    shares: list[sl.Vector]


class RecordedTerms:
    """The terms of a system on a tape, at the input state or at a state computed from it."""

    def __init__(
        self,
        programs: Programs,
        tape: Tape | None = None,
        q: Any = None,
        qd: Any = None,
        parameters: Any = None,
        time: Any = None,
    ):
        self.programs, self.source = programs, programs.source
        self.tape = tape or Tape()
        n = programs.n
        self.q = q if q is not None else [self.tape.input("y", i) for i in range(n)]
        self.qd = qd if qd is not None else [self.tape.input("y", n + i) for i in range(n)]
        symbols = self.source.form.symbols
        inputs = dict(zip((*symbols.q, *symbols.qd), (*self.q, *self.qd), strict=True))
        inputs[symbols.time] = self.tape.input("t", 0) if time is None else time
        if parameters is None:
            parameters = [self.tape.input("p", i) for i in range(len(self.source.parameters))]
        self._parameters = parameters
        inputs |= dict(zip(self.source.parameters, parameters, strict=True))
        self.inputs = inputs
        self.read = Recorder(self.tape, inputs)
        self.conditions: list[tuple[Any, Any]] = []  # pairs of which the first must be the larger one

    def at(self, q: Any, qd: Any, time: Any = None) -> RecordedTerms:
        """Return the terms at another state, and possibly another time, recorded on the same tape."""
        return RecordedTerms(self.programs, self.tape, q, qd, self._parameters, time)

    def row(self, k: int) -> sl.Vector:
        """Record row k of A."""
        return [self.read(e) for e in self.source.form.constraint_matrix[k]]

    def target(self, k: int) -> Any:
        """Record entry k of b."""
        return self.read(self.source.form.constraint_rhs[k])

    def residuals(self, level: str, rows: Sequence[int]) -> list[Any]:
        """Record the residuals of constraints at a level."""
        expressions = getattr(self.source.form, level)
        return [self.read(expressions[k]) for k in rows]

    def absolute(self, x: Any) -> Any:
        return self.tape.record("fabs", x)

    def larger(self, a: Any, b: Any) -> Any:
        return self.tape.record("select", self.tape.record("<", a, b), b, a)

    def smaller(self, a: Any, b: Any) -> Any:
        return self.tape.record("select", self.tape.record("<", a, b), a, b)

    @cached_property
    def mass_matrix(self) -> sl.Matrix:
        return [[self.read(e) for e in row] for row in self.source.form.mass_matrix]

    @cached_property
    def elimination(self) -> Elimination | PartitionedElimination:
        return self.partitioned_elimination if self.programs.is_partitioned else self.sparse_elimination

    @cached_property
    def sparse_elimination(self) -> Elimination:
        rows = [self.row(k) for k in self.programs.rows]
        return eliminate(self.mass_matrix, rows, self.programs.order, self.tape if self.programs.tolerant else None)

    @cached_property
    def partitioned_elimination(self) -> PartitionedElimination:
        M, A, classes = self.mass_matrix, [self.row(k) for k in self.programs.rows], self.programs.classes
        # positions first: their rows lead in every elimination, so that projection can stop after them
        found = partition(TapePolynomials(self.tape), M, A, classes.count(0))
        return PartitionedElimination(M, A, found, classes)

    def solve(self, f: sl.Vector, e: sl.Vector) -> Solution:
        """Return the motion under a force f with right side e of the rows in use.

        With refinement, the equations are solved once more for their residual: see ``needs_refinement``.
        """
        found = self.elimination.solve(f, e)
        if not self.programs.refined:
            return found
        a, rows = found.acceleration, [self.row(k) for k in self.programs.rows]
        forces = sl.plus(f, _constraint_force(rows, found.multipliers, self.programs.n))
        residual = [sl.sub(force, sl.dot(row, a)) for force, row in zip(forces, self.mass_matrix, strict=True)]
        more = self.elimination.solve(residual, [sl.sub(b, sl.dot(row, a)) for b, row in zip(e, rows, strict=True)])
        return Solution([*sl.plus(a, more.acceleration)], [*sl.plus(found.multipliers, more.multipliers)])

    @cached_property
    def applied_force(self) -> sl.Vector:
        """The applied force, including that of the actuators."""
        total: sl.Vector = [self.read(e) for e in self.source.form.applied_force]
        if self.control is None:
            return total
        for force in self.control.input_forces:
            total = sl.plus(total, force)
        if isinstance(self.control, RecordedFeedback) and self.control.feedback.adaptive:
            # the last coordinate has mass one, and the estimated bound as its velocity: its force is the rate
            total = [*total[:-1], self.control.adaptation]
        return total

    @cached_property
    def control(self) -> RecordedControl | RecordedFeedback | RecordedHeld | None:
        """The inputs of the actuators; None without servo constraints and without a controller."""
        source = self.source
        if isinstance(source.feedback, Held):
            control = RecordedHeld(self, source.feedback)
        elif source.feedback is not None:
            control = RecordedFeedback(self, source.feedback, self._model_of(source.feedback))
        elif source.control is not None:
            control = RecordedControl(self, source.control, source.structure)
        else:
            return None
        self.conditions += control.conditions
        return control

    def _model_of(self, feedback: Feedback) -> RecordedTerms:
        """Return the terms of a controller's model at the state of this plant."""
        programs = type(self.programs).of_all_rows(feedback.source)
        q, qd = ([state[i] for i in feedback.places] for state in (self.q, self.qd))
        return RecordedTerms(programs, self.tape, q, qd, feedback.parameters)

    @cached_property
    def free_acceleration(self) -> sl.Vector:
        """The acceleration without inputs of actuators and without stabilising terms.

        A controller knows the model and not the numerical method that integrates it.
        """
        return self.response([self.read(e) for e in self.source.form.applied_force])

    def response(self, force: sl.Vector) -> sl.Vector:
        """Record the acceleration under an applied force, without stabilising terms."""
        # other terms at the same state: values of laws are kept, and depend on the force through the reactions
        other = self.at(self.q, self.qd)
        return other.motion_under(force, [other.target(k) for k in self.programs.rows]).acceleration

    @property
    def diagonal(self) -> sl.Vector:
        return [row[i] for i, row in enumerate(self.mass_matrix)]

    def well_conditioned(self) -> Any:
        """Record one if all pivots and conditions are within their limits, else zero."""
        # all comparisons are false for NaN, so that an undefined pivot is not accepted
        valid: Any = True
        for larger, smaller in (*self.elimination.margins(), *self.conditions):
            valid = self.tape.record("and", valid, self.tape.record("<", smaller, larger))
        return self.tape.record("select", valid, 1.0, 0.0)

    def motion(self) -> Motion:
        """Record the constrained motion."""
        return self.motion_under(self.applied_force, self._targets())

    def motion_under(self, force: sl.Vector, targets: sl.Vector) -> Motion:
        """Record the motion under an applied force: the ideal problem first, then the effect of the nonideal laws."""
        rows = [self.row(k) for k in self.programs.rows]
        ideal = self.solve(force, targets)
        ideal_force = _constraint_force(rows, ideal.multipliers, self.programs.n)
        if self.source.laws is None:
            zeros = [0.0] * self.programs.n
            return Motion(ideal.acceleration, ideal_force, zeros, ideal.multipliers, ideal.multipliers, zeros, [])
        shares = law_components(self, self.source.laws, ideal_force, ideal.multipliers)
        C: sl.Vector = [0] * self.programs.n
        for share in shares:
            C = sl.plus(C, share)
        # the equations are linear: C alone, with b = 0, adds to the ideal motion
        nonideal = self.solve(C, [0] * len(rows))
        return Motion(
            sl.plus(ideal.acceleration, nonideal.acceleration),
            ideal_force,
            sl.plus(C, _constraint_force(rows, nonideal.multipliers, self.programs.n)),
            ideal.multipliers,
            sl.plus(ideal.multipliers, nonideal.multipliers),
            C,
            shares,
        )

    def nonideal(self, C: sl.Vector) -> sl.Vector:
        """Record the nonideal constraint force of a law: C and the reaction that keeps the constraints satisfied."""
        rows = [self.row(k) for k in self.programs.rows]
        return sl.plus(C, _constraint_force(rows, self.solve(C, [0] * len(rows)).multipliers, self.programs.n))

    def _targets(self) -> list[Any]:
        """Record b of the rows in use, with Baumgarte's terms if there are rates."""
        rows, rates = self.programs.rows, self.programs.rates
        targets = [self.target(k) for k in rows]
        if rates is None:
            return targets
        # A q̈ = b − c₁ φ̇ − c₀ φ with the factors of ``stabilisation.damping``
        position, velocity = self.residuals("position", rows), self.residuals("velocity", rows)
        return [
            sl.sub(b, sl.add(sl.mul(rates[k][0], v), sl.mul(rates[k][1], x)))
            for k, b, v, x in zip(rows, targets, velocity, position, strict=True)
        ]


def _constraint_force(rows: sl.Matrix, multipliers: sl.Vector, n: int) -> sl.Vector:
    """Return Aᵀλ."""
    total: sl.Vector = [0] * n
    for row, factor in zip(rows, multipliers, strict=True):
        total = sl.plus(total, row, factor)
    return total
