# SPDX-License-Identifier: BSD-3-Clause
"""Simulation of stick-slip motion: segments of smooth motion, with a transition of contacts between them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import sympy as sp

from dalembert.array_types import Floats
from dalembert.errors import ConstraintError, InputError, SimulationError
from dalembert.integration.failure import why
from dalembert.integration.method import Method
from dalembert.integration.progress import Progress
from dalembert.integration.run import corrected_start, path_saturation
from dalembert.integration.saturation import Saturation, joined, saturation_notes
from dalembert.integration.start_states import require_start
from dalembert.integration.trajectory import Trajectory
from dalembert.lowering.build import build
from dalembert.model.friction_contacts import Contact
from dalembert.model.ordering import quoted
from dalembert.model.system import System
from dalembert.stick_slip.joined_trajectory import join_segments
from dalembert.stick_slip.modes import LOAD_ROUNDING, cached_mode, expression_values
from dalembert.stick_slip.phases import Phase
from dalembert.stick_slip.segment import Segment, integrate_segment
from dalembert.stick_slip.transitions import contacts_at_rest, next_phase

MIN_CHECKS = 1000
"""Least number of checks for a transition in a run: steps alone may be too long."""

MAX_SEGMENTS = 100_000
"""Number of segments after which a run is abandoned."""

MAX_STALLED_SEGMENTS = 50
"""Number of consecutive segments without progress in time after which a run is abandoned."""

STALLED_SPAN = 1e-13
"""Time, relative to that of the run, within which these segments end if there is no progress: each end is located to
the last digit of time, and fifty of them may add up."""


class ContactEvent(NamedTuple):
    """A contact sticks or slips (``kind``) from time t on."""

    t: float
    contact: str
    kind: str


@dataclass
class StickSlipSimulation:
    """The segments of a run and the events between them; p has the values of all parameters by name."""

    system: System
    contacts: tuple[Contact, ...]
    method: Method
    p: dict[str, float]
    segments: list[Segment] = field(default_factory=list[Segment])
    events: list[ContactEvent] = field(default_factory=list[ContactEvent])
    notes: list[str] = field(default_factory=list[str])

    def run(
        self, q0: Floats, qd0: Floats, times: Floats, *, allow_violation: bool, progress: bool | None
    ) -> Trajectory:
        """Simulate from an initial state at ``times[0]`` and return the motion at all times."""
        t, t1 = float(times[0]), float(times[-1])
        y = np.concatenate([q0, qd0]).astype(float)
        dynamics = build(self.system)
        values = tuple(self.p[name] for name in dynamics.parameters)
        projected = self.method.drift.projections > 0
        self.notes = require_start(dynamics, q0, qd0, t, values, allow_violation=allow_violation, projected=projected)
        if self.notes:
            y = corrected_start(dynamics, self.method, q0, qd0, t, values)
        self._check_coefficients(y, t)
        # contacts at rest are found by `next_phase`, which starts from a phase in which all of them slide
        free = Phase(cached_mode(self.system, self.contacts, ()), self.method, self.p, {}, {})
        phase, y = next_phase(free, y, t, stopped=contacts_at_rest(self.system, self.contacts, y, t, self.p))
        with Progress(t, t1, progress) as bar:
            while True:
                # the limit on steps is one of the whole run
                left = self.method.max_steps - sum(segment.path.steps for segment in self.segments)
                segment = integrate_segment(phase, y, t, t1, (t1 - times[0]) / MIN_CHECKS, left, bar)
                self.segments.append(segment)
                if segment.path.finished:
                    return self._trajectory(times)
                if not segment.path.stopped or self._is_stalled():
                    self._raise_failure(times, t1)
                t = segment.end
                phase, y = self._next(segment, times)

    def _next(self, segment: Segment, times: Floats) -> tuple[Phase, Floats]:
        try:
            phase, y = next_phase(
                segment.phase,
                segment.final[0],
                segment.end,
                stopped=segment.stopped(),
                released=segment.released(),
                peak_speeds=segment.peak_speeds,
            )
        # the motion up to the transition is valid, and is returned with the error
        except ConstraintError as error:
            raise SimulationError(str(error), segment.end, self._partial_trajectory(times)) from None
        for contact in self.contacts:
            was, is_ = contact in segment.phase.mode.sticking, contact in phase.mode.sticking
            if was != is_:
                self.events.append(ContactEvent(segment.end, contact.name, "sticks" if is_ else "slips"))
        return phase, y

    def _check_coefficients(self, y: Floats, t: float) -> None:
        """Raise if static friction is less than kinetic friction: then a contact could neither slide nor stick."""
        for contact in self.contacts:
            law = self.system.laws[contact.number].law
            # at zero speed, where sliding begins: a Stribeck law falls from there
            kinetic = law.friction_coefficient(sp.S.Zero)
            at_rest, moving = expression_values(self.system, (contact.mu_static, kinetic))(t, y, self.p)
            if not at_rest >= moving * (1 - LOAD_ROUNDING) or moving < 0:
                raise InputError(
                    f"the static coefficient of `{contact.name}` must not be less than the kinetic one, and neither "
                    f"may be negative; got {at_rest:g} and {moving:g}."
                )

    def _is_stalled(self) -> bool:
        latest = [segment.end for segment in self.segments[-MAX_STALLED_SEGMENTS:]]
        standing = len(latest) == MAX_STALLED_SEGMENTS and np.ptp(latest) <= STALLED_SPAN * max(
            abs(latest[-1]), self._span()
        )
        return standing or len(self.segments) >= MAX_SEGMENTS

    def _span(self) -> float:
        return self.segments[-1].end - float(self.segments[0].path.t[0])

    def _raise_failure(self, times: Floats, t1: float) -> None:
        segment = self.segments[-1]
        steps = sum(one.path.steps for one in self.segments)
        if segment.path.stopped:
            message = (
                f"sticking and sliding must not alternate without end; by t = {segment.end:.6g} the motion has "
                f"{len(self.segments)} segments, the last {MAX_STALLED_SEGMENTS} of which end within "
                f"{segment.end - self.segments[-MAX_STALLED_SEGMENTS].end:.1e}. Friction of "
                f"{quoted(c.name for c in self.contacts)} can neither hold nor slip there; check its normal force "
                f"and its coefficients."
            )
        elif steps >= self.method.max_steps:
            message = (
                f"the motion must be continued to t = {t1:.6g}; it ended at t = {segment.end:.6g}: the limit of "
                f"{self.method.max_steps} steps was reached. Raise `max_steps` or loosen `rtol` and `atol`. The motion "
                f"so far is in `error.trajectory`."
            )
        else:
            message = why(segment.phase.mode.dynamics, self.method, segment.path, segment.phase.values, t1)
        raise SimulationError(message, segment.end, self._partial_trajectory(times))

    def _partial_trajectory(self, times: Floats) -> Trajectory:
        end = self.segments[-1].end
        return self._trajectory(np.unique(np.append(times[times <= end], end)))

    def _trajectory(self, times: Floats) -> Trajectory:
        found = join_segments(self.segments, times, tuple(self.events))
        limited = self._saturation()
        notes = (*self.notes, *found.notes, *saturation_notes(limited))
        return replace(found, notes=notes, saturation=tuple(limited))

    def _saturation(self) -> list[Saturation]:
        """Return the intervals in which inputs of actuators were at their limits."""
        found: list[Saturation] = []
        for segment in self.segments:
            phase = segment.phase
            found += path_saturation(phase.mode.dynamics, self.method, segment.path, phase.values, segment.end)
        return joined(found)
