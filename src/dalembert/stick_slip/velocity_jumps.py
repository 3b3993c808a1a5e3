# SPDX-License-Identifier: BSD-3-Clause
"""Jumps of prescribed velocities during stick-slip motion: of constraints, and of surfaces such as belts.

Friction has a limit, so that a contact that sticks does not follow a jump as an ideal constraint does. All contacts are
released there. The constraints of the system act by their impulses, with friction of μ times a normal impulse where
there is one; whether a contact sticks or slips afterwards is decided by the velocities after the jump.

Compiled code and NumPy round differently, so that a function of time may jump one number earlier in one of them. Both
sides of a jump are therefore evaluated at a distance of some units in the last place: see ``jump_margin``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import ConstraintError, InputError
from dalembert.impacts.contact_terms import ContactTerms
from dalembert.impacts.impact import impact
from dalembert.integration.abrupt_changes import Jump, cross_jump, impulse_work, impulses_of, jumped_rows
from dalembert.lowering.build import build
from dalembert.model import graph
from dalembert.model.expression_values import expression_values
from dalembert.model.friction_contacts import Contact
from dalembert.model.ordering import quoted
from dalembert.model.symbols import multiplier
from dalembert.model.system import System
from dalembert.stick_slip.phases import Phase

SUDDEN_SLIP = 1e-12
"""Change of a sliding velocity or a gap between neighbouring times, relative to its terms, that may be a jump."""

SAME_SLIP = 1e-10
"""Change of a sliding velocity, relative to the velocities, that is rounding and drift."""

IMPULSE_ROUNDING = 1e-12
"""Normal impulse, relative to the largest impulse, that is rounding."""


MARGIN_UNITS = 4
"""Distance from a jump at which its sides are evaluated, in units in the last place of the times of a run."""


def jump_margin(t0: float, t1: float) -> float:
    """Return the distance from a jump, in a run from t0 to t1, at which functions of time are evaluated."""
    return MARGIN_UNITS * float(np.spacing(max(abs(t0), abs(t1))))


class Crossing(NamedTuple):
    """The state after a jump, the work (2, 1 + m + l) of impulses if there are any, notes, and the reason of a failure.

    stopped    names of the contacts whose slip the friction of an impulse has stopped
    """

    y: Floats
    work: Floats | None = None
    notes: tuple[str, ...] = ()
    refusal: str = ""
    stopped: tuple[str, ...] = ()


def is_interrupted(phase: Phase, y: Floats, before: float, after: float) -> bool:
    """Return whether a jump between two neighbouring times ends a phase: of a prescribed velocity or position, or of a
    force that a contact cannot hold.

    Other forces may jump: the phase goes on.
    """
    q, qd = np.split(y, 2)
    jumped = jumped_rows(phase.mode.dynamics, q, qd, before, after, phase.values)
    if any(jumped.values()):
        return True
    largest = np.abs(y).max(initial=0.0)
    for contact in phase.directions:
        change, scale = _slip_change(phase, contact, (y, before), (y, after))
        if change > SUDDEN_SLIP * scale:
            return True
    gaps = [k for k, guard in enumerate(phase.guards) if guard.kind == "gap"]
    # gaps do not depend on reactions
    reactions = np.zeros(len(phase.mode.dynamics.constraints))
    was, is_ = (phase.guard_values(t, y, reactions)[gaps] if gaps else np.zeros(0) for t in (before, after))
    if (np.abs(is_ - was) > SUDDEN_SLIP * (np.abs(was) + largest)).any():
        return True
    # at the time of the jump itself, the forces of this phase would be those of no motion
    here = np.array([after])
    return bool(phase.has_ended(here, *phase.outputs_at(None, here, y[None], here)).any())


def _slip_change(phase: Phase, contact: Contact, *states: tuple[Floats, float]) -> tuple[float, float]:
    """Return the change of a sliding velocity between two states, and its size with that of the velocities."""
    was, is_ = (phase.velocity(contact, t, y) for y, t in states)
    jacobian = phase.mode.velocity_jacobian(contact, states[0][1], states[0][0], phase.p)
    fastest = max(np.abs(np.split(y, 2)[1]).max(initial=0.0) for y, _ in states)
    size = float(np.linalg.norm(was) + np.linalg.norm(is_) + np.abs(jacobian).sum() * fastest)
    return float(np.linalg.norm(is_ - was)), size


def still_at_rest(phase: Phase, before: tuple[Floats, float], after: tuple[Floats, float]) -> list[Contact]:
    """Return the contacts at rest in a phase that still are in another state at another time."""
    kept = [c for c, d in phase.directions.items() if not d.any() and c not in phase.frictionless]
    found: list[Contact] = []
    for contact in (*phase.mode.sticking, *kept):
        change, size = _slip_change(phase, contact, before, after)
        if change <= SAME_SLIP * size:
            found.append(contact)
    return found


def follow_jump(
    system: System, contacts: tuple[Contact, ...], p: dict[str, float], y: Floats, before: float, after: float
) -> Crossing:
    """Return the state after a jump of prescribed velocities, at which all contacts are free to slip."""
    dynamics = build(system)
    values = tuple(np.asarray(p[name], float) for name in dynamics.parameters)
    state, notes, refusal = cross_jump(dynamics, y, before, after, values)
    if refusal or not notes:
        return Crossing(y, refusal=refusal)
    jump = Jump(after, y, state)
    impulses, _ = impulses_of(dynamics, jump, values)
    pressed = [c for c in contacts if _is_pressed(system, c, p, jump, impulses)]
    try:
        if pressed:
            return _with_friction(system, pressed, p, jump, notes)
    except (ConstraintError, InputError) as error:
        return Crossing(y, refusal=str(error))
    work = np.zeros((2, 1 + len(system.constraints) + len(system.laws)))
    work[:, 1 : 1 + len(system.constraints)] = impulse_work(dynamics, jump, values)
    return Crossing(state, work, tuple(notes))


def _is_pressed(system: System, contact: Contact, p: dict[str, float], jump: Jump, impulses: Floats) -> bool:
    """Return whether impulses press a contact, so that its friction has an impulse as well."""
    if not graph.atoms(contact.normal_size, multiplier):
        return False  # a given normal force has no impulse
    values = expression_values(system, (contact.mu_static * contact.normal_size,))
    # the change with the impulses: a constant part of the normal force has none
    loaded, free = (values(jump.t, jump.after, p, given)[0] for given in (impulses, 0 * impulses))
    return bool(abs(loaded - free) > IMPULSE_ROUNDING * np.abs(impulses).max(initial=0.0))


def _with_friction(
    system: System, pressed: list[Contact], p: dict[str, float], jump: Jump, notes: list[str]
) -> Crossing:
    """Return the state after impulses with friction."""
    names = [contact.name for contact in pressed]
    if len({*names}) < len(names) or not {*names} <= {*system.constraint_names}:
        raise ConstraintError(
            f"friction in an impulse must belong to the constraint that presses it, one law to each; at t = "
            f"{jump.t:.6g} a prescribed velocity jumps, and the friction of {quoted(dict.fromkeys(names))} does not. "
            f"Let the velocity change continuously, over a short time if need be."
        )
    model = ContactTerms(system, p, np.ones(len(jump.before)))
    found: Any = impact(model, jump.before, jump.t, system.constraint_names, ())
    q = np.split(jump.before, 2)[0]
    said = tuple(note.replace("an ideal impulse", f"an impulse with friction of {quoted(names)}") for note in notes)
    return Crossing(np.concatenate([q, found.qd]), found.work, said, stopped=found.sticking)
