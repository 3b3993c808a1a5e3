# SPDX-License-Identifier: BSD-3-Clause
"""A run in pieces: sliding ends where a sliding velocity turns round, sticking where holding would take too much.

Nothing is smoothed. The law of sliding jumps where a velocity turns round, and the steps shrink before the jump until
it fits into one whose error is allowed: that is where the change is then located.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import sympy as sp
from numpy.typing import NDArray

from dalembert.errors import ConstraintError, InputError, SimulationError
from dalembert.integration.failure import why
from dalembert.integration.integrate import Path, integrate
from dalembert.integration.method import Method
from dalembert.integration.progress import Progress
from dalembert.integration.run import recorded, refuse_start, statistics, told
from dalembert.integration.start import require_start, terms_at
from dalembert.integration.trajectory import PER_CONSTRAINT, Trajectory
from dalembert.model.sticking import Contact
from dalembert.model.system import System
from dalembert.sticking.mode import Mode, mode_of, values_of

Floats = NDArray[np.float64]

AT_REST = 1e-9
"""A sliding velocity that falls below this part of the largest it had has come to rest."""

LOOKS = 1000
"""How often in a run it is asked whether what sticks still holds: steps alone may be too long, since nothing moves."""

NUDGE = 1e-11
"""Sliding velocity, relative to all velocities, with which a contact that lets go starts to slide: friction must know
which way."""

MOST_CHANGES = 100_000
"""Changes between sticking and sliding before a run is given up."""


class Change(NamedTuple):
    """A contact sticks, or slips, from now on."""

    t: float
    contact: str
    kind: str


class Piece(NamedTuple):
    """Motion in one mode, up to a time."""

    mode: Mode
    path: Path
    end: float


@dataclass
class Pieces:
    """The pieces of a run and the changes between them; p has the values of all parameters by name."""

    system: System
    contacts: tuple[Contact, ...]
    method: Method
    p: dict[str, float]
    pieces: list[Piece] = field(default_factory=list[Piece])
    changes: list[Change] = field(default_factory=list[Change])
    _look: float = 0.0
    _values: dict[Mode, tuple[Any, ...]] = field(default_factory=dict[Mode, tuple[Any, ...]])

    def run(
        self, q0: Floats, qd0: Floats, times: Floats, *, allow_violation: bool, progress: bool | None
    ) -> Trajectory:
        """Simulate from a start at ``times[0]`` and give the motion at all times."""
        t, t1 = float(times[0]), float(times[-1])
        mode = mode_of(self.system, self.contacts, ())
        require_start(mode.dynamics, q0, qd0, t, self.values(mode), allow_violation=allow_violation)
        self._refuse_odd_coefficients(q0, qd0, t)
        mode, y = self._settled(mode, np.concatenate([q0, qd0]).astype(float), t, set(), set())
        self._look = (t1 - t) / LOOKS
        with Progress(t, t1, progress) as bar:
            while True:
                piece = self._piece(mode, y, t, t1, bar)
                self.pieces.append(piece)
                if piece.path.finished:
                    return self._trajectory(times)
                if not piece.path.stopped or len(self.changes) > MOST_CHANGES:
                    self._give_up(piece, times, t1)
                t = piece.end
                y, reactions = self._at(piece, np.array([t]))
                freed = {c for c in mode.sticking if mode.excess(c, t, y[0], self.p, reactions[0]) > 0}
                settled, y = self._settled(mode, y[0], t, freed, self._turned(piece, y[0]))
                self._note(mode, settled, t)
                mode = settled

    def values(self, mode: Mode) -> tuple[Any, ...]:
        """The values of a mode's own parameters, in its order."""
        if mode not in self._values:
            self._values[mode] = tuple(jnp.asarray(self.p[name]) for name in mode.dynamics.parameters)
        return self._values[mode]

    def _piece(self, mode: Mode, y: Floats, t: float, t1: float, bar: Progress) -> Piece:
        """Integrate until something changes, and find out when exactly."""
        p = self.values(mode)
        fastest = dict.fromkeys(mode.sliding, 0.0)

        def watch(times: Floats, states: Floats, native: Any) -> int | None:
            over = self._turns(mode, times, states, states[:-1])
            for contact in mode.sliding:
                speed = np.linalg.norm(mode.velocity(contact, times, states, self.p), axis=1)
                fastest[contact] = max(fastest[contact], float(speed.max()))
                over[1:] |= (speed[1:] < speed[:-1]) & (speed[1:] < AT_REST * fastest[contact])
            over |= self._lets_go(mode, times, states, native, p)
            return int(np.argmax(over)) if over.any() else None

        left = self.method.max_steps - sum(piece.path.steps for piece in self.pieces)
        method = replace(self.method, max_steps=max(left, 0))
        path = integrate(mode.dynamics, method, y, t, t1, p, bar, watch)
        if not path.sound_start:
            q, qd = np.split(y, 2)
            refuse_start(mode.dynamics, self.method, q, qd, t, p)
        return Piece(mode, path, self._located(mode, path) if path.stopped else float(path.t[-1]))

    def _turns(self, mode: Mode, times: Floats, states: Floats, before: Floats) -> NDArray[np.bool_]:
        """In which of these states, the first one not being asked, a sliding velocity has turned round since before."""
        over = np.zeros(len(times), bool)
        for contact in mode.sliding:
            v = mode.velocity(contact, times[1:], states[1:], self.p)
            was = mode.velocity(contact, np.broadcast_to(times[:-1], len(times) - 1), before, self.p)
            over[1:] |= (np.sum(v * was, axis=1) <= 0) & (np.sum(was**2, axis=1) > 0)
        return over

    def _lets_go(self, mode: Mode, times: Floats, states: Floats, native: Any, p: Any) -> NDArray[np.bool_]:
        """At the end of or within which steps holding takes too much."""
        over = np.zeros(len(times), bool)
        if not mode.sticking:
            return over
        counts = np.maximum(np.ceil(np.diff(times) / self._look), 1).astype(int)
        step = np.repeat(np.arange(len(counts)), counts)
        place = np.concatenate([np.arange(1, count + 1) / count for count in counts])
        between = times[step] + place * (times[step + 1] - times[step])
        found = told(mode.dynamics, self.method, native, times[step], states[step], between, p)
        y = np.concatenate([found["q"], found["qd"]], axis=1)
        for contact in mode.sticking:
            off = mode.excess(contact, between, y, self.p, found["reactions"]) > 0
            np.logical_or.at(over, step + 1, off)
        return over

    def _located(self, mode: Mode, path: Path) -> float:
        """The first time after which something has changed, in the last step of a path."""
        piece = Piece(mode, path, float(path.t[-1]))
        early, late = float(path.t[-2]), float(path.t[-1])
        start = path.y[-2]
        count = max(16, int(np.ceil((late - early) / self._look)))
        while late - early > 4e-16 * max(abs(early), abs(late), np.ptp(path.t)):
            times = np.linspace(early, late, count + 1)
            states, reactions = self._at(piece, times)
            over = self._turns(mode, times, states, np.broadcast_to(start, (count, len(start))))
            for contact in mode.sticking:
                over[1:] |= mode.excess(contact, times[1:], states[1:], self.p, reactions[1:]) > 0
            first = int(np.argmax(over)) if over.any() else count
            if (times[first - 1], times[first]) == (early, late):
                break  # no time in between
            early, late, count = float(times[first - 1]), float(times[first]), 16
        return late

    def _turned(self, piece: Piece, y: Floats) -> set[Contact]:
        """The sliding contacts that have come to rest at the end of a piece."""
        mode, path = piece.mode, piece.path
        turned: set[Contact] = set()
        for contact in mode.sliding:
            v = mode.velocity(contact, piece.end, y, self.p)
            along = mode.velocity(contact, path.t, path.y, self.p)
            slow = np.linalg.norm(v) < 10 * AT_REST * np.linalg.norm(along, axis=1).max()
            if slow or (along[-2] @ v <= 0 and along[-2].any()):
                turned.add(contact)
        return turned

    def _at(self, piece: Piece, times: Floats) -> tuple[Floats, Floats]:
        """States and reactions at times on a piece."""
        found = recorded(piece.mode.dynamics, self.method, piece.path, times, self.values(piece.mode))
        return np.concatenate([found["q"], found["qd"]], axis=1), found["reactions"]

    def _settled(
        self, mode: Mode, y: Floats, t: float, freed: set[Contact], turned: set[Contact]
    ) -> tuple[Mode, Floats]:
        """Which of the contacts at rest stick, and the state with which to go on.

        First all of them are held; whichever that takes too much for lets go, the worst first, and starts to slide
        the way it is pushed.
        """
        resting = [c for c in self.contacts if c in mode.sticking or c in turned or self._rests(mode, c, t, y)]
        pushed: dict[Contact, Floats] = {}
        while True:
            trial = mode_of(self.system, self.contacts, tuple(c for c in resting if c not in pushed))
            y = self._stopped(trial, y, t)
            self._refuse_shared_friction(trial, y, t)
            # what has let go slides already, and its friction counts
            here, state = np.array([t]), self._nudged(tuple(resting), pushed, y, t)[None]
            values = self.values(trial)
            reactions = told(trial.dynamics, self.method, None, here, state, here, values)["reactions"]
            excess = {c: float(trial.excess(c, here, state, self.p, reactions)[0]) for c in trial.sticking}
            excess |= {c: np.inf for c in freed if c in excess}
            worst = max(excess, key=lambda c: excess[c], default=None)
            if worst is None or excess[worst] <= 0:
                break
            pushed[worst] = -reactions[0, trial.rows(worst)]
        return trial, self._nudged(tuple(resting), pushed, y, t)

    def _rests(self, mode: Mode, contact: Contact, t: float, y: Floats) -> bool:
        v = mode.velocity(contact, t, y, self.p)
        return bool(np.linalg.norm(v) <= 1e-14 * np.abs(y[len(y) // 2 :]).max())

    def _stopped(self, mode: Mode, y: Floats, t: float) -> Floats:
        """The state with its last rests of sliding velocity taken off."""
        q, qd = np.split(y, 2)
        terms = terms_at(mode.dynamics, q, qd, t, self.values(mode))
        A, off = np.asarray(terms.A), np.asarray(terms.velocity)
        held = slice(len(self.system.constraints), None)
        if not off[held].any():
            return y
        return np.concatenate([q, qd - np.linalg.lstsq(A, np.where(np.arange(len(off)) < held.start, 0.0, off))[0]])

    def _nudged(self, resting: tuple[Contact, ...], pushed: dict[Contact, Floats], y: Floats, t: float) -> Floats:
        """The state with a very small sliding velocity at contacts that let go."""
        if not pushed:
            return y
        q, qd = np.split(y, 2)
        whole = mode_of(self.system, self.contacts, resting)
        A = np.asarray(terms_at(whole.dynamics, q, qd, t, self.values(whole)).A)
        wanted = np.zeros(len(A))
        for contact, push in pushed.items():
            wanted[whole.rows(contact)] = NUDGE * (1 + np.abs(qd).max()) * push / np.linalg.norm(push)
        return np.concatenate([q, qd + np.linalg.lstsq(A, wanted)[0]])

    def _refuse_shared_friction(self, mode: Mode, y: Floats, t: float) -> None:
        """Raise if two contacts that stick hold the same motion: how they share it cannot be known."""
        q, qd = np.split(y, 2)
        A = np.asarray(terms_at(mode.dynamics, q, qd, t, self.values(mode)).A)
        A = A / np.maximum(np.linalg.norm(A, axis=1, keepdims=True), 1e-300)
        for i, one in enumerate(mode.sticking):
            for other in mode.sticking[i + 1 :]:
                parts = [A[mode.rows(contact)] for contact in (one, other)]
                ranks = [np.linalg.matrix_rank(part, tol=1e-9) for part in (*parts, np.vstack(parts))]
                if ranks[2] < ranks[0] + ranks[1]:
                    raise ConstraintError(
                        f"contacts that stick must hold different motions; `{one.name}` and `{other.name}` hold the "
                        f"same, and how they share it cannot be known. Give one law with the normal forces of both."
                    )

    def _refuse_odd_coefficients(self, q0: Floats, qd0: Floats, t: float) -> None:
        """Raise if friction at rest is less than in motion: then what slides can neither go on nor stop."""
        y = np.concatenate([q0, qd0]).astype(float)
        for contact in self.contacts:
            law = self.system.laws[contact.number].law
            kinetic = law.friction_coefficient(sp.S.Zero)
            at_rest, moving = values_of(self.system, (contact.mu_static, kinetic))(t, y, self.p)
            if not at_rest >= moving * (1 - 1e-12) or moving < 0:
                raise InputError(
                    f"the static coefficient of `{contact.name}` must not be less than the one of sliding, nor either "
                    f"be negative; got {at_rest:g} and {moving:g}."
                )

    def _note(self, before: Mode, after: Mode, t: float) -> None:
        for contact in self.contacts:
            was, is_ = contact in before.sticking, contact in after.sticking
            if was != is_:
                self.changes.append(Change(t, contact.name, "sticks" if is_ else "slips"))

    def _give_up(self, piece: Piece, times: Floats, t1: float) -> None:
        so_far = self._trajectory(np.unique(np.append(times[times <= piece.end], piece.end)))
        if piece.path.stopped:
            message = (
                f"sticking and sliding must not change without end; they did {MOST_CHANGES} times before "
                f"t = {piece.end:.6g}. Look for friction that neither holds nor lets go."
            )
        elif sum(one.path.steps for one in self.pieces) >= self.method.max_steps:
            message = (
                f"the motion must be continued to t = {t1:.6g}; it ended at t = {piece.end:.6g}: the limit of "
                f"{self.method.max_steps} steps was reached. Raise `max_steps` or loosen `rtol` and `atol`. The motion "
                f"so far is in `error.trajectory`."
            )
        else:
            message = why(piece.mode.dynamics, self.method, piece.path, self.values(piece.mode), t1)
        raise SimulationError(message, piece.end, so_far)

    def _trajectory(self, times: Floats) -> Trajectory:
        parts: list[dict[str, Any]] = []
        start = -np.inf
        for piece in self.pieces:
            mine = times[(times > start) & (times <= piece.end)]
            if len(mine):
                parts.append(self._part(piece, mine))
            start = piece.end
        joined: dict[str, Any] = {
            name: None if parts[0][name] is None else np.concatenate([part[name] for part in parts])
            for name in parts[0]
        }
        base = mode_of(self.system, self.contacts, ()).dynamics
        paths = [piece.path for piece in self.pieces]
        total = statistics(base, self.method, paths[0]) | {
            name: sum(getattr(path, name) for path in paths) for name in ("steps", "rejected", "seconds")
        }
        return Trajectory(
            t=times[: len(joined["q"])],
            **joined,
            coordinates=base.coordinates,
            constraints=base.constraints,
            parameters=dict(self.p),
            statistics=total,
            events=tuple(self.changes),
        )

    def places(self, mode: Mode) -> NDArray[np.int64]:
        """To which entry of the run's books each entry of a mode's belongs: what holds a contact counts as its law's.

        Entries are the applied forces, the constraints, the laws.
        """
        m = len(self.system.constraints)
        laws = range(len(self.system.laws))
        held = [contact.number for contact in mode.sticking for _ in contact.velocity]
        kept = [number for number in laws if number not in held]
        return np.array([*range(1 + m), *(1 + m + number for number in (*held, *kept))])

    def _part(self, piece: Piece, times: Floats) -> dict[str, Any]:
        """The motion at times on a piece; what holds a contact counts as friction, and its constraints are not told."""
        mode, m = piece.mode, len(self.system.constraints)
        found = recorded(mode.dynamics, self.method, piece.path, times, self.values(mode))
        if not mode.sticking:
            return found
        y = np.concatenate([found["q"], found["qd"]], axis=1)
        force = mode.holding_force(times, y, self.p, found["multipliers"])
        given = mode_of(self.system, self.contacts, ())
        values = self.values(given)
        n = len(y[0]) // 2
        rows = [np.asarray(terms_at(given.dynamics, s[:n], s[n:], t, values).A) for t, s in zip(times, y, strict=True)]
        return found | {
            "ideal_force": found["ideal_force"] - force,
            "nonideal_force": found["nonideal_force"] + force,
            "rank": np.array([np.linalg.matrix_rank(A) for A in rows]),
            **{name: found[name][:, :m] for name in PER_CONSTRAINT},
        }
