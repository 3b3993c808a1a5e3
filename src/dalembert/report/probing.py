# SPDX-License-Identifier: BSD-3-Clause
"""Numbers that decide what symbols cannot: which constraint rows are independent where the constraints hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from dalembert.errors import ConstraintError
from dalembert.model.ordering import quoted
from dalembert.model.standard_form import StandardForm
from dalembert.model.values import Floats

TOLERANCE = 1e-7
"""What is left of a row of unit length when others are taken off, below which it depends on them."""

_TRIES = 24
_ENOUGH = 4
_Compiled = Callable[[Floats], tuple[Floats, ...]]


class Probe(NamedTuple):
    """The terms of a model at one random state, with random positive parameters.

    settled    whether the state satisfies the constraints
    """

    mass_matrix: Floats
    constraint_matrix: Floats
    constraint_rhs: Floats
    settled: bool


def probes(form: StandardForm, parameter_names: Sequence[str]) -> tuple[Probe, ...]:
    """Random states moved onto the constraints; where that fails throughout, random states as they are."""
    rng = np.random.default_rng(20)
    n = len(form.applied_force)
    arguments = (*form.symbols.q, *form.symbols.qd, form.symbols.time, *_parameters(parameter_names))
    terms = _compiled(arguments, form)
    settled: list[Probe] = []
    generic: list[Probe] = []
    with np.errstate(all="ignore"):
        for _ in range(_TRIES):
            start = np.concatenate([rng.normal(size=2 * n), rng.uniform(0.5, 1.5, 1 + len(parameter_names))])
            _keep(generic, terms, start, settled=False)
            _keep(settled, terms, _onto_constraints(terms, start, form, n), settled=True)
            if len(settled) == _ENOUGH:
                break
    return tuple(settled or generic)


def independent_rows(probed: Sequence[Probe], rows: int) -> tuple[int, ...]:
    """The earliest rows of A that span all of them, at the probe where most are independent."""
    choices = [_greedy(probe.constraint_matrix) for probe in probed]
    return max(choices, key=len) if choices else tuple(range(rows))


def refuse_contradiction(probed: Sequence[Probe], kept: Sequence[int], names: Sequence[str]) -> None:
    """A dependent row must ask for the acceleration that the rows kept already imply."""
    dropped = [i for i in range(len(names)) if i not in kept]
    settled = [probe for probe in probed if probe.settled]
    if not dropped or not settled:
        return
    off = [i for i in dropped if all(_contradicts(probe, kept, i) for probe in settled)]
    if off:
        raise ConstraintError(
            f"the constraints must agree where they depend on one another; {quoted(names[i] for i in off)} asks for "
            f"another acceleration than {quoted(names[i] for i in kept)}. Correct one of them or leave it out."
        )


def _contradicts(probe: Probe, kept: Sequence[int], row: int) -> bool:
    A, b = probe.constraint_matrix, probe.constraint_rhs
    implied = np.linalg.lstsq(A[list(kept)], b[list(kept)], rcond=None)[0]
    size = np.abs(A[row] * implied).sum() + abs(b[row]) + np.linalg.norm(A[row])
    return bool(abs(A[row] @ implied - b[row]) > 1e-5 * size)


def _greedy(A: Floats) -> tuple[int, ...]:
    basis = np.zeros((0, A.shape[1]))
    kept: list[int] = []
    for i, row in enumerate(A):
        length = np.linalg.norm(row)
        unit = row / length if length > 0 else row
        for _ in range(2):  # once more against rounding
            unit = unit - basis.T @ (basis @ unit)
        left = np.linalg.norm(unit)
        if left > TOLERANCE:
            basis = np.vstack([basis, unit / left])
            kept.append(i)
    return tuple(kept)


def _parameters(names: Sequence[str]) -> tuple[sp.Symbol, ...]:
    return tuple(sp.Symbol(name, real=True) for name in names)


def _compiled(arguments: Sequence[Any], form: StandardForm) -> _Compiled:
    """M, A, b, φ and ψ as one function of one vector."""
    n, m = len(form.applied_force), len(form.constraint_rhs)
    outputs = (form.mass_matrix, form.constraint_matrix, form.constraint_rhs, form.position, form.velocity)
    function = sp.lambdify([arguments], outputs, modules=["numpy", "scipy"], cse=True)
    shapes = ((n, n), (m, n), (m,), (m,), (m,))
    return lambda x: tuple(np.asarray(e, float).reshape(s) for e, s in zip(function(x), shapes, strict=True))


def _keep(found: list[Probe], terms: _Compiled, x: Floats | None, *, settled: bool) -> None:
    if x is None:
        return
    M, A, b, _, _ = terms(x)
    if all(np.isfinite(e).all() for e in (M, A, b)):
        found.append(Probe(M, A, b, settled))


def _onto_constraints(terms: _Compiled, start: Floats, form: StandardForm, n: int) -> Floats | None:
    """Gauss–Newton on the positions, then on the velocities; None where it does not converge."""
    position = [i for i, e in enumerate(form.position) if e != 0]
    velocity = [i for i, e in enumerate(form.velocity) if e != 0]
    x = _gauss_newton(terms, start, slice(0, n), position, residual=3)
    return None if x is None else _gauss_newton(terms, x, slice(n, 2 * n), velocity, residual=4)


def _gauss_newton(terms: _Compiled, start: Floats, part: slice, rows: list[int], *, residual: int) -> Floats | None:
    x = start.copy()
    for _ in range(60):
        found = terms(x)
        gradient, miss = found[1][rows], found[residual][rows]
        if not (np.isfinite(gradient).all() and np.isfinite(miss).all()):
            return None
        step = np.linalg.lstsq(gradient, miss, rcond=1e-9)[0] if rows else np.zeros(part.stop - part.start)
        x[part] -= step / max(1.0, np.linalg.norm(step) / 2)
        if np.abs(step).max() < 1e-13 * (1 + np.abs(x[part]).max()):
            return x if np.abs(miss).max(initial=0.0) < 1e-9 * (1 + np.abs(gradient).max(initial=0.0)) else None
    return None
