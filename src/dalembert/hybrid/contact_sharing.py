# SPDX-License-Identifier: BSD-3-Clause
"""Phases in which closed contacts share their load in a way that the motion does not determine."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Terms
from dalembert.errors import ConstraintError
from dalembert.impacts.contact_terms import ContactTerms
from dalembert.integration.start_states import terms_at
from dalembert.model.active_system import active_system
from dalembert.model.friction_contacts import Contact, contacts
from dalembert.model.ordering import quoted
from dalembert.model.system import System
from dalembert.numerics.linear_algebra import independent_rows, unit_rows
from dalembert.stick_slip.modes import cached_mode
from dalembert.stick_slip.phases import Phase
from dalembert.stick_slip.shared_contacts import SharedContacts, shared_names
from dalembert.stick_slip.transitions import next_phase

LEAVING = 1e-9
"""Sliding speed, relative to all velocities, of a contact that has just begun to slide."""

MOVES_ALONG = 1e-10
"""Acceleration of a gap, relative to its terms, that is rounding."""


def sharing_among(
    model: ContactTerms, active: Collection[str], closed: Collection[str], terms: Terms
) -> SharedContacts | None:
    """Return the closed contacts of which some share their load, or None if all reactions are determined."""
    names = sorted(closed)
    shared = shared_names(_unit_rows(model, (*active, *names), terms), names) if names else ()
    if not shared:
        return None
    whole = active_system(model.system, frozenset({*active, *names}))
    return SharedContacts(whole, model.p, tuple(names), shared)


def frictionless_set(
    model: ContactTerms, active: Collection[str], candidates: Collection[str], terms: Terms
) -> list[frozenset[str]]:
    """Return the contacts that stay closed without friction, if some of the candidates share their load.

    The accelerations satisfy Gauss's principle: they are the nearest ones to those without contacts, in the mass
    metric, with which no gap closes. So they are unique although the reactions are not. All contacts that move along
    are returned.
    """
    names = sorted(candidates)
    rows = [model.row(name) for name in (*active, *names)]
    if not names or not shared_names(_unit_rows(model, (*active, *names), terms), names):
        return []
    from scipy.optimize import nnls

    root = np.linalg.cholesky(terms.M)
    A, free = np.linalg.solve(root, terms.A[rows].T), np.linalg.solve(root, terms.Q)
    lengths = np.linalg.norm(A, axis=0)
    A, b = A / lengths, terms.b[rows] / lengths
    # equations push to both sides; the dual of the distance is a least-distance problem
    signed = np.hstack([A[:, len(active) :], A[:, : len(active)], -A[:, : len(active)]])
    missing = b - A.T @ free
    missing = np.concatenate([missing[len(active) :], missing[: len(active)], -missing[: len(active)]])
    scale = np.linalg.norm(missing)
    # without contacts no gap accelerates: all contacts move along
    if scale == 0.0:
        return [frozenset(names)]
    # least-distance programming by nonnegative least squares: Lawson and Hanson, Solving Least Squares Problems, ch. 23
    E = np.vstack([signed, missing / scale])
    residual = E @ nnls(E, np.eye(len(E))[-1])[0] - np.eye(len(E))[-1]
    # a residual of zero: no motion satisfies all inequalities
    if not residual[-1] < 0:
        return []
    change = -scale * residual[:-1] / residual[-1]
    gap = (A.T @ (free + change) - b)[len(active) :]
    size = (np.abs(A.T) @ (np.abs(free) + np.abs(change)) + np.abs(b))[len(active) :]
    return [frozenset(name for name, x, s in zip(names, gap, size, strict=True) if x <= MOVES_ALONG * s)]


def shared_phase(
    free: Phase,
    sharing: SharedContacts,
    model: ContactTerms,
    state: tuple[Floats, float],
    resting: Collection[Contact],
    released: Collection[str],
) -> tuple[Phase, Floats]:
    """Return the phase in which contacts with friction share their load, and the state to start from.

    All of them stick if some distribution of the load is within all limits. Otherwise all of them slide, and only
    independent ones are in the equations of motion.

    Parameters
    ----------
    free        the phase in which all contacts slide
    resting     contacts at rest
    released    names of contacts that slip in any case
    """
    y, t = state
    free = replace(free, sharing=sharing)
    at_rest = {*sharing.rough} <= {*resting}
    if at_rest and not {c.name for c in sharing.rough} & {*released}:
        try:
            phase, there = next_phase(free, y, t, stopped=resting)
        except ConstraintError:
            pass  # friction does not hold them
        else:
            if {*sharing.rough} <= {*phase.mode.sticking}:
                return phase, there
    names = {c.name for c in sharing.rough} if at_rest else {*released}
    fewer = _independent(model, sharing, y, t)
    rough = contacts(fewer)
    phase = Phase(cached_mode(fewer, rough, ()), free.method, free.p, {}, {}, pressing=free.pressing, sharing=sharing)
    calm = [c for c in rough if c.name in {other.name for other in resting}]
    return next_phase(phase, y, t, stopped=calm, released=[c for c in calm if c.name in names])


def refuse_uncertain_friction(phase: Phase, y: Floats, t: float) -> None:
    """Raise an error if friction at the start of a phase depends on how closed contacts share their load."""
    sharing = phase.sharing
    if sharing is None or not sharing.rough or sharing.are_carried(phase.mode):
        return
    sticks = [c for c in phase.mode.sticking if c.name in sharing.shared]
    moving = _in_directions(phase, y, t)
    differs = sharing.friction_differs(phase.mode, phase.values, np.array([t]), moving[None], 0.0)
    if sticks or differs[0]:
        raise ConstraintError(
            f"friction must not depend on how closed contacts share their load; at t = {t:.6g} that of "
            f"{quoted(sharing.shared)} does: they slide in different directions or with different coefficients, or "
            f"some of them stick, and rigid bodies do not determine the distribution of the load among them. Support "
            f"the body by fewer contacts, such as three feet, or by springs, or pass "
            f"`solver=da.MoreauJean(step)`, which takes one of the distributions."
        )


def _in_directions(phase: Phase, y: Floats, t: float) -> Floats:
    """Return the state with sliding velocities of one in the directions of contacts that leave rest."""
    n = len(y) // 2
    calm = [c for c in phase.directions if phase.speed(c, t, y) <= LEAVING * (1 + np.abs(y[n:]).max())]
    if not calm:
        return y
    A = np.asarray(terms_at(phase.mode.dynamics, y[:n], y[n:], t, phase.values).A)
    # no gap changes
    rows = np.vstack([A, *(phase.mode.velocity_jacobian(c, t, y, phase.p) for c in calm)])
    change = np.linalg.lstsq(rows, np.concatenate([np.zeros(len(A)), *(phase.directions[c] for c in calm)]))[0]
    return np.concatenate([y[:n], y[n:] + change])


def _independent(model: ContactTerms, sharing: SharedContacts, y: Floats, t: float) -> System:
    """Return the system without contacts that slide with friction and follow from others."""
    names, rough = sharing.whole.constraint_names, {c.name for c in sharing.rough}
    rows = _unit_rows(model, names, model.at(y, t))
    laws = {c.number for c in sharing.rough}
    further = {str(p.constraint) for k, p in enumerate(sharing.whole.laws) if k not in laws and p.constraint in rough}
    # equations first, then contacts that have other laws, which would be lost
    priority = [0 if name not in rough else 1 if name in further else 2 for name in names]
    kept = {names[i] for i in independent_rows(rows, priority)}
    lost = sorted(further - kept)
    if lost:
        raise ConstraintError(
            f"closed contacts that share their load must have dry friction only; {quoted(lost)} have other laws as "
            f"well. Support the body by fewer contacts, or pass `solver=da.MoreauJean(step)`."
        )
    return active_system(model.system, frozenset(name for name in names if name in kept or name not in rough))


def _unit_rows(model: ContactTerms, names: Collection[str], terms: Terms) -> Floats:
    """Return rows of constraints in the mass metric, of unit length: their rank does not depend on units."""
    A = terms.A[[model.row(name) for name in names]]
    return unit_rows(np.linalg.solve(np.linalg.cholesky(terms.M), A.T).T)[0]
