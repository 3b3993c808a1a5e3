# SPDX-License-Identifier: BSD-3-Clause
"""Requirements of servo constraints of a large system on which inputs act only in higher derivatives.

Their equations are differentiated along the motion, as in straight-line code (``lowering/recorded_control.py``). Here
this is done by Taylor series in time: terms have their derivatives by programs, accelerations by the equations of
motion, order by order with the same factors. The effect of an input on the derivative in which it first appears is the
difference that a constant unit input makes there, since that derivative is affine in the inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from math import comb, factorial
from typing import Any, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.integration.sparse_laws import caused_by
from dalembert.native.block_mass import BlockMass
from dalembert.native.nonideal_terms import LawTerm
from dalembert.native.row_layout import RowLayout
from dalembert.native.servo_terms import RowStructure, ServoTerms
from dalembert.native.sparse_system import SparseSystem
from dalembert.native.term_loops import CopiedTerm
from dalembert.native.term_rates import TermRates


class DifferentiatedRows(NamedTuple):
    """The equations of all rows, requirements and those that are added to them, at one state.

    alpha (k,), effects (k, r)    of each row
    nulls                         vectors w (k,), along which inputs have no effect
    """

    alpha: Floats
    effects: Floats
    nulls: list[Floats]


class _Values(NamedTuple):
    """Derivatives of one order of all terms; those of M by its blocks, and B (r, n)."""

    A: Any
    b: Floats
    force: Floats
    mass: Floats
    gradients: Any
    rhs: Floats
    errors: tuple[Floats, Floats]
    settling: Floats
    rates: Floats
    directions: Floats


class _Series(NamedTuple):
    """Taylor coefficients of α (orders, k) with settling terms, G (orders, k, r), and of the rates (orders, k).

    errors      β, and β̇ at position level, of each requirement at the start
    settling    the coefficients of the settling law there
    """

    alpha: Floats
    effects: Floats
    rates: Floats
    errors: list[Floats]
    settling: Floats


class RequirementRates:
    """Evaluates the differentiated equations of the requirements of a system."""

    def __init__(self, code: SparseSystem, servos: ServoTerms, highest: int):
        self.code, self.servos, self.highest = code, servos, highest
        stated = code.stated
        assert isinstance(code.mass, BlockMass)
        self._mass = code.mass
        self._constraints = RowLayout(stated.constraints, code.constraint_numbers, (code.m, code.n))
        laws = [law.term for law in stated.laws]
        directions = [law.term for law in servos.direction_terms]
        groups = [stated.constraints, servos.terms, stated.forces, laws, stated.masses, directions]
        self._sizes = np.cumsum([len(group) for group in groups])[:-1]
        self._rates = TermRates([term for group in groups for term in group], code.n, highest)

    def rows(self) -> DifferentiatedRows:
        """Return the equations of all rows at the state of the last evaluation, whose S is factored."""
        r, structure = len(self.servos.layout.actuators), self._structure
        free = self._series(np.zeros(r))
        rows, nulls, settling = self._differentiated(free)
        effects = np.zeros((len(rows), r))
        effects[: free.effects.shape[1]] = free.effects[0]
        changed = structure.differentiated
        # rows that were not differentiated have their effects from the first series already
        for j in range(r) if len(changed) else ():
            moved, *_ = self._differentiated(self._series(np.eye(r)[j]))
            effects[changed, j] = [moved[i][0] - rows[i][0] for i in changed]
        return DifferentiatedRows(np.array([row[0] for row in rows]) + settling, effects, nulls)

    @property
    def _structure(self) -> RowStructure:
        assert self.servos.structure is not None
        return self.servos.structure

    def _differentiated(self, series: _Series) -> tuple[list[Floats], list[Floats], Floats]:
        """Return the series of all rows along one motion; at its start, null vectors and settling by matrices."""
        structure = self._structure
        derivatives = [[own] for own in series.errors]
        rows = [*series.alpha.T]
        nulls: list[Floats] = []
        for i, basis in structure.differentiations:
            psi = rows[i]
            if basis:
                w = _null_vector(series.effects[:, [*basis, i]])
                psi = sum((_product(own, rows[k]) for own, k in zip(w, (*basis, i), strict=True)), 0.0 * psi)
                null = np.zeros(len(structure.owners))
                null[[*basis, i]] = [own[0] for own in w]
                nulls.append(null)
            derivatives[structure.owners[i]].append(psi[:1])
            new = _derivative(psi) + _product(series.rates[:, structure.owners[i]], psi)
            if basis:
                rows.append(new)
            else:
                rows[i] = new
        known = [np.concatenate(own) for own in derivatives]
        return rows, nulls, self._late(series.settling, known, len(rows))

    def _is_late(self, row: int) -> bool:
        """Return whether the settling law of a requirement multiplies derivatives that are rows of their own."""
        layout = self.servos.layout
        count = layout.gains[row]
        return count is not None and count > 2 - int(layout.levels[row])

    def _late(self, settling: Floats, derivatives: list[Floats], count: int) -> Floats:
        """Return the settling terms (count,) of requirements whose matrices multiply higher derivatives."""
        found = np.zeros(count)
        for (row, owner, order), coefficient in zip(self.servos.layout.settling, settling, strict=True):
            if self._is_late(row) and order < len(derivatives[owner]):
                found[row] += coefficient * derivatives[owner][order]
        return found

    def _series(self, u: Floats) -> _Series:
        """Return the series along the motion under constant inputs."""
        q, qd, t, numbers = self.code.inputs
        motion = np.zeros((self.highest + 3, self.code.n))
        motion[0], motion[1] = q, qd
        values: list[_Values] = []
        free: list[Floats] = []
        multipliers: list[Floats] = []
        responses: list[Floats] = []
        reactions: list[Floats] = []
        for order in range(self.highest + 1):
            values.append(self._values(order, motion, t, numbers))
            a, lam = self._solved(values, values[order].force, values[order].b, free, multipliers)
            found = [
                self._solved(values, B, np.zeros(self.code.m), [x[j] for x in responses], [x[j] for x in reactions])
                for j, B in enumerate(values[order].directions)
            ]
            free.append(a)
            multipliers.append(lam)
            responses.append(np.array([x for x, _ in found]).reshape(len(u), self.code.n))
            reactions.append(np.array([x for _, x in found]).reshape(len(u), self.code.m))
            motion[order + 2] = a + u @ responses[order]
        orders = range(self.highest + 1)
        alpha = [self._alpha(values, free, i) / factorial(i) for i in orders]
        # Leibniz's rule for the products of gradients and responses, over i! as coefficients of a series
        effects = [
            sum(comb(i, j) * (values[j].gradients @ responses[i - j].T) for j in range(i + 1)) / factorial(i)
            for i in orders
        ]
        rates = [values[i].rates / factorial(i) for i in orders]
        position, velocity = values[0].errors
        own = ((position, velocity), (velocity,), ())
        errors = [np.array([x[i] for x in own[level]]) for i, level in enumerate(self.servos.layout.levels)]
        return _Series(np.array(alpha), np.array(effects), np.array(rates), errors, values[0].settling)

    def _alpha(self, values: Sequence[_Values], free: Sequence[Floats], i: int) -> Floats:
        """Return the derivative of α of order i."""
        found = -values[i].rhs
        # these are added when the derivatives that they multiply are known: see ``_late``
        late = np.array([self._is_late(row) for row, *_ in self.servos.layout.settling], bool)
        for j in range(i + 1):
            settling = settling_terms(self.servos, np.where(late, 0.0, values[j].settling), values[i - j].errors)
            found = found + comb(i, j) * (values[j].gradients @ free[i - j] + settling)
        return found

    def _solved(
        self, values: Sequence[_Values], force: Floats, b: Floats, known: Sequence[Floats], reactions: Sequence[Floats]
    ) -> tuple[Floats, Floats]:
        """Return the next derivatives of an acceleration and of its multipliers, of which those before are known."""
        code, order = self.code, len(known)
        for j in range(1, order + 1):
            # Leibniz's rule for M q̈ − Aᵀλ = Q and A q̈ = b: products with known derivatives move to the right
            a, lam, factor = known[order - j], reactions[order - j], comb(order, j)
            force = force + factor * (values[j].A.T @ lam - self._mass.times_with(values[j].mass, a))
            b = b - factor * (values[j].A @ a)
        # a force alone, and what the right side adds to it, both refined
        found, lam = caused_by(code, force)
        for _ in range(2):
            more, change = code.correction(b - code.A @ found)
            found, lam = found + change, lam + more
        return found, lam

    def _values(self, order: int, motion: Floats, t: float, numbers: Floats) -> _Values:
        """Evaluate the derivatives of one order along a motion."""
        code, servos, n = self.code, self.servos, self.code.n
        found = self._rates.at(order, motion, t, numbers)
        parts = np.split(np.arange(len(found)), self._sizes)
        constraints, requirements, forces, laws, masses, directions = ([found[i] for i in part] for part in parts)
        stated = code.stated
        force = _sum(stated.forces, forces, n)
        for law, own in zip(stated.laws, laws, strict=True):
            force = force + _sum([law.term], [own], n)
        A, (b, *_) = self._constraints.of(constraints)
        # the last of the terms of servo constraints is the program of their gains
        gradients, (rhs, position, velocity) = servos.rows.of(requirements[:-1])
        settling, rates, *_ = servos.gains_of(requirements[-1].ravel())
        columns = np.zeros((len(servos.layout.actuators), n))
        for law, own in zip(servos.direction_terms, directions, strict=True):
            _add_directions(columns, law, own)
        mass = _sum(stated.masses, masses, len(code.mass.values))
        return _Values(A, b, force, mass, gradients, rhs, (position, velocity), settling, rates, columns)


def _sum(terms: Sequence[CopiedTerm], values: Sequence[Floats], size: int) -> Floats:
    """Return the sums of terms at their targets."""
    total = np.zeros(size)
    for term, own in zip(terms, values, strict=True):
        assert term.targets is not None
        total += np.bincount(term.targets.ravel(), own[:, : term.targets.shape[1]].ravel(), size)
    return total


def _add_directions(columns: Floats, law: LawTerm, values: Floats) -> None:
    targets: Any = law.term.targets
    rows = np.repeat(law.numbers, targets.shape[1])
    np.add.at(columns, (rows, targets.ravel()), values[:, : targets.shape[1]].ravel())


def _product(a: Floats, b: Floats) -> Floats:
    """Return the product of two series."""
    return np.convolve(a, b)[: len(a)]


def _derivative(a: Floats) -> Floats:
    """Return the derivative of a series; its last coefficient is unknown, and zero here."""
    return np.append(np.arange(1, len(a)) * a[1:], 0.0)


def _null_vector(effects: Floats) -> list[Floats]:
    """Return the series of the unit vector w with wᵀG = 0, for rows G (orders, b + 1, r) of rank b.

    Its entries are minors of G, so that it is smooth wherever any of the rows contains inputs.
    """
    count, inputs = effects.shape[1:]
    # by cofactors and not by elimination: the pivot of a series may vanish at the state itself
    choices = (
        [
            (-1) ** left * _determinant(effects[:, [k for k in range(count) if k != left]][:, :, list(columns)])
            for left in range(count)
        ]
        for columns in combinations(range(inputs), count - 1)
    )
    # the largest ones: the minors of other columns may all vanish at this state
    minors = max(choices, key=lambda own: sum(x[0] ** 2 for x in own))
    square = sum((_product(x, x) for x in minors), 0.0 * minors[0])
    length = np.zeros_like(square)
    length[0] = square[0] ** -0.5 if square[0] > 0 else np.nan
    for i in range(1, len(square)):
        # the series of a power, from that of its base
        parts = [(k / 2 - i) * square[k] * length[i - k] for k in range(1, i + 1)]
        length[i] = sum(parts) / (i * square[0])
    return [_product(x, length) for x in minors]


def _determinant(matrix: Floats) -> Floats:
    """Return the series of the determinant of a matrix (orders, b, b), by its expansion along the first column."""
    if not matrix.shape[1]:
        return np.append(1.0, np.zeros(len(matrix) - 1))
    total = np.zeros(len(matrix))
    for k in range(matrix.shape[1]):
        rest = matrix[:, [i for i in range(matrix.shape[1]) if i != k], 1:]
        total += (-1) ** k * _product(matrix[:, k, 0], _determinant(rest))
    return total


def settling_terms(servos: ServoTerms, coefficients: Floats, errors: tuple[Floats, Floats]) -> Floats:
    """Return the settling terms Σ Kⱼ β⁽ʲ⁾ (k,) of each equation, of errors at position and at velocity level."""
    rows, owners, orders = servos.layout.settling.T
    position, velocity = errors
    nothing = 0.0 * velocity
    # of a requirement at position level β and β̇ are known, at velocity level β is the residual of the velocities
    known = np.where(servos.layout.levels == 0, [position, velocity], [velocity, nothing])
    terms = np.where(orders < 2, coefficients * known[np.minimum(orders, 1), owners], 0.0)
    # as floats: without any terms the sum is one of integers
    return np.bincount(rows, terms, len(position)).astype(float)


@lru_cache(maxsize=8)
def requirement_rates(code: SparseSystem, highest: int) -> RequirementRates:
    """Return what evaluates derivatives of requirements up to some order; it is kept for further states."""
    assert code.servos is not None
    return RequirementRates(code, code.servos, highest)
