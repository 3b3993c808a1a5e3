# SPDX-License-Identifier: BSD-3-Clause
"""Random states that satisfy the constraints, with random positive parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp

from dalembert.model.standard_form import StandardForm, gradient
from dalembert.model.values import Floats

_TRIES = 24
_RANK_TOLERANCE = 1e-8
_ROUNDING = 1e-11
_Compiled = Callable[[Floats], Floats]


@dataclass(frozen=True)
class RandomState:
    """Numbers for all symbols of a model.

    values           coordinates, velocities, time and parameters by symbol
    on_positions     whether the position-level constraints hold there
    on_velocities    whether the velocity-level ones do as well
    rank             of the constraint matrix A there
    """

    values: dict[sp.Symbol, float]
    on_positions: bool
    on_velocities: bool
    rank: int


def random_states(form: StandardForm, count: int) -> tuple[RandomState, ...]:
    """Random states moved onto the constraints; where that fails, as far as it goes.

    Where no positions fit the random parameters (bars too short to close a loop), the parameters give way as well.
    """
    rng = np.random.default_rng(1996)
    symbols = form.symbols
    present = {s for e in (*form.position, *form.velocity) for s in e.free_symbols}
    present |= {s for row in form.constraint_matrix for e in row for s in e.free_symbols}
    known = {*symbols.q, *symbols.qd, symbols.time}
    names = (*symbols.q, *symbols.qd, symbols.time, *sorted(present - known, key=str))
    n = len(symbols.q)
    A = _function(names, [e for row in form.constraint_matrix for e in row])
    everything_but_velocities = [*range(n), *range(2 * n, len(names))]
    stages = (
        _Solver(names, [e for e in form.position if e != 0], list(range(n))),
        _Solver(names, [e for e in form.position if e != 0], everything_but_velocities),
        _Solver(names, [e for e in form.velocity if e != 0], list(range(n, 2 * n))),
    )
    found: list[RandomState] = []
    for _ in range(_TRIES):
        start = np.concatenate([rng.uniform(-1.7, 1.7, 2 * n), rng.uniform(0.5, 1.5, len(names) - 2 * n)])
        found.append(_state(names, start, stages, lambda x: A(x).reshape(-1, n)))
        if sum(s.on_velocities for s in found) == count:
            break
    best = sorted(found, key=lambda s: (s.on_positions, s.on_velocities), reverse=True)[:count]
    fullest = max((s.on_positions, s.on_velocities) for s in best)
    return tuple(s for s in best if (s.on_positions, s.on_velocities) == fullest)


class _Solver:
    """Gauss–Newton for some of the symbols, the others held fixed."""

    def __init__(self, names: Sequence[sp.Symbol], residuals: Sequence[Any], unknown: list[int]):
        self.names = names
        self.residuals = residuals
        self.unknown = unknown

    @cached_property
    def _compiled(self) -> tuple[_Compiled, _Compiled]:
        """Residuals and their slopes; compiled when first used, which not every solver is."""
        unknown = [self.names[k] for k in self.unknown]
        slopes = [e for residual in self.residuals for e in gradient(residual, unknown)]
        return _function(self.names, self.residuals), _function(self.names, slopes)

    def solve(self, start: Floats) -> Floats | None:
        """The nearest solution or so; None where the steps do not converge."""
        x = start.copy()
        if not self.residuals:
            return x
        residual, slope_of = self._compiled
        for _ in range(60):
            miss, slope = residual(x), slope_of(x).reshape(len(self.residuals), -1)
            if not (np.isfinite(miss).all() and np.isfinite(slope).all()):
                return None
            step = np.linalg.lstsq(slope, miss, rcond=1e-9)[0]
            x[self.unknown] -= step / max(1.0, float(np.linalg.norm(step)) / 2)
            if np.abs(step).max() < 1e-13 * (1 + np.abs(x).max()):
                size = 1e-9 * np.abs(slope).max(axis=1)
                return x if bool((np.abs(miss) <= size).all()) else None
        return None


def _state(names: Sequence[sp.Symbol], start: Floats, stages: Sequence[_Solver], A: Any) -> RandomState:
    with np.errstate(all="ignore"):
        positions, with_parameters, velocities = stages
        placed = positions.solve(start)
        placed = with_parameters.solve(start) if placed is None else placed
        moving = None if placed is None else velocities.solve(placed)
        x = moving if moving is not None else placed if placed is not None else start
        rows = A(x)
        defined = bool(np.isfinite(rows).all())
        rank = _rank(rows) if defined else 0
    values = {name: float(value) for name, value in zip(names, x, strict=True)}
    return RandomState(values, placed is not None and defined, moving is not None and defined, rank)


def _rank(A: Floats) -> int:
    """Rank with rows, then columns scaled to size one, so that units do not matter."""
    if not A.size:
        return 0
    A = _scaled(A, axis=1)
    # what is zero on the constraints is rounding error here, which scaled columns would magnify
    A = _scaled(np.where(np.abs(A) < _ROUNDING, 0.0, A), axis=0)
    values = np.linalg.svd(A, compute_uv=False)
    return int((values > _RANK_TOLERANCE * values.max(initial=0)).sum())


def _scaled(A: Floats, axis: int) -> Floats:
    size = np.abs(A).max(axis=axis, keepdims=True)
    return A / np.where(size > 0, size, 1)


def _function(names: Sequence[sp.Symbol], block: Sequence[Any]) -> _Compiled:
    compiled = sp.lambdify([names], list(block), modules=["numpy", "scipy"], cse=True)
    return lambda x: np.array([float(np.real(e)) for e in compiled(x)])
