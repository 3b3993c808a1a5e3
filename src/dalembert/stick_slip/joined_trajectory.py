# SPDX-License-Identifier: BSD-3-Clause
"""A stick-slip trajectory, joined from its segments.

Forces that hold a sticking contact are reported as friction; the constraints that model them are not reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.array_types import Floats
from dalembert.equation.one_state import answer_of
from dalembert.integration.control_outputs import control_along
from dalembert.integration.outputs import outputs_along
from dalembert.integration.run import hand_over_notes, statistics
from dalembert.integration.start_states import terms_at
from dalembert.integration.trajectory import Trajectory
from dalembert.integration.trajectory_dataset import PER_CONSTRAINT
from dalembert.linear_algebra import rank
from dalembert.lowering.build import build
from dalembert.model.ordering import quoted
from dalembert.stick_slip.modes import Mode
from dalembert.stick_slip.phases import Phase
from dalembert.stick_slip.segment import Segment


def join_segments(segments: Sequence[Segment], times: Floats, events: tuple[Any, ...]) -> Trajectory:
    """Return the motion at times within consecutive segments."""
    parts: list[dict[str, Any]] = []
    start = -np.inf
    for segment in segments:
        # an output at the instant of a transition belongs to the segment before it
        within = times[(times > start) & (times <= segment.end)]
        if len(within):
            parts.append(_segment_outputs(segment, within))
        start = segment.end
    whole = {name: _joined([part[name] for part in parts]) for name in parts[0]}
    first = segments[0].phase
    dynamics = build(first.mode.system)
    paths = [segment.path for segment in segments]
    # reported as the integrator of the run if any segment needed it
    slowest = next((path for path in paths if path.native is None), paths[0])
    total = statistics(dynamics, first.method, slowest) | {
        name: sum(getattr(path, name) for path in paths) for name in ("steps", "rejected", "seconds")
    }
    return Trajectory(
        t=times[: len(whole["q"])],
        **whole,
        coordinates=dynamics.coordinates,
        constraints=dynamics.constraints,
        parameters=dict(first.p),
        statistics=total,
        notes=(*_notes(segments), *(note for path in paths for note in (*path.notes, *hand_over_notes(path)))),
        events=events,
    )


def _joined(parts: Sequence[Any]) -> Any:
    """Return arrays one after the other, also those in dictionaries with the same names."""
    if isinstance(parts[0], Mapping):
        return {name: _joined([part[name] for part in parts]) for name in parts[0]}
    return None if parts[0] is None else np.concatenate(parts)


def _segment_outputs(segment: Segment, times: Floats) -> dict[str, Any]:
    phase = segment.phase
    mode, system = phase.mode, phase.mode.system
    found = outputs_along(mode.dynamics, phase.method, segment.path, times, phase.values)
    del found["accurate"]
    y = np.concatenate([found["q"], found["qd"]], axis=1)
    found |= control_along(mode.dynamics, y, times, phase.values)
    if not mode.sticking:
        return found
    m = len(system.constraints)
    ideal, multipliers = _ideal(phase, times, y, found["acceleration"])
    return found | {
        **{name: found[name][:, :m] for name in PER_CONSTRAINT},
        "ideal_force": ideal,
        "nonideal_force": found["ideal_force"] + found["nonideal_force"] - ideal,
        "multipliers": multipliers,
        "rank": _ranks(phase, times, y, found["rank"]),
    }


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


def _notes(segments: Sequence[Segment]) -> tuple[str, ...]:
    shared = dict.fromkeys(
        tuple(c.name for c in segment.phase.mode.sticking if c == contact or c in others)
        for segment in segments
        for contact, others in segment.phase.load_sharing.items()
        if others
    )
    kept = dict.fromkeys(c.name for segment in segments for c, d in segment.phase.directions.items() if not d.any())
    notes = [
        f"{quoted(names)} hold the same motion: they slip together, when the sum of their static limits is exceeded; "
        f"the distribution of the load among them is not determined."
        for names in shared
    ]
    if kept:
        notes.append(
            f"{quoted(kept)} {'is' if len(kept) == 1 else 'are'} kept at rest by constraints for some time: the "
            f"share of friction in the load is not determined then, and is reported as zero."
        )
    return tuple(notes)


def ledger_entries(mode: Mode) -> NDArray[np.int64]:
    """Return, for each entry of a mode's ledger, the index of the run's entry that it belongs to.

    Entries are the applied forces, the constraints, the laws, the inputs; the constraints of a sticking contact belong
    to its law.
    """
    m = len(mode.system.constraints)
    # the order of a mode's ledger: its own constraints, those of sticking contacts, the laws that remain
    held = [contact.number for contact in mode.sticking for _ in contact.velocity]
    kept = [number for number in range(len(mode.system.laws)) if number not in held]
    laws = len(mode.system.laws)
    inputs = range(laws, laws + len(mode.dynamics.actuators))
    return np.array([*range(1 + m), *(1 + m + number for number in (*held, *kept, *inputs))])
