# SPDX-License-Identifier: BSD-3-Clause
"""The structure of the servo constraints of a large system: which requirements follow from others, and on which
inputs act in higher derivatives only.

As in straight-line code it is judged once, at states where nothing vanishes by accident; these are near the first state
that is asked for, since random states on the constraints of a large system are hard to find.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import ModelError
from dalembert.integration.sparse_control import rows_at
from dalembert.integration.sparse_laws import caused_by
from dalembert.integration.sparse_motion import free_acceleration
from dalembert.lowering.relative_degree import STATES, Effect, deficient
from dalembert.lowering.servo_refusals import determined, refusal, require_gain, too_few
from dalembert.native.block_mass import BlockMass
from dalembert.native.servo_terms import RowStructure, ServoTerms
from dalembert.native.sparse_system import LargeDynamics
from dalembert.numerics.tolerances import SAME_VALUE, SHARE_TOLERANCE

HIGHEST_LARGE_ORDER = 6
"""Highest derivative of a requirement in which inputs are looked for: models in use need four, for a load behind an
elastic element, and programs become long."""

CLEARLY = 1e-4
"""Least singular value of the effects of inputs, relative to their terms, at which they are clearly independent."""

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
    if servos is None or servos.structure is not None:
        return
    states = _states(dynamics, q, qd, t, numbers)
    try:
        servos.structure = _structure(dynamics, servos, states)
        _require_gains(dynamics, servos, servos.structure)
    except ModelError:
        servos.structure = None
        raise


def _states(dynamics: LargeDynamics, q: Floats, qd: Floats, t: float, numbers: Floats) -> list[Any]:
    """Return functions that evaluate the terms at some states, with the rows that are independent at the given one."""
    code, draw = dynamics.code, np.random.default_rng(20030101)
    code.evaluate(q, qd, t, numbers)
    if code.elimination is not None:
        # all rows are eliminated once, to find those that are redundant at the given state
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

    # the first state itself may be singular
    return [lambda state=state: at(state) for state in near[1:]]


def _structure(dynamics: LargeDynamics, servos: ServoTerms, states: list[Any]) -> RowStructure:
    """Return the way in which inputs act on the requirements."""
    orders = tuple(2 - int(level) for level in servos.layout.levels)
    found = RowStructure((), (), tuple(range(len(orders))), orders)
    done: set[int] = set()
    while True:
        servos.structure = found
        evaluated = [own for own in (_effect(dynamics, servos, state) for state in states) if own is not None]
        # many requirements would take long to choose from, and independent at one state, they are so almost everywhere
        if any(_is_regular(effect) for effect in evaluated[:1]) and not found.differentiations:
            return found
        step, kept = deficient(evaluated, {*found.redundant, *done}) if evaluated else (None, [])
        if step is None:
            return found
        i, basis, _ = step
        if basis and _follows(evaluated, i, list(basis)):
            found = replace(found, redundant=(*found.redundant, i))
            continue
        order, owner = found.orders[i] + 1, found.owners[i]
        several = bool(basis) and not {i, *basis}.isdisjoint(found.differentiated)
        if (
            len(kept) == len(servos.layout.actuators)
            or order > HIGHEST_LARGE_ORDER
            or several
            or not _can_continue(dynamics)
        ):
            raise _refusal(dynamics, servos, found, i, basis, kept)
        # a row without inputs is replaced by its derivative; a combination of rows becomes a further row
        orders = tuple(order if k == i and not basis else old for k, old in enumerate(found.orders))
        if basis:
            done.add(i)
            found = replace(found, owners=(*found.owners, owner), orders=(*orders, order))
        else:
            found = replace(found, orders=orders)
        found = replace(found, differentiations=(*found.differentiations, (i, basis)))


def _can_continue(dynamics: LargeDynamics) -> bool:
    """Return whether requirements can be differentiated: not for a force on every coordinate, nor with rotors."""
    servos = dynamics.code.servos
    return servos is not None and not servos.layout.everywhere and isinstance(dynamics.code.mass, BlockMass)


def _effect(dynamics: LargeDynamics, servos: ServoTerms, evaluate: Any) -> Effect | None:
    """Return the effect of unit inputs at a state; None if it is not finite."""
    evaluate()
    code = dynamics.code
    servos_there = code.evaluate_servos()
    assert servos_there is servos
    rows = rows_at(code, servos, free_acceleration(code))
    if not (np.isfinite(rows.effects).all() and np.isfinite(rows.alpha).all()):
        return None
    k = len(servos.layout.levels)
    sizes = np.array([_size(dynamics, row) for row in servos.A.toarray()])
    sizes = sizes if servos.directions is None else (abs(servos.directions) @ sizes.T).T
    # effects on derivatives are differences of two values of these
    further = np.repeat(np.abs(rows.alpha[k:, None]), rows.effects.shape[1], axis=1)
    sizes = np.maximum(np.abs(rows.effects), np.concatenate([sizes, further]))
    assert servos.structure is not None
    own = servos.structure.differentiated
    sizes[own] = np.maximum(sizes[own], np.abs(rows.alpha[own, None]))
    return Effect(rows.effects, sizes, rows.alpha)


def _is_regular(effect: Effect) -> bool:
    """Return whether inputs act on all rows independently, clearly above rounding."""
    with np.errstate(all="ignore"):
        units = np.nan_to_num(1 / effect.sizes.max(axis=0), posinf=0.0)
        rows = effect.G * units / np.linalg.norm(effect.sizes * units, axis=1)[:, None]
    values = np.linalg.svd(rows, compute_uv=False) if np.isfinite(rows).all() else np.zeros(1)
    return len(values) == len(rows) and float(values.min()) > CLEARLY


def _size(dynamics: LargeDynamics, gradient: Floats) -> Floats:
    """Return the size (n,) of the terms of the acceleration that a force along a gradient causes."""
    code = dynamics.code
    # by absolute values: the terms may cancel, and their rounding does not
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
    dynamics: LargeDynamics, servos: ServoTerms, found: RowStructure, i: int, basis: tuple[int, ...], kept: list[int]
) -> ModelError:
    """Return the error for a row on which inputs do not act, or not independently of others."""
    names, actuators, owner = dynamics.requirements, servos.layout.actuators, found.owners[i]
    behind = [] if basis else _constraints_behind(dynamics, servos.A[[owner]].toarray()[0])
    if behind:
        return determined(names[owner], behind)
    if not basis and len(kept) == len(actuators):
        return too_few(names, actuators, owner, [found.owners[j] for j in kept])
    return refusal(names, actuators, owner, sorted({found.owners[j] for j in basis}), found.orders[i])


def _require_gains(dynamics: LargeDynamics, servos: ServoTerms, found: RowStructure) -> None:
    """Raise if errors do not settle in the order in which inputs appear."""
    for i, name in enumerate(dynamics.requirements):
        orders = [order for order, owner in zip(found.orders, found.owners, strict=True) if owner == i]
        require_gain(name, max(orders), servos.layout.gains[i], combined=len(orders) > 1)


def _constraints_behind(dynamics: LargeDynamics, gradient: Floats) -> list[str]:
    """Return the names of the constraints whose gradients span that of a requirement; none if they do not."""
    code = dynamics.code
    acceleration, multipliers = caused_by(code, gradient)
    free = code.mass.solve(gradient)
    # a force along a gradient that the constraints span moves nothing
    if not code.m or gradient @ acceleration > SHARE_TOLERANCE * (gradient @ free):
        return []
    sizes = np.abs(multipliers) * code.row_lengths
    return [dynamics.constraints[k] for k in np.flatnonzero(sizes > SHARE_TOLERANCE * sizes.max())]
