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
from typing import TYPE_CHECKING, Any

from dalembert.equation import scalar_arithmetic as sl
from dalembert.lowering.control_structure import ControlStructure, Differentiation
from dalembert.model.control_form import ControlForm
from dalembert.native.elimination import Elimination, eliminate
from dalembert.native.tape import Value
from dalembert.tolerances import TINY

REACTION_STEPS = 3
"""Steps of Newton's method for inputs that change the friction by reactions."""

MET = 1e-10
"""Largest part of the terms of a requirement that these steps may leave."""

if TYPE_CHECKING:
    from dalembert.lowering.recorded_terms import RecordedTerms


class RecordedControl:
    """The inputs of a system's actuators, at the state of its recorded terms."""

    def __init__(self, terms: RecordedTerms, form: ControlForm, structure: ControlStructure):
        self.terms, self.form, self.structure = terms, form, structure
        self.free = terms.free_acceleration
        zeros = [0] * len(terms.programs.rows)
        self.directions = [[terms.read(e) for e in direction] for direction in form.directions]
        self.columns = [terms.solve(direction, zeros).acceleration for direction in self.directions]
        gradients = [[terms.read(e) for e in requirement.row.gradient] for requirement in form.requirements]
        count = len(gradients)
        self.owners = list(range(count))  # the requirement of each row; rows are added below
        self.errors = [self._derivatives(i) for i in range(count)]  # β, β̇, … of each requirement
        self.nominal = [self._nominal(i, gradients[i]) for i in range(count)]
        self.settling = [self._settling_terms(i) for i in range(count)]
        self._effects: dict[int, list[Any]] = {
            i: [sl.dot(gradient, column) for column in self.columns] for i, gradient in enumerate(gradients)
        }
        self.null_vectors: list[dict[int, Any]] = []  # w by row, for which wᵀG = 0
        self.psi: dict[int, Any] = {}  # by row, the combination whose derivative it is
        for differentiation in structure.differentiations:
            self.differentiate(differentiation)
        for i, requirement in enumerate(form.requirements):
            if requirement.rate is None:  # matrices: all derivatives that they multiply are known now
                self.settling[i] = self._settling_terms(i)
        if form.robust is not None:
            self.settling = [*sl.plus(self.settling, self._robust_terms(*form.robust))]

    def _derivatives(self, i: int) -> list[Any]:
        requirement, read = self.form.requirements[i], self.terms.read
        known = {"position": ("position", "velocity"), "velocity": ("velocity",), "acceleration": ()}
        return [read(getattr(requirement.row, name)) for name in known[requirement.level]]

    def _nominal(self, i: int, gradient: sl.Vector) -> Any:
        return sl.sub(sl.dot(gradient, self.free), self.terms.read(self.form.requirements[i].row.rhs))

    def _settling_terms(self, i: int) -> Any:
        """Record Σ Kⱼ β⁽ʲ⁾ of a row's equation; zero if its order exceeds the derivatives known so far."""
        requirement, total = self.form.requirements[i], 0
        first = i - int(self._place(i))
        for j, coefficients in requirement.settling:
            if len(coefficients) > len(self.errors[first + j]):
                return 0  # of a higher order: added when its derivatives are known
            for coefficient, error in zip(coefficients, self.errors[first + j], strict=False):
                total = sl.add(total, sl.mul(self.terms.read(coefficient), error))
        return total

    @cached_property
    def filtered_errors(self) -> list[Any]:
        """For each row, z with ż + ω z = 0: see ``da.BoundedUncertainty``."""
        return [self._filtered(i) for i in range(len(self.owners))]

    def _filtered(self, i: int) -> Any:
        if i in self.psi:
            return self.psi[i]
        requirement, errors = self.form.requirements[i], self.errors[i]
        if requirement.level == "position":
            return sl.add(errors[1], sl.mul(self.terms.read(requirement.rate), errors[0]))
        return errors[0] if errors else 0

    @cached_property
    def filtered_size(self) -> Any:
        """The length of z."""
        z = [self.filtered_errors[i] for i in range(len(self.owners)) if i not in self.structure.redundant]
        return self.terms.tape.record("sqrt", sl.dot(z, z))

    def _robust_terms(self, rho: Any, epsilon: Any) -> list[Any]:
        """Record ρ z/‖z‖, or ρ z/ε within the boundary layer."""
        read, factor = self.terms.read, self.terms.larger(self.filtered_size, self.terms.read(epsilon))
        return [sl.mul(read(rho), z) / factor for z in self.filtered_errors]

    def _place(self, i: int) -> int:
        """Return the place of a row within its servo."""
        own = self.form.requirements[i].servo
        return sum(1 for row in self.form.requirements[:i] if row.servo == own)

    @property
    def alpha(self) -> list[Any]:
        return [*sl.plus(self.nominal, self.settling)]

    def null_vector(self, differentiation: Differentiation) -> dict[int, Any]:
        """Record the unit vector w, by row, with which a row and others combine to one without inputs.

        Its entries are minors of G, so that it is smooth wherever any of the rows contains inputs.
        """
        i, basis, columns = differentiation
        rows = (*basis, i)
        minors = [_determinant([[self.effect(k)[c] for c in columns] for k in rows if k != left]) for left in rows]
        signed = [sl.sub(0, x) if place % 2 else x for place, x in enumerate(minors)]
        length = self.terms.tape.record("sqrt", sl.dot(signed, signed)) if basis else 1
        return {k: x / length if basis else 1 for k, x in zip(rows, signed, strict=True)}

    def combination(self, differentiation: Differentiation) -> Any:
        """Record the combination ψ = w·α."""
        alpha, w = self.alpha, self.null_vector(differentiation)
        return sl.dot([*w.values()], [alpha[k] for k in w])

    def differentiate(self, differentiation: Differentiation) -> None:
        """Add the row ψ̇ + ω ψ, or put it in the place of its own row if ψ is that row."""
        from dalembert.native.derivatives import along  # imported here: scipy.special is slow to import

        i, basis, _ = differentiation
        terms, n = self.terms, self.terms.programs.n
        psi, rate = self.combination(differentiation), self.form.requirements[self.owners[i]].rate
        onward = {("y", k): v for k, v in enumerate(terms.qd)} | {("y", n + k): a for k, a in enumerate(self.free)}
        (moved,) = along(terms.tape, [psi], onward | {("t", 0): 1.0})
        self.errors[self.owners[i]].append(psi)
        if basis:
            self.null_vectors.append(self.null_vector(differentiation))
            self.nominal, self.settling = [*self.nominal, 0], [*self.settling, 0]
            self.owners.append(self.owners[i])
            i = len(self.owners) - 1
        self.nominal[i], self.psi[i] = moved, psi
        self._effects.pop(i, None)
        self.settling[i] = 0 if rate is None else sl.mul(terms.read(rate), psi)

    def effect(self, i: int) -> list[Any]:
        """Record row i of G: the effects of unit inputs; that of ψ̇ is through the velocities on which ψ depends."""
        from dalembert.native.derivatives import along  # imported here: scipy.special is slow to import

        if i not in self._effects:  # only if needed: most differentiated rows are differentiated again
            n, tape, psi = self.terms.programs.n, self.terms.tape, self.psi[i]
            directions = ({("y", n + k): a for k, a in enumerate(D)} for D in self.columns)
            self._effects[i] = [along(tape, [psi], direction)[0] for direction in directions]
        return self._effects[i]

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
    def solution(self) -> tuple[list[Any], list[tuple[Any, Any]]]:
        """The inputs of least cost, and pairs of which the first must be the larger one for them to exist."""
        used = [i for i in range(len(self.owners)) if i not in self.structure.redundant]
        rows = [self.effect(i) for i in used]
        weighted = [self.weighted(row) for row in rows]
        nulls = self._orthonormal([[w.get(i, 0) for i in used] for w in self.null_vectors])
        S = self._system(rows, weighted, nulls)
        targets = _without([sl.sub(0, self.nominal[i]) for i in used], nulls)
        settling = _without([sl.sub(0, self.settling[i]) for i in used], nulls)
        if self.form.euclidean:
            u = sl.plus(self._least(rows, weighted, S, targets), self._settled(rows, settling))
        else:
            u = self._least(rows, weighted, S, sl.plus(targets, settling))
        further: list[tuple[Any, Any]] = []
        if self.responds:
            u, further = self._with_reactions(u, used)
        self._pivots = {i: (pivot, least) for i, pivot, least in zip(used, S.pivots, S.smallest, strict=True)}
        return [*u], [*S.margins(), *self._cost.margins(), *further]

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
        from dalembert.native.derivatives import along  # imported here: scipy.special is slow to import

        tape = self.terms.tape
        for _ in range(REACTION_STEPS):
            alpha, _ = self._response(u, used)
            columns = [along(tape, alpha, {x.line: 1.0}) if isinstance(x, Value) else [0] * len(alpha) for x in u]
            rows = [[column[i] for column in columns] for i in range(len(alpha))]
            weighted = [self.weighted(row) for row in rows]
            target = [sl.sub(sl.dot(row, u), x) for row, x in zip(rows, alpha, strict=True)]
            u = self._least(rows, weighted, self._system(rows, weighted, []), target)
        alpha, sizes = self._response(u, used)
        return u, [(sl.mul(MET, size), self.terms.absolute(x)) for size, x in zip(sizes, alpha, strict=True)]

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
        self.solution  # noqa: B018  (which records the pivots)
        found: list[Any] = [float("inf")] * len(self.form.requirements)
        for i, (pivot, least) in self._pivots.items():
            owner = self.owners[i]
            found[owner] = self.terms.smaller(found[owner], pivot / least)
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
        return [None if limit is None else self.terms.read(limit) for limit in self.form.limits]

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


def _determinant(matrix: sl.Matrix) -> Any:
    """Record a determinant by its expansion along the first column; matrices here have two or three rows."""
    if not matrix:
        return 1
    total: Any = 0
    for k, row in enumerate(matrix):
        rest = [other[1:] for j, other in enumerate(matrix) if j != k]
        share = sl.mul(row[0], _determinant(rest))
        total = sl.sub(total, share) if k % 2 else sl.add(total, share)
    return total
