# SPDX-License-Identifier: BSD-3-Clause
"""The inputs of actuators that meet the servo constraints of a system, recorded on a tape.

With ā the acceleration without inputs and Dⱼ that of a unit input j alone, both within the physical constraints, a
requirement A₂ q̈ = b₂ with the settling terms s reads G u = −α, where G = A₂ D and α = A₂ ā − b₂ + s. The inputs of
least cost are u = N⁻¹Gᵀ(G N⁻¹Gᵀ)⁻¹(−α).

Where G is singular by structure, a combination ψ = w·α of the equations, with wᵀG = 0 and |w| = 1, does not contain the
inputs. It must vanish as well, and does if ψ̇ + ω ψ = 0, with the derivative along the motion: a further row of G. If ψ
is a single row, the new row takes its place.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

from dalembert.equation import scalar_arithmetic as sl
from dalembert.lowering.requirement_rows import RequirementRows
from dalembert.native.derivatives import along
from dalembert.native.elimination import Elimination, eliminate
from dalembert.native.tape import Value
from dalembert.numerics.tolerances import TINY

REACTION_STEPS = 3
"""Steps of Newton's method for inputs that change the friction by reactions."""

REQUIREMENT_ROUNDING = 1e-10
"""Largest part of the terms of a requirement that these steps may leave."""


class RecordedControl(RequirementRows):
    """The inputs of a system's actuators, at the state of its recorded terms."""

    def weighted(self, row: sl.Vector) -> list[Any]:
        """Record N⁻¹ times a row of G."""
        n = len(self.terms.mass_matrix) if self.form.by_mass else 0
        by_mass = [sl.dot(masses, row[:n]) for masses in self.terms.mass_matrix] if n else []
        return [*by_mass, *self._cost.solve(row[n:], []).acceleration]

    @cached_property
    def _cost(self) -> Elimination:
        N = [[self.terms.read(e) for e in row] for row in self.form.cost]
        return eliminate(N, [], range(len(N)))

    def _system(self, rows: sl.Matrix, weighted: sl.Matrix, nulls: list[sl.Vector]) -> Elimination:
        """Factor G N⁻¹Gᵀ + Σ s w wᵀ, which has an inverse; s is the largest diagonal entry of the rows of w."""
        S = [[sl.dot(row, other) for other in weighted] for row in rows]
        diagonal = [S[i][i] for i in range(len(S))]
        for w in nulls:
            size: Any = 0
            for entry, own in zip(w, diagonal, strict=True):
                size = size if sl.is_number(entry, 0) else self.terms.larger(size, own)
            S = [[sl.add(S[i][j], sl.mul(size, sl.mul(w[i], w[j]))) for j in range(len(S))] for i in range(len(S))]
        return eliminate(S, [], range(len(S)))

    @cached_property
    def solution(self) -> tuple[list[Any], list[tuple[Any, Any]], dict[int, tuple[Any, Any]]]:
        """The inputs of least cost, pairs of which the first must be the larger one for them to exist, and the pivot of
        each row with its limit."""
        # redundant rows would make G N⁻¹Gᵀ singular
        used = [i for i in range(len(self.owners)) if i not in self.structure.redundant]
        rows = [self.effect(i) for i in used]
        weighted = [self.weighted(row) for row in rows]
        nulls = self._orthonormal([[w.get(i, 0) for i in used] for w in self.null_vectors])
        S = self._system(rows, weighted, nulls)
        # along null vectors the inputs have no effect, and the further rows take over
        targets = _without([sl.sub(0, self.nominal[i]) for i in used], nulls)
        settling = _without([sl.sub(0, self.settling[i]) for i in used], nulls)
        # in the Euclidean metric only the settling terms are weighted differently; the nominal inputs are those of
        # least cost
        if self.form.euclidean:
            u = sl.plus(self._least(rows, weighted, S, targets), self._settled(rows, settling))
        else:
            u = self._least(rows, weighted, S, sl.plus(targets, settling))
        further: list[tuple[Any, Any]] = []
        if self.responds:
            u, further = self._with_reactions(u, used)
        pivots = {i: (pivot, least) for i, pivot, least in zip(used, S.pivots, S.smallest, strict=True)}
        return [*u], [*S.margins(), *self._cost.margins(), *further], pivots

    @property
    def responds(self) -> bool:
        """Whether laws depend on reactions, which the inputs change."""
        laws = self.terms.source.laws
        return laws is not None and laws.needs_ideal

    def _with_reactions(self, u: sl.Vector, used: list[int]) -> tuple[sl.Vector, list[tuple[Any, Any]]]:
        """Record the inputs if laws depend on reactions: Newton's method for α(u) = 0 with the least cost.

        Friction is linear in the inputs as long as no normal force changes its sign, and then one step is exact. The
        result also holds pairs of which the first must be the larger one for the iteration to have converged.
        """
        tape = self.terms.tape
        for _ in range(REACTION_STEPS):
            alpha, _ = self._response(u, used)
            # derivatives on the tape itself: friction is piecewise linear, and a formula for it would repeat the laws
            columns = [along(tape, alpha, {x.line: 1.0}) if isinstance(x, Value) else [0] * len(alpha) for x in u]
            rows = [[column[i] for column in columns] for i in range(len(alpha))]
            weighted = [self.weighted(row) for row in rows]
            target = [sl.sub(sl.dot(row, u), x) for row, x in zip(rows, alpha, strict=True)]
            u = self._least(rows, weighted, self._system(rows, weighted, []), target)
        alpha, sizes = self._response(u, used)
        return u, [
            (sl.mul(REQUIREMENT_ROUNDING, size), self.terms.absolute(x)) for size, x in zip(sizes, alpha, strict=True)
        ]

    def _response(self, u: sl.Vector, used: list[int]) -> tuple[list[Any], list[Any]]:
        """Record α of all equations at given inputs, and the size of the terms that it is the sum of."""
        terms, absolute = self.terms, self.terms.absolute
        force: sl.Vector = [terms.read(e) for e in terms.source.form.applied_force]
        for x, direction in zip(u, self.directions, strict=True):
            force = sl.plus(force, direction, x)
        acceleration = terms.response(force)
        alpha: list[Any] = []
        sizes: list[Any] = []
        for i in used:
            row = self.form.requirements[i].row
            parts = sl.times([terms.read(e) for e in row.gradient], acceleration)
            rest = sl.sub(self.settling[i], terms.read(row.rhs))
            alpha.append(sl.add(sl.dot(parts, [1] * len(parts)), rest))
            sizes.append(
                sl.add(sl.dot([absolute(part) for part in parts], [1] * len(parts)), sl.add(absolute(rest), TINY))
            )
        return alpha, sizes

    def _orthonormal(self, vectors: sl.Matrix) -> list[sl.Vector]:
        found: list[sl.Vector] = []
        for vector in vectors:
            rest = _without(vector, found)
            length = 1 / self.terms.tape.record("sqrt", sl.dot(rest, rest))
            found.append([sl.mul(length, x) for x in rest])
        return found

    def _least(self, rows: sl.Matrix, weighted: sl.Matrix, S: Elimination, target: sl.Vector) -> sl.Vector:
        """Record the least inputs with G u = target, and refine them once: G N⁻¹Gᵀ has the squared condition of G."""
        u: sl.Vector = [0] * len(self.columns)
        for _ in range(2):
            missing = [sl.sub(e, sl.dot(row, u)) for e, row in zip(target, rows, strict=True)]
            for factor, row in zip(S.solve(missing, []).acceleration, weighted, strict=True):
                u = sl.plus(u, row, factor)
        return u

    def _settled(self, rows: sl.Matrix, target: sl.Vector) -> sl.Vector:
        """Record the force on the coordinates whose acceleration is the shortest one in the Euclidean metric.

        Such an acceleration is P M Gᵀλ, where P projects onto those that the physical constraints allow.
        """
        M = self.terms.mass_matrix
        n, others = len(M), [0] * (len(self.columns) - len(M))
        weighted: list[sl.Vector] = []
        for row in rows:
            moved = self._allowed([sl.dot(masses, row[:n]) for masses in M])
            weighted.append([*(sl.dot(masses, moved) for masses in M), *others])
        return self._least(rows, weighted, self._system(rows, weighted, []), target)

    def _allowed(self, vector: sl.Vector) -> sl.Vector:
        """Record the Euclidean projection of a vector onto the accelerations that the physical constraints allow."""
        programs, n = self.terms.programs, len(vector)
        if not programs.rows:
            return vector
        unit = [[1 if i == j else 0 for j in range(n)] for i in range(n)]
        constraints = [self.terms.row(k) for k in programs.rows]
        tape = self.terms.tape if programs.tolerant else None
        return eliminate(unit, constraints, programs.order, tape).solve(vector, [0] * len(constraints)).acceleration

    def margins(self) -> list[Any]:
        """Record for each requirement how clearly inputs act on it: the least pivot of its rows over its limit."""
        found: list[Any] = [float("inf")] * len(self.form.requirements)
        for i, (pivot, least) in self.solution[2].items():
            owner = self.owners[i]
            found[owner] = self.terms.smaller(found[owner], pivot / least)
        return found

    def equations(self) -> list[Any]:
        """Record for each requirement the sum of α over its rows."""
        found: list[Any] = [0.0] * len(self.form.requirements)
        for owner, alpha in zip(self.owners, self.alpha, strict=True):
            found[owner] = sl.add(found[owner], alpha)
        return found

    def cost_margin(self) -> Any:
        """Record by how much N is positive definite: the least pivot over its limit."""
        found: Any = float("inf")
        for pivot, least in zip(self._cost.pivots, self._cost.smallest, strict=True):
            found = self.terms.smaller(found, pivot / self.terms.absolute(least))
        return found

    @property
    def conditions(self) -> list[tuple[Any, Any]]:
        """Pairs of which the first must be the larger one: otherwise no inputs meet the requirements."""
        return self.solution[1]

    @cached_property
    def inputs(self) -> list[Any]:
        """The inputs, within their limits; NaN where no inputs meet the requirements."""
        record, valid = self.terms.tape.record, True
        for larger, smaller in self.conditions:
            valid = record("and", valid, record("<", smaller, larger))
        for u in self.solution[0]:  # a limit must not hide that an input is undefined
            valid = record("and", valid, record("==", u, u))
        inputs = (self._limited(u, limit) for u, limit in zip(self.solution[0], self._limits, strict=True))
        return [record("select", valid, u, float("nan")) for u in inputs]

    @property
    def _limits(self) -> list[Any]:
        terms = self.terms
        # with a negative limit the ends of the interval would be exchanged
        return [None if limit is None else terms.larger(terms.read(limit), 0.0) for limit in self.form.limits]

    def excess(self) -> list[Any]:
        """Record by how much the inputs that meet the requirements exceed their limits; −1 without a limit."""
        pairs = zip(self.solution[0], self._limits, strict=True)
        return [-1.0 if limit is None else sl.sub(self.terms.absolute(u), limit) for u, limit in pairs]

    def _limited(self, u: Any, limit: Any) -> Any:
        if limit is None:
            return u
        return self.terms.larger(self.terms.smaller(u, limit), sl.sub(0, limit))

    @property
    def input_forces(self) -> list[list[Any]]:
        """The generalised force of each input."""
        return [
            [sl.mul(u, component) for component in direction]
            for u, direction in zip(self.inputs, self.directions, strict=True)
        ]


def _without(vector: sl.Vector, others: list[sl.Vector]) -> sl.Vector:
    """Record the part of a vector that is orthogonal to orthonormal ones."""
    for w in others:
        vector = sl.minus(vector, w, sl.dot(w, vector))
    return vector
