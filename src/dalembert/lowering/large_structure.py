# SPDX-License-Identifier: BSD-3-Clause
"""The structure of the servo constraints of a large system: which requirements follow from others.

As in straight-line code it is judged once, at states where nothing vanishes by accident; these are near the first state
that is asked for, since random states on the constraints of a large system are hard to find.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import ModelError
from dalembert.integration.sparse_control import effects
from dalembert.integration.sparse_laws import caused_by
from dalembert.integration.sparse_motion import solution
from dalembert.lowering.relative_degree import STATES, Effect, deficient
from dalembert.lowering.servo_refusals import determined, quoted_names, too_few
from dalembert.native.servo_terms import ServoTerms
from dalembert.native.sparse_system import LargeDynamics
from dalembert.numerics.tolerances import SAME_VALUE, SHARE_TOLERANCE

AWAY = 0.1
"""Relative distance of the states at which the structure is judged from the first one, and their absolute one in
positions; velocities differ by one."""


def find_structure(dynamics: LargeDynamics, q: Floats, qd: Floats, t: float, numbers: Floats) -> None:
    """Find which requirements of servo constraints follow from others, unless that is known.

    Raises
    ------
    ModelError    naming a servo whose requirements its actuators cannot meet
    """
    servos = dynamics.code.servos
    if servos is None or servos.used is not None:
        return
    servos.used = np.ones(len(servos.layout.levels), bool)
    try:
        servos.used = _used(dynamics, servos, _states(dynamics, q, qd, t, numbers))
    except ModelError:
        servos.used = None
        raise


def _states(dynamics: LargeDynamics, q: Floats, qd: Floats, t: float, numbers: Floats) -> list[Any]:
    """Return functions that evaluate the terms at some states, with the rows that are independent at the given one."""
    code, draw = dynamics.code, np.random.default_rng(20030101)
    code.evaluate(q, qd, t, numbers)
    if code.elimination is not None:
        code.elimination.used = np.ones(code.m, bool)
        code.factor()
        code.elimination.used = ~code.elimination.left_out
    near = [(q, qd)]
    for _ in range(STATES):
        factors, further = 1 + AWAY * draw.uniform(-1, 1, 2 * code.n), draw.uniform(-1, 1, 2 * code.n)
        near.append((q * factors[: code.n] + AWAY * further[: code.n], qd * factors[code.n :] + further[code.n :]))

    def at(state: tuple[Floats, Floats]) -> None:
        code.evaluate(*state, t, numbers)
        code.factor()

    return [lambda state=state: at(state) for state in near]


def _used(dynamics: LargeDynamics, servos: ServoTerms, states: list[Any]) -> Any:
    """Return the mask (k,) of the requirements that do not follow from others."""
    states[0]()
    found = solution(dynamics).control
    assert found is not None
    names = dynamics.requirements
    # independent at one state, they are so almost everywhere
    if (found.margins > 1).all():
        return np.ones(len(names), bool)
    evaluated = [effect for effect in (_effect(dynamics, servos, state) for state in states[1:]) if effect is not None]
    redundant: set[int] = set()
    while evaluated:
        step, kept = deficient(evaluated, redundant)
        if step is None:
            break
        i, basis, _ = step
        if not basis or not _follows(evaluated, i, list(basis)):
            raise _refusal(dynamics, servos, i, basis, kept)
        redundant.add(i)
    return ~np.isin(np.arange(len(names)), list(redundant))


def _effect(dynamics: LargeDynamics, servos: ServoTerms, evaluate: Any) -> Effect | None:
    """Return the effect of unit inputs at a state; None if it is not finite."""
    evaluate()
    found = solution(dynamics).control
    assert found is not None
    G = effects(dynamics.code, servos, np.arange(len(servos.layout.levels)))
    if not (np.isfinite(G).all() and np.isfinite(found.equations).all()):
        return None
    sizes = np.array([_size(dynamics, row) for row in servos.A.toarray()])
    sizes = sizes if servos.directions is None else (abs(servos.directions) @ sizes.T).T
    return Effect(G, sizes, found.equations[0])


def _size(dynamics: LargeDynamics, gradient: Floats) -> Floats:
    """Return the size (n,) of the terms of the acceleration that a force along a gradient causes."""
    code = dynamics.code
    forces = abs(code.A_transposed) @ np.abs(caused_by(code, gradient)[1])
    return np.abs(code.mass.solve(gradient)) + np.abs(code.mass.solve(forces))


def _follows(effects_there: list[Effect], i: int, basis: list[int]) -> bool:
    """Return whether the equation of a requirement follows from those of others."""
    for effect in effects_there:
        factors = np.linalg.lstsq(effect.G[basis].T, effect.G[i], rcond=None)[0]
        size = max(abs(effect.alpha[i]), np.abs(effect.alpha[basis]).max())
        if not abs(effect.alpha[i] - factors @ effect.alpha[basis]) <= SAME_VALUE * size:
            return False
    return True


def _refusal(
    dynamics: LargeDynamics, servos: ServoTerms, i: int, basis: tuple[int, ...], kept: list[int]
) -> ModelError:
    """Return the error for a requirement on which inputs do not act, or not independently of others."""
    names, actuators = dynamics.requirements, servos.layout.actuators
    if not basis and (behind := _constraints_behind(dynamics, servos.A[[i]].toarray()[0])):
        return determined(names[i], behind)
    if len(kept) == len(actuators):
        return too_few(names, actuators, i, kept)
    others = f" independently of {quoted_names(names[j] for j in basis)}" if basis else ""
    order = 2 - int(servos.layout.levels[i])
    by, do = quoted_names(actuators), "does" if len(actuators) == 1 else "do"
    return ModelError(
        [
            f"servo `{names[i]}` of a large system must be met by inputs that act on its derivative of order {order}"
            f"{others}; {by} {do} not. Choose actuators that act on its coordinates, or state the system with at most "
            f"200 coordinates: there, higher derivatives are used."
        ]
    )


def _constraints_behind(dynamics: LargeDynamics, gradient: Floats) -> list[str]:
    """Return the names of the constraints whose gradients span that of a requirement; none if they do not."""
    code = dynamics.code
    acceleration, multipliers = caused_by(code, gradient)
    free = code.mass.solve(gradient)
    if not code.m or gradient @ acceleration > SHARE_TOLERANCE * (gradient @ free):
        return []
    sizes = np.abs(multipliers) * code.row_lengths
    return [dynamics.constraints[k] for k in np.flatnonzero(sizes > SHARE_TOLERANCE * sizes.max())]
