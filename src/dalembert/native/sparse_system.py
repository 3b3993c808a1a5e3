# SPDX-License-Identifier: BSD-3-Clause
"""A large system in machine code: M q̈ = Q and A q̈ = b with A sparse, and M of small blocks and inertia of rates.

Notation: M, Q, A, b, C, q, qd as in ``docs/notation.md``; W = M⁻¹, S = A W Aᵀ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.native.added_inertia import MassRule, make_definite
from dalembert.native.block_mass import BlockMass, half_rows
from dalembert.native.mass_with_rates import BorderedElimination, MassWithRates, rate_rows
from dalembert.native.nonideal_terms import LawTerm, NonidealTerms, fixed_pattern
from dalembert.native.row_layout import last_outputs, row_layout
from dalembert.native.servo_terms import ServoTerms
from dalembert.native.sparse_elimination import SparseElimination
from dalembert.native.term_derivatives import TermDerivatives
from dalembert.native.term_loops import CopiedTerm, TermLoops, addresses
from dalembert.numerics.piecewise_polynomial import PiecewisePolynomial


class Residuals(NamedTuple):
    """The residuals (m,) of all constraints at position and at velocity level; zero where a level has none."""

    position: Floats
    velocity: Floats


class Energies(NamedTuple):
    """Kinetic energy, the energy (kinetic energy if no other is known), and its rate at constant velocities."""

    kinetic: float
    energy: float
    transport: float


class StatedTerms(NamedTuple):
    """The terms of a system, as given to ``SparseSystem``."""

    constraints: Sequence[CopiedTerm]
    masses: Sequence[CopiedTerm]
    forces: Sequence[CopiedTerm]
    laws: Sequence[LawTerm]


class SparseSystem:
    """The terms of a large system at one state at a time, and the elimination of its multipliers.

    Parameters
    ----------
    mass           the pattern of M
    masses         terms that are added to its values
    forces         terms that are added to Q
    constraints    one term for each group of constraints, whose outputs are the k entries of a row of A, b, and the
                   residuals at position and velocity level
    numbers        the number of each constraint, for every group
    laws           terms of ``law_count`` nonideal laws
    kinetic        terms that are added to the kinetic energy and to its rate at constant velocities
    energies       the same for the whole energy; None if it is unknown
    rates          one term for each group of rates with an inertia of their own, whose outputs are the k slopes by the
                   velocities, and the inertia
    servos         the terms of servo constraints; None without them
    any_mass       whether M need not be positive definite: see ``added_inertia``
    """

    def __init__(
        self,
        mass: BlockMass,
        masses: Sequence[CopiedTerm],
        forces: Sequence[CopiedTerm],
        constraints: Sequence[CopiedTerm],
        numbers: Sequence[NDArray[np.int64]],
        laws: Sequence[LawTerm] = (),
        law_count: int = 0,
        kinetic: Sequence[CopiedTerm] = (),
        energies: Sequence[CopiedTerm] | None = None,
        rates: Sequence[CopiedTerm] = (),
        servos: ServoTerms | None = None,
        *,
        any_mass: bool = False,
    ):
        self.n, self.m = mass.n, sum(term.copies for term in constraints)
        self._loops = TermLoops([*constraints, *rates, *masses, *forces])
        self._kinds = len(constraints), len(rates), len(masses), len(forces)
        sizes = [term.copies * term.outputs for term in (*constraints, *rates)]
        self._offsets = [0, *np.cumsum(sizes, dtype=np.int64).tolist()]
        rows, columns, self._places = row_layout(constraints, numbers, self._offsets)
        own = rate_rows(rates, self._offsets[len(constraints) : -1])
        beside = own.after(self.m)
        all_rows, all_columns, all_places = (
            np.concatenate(x) for x in zip((rows, columns, self._places), beside, strict=True)
        )
        # the rows of B = A L⁻ᵀ, with M = LLᵀ: S = B Bᵀ is then a sum of products of their entries
        self.half = half_rows(mass, all_rows, all_columns, all_places, self._offsets[-1])
        self.terms, self.force = np.zeros(self._offsets[-1] + self.half.size + 1), np.zeros(self.n)
        self.terms[-1] = 1.0  # the entry of each rate in the column of its own inertia
        self.mass = MassWithRates(mass, own, self.half, self.m) if rates else mass
        self._blocks, self.any_mass = mass, any_mass
        self._last = last_outputs(constraints, numbers, self._offsets, self.m)
        shape = (self.m, self.n)
        self.A, self.A_transposed = fixed_pattern(shape, rows, columns)
        self.laws = NonidealTerms((law_count, self.n), laws) if laws else None
        self.servos, self.stated = servos, StatedTerms(constraints, masses, forces, laws)
        self.knows_energy = energies is not None
        self._energy_terms = kinetic, energies or ()
        self.constraint_numbers = tuple(numbers)
        ideal = [law.term for law in laws if law.depends == "state"]
        self.differentiable_terms: tuple[CopiedTerm, ...] = (*constraints, *forces, *ideal)
        self.inputs: tuple[Any, ...] = ()
        """Coordinates, velocities, time and numbers of the last evaluation."""
        self.evaluations = 0

    @cached_property
    def derivatives(self) -> TermDerivatives:
        """The derivatives of ``differentiable_terms``, compiled when they are first needed."""
        return TermDerivatives(self.differentiable_terms)

    def evaluate(self, q: Floats, qd: Floats, t: float, numbers: Floats, *, masses_too: bool = True) -> None:
        """Evaluate M, Q, A, b and the residuals at a state; the attributes hold them until the next evaluation.

        Without ``masses_too``, M stays that of the last evaluation.
        """
        at_q, at_qd, at_numbers = addresses(q, qd, numbers)
        inputs = at_q, at_qd, t, at_numbers
        constraints, rates, masses, forces = self._kinds
        terms, mass, force = addresses(self.terms, self._blocks.values, self.force)
        stored = constraints + rates
        # constraints first, since they are needed at every evaluation; rates belong to the mass
        for i in range(stored if masses_too else constraints):
            self._loops.run(i, *inputs, terms + 8 * self._offsets[i])
        if masses_too:
            # terms are added up, those of several groups in one entry
            self._blocks.values[:] = 0.0
            for i in range(masses):
                self._loops.run(stored + i, *inputs, mass)
            self._factor_blocks()
        self.force[:] = 0.0
        for i in range(forces):
            self._loops.run(stored + masses + i, *inputs, force)
        self.half.compute(self._blocks, self.terms)
        if isinstance(self.mass, MassWithRates) and masses_too:
            self.mass.factor(self.terms)
        np.take(self.terms, self._places, out=self.A.data)
        self.inputs = q, qd, t, numbers
        self.evaluations += 1

    def _factor_blocks(self) -> None:
        if not self.any_mass:
            self._blocks.factor()
            return
        # masses need the rows: those of massless coordinates get their units from them
        np.take(self.terms, self._places, out=self.A.data)
        make_definite(self._blocks, self.A)

    @property
    def added_inertia(self) -> Floats:
        """The inertia (n,) of single coordinates that the factors of M contain, and M does not."""
        return self._blocks.added

    @property
    def metric_diagonal(self) -> Floats:
        """The diagonal (n,) of M with the inertia that was added."""
        return self.mass.diagonal + self._blocks.added

    def metric_times(self, v: Floats) -> Floats:
        """Return the product (n,) of a vector and M with the inertia that was added: that of which S is made."""
        return self.mass.times(v) + self._blocks.added * v

    def metric_matrix(self) -> Any:
        """Return M with the inertia that was added as a sparse matrix (n, n)."""
        from scipy.sparse import csr_array, diags_array

        mass = self.mass.matrix()
        return csr_array(mass + diags_array(self._blocks.added)) if self.has_added_inertia else mass

    @property
    def has_added_inertia(self) -> bool:
        return self.any_mass and bool(self._blocks.added.any())

    def energies(self, q: Floats, qd: Floats, t: float, numbers: Floats) -> Energies:
        """Return the energies at a state, and their rates of change at constant velocities."""
        sums = np.zeros((2, 2))
        at_q, at_qd, at_numbers, out = addresses(q, qd, numbers, sums)
        for i in range(len(self._energy_loops.terms)):
            # the second row of ``sums`` begins two numbers of eight bytes after the first
            self._energy_loops.run(i, at_q, at_qd, t, at_numbers, out + (0 if i < len(self._energy_terms[0]) else 16))
        kinetic, energy = sums[0], sums[1] if self.knows_energy else sums[0]
        return Energies(float(kinetic[0]), float(energy[0]), float(energy[1]))

    def evaluate_laws(self, multipliers: Floats, ideal_force: Floats, reactions: Floats) -> Floats:
        """Return C (n,), the sum of all laws at the state of the last evaluation, for forces of the constraints."""
        assert self.laws is not None
        q, qd, t, numbers = self.inputs
        if self.laws.needs_forces:
            # the programs of laws read forces where they read parameters
            np.concatenate([multipliers, ideal_force, reactions], out=numbers[: 2 * self.m + self.n])
        return self.laws.evaluate(q, qd, t, numbers)

    def evaluate_servos(self) -> ServoTerms | None:
        """Return the terms of servo constraints at the state of the last evaluation; None without them."""
        if self.servos is not None:
            self.servos.evaluate(*self.inputs)
        return self.servos

    @property
    def rhs(self) -> Floats:
        """b (m,)."""
        return self.terms[self._last[0]]

    @property
    def residuals(self) -> Residuals:
        return Residuals(self.terms[self._last[1]], self.terms[self._last[2]])

    def factor(self) -> None:
        """Factor S at the state of the last evaluation."""
        if self.elimination is not None:
            self.elimination.factor(self.terms, self.mass.weights)

    @cached_property
    def elimination(self) -> SparseElimination | BorderedElimination | None:
        """The elimination of the multipliers of all constraints; its order is found at the first use."""
        half = self.half
        if not self.m:
            return None
        if isinstance(self.mass, MassWithRates):
            return self.mass.bordered()
        return SparseElimination((self.m, self.n), half.rows, half.columns, half.places)

    @cached_property
    def _energy_loops(self) -> TermLoops:
        return TermLoops([*self._energy_terms[0], *self._energy_terms[1]])

    @cached_property
    def gram_elimination(self) -> SparseElimination:
        """The elimination of AᵀA, which the shortest multipliers of redundant constraints need."""
        rows = np.repeat(np.arange(self.m), np.diff(self.A.indptr))
        # with the roles of rows and columns exchanged, S = AᵀA
        return SparseElimination((self.n, self.m), self.A.indices.astype(np.int64), rows, self._places)

    def correction(self, residual: Floats) -> tuple[Floats, Floats]:
        """Return λ (m,) and the shortest x = W Aᵀλ (n,) in the metric of M with A x = residual."""
        if self.elimination is None:
            return np.zeros(0), np.zeros(self.n)
        lam = self.elimination.solve(residual)
        return lam, self.mass.solve(self.A_transposed @ lam)

    def refined_correction(self, residual: Floats) -> tuple[Floats, Floats]:
        """Return λ and x as ``correction`` does, refined once: an error of cond(S) u becomes its square."""
        lam, x = self.correction(residual)
        more, rest = self.correction(residual - self.A @ x)
        return lam + more, x + rest

    @cached_property
    def _row_gram_elimination(self) -> SparseElimination:
        """The elimination of A Aᵀ."""
        rows = np.repeat(np.arange(self.m), np.diff(self.A.indptr))
        return SparseElimination((self.m, self.n), rows, self.A.indices.astype(np.int64), self._places)

    def allowed(self, vector: Floats) -> Floats:
        """Return the Euclidean projection of a vector (n,) onto the accelerations with A q̈ = 0."""
        if self.elimination is None:
            return vector
        gram = self._row_gram_elimination
        gram.used = ~self.elimination.left_out
        gram.factor(self.terms, np.ones(self.n))
        for _ in range(2):  # refined once
            vector = vector - self.A_transposed @ gram.solve(self.A @ vector)
        return vector

    @property
    def row_lengths(self) -> Floats:
        """The lengths (m,) of the rows of A in the metric of W without inertia of rates; one for a row of zeros."""
        squares = self.terms[self.half.places] ** 2 * self._blocks.weights[self.half.columns]
        lengths = np.sqrt(np.bincount(self.half.rows, squares, self.m)[: self.m])
        return np.where(lengths > 0, lengths, 1.0)


@dataclass(frozen=True, eq=False)
class LargeDynamics:
    """A large system, compiled.

    code                        its terms and their elimination
    levels (m,)                 of all constraints, as indices in ``levels.LEVELS``
    coordinates, constraints    names
    constants                   numbers of the terms, which follow the parameters in those that ``code`` takes
    laws                        constraint and kind of each nonideal law; the former may be empty
    time_functions              the explicit functions of time in the terms, (k, f) at k times, and values (k, d), zero
                                or one, that jump where these may; None if all are steady
    signals                     the signals of time in the terms
    requirements                names of the requirements of servo constraints
    mass_rule                   what M must be
    """

    code: SparseSystem
    levels: NDArray[np.int64]
    coordinates: tuple[str, ...]
    constraints: tuple[str, ...]
    constants: Floats
    laws: Sequence[tuple[str, str]] = ()
    time_functions: Callable[[Floats, Floats], tuple[Floats, Floats]] | None = None
    signals: tuple[PiecewisePolynomial, ...] = ()
    requirements: tuple[str, ...] = ()
    mass_rule: MassRule = "positive definite"

    def numbers(self, parameters: Floats) -> Floats:
        """Return the numbers that the programs take, with room for the forces on which laws depend."""
        code = self.code
        forces = 2 * code.m + code.n if code.laws is not None and code.laws.needs_forces else 0
        return np.concatenate([np.zeros(forces), parameters, self.constants])
