# SPDX-License-Identifier: BSD-3-Clause
"""A stick-slip trajectory, joined from its segments.

Forces that hold a sticking contact are reported as friction; the constraints that model them are not reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.equation.one_state import answer_of
from dalembert.integration.control_outputs import control_along
from dalembert.integration.default_tolerances import coarse_notes
from dalembert.integration.path_outputs import outputs_along
from dalembert.integration.run_events import RunEvent
from dalembert.integration.run_notes import friction_notes, phase_notes, statistics
from dalembert.integration.start_states import terms_at
from dalembert.integration.trajectory import Trajectory
from dalembert.integration.trajectory_dataset import PER_CONSTRAINT
from dalembert.lowering.build import build
from dalembert.model.expression_values import expression_values
from dalembert.model.ordering import quoted
from dalembert.model.system import System
from dalembert.numerics.linear_algebra import rank
from dalembert.stick_slip.modes import Mode, cached_mode
from dalembert.stick_slip.phases import Phase
from dalembert.stick_slip.segment import Segment


def join_segments(
    segments: Sequence[Segment], times: Floats, events: tuple[RunEvent, ...], system: System
) -> Trajectory:
    """Return the motion at times within consecutive segments, with the constraints of a system.

    The phases may have some of these only: the forces of others are zero, and so is their violation, except that of a
    one-sided constraint that is penetrated.
    """
    parts: list[dict[str, Any]] = []
    start = -np.inf
    for segment in segments:
        # an output at the instant of a transition belongs to the segment before it
        within = times[(times > start) & (times <= segment.end)]
        if len(within):
            parts.append(_segment_outputs(segment, within, system))
        start = segment.end
    whole = {name: _joined([part[name] for part in parts]) for name in parts[0]}
    first = segments[0].phase
    paths = [segment.path for segment in segments]
    # reported as the integrator of the run if any segment needed it
    slowest = next((path for path in paths if path.native is None), paths[0])
    total = statistics(first.method, slowest) | {
        name: sum(getattr(path, name) for path in paths) for name in ("steps", "rejected", "seconds")
    }
    return Trajectory(
        t=times[: len(whole["q"])],
        **whole,
        coordinates=system.coordinate_names,
        constraints=system.constraint_names,
        parameters=dict(first.p),
        statistics=total,
        notes=(
            *_notes(segments),
            *dict.fromkeys(note for segment in segments for note in _phase_notes(segment)),
            *coarse_notes(first.method, whole["q"]),
            *friction_notes(first.method, paths),
        ),
        events=events,
    )


def _joined(parts: Sequence[Any]) -> Any:
    """Return arrays one after the other, also those in dictionaries with the same names."""
    if isinstance(parts[0], Mapping):
        return {name: _joined([part[name] for part in parts]) for name in parts[0]}
    return None if parts[0] is None else np.concatenate(parts)


def _segment_outputs(segment: Segment, times: Floats, system: System) -> dict[str, Any]:
    """Return the outputs of one segment, with columns for all constraints of the system."""
    phase, own = segment.phase, segment.phase.mode.system
    found = _mode_outputs(segment, times)
    shared = found.pop("shared")
    if own.constraint_names == system.constraint_names:
        return found | shared
    y = np.concatenate([found["q"], found["qd"]], axis=1)
    places = [system.constraint_names.index(name) for name in own.constraint_names]
    for name in PER_CONSTRAINT:
        whole = np.zeros((len(times), len(system.constraints)))
        whole[:, places] = found[name]
        found[name] = whole
    for name, values in shared.items():
        names = () if phase.sharing is None else phase.sharing.whole.constraint_names
        found[name][:, [system.constraint_names.index(own) for own in names]] = values
    for k, constraint in enumerate(system.constraints):
        if constraint.one_sided and k not in places:
            gap = expression_values(system, (constraint.expression,))(times, y, phase.p)[:, 0]
            found["violation"][:, k] = np.minimum(gap, 0.0)
    return found


def _mode_outputs(segment: Segment, times: Floats) -> dict[str, Any]:
    """Return the outputs of one segment, with columns for the constraints of its own system."""
    phase = segment.phase
    mode, system = phase.mode, phase.mode.system
    found = outputs_along(mode.dynamics, phase.method, segment.path, times, phase.values)
    del found["accurate"]
    y = np.concatenate([found["q"], found["qd"]], axis=1)
    found |= control_along(mode.dynamics, y, times, phase.values)
    shared = _shared_forces(phase, times, y, found)
    found["reactions"] = phase.admissible(times, y, found["reactions"])
    if not mode.sticking:
        return found | {"shared": shared}
    m = len(system.constraints)
    ideal, multipliers = _ideal(phase, times, y, found["acceleration"])
    return found | {
        **{name: found[name][:, :m] for name in PER_CONSTRAINT},
        "ideal_force": ideal,
        "nonideal_force": found["ideal_force"] + found["nonideal_force"] - ideal,
        "multipliers": multipliers,
        "rank": _ranks(phase, times, y, found["rank"]),
        "shared": shared | ({"multipliers": _distributed(phase, times, y, multipliers)} if shared else {}),
    }


def _shared_forces(phase: Phase, times: Floats, y: Floats, found: dict[str, Any]) -> dict[str, Floats]:
    """Return reactions and multipliers (T, m) of a phase in which closed contacts share their load, if they do."""
    if phase.sharing is None:
        return {}
    m = len(phase.sharing.whole.constraints)
    reactions = phase.distributed(times, y, found["reactions"])
    if phase.undetermined:  # the distribution that friction allows
        reactions = phase.admissible(times, y, found["reactions"])
    own = found["multipliers"][:, : len(phase.mode.system.constraints)]
    return {"reactions": reactions[:, :m], "multipliers": _distributed(phase, times, y, own)}


def _distributed(phase: Phase, times: Floats, y: Floats, multipliers: Floats) -> Floats:
    """Return the multipliers of all closed contacts, distributed as their reactions without friction."""
    assert phase.sharing is not None
    frictionless = cached_mode(phase.mode.system, phase.mode.contacts, ())
    return phase.sharing.distributed(frictionless, phase.values, times, y, multipliers)


def _ideal(phase: Phase, times: Floats, y: Floats, acceleration: Floats) -> tuple[Floats, Floats]:
    """Return the ideal force (T, n) and its multipliers (T, m): those of the constraints without friction.

    The force that holds a contact is a nonideal force, as in ``da.motion``, although it is computed as that of a
    constraint.
    """
    system, dynamics = phase.mode.system, phase.mode.dynamics
    n, m = len(system.coordinates), len(system.constraints)
    forces, multipliers = np.zeros((len(times), n)), np.zeros((len(times), m))
    for k, (t, state) in enumerate(zip(times, y, strict=True)):
        # the force of the mode, in which inputs of actuators know which contacts stick
        terms = terms_at(dynamics, state[:n], state[n:], t, phase.values)
        M, Q, A = (np.asarray(x) for x in (terms.M, terms.Q, terms.A[:m]))
        # A q̈ is b with the stabilising terms of a drift cure, if there are any
        answer = answer_of(phase.method.formulation, M, Q, A, A @ acceleration[k], None)  # pyright: ignore
        forces[k], multipliers[k] = np.asarray(answer.ideal_force), np.asarray(answer.multipliers)
    return forces, multipliers


def _ranks(phase: Phase, times: Floats, y: Floats, found: Floats) -> NDArray[np.int64]:
    """Return the ranks of the system's own constraints, given those with the constraints of sticking contacts."""
    system = phase.mode.system
    m = len(system.constraints)
    # full rank with the constraints of sticking contacts means full rank without them
    if m == 0 or (found == m + sum(len(contact.velocity) for contact in phase.mode.sticking)).all():
        return np.full(len(times), m)
    dynamics = build(system)
    p = tuple(phase.p[name] for name in dynamics.parameters)
    n = len(system.coordinates)
    rows = [np.asarray(terms_at(dynamics, s[:n], s[n:], t, p).A) for t, s in zip(times, y, strict=True)]
    return np.array([rank(A) for A in rows])


def _phase_notes(segment: Segment) -> list[str]:
    phase = segment.phase
    return phase_notes(phase.mode.dynamics, phase.method, segment.path, phase.values)


def _notes(segments: Sequence[Segment]) -> tuple[str, ...]:
    shared = dict.fromkeys(
        tuple(c.name for c in segment.phase.mode.sticking if c == contact or c in others)
        for segment in segments
        for contact, others in segment.phase.load_sharing.items()
        if others and contact not in segment.phase.undetermined
    )
    kept = dict.fromkeys(
        c.name
        for segment in segments
        for c, d in segment.phase.directions.items()
        if not d.any() and c not in segment.phase.frictionless
    )
    undetermined = dict.fromkeys(tuple(c.name for c in segment.phase.undetermined) for segment in segments)
    notes = [
        f"{quoted(names)} hold the same motion: they slip together, when the sum of their static limits is exceeded; "
        f"the distribution of the load among them is not determined."
        for names in shared
    ]
    notes += [
        f"{quoted(dict.fromkeys(names))} hold for some time although rest does not determine their forces: they stick "
        f"as long as some distribution of the load is within all static limits; reactions are one of many possible."
        for names in undetermined
        if names
    ]
    sharing = dict.fromkeys(
        (segment.phase.sharing.shared, bool(segment.phase.undetermined))
        for segment in segments
        if segment.phase.sharing is not None
    )
    notes += [
        f"{quoted(names)} share their load in a way that the motion does not determine: their reactions are the "
        f"shortest ones, with the least sum of squares, that press."
        for names, sticks in sharing
        if not sticks
    ]
    if kept:
        notes.append(
            f"{quoted(kept)} {'is' if len(kept) == 1 else 'are'} kept at rest by constraints for some time: the "
            f"share of friction in the load is not determined then, and is reported as zero."
        )
    return tuple(notes)


def ledger_entries(mode: Mode, system: System) -> NDArray[np.int64]:
    """Return, for each entry of a mode's ledger, the index of the entry of the run of a system that it belongs to.

    Entries are the applied forces, the constraints, the laws, the inputs; the constraints of a sticking contact belong
    to its law.
    """
    m, laws = len(system.constraints), len(system.laws)
    rows = [system.constraint_names.index(name) for name in mode.system.constraint_names]
    # a mode has the laws of the whole system and of its own constraints, in their order
    own = [
        k for k, law in enumerate(system.laws) if not law.constraint or law.constraint in mode.system.constraint_names
    ]
    # the order of a mode's ledger: its own constraints, those of sticking contacts, the laws that remain
    held = [contact.number for contact in mode.sticking for _ in contact.velocity]
    kept = [number for number in range(len(mode.system.laws)) if number not in held]
    inputs = range(laws, laws + len(mode.dynamics.actuators))
    numbers = (*(own[number] for number in (*held, *kept)), *inputs)
    return np.array([0, *(1 + k for k in rows), *(1 + m + number for number in numbers)])
