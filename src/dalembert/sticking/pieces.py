# SPDX-License-Identifier: BSD-3-Clause
"""A run in pieces: sliding ends where a sliding velocity turns round, sticking where holding would take too much."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from dalembert.errors import ConstraintError, InputError, SimulationError
from dalembert.integration.drift import Projection
from dalembert.integration.failure import why
from dalembert.integration.method import Method
from dalembert.integration.progress import Progress
from dalembert.integration.run import corrected_start
from dalembert.integration.start import require_start
from dalembert.integration.trajectory import Trajectory
from dalembert.lowering.build import build
from dalembert.model.ordering import quoted
from dalembert.model.sticking import Contact
from dalembert.model.system import System
from dalembert.sticking.joining import joined
from dalembert.sticking.mode import mode_of, values_of
from dalembert.sticking.phase import Phase
from dalembert.sticking.piece import Piece, next_piece
from dalembert.sticking.settling import settled

Floats = NDArray[np.float64]

LOOKS = 1000
"""How often at least in a run it is asked whether something has changed: steps alone may be too long."""

MOST_PIECES = 100_000
"""Pieces before a run is given up."""

MOST_AT_ONCE = 50
"""Pieces one after another, while time itself stands still but for rounding, before a run is given up."""


class Change(NamedTuple):
    """A contact sticks, or slips, from now on."""

    t: float
    contact: str
    kind: str


@dataclass
class Pieces:
    """The pieces of a run and the changes between them; p has the values of all parameters by name."""

    system: System
    contacts: tuple[Contact, ...]
    method: Method
    p: dict[str, float]
    pieces: list[Piece] = field(default_factory=list[Piece])
    changes: list[Change] = field(default_factory=list[Change])
    notes: list[str] = field(default_factory=list[str])

    def run(
        self, q0: Floats, qd0: Floats, times: Floats, *, allow_violation: bool, progress: bool | None
    ) -> Trajectory:
        """Simulate from a start at ``times[0]`` and give the motion at all times."""
        t, t1 = float(times[0]), float(times[-1])
        y = np.concatenate([q0, qd0]).astype(float)
        dynamics = build(self.system)
        values = tuple(self.p[name] for name in dynamics.parameters)
        projected = isinstance(self.method.drift, Projection)
        self.notes = require_start(dynamics, q0, qd0, t, values, allow_violation=allow_violation, projected=projected)
        if self.notes:
            y = corrected_start(dynamics, self.method, q0, qd0, t, values)
        self._refuse_odd_coefficients(y, t)
        free = Phase(mode_of(self.system, self.contacts, ()), self.method, self.p, {}, {})
        phase, y = settled(free, y, t)
        with Progress(t, t1, progress) as bar:
            while True:
                left = self.method.max_steps - sum(piece.path.steps for piece in self.pieces)
                piece = next_piece(phase, y, t, t1, (t1 - times[0]) / LOOKS, left, bar)
                self.pieces.append(piece)
                if piece.path.finished:
                    return self._trajectory(times)
                if not piece.path.stopped or self._endless():
                    self._give_up(times, t1)
                t = piece.end
                phase, y = self._next(piece, times)

    def _next(self, piece: Piece, times: Floats) -> tuple[Phase, Floats]:
        try:
            phase, y = settled(piece.phase, piece.last[0], piece.end, piece.stopped(), piece.freed(), piece.fastest)
        except ConstraintError as refusal:
            raise SimulationError(str(refusal), piece.end, self._so_far(times)) from None
        for contact in self.contacts:
            was, is_ = contact in piece.phase.mode.sticking, contact in phase.mode.sticking
            if was != is_:
                self.changes.append(Change(piece.end, contact.name, "sticks" if is_ else "slips"))
        return phase, y

    def _refuse_odd_coefficients(self, y: Floats, t: float) -> None:
        """Raise if friction at rest is less than in motion: then what slides can neither go on nor stop."""
        for contact in self.contacts:
            law = self.system.laws[contact.number].law
            kinetic = law.friction_coefficient(sp.S.Zero)
            at_rest, moving = values_of(self.system, (contact.mu_static, kinetic))(t, y, self.p)
            if not at_rest >= moving * (1 - 1e-12) or moving < 0:
                raise InputError(
                    f"the static coefficient of `{contact.name}` must not be less than the one of sliding, nor either "
                    f"be negative; got {at_rest:g} and {moving:g}."
                )

    def _endless(self) -> bool:
        latest = [piece.end for piece in self.pieces[-MOST_AT_ONCE:]]
        standing = len(latest) == MOST_AT_ONCE and np.ptp(latest) <= 1e-13 * max(abs(latest[-1]), self._span())
        return standing or len(self.pieces) >= MOST_PIECES

    def _span(self) -> float:
        return self.pieces[-1].end - float(self.pieces[0].path.t[0])

    def _give_up(self, times: Floats, t1: float) -> None:
        piece = self.pieces[-1]
        steps = sum(one.path.steps for one in self.pieces)
        if piece.path.stopped:
            message = (
                f"sticking and sliding must not change without end; by t = {piece.end:.6g} the motion is in "
                f"{len(self.pieces)} pieces, the last {MOST_AT_ONCE} of which end within "
                f"{piece.end - self.pieces[-MOST_AT_ONCE].end:.1e}. Friction of "
                f"{quoted(c.name for c in self.contacts)} can neither hold nor let go there; look at its normal force "
                f"and its coefficients."
            )
        elif steps >= self.method.max_steps:
            message = (
                f"the motion must be continued to t = {t1:.6g}; it ended at t = {piece.end:.6g}: the limit of "
                f"{self.method.max_steps} steps was reached. Raise `max_steps` or loosen `rtol` and `atol`. The motion "
                f"so far is in `error.trajectory`."
            )
        else:
            message = why(piece.phase.mode.dynamics, self.method, piece.path, piece.phase.values, t1)
        raise SimulationError(message, piece.end, self._so_far(times))

    def _so_far(self, times: Floats) -> Trajectory:
        end = self.pieces[-1].end
        return self._trajectory(np.unique(np.append(times[times <= end], end)))

    def _trajectory(self, times: Floats) -> Trajectory:
        found = joined(self.pieces, times, tuple(self.changes))
        return replace(found, notes=(*self.notes, *found.notes))
