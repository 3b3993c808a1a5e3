# SPDX-License-Identifier: BSD-3-Clause
"""Accelerations and forces at a state with contacts at rest, which friction holds or lets slip."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.equation.answer import ConstrainedMotion
from dalembert.equation.formulation import Formulation
from dalembert.equation.one_state import answer_of
from dalembert.equation.reaction import NonidealForces
from dalembert.integration.control_outputs import motion_with_control
from dalembert.integration.method import Method
from dalembert.integration.start_states import terms_at
from dalembert.integration.state_answer import answer_at
from dalembert.lowering.build import build
from dalembert.model.friction_contacts import contacts
from dalembert.model.system import System
from dalembert.stick_slip.modes import cached_mode
from dalembert.stick_slip.phases import Phase
from dalembert.stick_slip.simulation import check_coefficients
from dalembert.stick_slip.transitions import contacts_at_rest, next_phase


def motion_at_rest(
    system: System, method: Method, q: Floats, qd: Floats, t: float, p: dict[str, float]
) -> ConstrainedMotion | None:
    """Return accelerations and forces at a state with contacts at rest; None where all contacts slide.

    Raises
    ------
    ConstraintError    if contacts at rest can share their load in several ways that differ in the motion
    InputError         if a static coefficient is less than the kinetic one
    """
    y = np.concatenate([q, qd])
    resting = contacts_at_rest(system, contacts(system), y, t, p)
    if not resting:
        return None
    check_coefficients(system, contacts(system), p, y, t)
    phase, y = next_phase(Phase(cached_mode(system, contacts(system), ()), method, p, {}, {}), y, t, stopped=resting)
    n = len(q)
    state = (y[:n], y[n:], t, phase.values)
    answer = answer_at(phase.mode.dynamics, *state, method.formulation)
    found = _answer_with_forces(phase, method.formulation, _law_forces(phase, answer, y, t), state)
    return motion_with_control(phase.mode.dynamics, found, *state)


def _law_forces(phase: Phase, answer: ConstrainedMotion, y: Floats, t: float) -> Floats:
    """Return C of every law of the system (l, n): the force that holds it for a sticking contact."""
    mode = phase.mode
    held = {contact.number: contact for contact in mode.sticking}
    # the laws of sticking contacts are constraints of the mode; the others remain laws, in their order
    sliding = iter(np.asarray(answer.law_nonideal))
    reactions = phase.admissible(np.array([t]), y[None], np.asarray(answer.reactions)[None])[0]
    return np.stack(
        [
            mode.velocity_jacobian(held[i], t, y, phase.p).T @ reactions[mode.rows(held[i])]
            if i in held
            else next(sliding)
            for i in range(len(mode.system.laws))
        ]
    )


def _answer_with_forces(phase: Phase, formulation: Formulation, law_forces: Floats, state: Any) -> ConstrainedMotion:
    """Return the motion of a system whose laws have known forces C."""
    # terms of the mode, in which inputs of actuators know which contacts stick, without the rows that hold these
    terms, system = terms_at(phase.mode.dynamics, *state), phase.mode.system
    m = len(system.constraints)
    given = (np.asarray(x) for x in (terms.M, terms.Q, terms.A[:m], terms.b[:m]))
    found = answer_of(formulation, *given, lambda _: NonidealForces(law_forces, None))  # pyright: ignore  (arrays of NumPy do)
    return replace(found, laws=build(system).laws)
