# SPDX-License-Identifier: BSD-3-Clause
"""The requirements of servo constraints as rows of G u = −α, recorded on a tape: see ``recorded_control``."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from dalembert.equation import scalar_arithmetic as sl
from dalembert.lowering.control_structure import ControlStructure, Differentiation
from dalembert.model.control_form import ControlForm
from dalembert.native.derivatives import along

if TYPE_CHECKING:
    from dalembert.lowering.recorded_terms import RecordedTerms


class RequirementRows:
    """α and G of all requirements, differentiated as their structure says, at the state of recorded terms."""

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

        Its entries are minors of G, so that it is smooth wherever any of the rows contains inputs. Each is a choice of
        inputs, and the largest ones are taken: they differ from the others by a factor, and the sign of w is arbitrary.
        """
        i, basis, choices = differentiation
        if not basis:
            return {i: 1}
        rows, record = (*basis, i), self.terms.tape.record
        found, largest = self._minors(rows, choices[0])
        for columns in choices[1:]:
            other, size = self._minors(rows, columns)
            larger = record("<", largest, size)
            found = [record("select", larger, x, y) for x, y in zip(other, found, strict=True)]
            largest = record("select", larger, size, largest)
        length = record("sqrt", sl.dot(found, found))
        return {k: x / length for k, x in zip(rows, found, strict=True)}

    def _minors(self, rows: tuple[int, ...], columns: tuple[int, ...]) -> tuple[sl.Vector, Any]:
        """Record the signed minors of rows of G with one row left out, and their squared length relative to the effect
        of the inputs on the whole motion."""
        minors = [_determinant([[self.effect(k)[c] for c in columns] for k in rows if k != left]) for left in rows]
        signed = [sl.sub(0, x) if place % 2 else x for place, x in enumerate(minors)]
        size = sl.dot(signed, signed)
        for c in columns:
            size = size / sl.dot(self.directions[c], self.columns[c])
        return signed, size

    def combination(self, differentiation: Differentiation) -> Any:
        """Record the combination ψ = w·α."""
        alpha, w = self.alpha, self.null_vector(differentiation)
        return sl.dot([*w.values()], [alpha[k] for k in w])

    def differentiate(self, differentiation: Differentiation) -> None:
        """Add the row ψ̇ + ω ψ, or put it in the place of its own row if ψ is that row."""
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
        if i not in self._effects:  # only if needed: most differentiated rows are differentiated again
            n, tape, psi = self.terms.programs.n, self.terms.tape, self.psi[i]
            directions = ({("y", n + k): a for k, a in enumerate(D)} for D in self.columns)
            self._effects[i] = [along(tape, [psi], direction)[0] for direction in directions]
        return self._effects[i]


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
