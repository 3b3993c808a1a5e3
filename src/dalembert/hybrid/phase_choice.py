# SPDX-License-Identifier: BSD-3-Clause
"""The contacts that stay closed at a state: reactions that press, and accelerations that do not penetrate."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.equation.answer import ConstrainedMotion
from dalembert.equation.dynamics import Terms
from dalembert.equation.painleve import critical_coefficients, refuse_paradox
from dalembert.errors import ConstraintError
from dalembert.hybrid.contact_sharing import (
    frictionless_set,
    refuse_uncertain_friction,
    shared_phase,
    sharing_among,
)
from dalembert.impacts.contact_terms import ContactTerms
from dalembert.impacts.impulses import sizes_with_rounding
from dalembert.integration.method import Method
from dalembert.integration.path_outputs import outputs_at
from dalembert.integration.state_answer import answer_at
from dalembert.model.active_system import active_system
from dalembert.model.friction_contacts import Contact, contacts
from dalembert.model.ordering import quoted
from dalembert.stick_slip.modes import cached_mode
from dalembert.stick_slip.phases import Phase
from dalembert.stick_slip.transitions import contacts_at_rest, next_phase

FORCE_ROUNDING = 1e-12
"""Reaction, relative to the applied forces, below which a contact neither presses nor pulls; likewise the acceleration
of a gap, relative to those that equations couple it to."""

ACCELERATION_ROUNDING = 1e-10
"""Acceleration of a gap, relative to its terms, that is rounding."""

SAME_MOTION = 1e-9
"""Difference of two accelerations, relative to them, that is rounding."""

STILL = 1e-10
"""Slip of a contact that stuck before, relative to the velocities, that is rounding and drift."""

MOST_CANDIDATES = 10
"""Largest number of closed contacts whose combinations are enumerated."""


class Choice(NamedTuple):
    """Closed contacts with the phase of that set, its state, accelerations (n,) and reactions.

    ``forces`` are the reactions of the closed contacts by name.
    """

    closed: frozenset[str]
    phase: Phase
    y: Floats
    acceleration: Floats
    reactions: Floats
    forces: Mapping[str, float] = MappingProxyType({})


class Question(NamedTuple):
    """A state at which contacts are to be closed or open.

    active    names of the equations that hold
    still     names of contacts whose slip is zero
    released  names of contacts that slip because friction cannot hold them
    """

    model: ContactTerms
    method: Method
    y: Floats
    t: float
    active: frozenset[str]
    still: frozenset[str]
    released: frozenset[str] = frozenset()


def choose(question: Question, candidates: Collection[str], first: Collection[str]) -> Choice:
    """Return the set of contacts that stay closed, among candidates that touch and do not move apart.

    A set is right if all its reactions press, and if no other candidate accelerates into the surface: a linear
    complementarity problem, solved by trial of ``first``, then of neighbouring sets, then of all sets.

    Raises
    ------
    ConstraintError    if no set is right, or the reactions of a set are not determined
    PainleveError      if friction has no reaction, or several
    """
    terms = question.model.at(question.y, question.t)
    tried: dict[frozenset[str], Choice] = {}
    likely = [frozenset(first), *frictionless_set(question.model, question.active, candidates, terms)]
    for closed in _sets(candidates, likely, lambda last: _worst(question, terms, tried[last], candidates)):
        if closed not in tried:
            tried[closed] = _attempt(question, closed, terms)
            if _worst(question, terms, tried[closed], candidates) is None:
                _refuse_paradox(question, tried[closed])
                _refuse_several(question, terms, tried, closed, candidates)
                return tried[closed]
    for choice in tried.values():
        if not np.isfinite(choice.reactions).all():
            _refuse_paradox(question, choice)
    raise ConstraintError(
        f"the contacts {quoted(sorted(candidates))} must have a set that can stay closed; at t = {question.t:.6g} "
        f"every one either pulls or lets a body penetrate: friction admits no motion (Painlevé's paradox). Lower its "
        f"coefficient."
    )


def _sets(
    candidates: Collection[str], likely: Sequence[frozenset[str]], worst: Callable[[frozenset[str]], str | None]
) -> Iterator[frozenset[str]]:
    """Return the sets to try: the likely ones, then such that differ from the one before by its worst contact."""
    yield from likely[:-1]
    closed = likely[-1]
    for _ in range(2 * len(candidates) + 1):
        yield closed
        # the worst contact changes sides, a step of principal pivoting, which mostly ends within a few
        closed = closed ^ {worst(closed) or ""}
    if len(candidates) > MOST_CANDIDATES:
        return
    # pivoting may cycle under friction, where the problem is not symmetric; then all sets are tried
    for size in range(len(candidates), -1, -1):
        yield from (frozenset(some) for some in combinations(sorted(candidates), size))


def _attempt(question: Question, closed: frozenset[str], terms: Terms) -> Choice:
    """Return the motion with a set of contacts closed."""
    model, method, y, t, active, _, released = question
    system = active_system(model.system, active | closed)
    rough, sharing = contacts(system), sharing_among(model, active, closed, terms)
    phase = Phase(cached_mode(system, rough, ()), method, model.p, {}, {}, pressing=tuple(sorted(closed)))
    resting = _at_rest(question, phase)
    if sharing is not None and sharing.rough:
        phase, y = shared_phase(phase, sharing, model, (y, t), resting, released)
    elif rough or sharing is not None:
        slipping = [c for c in resting if c.name in released]
        phase, y = next_phase(replace(phase, sharing=sharing), y, t, stopped=resting, released=slipping)
    here = np.array([t])
    found = outputs_at(phase.mode.dynamics, method, None, here, y[None], here, phase.values)
    forces = _forces(phase, y, t, closed, found["reactions"])
    reactions = phase.admissible(here, y[None], found["reactions"])[0]
    choice = Choice(closed, phase, y, found["acceleration"][0], reactions, forces)
    if sharing is not None and _worst(question, terms, choice, closed) is None:
        refuse_uncertain_friction(phase, y, t)
    return choice


def _at_rest(question: Question, phase: Phase) -> set[Contact]:
    """Return the contacts under friction that are at rest."""
    model, _, y, t, *_ = question
    rough = phase.mode.contacts
    if not rough:
        return set()
    slow = (c for c in rough if c.name in question.still and _is_slow(phase, c, y, t, model.scales))
    return {*contacts_at_rest(phase.mode.system, rough, y, t, model.p), *slow}


def _forces(phase: Phase, y: Floats, t: float, closed: Collection[str], reactions: Floats) -> dict[str, float]:
    """Return the reactions of closed contacts; those that share their load have the least one as large as possible."""
    names = phase.mode.system.constraint_names
    admissible = phase.admissible(np.array([t]), y[None], reactions)[0]
    found = {name: float(admissible[names.index(name)]) for name in closed if name in names}
    if phase.sharing is None:
        return found
    best = phase.sharing.least_reactions(phase.mode, phase.values, np.array([t]), y[None], reactions)[0]
    pairs = zip(phase.sharing.closed, map(float, best), strict=True)
    return found | {name: force for name, force in pairs if name in phase.sharing.shared}


def _is_slow(phase: Phase, contact: Contact, y: Floats, t: float, scales: Floats) -> bool:
    """Return whether a contact that was at rest still is: an event may have changed the velocities."""
    n = len(y) // 2
    jacobian = phase.mode.velocity_jacobian(contact, t, y, phase.p)
    allowed = STILL * (np.abs(jacobian) @ (np.abs(y[n:]) + scales[n:]))
    return bool((np.abs(phase.velocity(contact, t, y)) <= allowed).all())


def _worst(question: Question, terms: Terms, choice: Choice, candidates: Collection[str]) -> str | None:
    """Return the contact that pulls or penetrates most, relative to the forces; None if there is none."""
    if not candidates:
        return None  # without contacts the mass matrix may be singular
    model = question.model
    equations = [model.row(name) for name in question.active]
    sizes = sizes_with_rounding(
        np.abs(choice.acceleration), terms.A[equations], np.linalg.inv(terms.M), terms.b[equations]
    )
    off: dict[str, float] = {}
    for name in sorted(candidates):
        A, b = terms.A[model.row(name)], float(terms.b[model.row(name)])
        if name in choice.closed:
            force = choice.forces[name] * np.abs(A).max()
            # written so that NaN counts as a pull: a set whose reactions are not determined is never right
            scale = float(np.abs(terms.Q).max(initial=0.0))
            if not force >= -FORCE_ROUNDING * scale:
                off[name] = -force / (scale + abs(force))
        else:
            gap = float(A @ choice.acceleration) - b
            scale = float(np.abs(A) @ np.abs(choice.acceleration)) + abs(b)
            rounding = max(ACCELERATION_ROUNDING * scale, FORCE_ROUNDING * float(np.abs(A) @ sizes))
            if not gap >= -rounding:
                off[name] = -gap / scale
    return max(off, key=lambda name: off[name], default=None)


def _refuse_several(
    question: Question,
    terms: Terms,
    tried: dict[frozenset[str], Choice],
    closed: frozenset[str],
    candidates: Collection[str],
) -> None:
    """Raise an error if another set of closed contacts is right too, with another motion."""
    chosen = tried[closed]
    for choice in tried.values():
        if not np.isfinite(choice.reactions).all() and _solutions(question, choice) > 1:
            _refuse_paradox(question, choice)
    # a single contact, and friction below all critical coefficients, leave one motion
    if len(candidates) < 2 or len(candidates) > MOST_CANDIDATES or not _is_strong(question, chosen):
        return
    for size in range(len(candidates) + 1):
        for others in map(frozenset, combinations(sorted(candidates), size)):
            if others not in tried:
                tried[others] = _attempt(question, others, terms)
            other = tried[others]
            if _worst(question, terms, other, candidates) is not None:
                continue
            change = np.abs(other.acceleration - chosen.acceleration).max()
            if change > SAME_MOTION * np.abs([other.acceleration, chosen.acceleration]).max():
                _refuse_paradox(question, chosen, solutions=2)


def _solutions(question: Question, choice: Choice) -> int:
    """Return the number of solutions for the normal forces of closed contacts under friction."""
    answer = _answer(question, choice)
    return 1 if answer.normals is None else int(answer.normals.solutions)


def _is_strong(question: Question, choice: Choice) -> bool:
    """Return whether friction is so strong that other sets of closed contacts may be right as well."""
    if not choice.phase.mode.dynamics.contacts:
        return False
    normals = _answer(question, choice).normals
    return normals is not None and bool((critical_coefficients(normals) <= np.asarray(normals.mu)).any())


def _answer(question: Question, choice: Choice) -> ConstrainedMotion:
    q, qd = np.split(choice.y, 2)
    return answer_at(choice.phase.mode.dynamics, q, qd, question.t, choice.phase.values, question.method.formulation)


def _refuse_paradox(question: Question, choice: Choice, solutions: int | None = None) -> None:
    """Raise an error if friction of closed contacts has no reaction, or several."""
    dynamics = choice.phase.mode.dynamics
    if dynamics.contacts:
        answer = _answer(question, choice)
        if solutions is not None and answer.normals is not None:
            answer = replace(answer, normals=answer.normals._replace(solutions=solutions))  # pyright: ignore
        q, qd = np.split(choice.y, 2)
        refuse_paradox(dynamics, answer, q, qd, question.t)
