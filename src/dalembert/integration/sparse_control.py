# SPDX-License-Identifier: BSD-3-Clause
"""The inputs of actuators that meet the servo constraints of a large system at one state.

With ā the acceleration without inputs and D = M̄⁻¹B that of unit inputs, both within the physical constraints, the
requirements read G u = −α, where G = A₂ D and α = A₂ ā − b₂ + s with the settling terms s. They are few, so that G is
small: its rows are (M̄⁻¹A₂ᵀ)ᵀB, one solution of the sparse equations for each requirement. The inputs of least cost are
u = N⁻¹Gᵀ(G N⁻¹Gᵀ)⁻¹(−α), as in straight-line code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.integration.sparse_laws import caused_by
from dalembert.integration.sparse_rates import DifferentiatedRows, requirement_rates, settling_terms
from dalembert.native.elimination import CLEARLY_POSITIVE
from dalembert.native.protocol import Control
from dalembert.native.servo_terms import ServoTerms
from dalembert.native.sparse_system import SparseSystem


def control_of(code: SparseSystem, servos: ServoTerms, free: Floats) -> Control:
    """Return the inputs and the errors at the state of the last evaluation, with a leading axis of length one.

    ``free`` (n,) is the acceleration without inputs. Inputs are NaN where none meet the requirements.
    """
    k = len(servos.layout.levels)
    rows = rows_at(code, servos, free)
    structure = servos.structure
    used, owners = (np.arange(k),) * 2 if structure is None else (structure.used, np.array(structure.owners))
    settling = np.zeros(len(owners))
    if servos.layout.euclidean:
        settling = settling_terms(servos, servos.settling, servos.errors)
    G = rows.effects[used]
    weighted, cost_margin = _weighted(code, servos, G)
    # along null vectors the inputs have no effect, and further rows take over
    nulls = _orthonormal([w[used] for w in rows.nulls])
    S = _with_nulls(G @ weighted.T, nulls)
    pivots, smallest = _pivots(S)
    u = _least(G, weighted, S, _without(nulls, (settling - rows.alpha)[used]))
    if servos.layout.euclidean:
        # only the settling terms are weighted differently
        u = u + _settled(code, G, -settling[used])
    margins, equations = np.full(k, np.inf), np.zeros(k)
    with np.errstate(all="ignore"):
        np.minimum.at(margins, owners[used], pivots / smallest)
        np.add.at(equations, owners, rows.alpha)
    if not (cost_margin > 1 and (margins > 1).all()):
        u = np.full_like(u, np.nan)
    limits = servos.limits
    # a limit must not hide that an input is undefined, which NaN does not pass
    inputs = np.clip(u, -limits, limits)
    excess = np.where(np.isfinite(limits), np.abs(u) - limits, -1.0)
    force = inputs if servos.directions is None else servos.directions.T @ inputs
    found = inputs, servos.error, margins, excess, force, np.array([cost_margin]), equations
    return Control(*(x[None] for x in found))


def rows_at(code: SparseSystem, servos: ServoTerms, free: Floats) -> DifferentiatedRows:
    """Return α and G of all rows at the state of the last evaluation."""
    if servos.structure is not None and servos.structure.differentiations:
        return requirement_rates(code, len(servos.structure.differentiations)).rows()
    alpha = servos.A @ free - servos.rhs + settling_terms(servos, servos.settling, servos.errors)
    return DifferentiatedRows(alpha, effects(code, servos, np.arange(len(alpha))), [])


def _orthonormal(vectors: list[Floats]) -> list[Floats]:
    found: list[Floats] = []
    for vector in vectors:
        rest = _without(found, vector)
        found.append(rest / np.linalg.norm(rest))
    return found


def _without(others: list[Floats], vector: Floats) -> Floats:
    """Return the part of a vector that is orthogonal to orthonormal ones."""
    for w in others:
        vector = vector - (w @ vector) * w
    return vector


def _with_nulls(S: Floats, nulls: list[Floats]) -> Floats:
    """Return S + Σ s w wᵀ, which has an inverse; s is the largest diagonal entry of the rows of w."""
    diagonal = np.diagonal(S)
    for w in nulls:
        S = S + diagonal[w != 0].max() * np.outer(w, w)
    return S


def effects(code: SparseSystem, servos: ServoTerms, rows: Any) -> Floats:
    """Return some rows of G (k, r)."""
    gradients = servos.A[rows].toarray()
    responses = np.array([caused_by(code, row)[0] for row in gradients]).reshape(gradients.shape)
    return responses if servos.directions is None else (servos.directions @ responses.T).T


def _weighted(code: SparseSystem, servos: ServoTerms, G: Floats) -> tuple[Floats, float]:
    """Return G N⁻¹ (k, r), and by how much N is positive definite."""
    if servos.cost is None:
        return (np.array([code.mass.times(row) for row in G]) if servos.layout.everywhere else G), np.inf
    pivots, smallest = _pivots(servos.cost)
    with np.errstate(all="ignore"):
        margin = float(np.min(pivots / smallest))
    return (np.asarray(np.linalg.solve(servos.cost, G.T).T, float) if margin > 1 else G * np.nan), margin


def _pivots(matrix: Floats) -> tuple[Floats, Floats]:
    """Return the pivots of a symmetric matrix, eliminated in order, and the least ones that count as positive."""
    left, pivots = matrix.copy(), np.empty(len(matrix))
    with np.errstate(all="ignore"):
        for i in range(len(left)):
            # in the order of the rows, so that a small pivot belongs to one requirement
            pivots[i] = left[i, i]
            left[i + 1 :, i + 1 :] -= np.outer(left[i + 1 :, i], left[i, i + 1 :] / pivots[i])
    return pivots, CLEARLY_POSITIVE * np.diagonal(matrix)


def _least(G: Floats, weighted: Floats, S: Floats, target: Floats) -> Floats:
    """Return the least inputs (r,) with G u = target, refined once: G N⁻¹Gᵀ has the squared condition of G."""
    u = np.zeros(G.shape[1])
    try:
        for _ in range(2):
            u = u + np.linalg.solve(S, target - G @ u) @ weighted
    except np.linalg.LinAlgError:
        return np.full_like(u, np.nan)
    return u


def _settled(code: SparseSystem, G: Floats, target: Floats) -> Floats:
    """Return the force on the coordinates whose acceleration is the shortest one in the Euclidean metric.

    Such an acceleration is P M Gᵀλ, where P projects onto those that the physical constraints allow.
    """
    weighted = np.array([code.mass.times(code.allowed(code.mass.times(row))) for row in G])
    return _least(G, weighted, G @ weighted.T, target)


def by_servo(servos: ServoTerms, errors: Floats) -> dict[str, Any]:
    """Return the errors (..., k) of each servo constraint by its name, with an axis if it has several requirements."""
    return {
        name: errors[..., rows[0]] if len(rows) == 1 else errors[..., list(rows)]
        for name, rows in servos.layout.servos.items()
    }


def input_forces(servos: ServoTerms, control: Control) -> Any:
    """Return the generalised force (r, n) of each input, sparse."""
    from scipy.sparse import csr_array, diags_array

    inputs = diags_array(control.inputs[0])
    return csr_array(inputs if servos.directions is None else inputs @ servos.directions)


def control_answer(servos: ServoTerms | None, control: Control | None) -> dict[str, Any]:
    """Return inputs and errors as fields of an answer at one state; none without servo constraints."""
    if servos is None or control is None:
        return {}
    inputs = dict(zip(servos.layout.actuators, control.inputs[0].tolist(), strict=True))
    return {"inputs": inputs, "servo_error": by_servo(servos, control.errors[0])}


def run_control(servos: ServoTerms | None, controls: Sequence[Control]) -> dict[str, Any]:
    """Return inputs, their force and errors along a run, as fields of a trajectory; none without servo constraints."""
    if servos is None:
        return {}
    inputs, errors, force = (
        np.concatenate([getattr(one, name) for one in controls]) for name in ("inputs", "errors", "force")
    )
    named = dict(zip(servos.layout.actuators, inputs.T, strict=True))
    return {"inputs": named, "input_force": force, "servo_error": by_servo(servos, errors)}
