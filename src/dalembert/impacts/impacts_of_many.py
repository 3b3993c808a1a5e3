# SPDX-License-Identifier: BSD-3-Clause
"""Impacts of many ensemble members at once, in all of which the same contacts and equations take part.

The laws and their checks are those of ``impact``. A member whose impact has no valid solution is marked; a single run
of it raises the error that says why.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Terms
from dalembert.errors import InputError
from dalembert.impacts.contact_terms_of_many import ContactTermsOfMany
from dalembert.impacts.impact import ENERGY_ROUNDING, ROUNDED_SLIP
from dalembert.impacts.impact_problem import HELD, refuse_laws, slip_expressions
from dalembert.impacts.impulses import response
from dalembert.impacts.impulses_of_many import ImpulsesOfMany
from dalembert.numerics.tolerances import EXACT, START_TOLERANCE
from dalembert.numerics.violation import own_size

Flags = NDArray[np.bool_]


class ImpactsOfMany(NamedTuple):
    """Velocities (N, n) after impacts, contacts whose slip friction has stopped (N, m), and which are valid (N,)."""

    qd: Floats
    sticking: Flags
    valid: Flags


class _PartsOfMany(NamedTuple):
    """The parts of the impact problems: see ``ImpactProblem``; arrays have a leading axis N."""

    problem: ImpulsesOfMany
    members: list[int]
    equations: list[int]
    rows: Floats
    mobility: Floats
    free_change: Floats
    coupling: Floats
    valid: Flags


def impacts_of_many(
    model: ContactTermsOfMany,
    at: tuple[Floats, Floats, Floats],
    active: Flags,
    touching: Flags,
    rest: Flags,
) -> ImpactsOfMany:
    """Return the velocities after the impulses of active equations and of the contacts that touch.

    ``at`` are states (N, 2n), times (N,) and parameters (N, k). ``active``, ``touching`` and ``rest`` (m,) tell which
    constraints take part, and which contacts come to rest whatever their coefficient is.
    """
    y, t, p = at
    n, m, terms = y.shape[1] // 2, len(active), model.at(y, t, p)
    nothing = ImpactsOfMany(y[:, n:], np.zeros((len(y), m), bool), np.zeros(len(y), bool))
    taking_part = active | touching
    names = [name for name, own in zip(model.system.constraint_names, taking_part, strict=True) if own]
    try:
        refuse_laws(model.whole, tuple(names))
        parts = _parts(model, terms, at, taking_part, rest)
    except (InputError, np.linalg.LinAlgError):
        return nothing
    pushed, solved = parts.problem.impulses(parts.coupling)
    # the change by the equations alone precedes the impulses of the contacts
    moved = _times(parts.mobility, _times(np.swapaxes(parts.rows, 1, 2), pushed))
    after = y[:, n:] + parts.free_change + moved
    valid = parts.valid & solved & _is_valid(model, parts, at, after, pushed)
    k = len(parts.members)
    slip = np.where(parts.problem.rough, parts.problem.slip, 0.0) + _times(parts.rows[:, k:], moved)
    size = ROUNDED_SLIP * _times(np.abs(parts.rows[:, k:]), np.abs(y[:, n:]) + np.abs(after))
    sticking = nothing.sticking.copy()
    sticking[:, parts.members] = np.abs(slip) <= size
    return ImpactsOfMany(after, sticking, valid)


def _times(A: Floats, x: Floats) -> Floats:
    return (A @ x[..., None])[..., 0]


def _parts(
    model: ContactTermsOfMany, terms: Terms, at: tuple[Floats, Floats, Floats], taking_part: Flags, rest: Flags
) -> _PartsOfMany:
    names = np.flatnonzero(taking_part).tolist()
    members = [i for i in names if model.one_sided[i] or i in model.friction]
    equations = [i for i in names if i not in members]
    # the inverse itself: its entries are the mobilities that the laws of impact are stated with
    A, inverse = terms.A[:, equations], np.linalg.inv(terms.M)
    held = response(A, inverse)
    mobility, free = inverse - held @ A @ inverse, -_times(held, terms.velocity[:, equations])
    slips = [_slip(model, i, at) for i in members]
    rows = np.concatenate([terms.A[:, members], *(row[:, None] for row, *_ in slips)], axis=1)
    # an equation that has just been switched on moves the contacts before any of them pushes
    approach = terms.velocity[:, members] + _times(terms.A[:, members], free)
    stated = [model.system.constraints[i] for i in members]
    two_sided = tuple(not c.one_sided or bool(rest[i]) for i, c in zip(members, stated, strict=True))
    wanted = tuple(sp.S.Zero if both else c.restitution for both, c in zip(two_sided, stated, strict=True))
    restitution = model.values(wanted, *at)
    columns = [np.stack(own, axis=1) for own in zip(*(own[1:] for own in slips), strict=True)]
    slip, friction = columns or (np.zeros((len(at[1]), 0)),) * 2
    slip = slip + _times(rows[:, len(members) :], free)
    rough = tuple(i in model.friction for i in members)
    problem = ImpulsesOfMany(
        approach, restitution, slip, friction, rough, two_sided, tuple(str(c.impact) for c in stated)
    )
    coupling = rows @ mobility @ np.swapaxes(rows, 1, 2)
    own, alone = (np.diagonal(W, axis1=1, axis2=2) for W in (coupling, rows @ inverse @ np.swapaxes(rows, 1, 2)))
    # a contact that the equations hold has a mobility of rounding only
    free_rows = own > HELD * alone
    coupling = coupling * (free_rows[:, :, None] & free_rows[:, None, :])
    valid = ((restitution >= 0) & (restitution <= 1)).all(axis=1) & np.isfinite(coupling).all(axis=(1, 2))
    return _PartsOfMany(problem, members, equations, rows, mobility, free, np.nan_to_num(coupling), valid)


def _slip(model: ContactTermsOfMany, i: int, at: tuple[Floats, Floats, Floats]) -> tuple[Floats, Floats, Floats]:
    """Return the gradients (N, n) of the slip of a contact, its slips, and its friction per unit of normal impulse."""
    count, contact = len(at[1]), model.friction.get(i)
    if contact is None:
        return np.zeros((count, at[0].shape[1] // 2)), np.zeros(count), np.zeros(count)
    if len(contact.velocity) > 1:
        raise InputError(f"friction of `{contact.name}` must act along a line.")
    # friction is linear in the reaction, so that its value at one unit of normal force is the coefficient
    unit = np.zeros((count, len(model.system.constraints)))
    unit[:, i] = 1.0
    values = model.values(slip_expressions(model.whole, contact), *at, forces=unit)
    return values[:, 2:], values[:, 0], values[:, 1]


def _is_valid(
    model: ContactTermsOfMany, parts: _PartsOfMany, at: tuple[Floats, Floats, Floats], after: Floats, pushed: Floats
) -> Flags:
    """Return which impacts satisfy the equations and create no energy: see ``impact._refuse_invalid``."""
    y, t, p = at
    n, rows = y.shape[1] // 2, parts.equations
    new, qd = model.at(np.concatenate([y[:, :n], after], axis=1), t, p), y[:, n:]
    A, velocity = new.A[:, rows], new.velocity[:, rows]
    # by the velocities before and after: a large one that an impulse has stopped leaves its rounding
    size = own_size(velocity, A, after) + _times(np.abs(A), np.abs(qd))
    missed = np.abs(velocity) > START_TOLERANCE * size + EXACT * np.abs(A).sum(axis=2)
    before = np.concatenate([parts.problem.approach, np.where(parts.problem.rough, parts.problem.slip, 0.0)], axis=1)
    later = before + _times(parts.rows, after - qd - parts.free_change)
    # only the contacts: equations that move in time may do work
    gained = (pushed * (before + later)).sum(axis=1) / 2
    most = ENERGY_ROUNDING * (np.abs(pushed) * (np.abs(before) + np.abs(later))).sum(axis=1)
    return ~missed.any(axis=1) & (gained <= most) & np.isfinite(after).all(axis=1)
