# SPDX-License-Identifier: BSD-3-Clause
"""The motion at one state where contacts are at rest: what friction holds there, and how the rest starts to slide."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.equation.answer import ConstrainedMotion
from dalembert.equation.formulation import Formulation
from dalembert.equation.reaction import Nature
from dalembert.integration.method import Method
from dalembert.integration.start import terms_at
from dalembert.integration.state_answer import answer_at
from dalembert.lowering.build import build
from dalembert.model.sticking import Contact, contacts
from dalembert.model.system import System
from dalembert.sticking.mode import Floats, mode_of
from dalembert.sticking.phase import Phase
from dalembert.sticking.settling import rests, settled


def contacts_at_rest(system: System, y: Floats, t: float, p: dict[str, float]) -> tuple[Contact, ...]:
    """The contacts under dry friction that are at rest at a state."""
    mode = mode_of(system, contacts(system), ())
    return tuple(c for c in mode.contacts if rests(mode.velocity(c, t, y, p), y))


def answer_at_rest(
    system: System, method: Method, q: Floats, qd: Floats, t: float, p: dict[str, float]
) -> ConstrainedMotion | None:
    """The answer where some contact is at rest, friction holding it or letting it go; None where all of them slide.

    Raises
    ------
    ConstraintError    if contacts at rest can share what they hold in more than one way that matters
    """
    y = np.concatenate([q, qd])
    if not contacts_at_rest(system, y, t, p):
        return None
    phase, y = settled(Phase(mode_of(system, contacts(system), ()), method, p, {}, {}), y, t)
    values = tuple(np.asarray(p[name]) for name in system.parameter_names)
    n = len(q)
    answer = answer_at(phase.mode.dynamics, y[:n], y[n:], t, phase.values, method.formulation)
    return _with_forces(system, method.formulation, _shares(phase, answer, y, t), (q, qd, t, values))


def _shares(phase: Phase, answer: ConstrainedMotion, y: Floats, t: float) -> Floats:
    """C of every law of the system (l, n): of a contact that sticks, the force that holds it."""
    mode = phase.mode
    held = {contact.number: contact for contact in mode.sticking}
    sliding = iter(np.asarray(answer.law_natures))
    reactions = np.asarray(answer.reactions)
    return np.stack(
        [
            mode.slopes(held[i], t, y, phase.p).T @ reactions[mode.rows(held[i])] if i in held else next(sliding)
            for i in range(len(mode.system.laws))
        ]
    )


def _with_forces(system: System, formulation: Formulation, shares: Floats, state: Any) -> ConstrainedMotion:
    """The answer of a system whose laws have known forces C."""
    from dalembert.equation.constrained_motion import answer_of  # which imports JAX

    terms = terms_at(build(system), *state)
    given = (np.asarray(x) for x in (terms.M, terms.Q, terms.A, terms.b))
    found = answer_of(formulation, *given, lambda _: Nature(shares, None))  # pyright: ignore  (arrays of NumPy do)
    return replace(found, laws=build(system).laws)
