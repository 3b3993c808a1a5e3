# SPDX-License-Identifier: BSD-3-Clause
"""The natively compiled functions of one system: its terms, laws and outputs, and its integrators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise, starmap
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats, vector_of
from dalembert.equation.dynamics import Terms
from dalembert.equation.formulation import Law
from dalembert.lowering.batch_program import BatchProgram
from dalembert.lowering.friction_resolution import friction_resolution
from dalembert.lowering.guard_program import PhaseGuards, guard_program
from dalembert.lowering.law_functions import LawFunctions, array_law
from dalembert.lowering.native_laws import compiled_laws
from dalembert.lowering.orientation import OrientationTest
from dalembert.lowering.programs import Programs
from dalembert.lowering.recorded_terms import RecordedTerms
from dalembert.lowering.recording import NoMachineCodeError
from dalembert.lowering.servo_equations import state_equations
from dalembert.lowering.source import Source
from dalembert.lowering.start_program import StartProgram
from dalembert.lowering.switching_functions import switching_functions
from dalembert.lowering.time_programs import recorded_decisions, signals_in_equations, time_function_program
from dalembert.native.collocation import Collocation
from dalembert.native.derivatives import differentiated
from dalembert.native.dormand_prince import DORMAND_PRINCE
from dalembert.native.engine import NativeEngine
from dalembert.native.guarded_batch import GuardedBatch
from dalembert.native.guarded_members import GuardedPrograms
from dalembert.native.member_writer import MemberPrograms
from dalembert.native.protocol import Control, FirstIntegralValues, StateEquations, SwitchingFunctions
from dalembert.native.tableau import Tableau
from dalembert.native.tape import EnergyTerms, Program, Tape, Value, needed
from dalembert.numerics.piecewise_polynomial import PiecewisePolynomial


class NativeSystem:
    """Compiles the functions of a system on demand and caches them."""

    def __init__(self, source: Source):
        self.source = source
        self.usual_rows: tuple[int, ...] | None = None  # the rows in use at the start of the last motion
        self._last_terms: tuple[bytes, tuple[Floats, ...]] | None = None
        # bounded, since a long run may change its rows often; per system, so that the code is released with it
        self.engine = lru_cache(maxsize=16)(self._engine)
        self.motions = lru_cache(maxsize=16)(self._motions)
        self.guarded_motions = lru_cache(maxsize=16)(self._guarded_motions)
        self.orientation_test = lru_cache(maxsize=16)(self._orientation_test)
        self._recorded = lru_cache(maxsize=16)(self._recorded_programs)
        self._energy_terms = lru_cache(maxsize=16)(self._compile_energy_terms)

    def _batched(self, program: Program) -> BatchProgram:
        return BatchProgram(program, 2 * len(self.source.form.applied_force))

    @cached_property
    def possible(self) -> bool:
        """True if every function in the system can be compiled natively."""
        programs = Programs(self.source, range(len(self.source.levels)), None)
        try:
            if self.source.has_terms_only:
                # elimination adds no other functions, and takes seconds for a robot
                self._terms_program  # noqa: B018
                programs.energy()
            else:
                programs.outputs()
            if self.source.integrals:
                programs.first_integrals()
                programs.projection(1)
        except NoMachineCodeError:
            return False
        return True

    @cached_property
    def time_functions(self) -> Callable[[Floats, Any], Floats] | None:
        """The explicit functions of time in the equations, (k, f) at k times, or None if none has isolated events.

        The last ones, ``time_decisions`` of them, are what decides between the branches of the others.
        """
        program = self._time_program
        if program is None:
            return None
        size = 2 * len(self.source.form.applied_force)
        run = BatchProgram(program, size)

        def values(t: Floats, p: Any) -> Floats:
            return run(np.zeros((len(t), size)), t, vector_of(p))

        return values

    @cached_property
    def time_decisions(self) -> int:
        """The number of these functions that decide between branches of others."""
        return len(recorded_decisions(Programs.of_all_rows(self.source), Tape()))

    @cached_property
    def _time_program(self) -> Program | None:
        return time_function_program(Programs.of_all_rows(self.source)) if self.source.depends_on_time else None

    @cached_property
    def signals(self) -> tuple[PiecewisePolynomial, ...]:
        """The signals of time in the equations."""
        return signals_in_equations(Programs.of_all_rows(self.source)) if self.source.has_signals else ()

    @cached_property
    def parameters_of_time(self) -> list[int]:
        """The indices of the parameters that the functions of time depend on."""
        program = self._time_program
        lines = [] if program is None else [program.tape.lines[line] for line in needed(program)]
        return sorted({int(a[1]) for name, a in lines if name == "input" and a[0] == "p"})

    @cached_property
    def switching_functions(self) -> SwitchingFunctions:
        """The expressions at whose zeros a force may jump: their texts, and their values (k, s) at k states."""
        found = switching_functions(self.source)
        recorded = RecordedTerms(Programs(self.source, (), None))
        run = self._batched(Program(recorded.tape, [recorded.read(e) for e in found.values()]))

        def values(y: Floats, t: Floats, p: Any) -> Floats:
            return run(y, t, vector_of(p))

        return tuple(found), values

    @cached_property
    def masses_differ(self) -> bool:
        """True if a constraint couples coordinates of different masses."""
        return self.source.masses_differ

    @property
    def knows_energy(self) -> bool:
        """Whether the system has a Lagrangian."""
        return self.source.energy is not None

    @property
    def needs_multipliers(self) -> bool:
        """True if a law uses a multiplier, which redundant constraints may leave undetermined."""
        return self.source.laws is not None and bool(self.source.laws.used)

    def _engine(
        self,
        rows: Sequence[int],
        iterations: int | None,
        rates: Sequence[tuple[float, float]] | None,
        refined: bool = False,
        tableau: Tableau | Collocation = DORMAND_PRINCE,
    ) -> NativeEngine:
        programs = Programs(self.source, rows, rates, refined=refined)
        # explicit methods need no Jacobian, whose program is the longest of all
        tangent = programs.tangent() if isinstance(tableau, Collocation) else None
        return NativeEngine(programs.n, programs.hot(iterations), programs.outputs(), tableau, tangent)

    def _motions(
        self,
        rows: Sequence[int],
        iterations: int | None,
        rates: Sequence[tuple[float, float]] | None,
        kind: Callable[..., Any],
        tableau: Tableau,
        refined: bool = False,
    ) -> Any:
        """Return an integrator of ensemble members; ``kind`` is its class, for a processor or a GPU."""
        programs = Programs(self.source, rows, rates, refined=refined)
        hot = programs.hot(iterations)
        own = MemberPrograms(programs.n, len(self.source.parameters), hot, programs.start(), programs.sliding())
        return kind(own._replace(contacts=tuple(map(len, self.source.sliding))), tableau)

    def _guarded_motions(
        self,
        rows: Sequence[int],
        iterations: int | None,
        rates: Sequence[tuple[float, float]] | None,
        tableau: Tableau,
        refined: bool,
        guards: PhaseGuards,
    ) -> GuardedBatch:
        """Return an integrator of ensemble members that ends where a guard does."""
        programs = Programs(self.source, rows, rates, refined=refined)
        found = guard_program(programs, guards)
        # signs and directions differ between members, which share the code of their phase
        parameters = len(self.source.parameters) + len(guards.further)
        own = GuardedPrograms(programs.n, parameters, programs.hot(iterations), found, *guards.rules)
        return GuardedBatch(own, tableau)

    def starts_of_many(self, y: Floats, t: Floats, p: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_], Floats]:
        """Return the results of ``start`` at k states y (k, 2n), times (k,) and parameters (k, …)."""
        found = self._starts(y, t, p)
        return found[:, 0] == 1.0, found[:, 1] == 1.0, found[:, 2:]

    @cached_property
    def _starts(self) -> BatchProgram:
        return self._batched(Programs.of_all_rows(self.source).start())

    def start(self, y: Floats, t: float, p: Any) -> tuple[bool, bool, Floats]:
        """Return whether a motion may start at a state, whether the constraints hold exactly, and the scales (2n)."""
        return self._start.at(y, t, p)

    @cached_property
    def _start(self) -> StartProgram:
        return StartProgram(Programs.of_all_rows(self.source).start())

    @property
    def has_friction_near_rest(self) -> bool:
        """Whether a coefficient of friction changes with the speed near rest."""
        return bool(self.source.ratios)

    def resolves_friction(self, t: Floats, y: Floats, p: Floats) -> NDArray[np.bool_]:
        """Return which of the steps between k times and states resolve friction near rest, (k − 1,)."""
        ends = np.concatenate([y[:-1], y[1:], t[1:, None]], axis=1)
        return self._friction_resolution(ends, t[:-1], p)[:, 0] > 0

    @cached_property
    def _friction_resolution(self) -> BatchProgram:
        program = friction_resolution(Programs.of_all_rows(self.source))
        assert program is not None
        return BatchProgram(program, 4 * len(self.source.form.applied_force) + 1)

    def terms(self, q: Any, qd: Any, t: Any, p: Any) -> tuple[Floats, ...]:
        """Return M, Q, A, b and the residuals at position and velocity level, at one state."""
        # their bytes are the key: comparing one string is faster than four arrays
        inputs = np.concatenate([q, qd, [float(t)], vector_of(p)])
        key, last, size = inputs.tobytes(), self._last_terms, len(q) + len(qd)
        if last is None or last[0] != key:  # cached: at the start of a run they are needed several times
            found = self.terms_of_many(inputs[None, :size], inputs[size : size + 1], inputs[size + 1 :])
            last = self._last_terms = key, tuple(part[0] for part in found)
            # the same arrays are returned again, so that nobody may change them
            for part in last[1]:
                part.flags.writeable = False
        return last[1]

    def terms_of_many(self, y: Floats, t: Floats, p: Floats) -> tuple[Floats, ...]:
        """Return the terms at k states y (k, 2n) and times (k,).

        The parameters are the same for all states, or p (k, number of parameters).
        """
        run, parts = self._terms
        found = run(y, t, p)
        return tuple(found[:, place].reshape(len(y), *shape) for place, shape in parts)

    def control(self, y: Floats, t: Floats, p: Any) -> Control:
        """Return inputs and errors of the servo constraints at k states y (k, 2n) and times (k,).

        The parameters are the same for all states, or p (k, number of parameters).
        """
        run, lengths = self._control
        p = np.broadcast_to(np.asarray(p, float), (len(t), len(self.source.parameters)))
        return Control(*np.split(run(y, t, p), np.cumsum(lengths)[:-1], axis=1))

    @cached_property
    def _control(self) -> tuple[BatchProgram, tuple[int, ...]]:
        program, lengths = Programs.of_all_rows(self.source).control()
        return self._batched(program), lengths

    def requirement_gradients(self, y: Floats, t: Floats, p: Any) -> Floats:
        """Return A₂ (k, rows, n) of the servo constraints at k states y (k, 2n) and times (k,)."""
        # not kept: called once, with all outputs of a run
        found = self._batched(Programs.of_all_rows(self.source).requirement_gradients())
        return found(y, t, vector_of(p)).reshape(len(t), -1, y.shape[1] // 2)

    def first_integrals(self, y: Floats, t: Floats, p: Any) -> FirstIntegralValues:
        """Return the first integrals of the system and their rates of change at k states y (k, 2n) and times (k,).

        The parameters are the same for all states, or p (k, number of parameters).
        """
        p = np.broadcast_to(np.asarray(p, float), (len(t), len(self.source.parameters)))
        found = self._first_integrals(y, t, p).reshape(len(t), len(self.source.integrals), 4)
        return FirstIntegralValues(*np.moveaxis(found, -1, 0))

    @cached_property
    def _first_integrals(self) -> BatchProgram:
        program = Programs.of_all_rows(self.source).first_integrals()
        return self._batched(program)

    @cached_property
    def state_equations(self) -> StateEquations:
        """The equations of states that satisfy the constraints and meet the requirements of servo constraints."""
        return state_equations(self.source)

    @cached_property
    def answers(self) -> bool:
        """True if terms and laws can be compiled natively, so that a single state needs no JAX."""
        programs = Programs.of_all_rows(self.source)
        try:
            programs.terms()
            programs.laws()
        except NoMachineCodeError:
            return False
        return True

    def law_at(self, q: Any, qd: Any, t: Any, p: Any) -> Law | None:
        """Return the nonideal laws at one state, as a function of the ideal forces, on NumPy arrays."""
        law = array_law(self._law_functions, self._named_terms, np)
        return None if law is None else lambda reaction: law(q, qd, t, p, reaction)

    def _named_terms(self, q: Any, qd: Any, t: Any, p: Any) -> Terms:
        found: tuple[Any, ...] = self.terms(q, qd, t, p)
        return Terms(*found)

    @cached_property
    def _law_functions(self) -> LawFunctions | None:
        return compiled_laws(self.source)

    def rows_of_many(self, y: Floats, t: Floats, p: Floats) -> Floats:
        """Return A (k, m, n) at k states y (k, 2n) and times (k,), with parameters as for ``terms_of_many``."""
        # by the program of all terms: another compilation would take longer than it saves at a thousand states
        run, known, computed, places = self._rows
        found = values = run.computed_at(y, t, p)[:, computed]
        if len(places) < known.size:
            found = np.tile(known, (len(t), 1))
            found[:, places] = values
        return found.reshape(len(t), len(self.source.levels), -1)

    @cached_property
    def _rows(self) -> tuple[BatchProgram, Floats, slice, NDArray[np.int64]]:
        """The program of all terms, the constant entries of A, its computed ones, and their indices in A."""
        run, parts = self._terms
        place, _ = parts[2]
        # the computed entries are in the order of the outputs
        start, stop = np.searchsorted(run.computed, [place.start, place.stop])
        return run, run.known[place], slice(start, stop), run.computed[start:stop] - place.start

    @cached_property
    def constant_rows(self) -> bool:
        """True if A is constant, so that its rank cannot change."""
        place, _ = self._places_of_terms[2]
        return not any(isinstance(entry, Value) for entry in self._terms_program.outputs[place])

    def _orientation_test(self, rows: tuple[int, ...]) -> OrientationTest:
        return OrientationTest(Programs(self.source, rows, None))

    def _compile_energy_terms(self, rows: tuple[int, ...], rates: Any) -> tuple[BatchProgram, EnergyTerms]:
        program, lengths = Programs(self.source, rows, rates).energy_terms()
        return self._batched(program), lengths

    def energy_terms(self, rows: tuple[int, ...], rates: Any, y: Floats, t: Floats, p: Any) -> dict[str, Floats]:
        """Return the terms of a ledger at k states y (k, 2n), by the names of ``EnergyTerms``: (k, length).

        The parameters are the same for all states, or p (k, number of parameters).
        """
        run, lengths = self._energy_terms(rows, rates)
        p = p if np.ndim(p) == 2 else vector_of(p)
        return dict(zip(EnergyTerms._fields, np.split(run(y, t, p), np.cumsum(lengths)[:-1], axis=1), strict=True))

    def small_changes(self, rows: Sequence[int], y: Floats, t: float, p: Any) -> tuple[Floats, Floats, Floats]:
        """Return q̈ (n,) for these rows, its derivatives (n, 2n) by the state y, and those of all residuals (2m, 2n)."""
        p = vector_of(p)
        motion, residuals = self._recorded(tuple(rows))
        moved, slopes = differentiated(motion, y, t, p)
        return moved[:-1], slopes[:-1], differentiated(residuals, y, t, p)[1]

    def _recorded_programs(self, rows: tuple[int, ...]) -> tuple[Program, Program]:
        programs = Programs(self.source, rows, None)
        return programs.acceleration(), programs.residuals()

    @cached_property
    def _terms(self) -> tuple[BatchProgram, tuple[tuple[slice, tuple[int, ...]], ...]]:
        """The program of all terms, and the places and shapes of M, Q, A, b and the residuals in its outputs."""
        return self._batched(self._terms_program), self._places_of_terms

    @property
    def _places_of_terms(self) -> tuple[tuple[slice, tuple[int, ...]], ...]:
        n, m = len(self.source.form.applied_force), len(self.source.levels)
        shapes = ((n, n), (n,), (m, n), (m,), (m,), (m,))
        places = starmap(slice, pairwise(accumulate(map(prod, shapes), initial=0)))
        return tuple(zip(places, shapes, strict=True))

    @cached_property
    def _terms_program(self) -> Program:
        return Programs.of_all_rows(self.source).terms()
