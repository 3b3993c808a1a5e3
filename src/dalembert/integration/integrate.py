# SPDX-License-Identifier: BSD-3-Clause
"""Integrate compiled dynamics in time, in stretches, so that nothing is lost when a run fails or is interrupted."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.equation.dynamics import Dynamics
from dalembert.integration.leap import Leap, leap
from dalembert.integration.method import Floats, Method, Stretch
from dalembert.integration.native_steps import NativeSteps, native_steps
from dalembert.integration.progress import Progress
from dalembert.native.stepper import FINISHED

NATIVE_STRETCH = 16384
"""Steps of machine code between two looks at the clock."""

FIRST_STRETCH = 256
"""The same at first, since most runs need no more: room for steps is not free."""

WATCHED_STRETCH = 64
"""The same where somebody watches for the step to stop at: those beyond it are wasted."""

Watch = Callable[[Floats, Floats, NativeSteps | None], int | None]
"""From times (k,) and states (k, 2n) of steps, and machine code if that took them, the one to stop at, if any."""


@dataclass
class Path:
    """The accepted steps of a run: times (k,) and states (k, 2n), from the start to where it ended.

    native    the machine code that all of it was done with, or None
    stopped   whether a watch ended it
    leaps     across singular positions
    """

    t: Any
    y: Any
    finished: bool
    sound_start: bool = True
    steps: int = 0
    rejected: int = 0
    seconds: float = 0.0
    ranks: tuple[int, int] = (0, 0)
    rank_changes: list[float] = field(default_factory=list[float])
    native: NativeSteps | None = None
    stopped: bool = False
    leaps: list[Leap] = field(default_factory=list[Leap])


def integrate(
    dynamics: Dynamics,
    method: Method,
    y0: Floats,
    t0: float,
    t1: float,
    p: Any,
    progress: Progress,
    watch: Watch | None = None,
) -> Path:
    """Step from t0 to t1, or as far as it goes: in machine code, and by the general integrator where that declines.

    A ``watch`` sees the steps as they come, each time with the one before, and may stop there: see ``Path.stopped``.
    """
    room = FIRST_STRETCH if watch is None else WATCHED_STRETCH
    began = time.perf_counter()
    native = native_steps(dynamics, method, p)
    ts, ys = [np.array([t0])], [np.asarray(y0)[None]]
    path = Path(ts[0], ys[0], finished=False, native=native)
    seen: list[int] = []
    while path.steps < method.max_steps:
        y, t = ys[-1][-1], float(ts[-1][-1])
        stretch = (
            None if native is None else _native_stretch(native, y, t, t1, min(method.max_steps - path.steps, room))
        )
        if stretch is None and native is not None and path.native is not None:
            stretch = _leap(native, path, np.concatenate(ts), np.concatenate(ys), t1)
        if stretch is None:
            # diffrax takes long to import, and most runs do without it
            from dalembert.integration.general_steps import general_stretch

            stretch, path.native = general_stretch(dynamics, method, y, t, t1, p), None
        if watch is not None and len(stretch.t):
            last = watch(np.append(t, stretch.t), np.vstack([y, stretch.y]), path.native)
            path.stopped = last is not None
            if last is not None:
                stretch = stretch._replace(t=stretch.t[:last], y=stretch.y[:last], finished=False)
        accepted = len(stretch.t)
        room = NATIVE_STRETCH if watch is None else WATCHED_STRETCH
        path.sound_start &= path.steps > 0 or stretch.sound
        ts.append(stretch.t)
        ys.append(stretch.y)
        path.steps += accepted
        path.rejected += stretch.rejected
        if seen and stretch.ranks[0] != seen[-1]:
            path.rank_changes.append(t)
        seen += stretch.ranks
        path.rank_changes += stretch.rank_changes
        path.finished = stretch.finished and path.steps <= method.max_steps
        if accepted:
            progress.show(float(ts[-1][-1]), path.steps)
        if path.finished or path.stopped or not stretch.to_be_continued or not accepted:
            break
        if not np.isfinite(ys[-1][-1]).all():
            break
    ts, ys = [t for t in ts if len(t)], [y for y in ys if len(y)]
    kept = slice(method.max_steps + 1)  # a stretch may have gone beyond the limit
    path.t, path.y = np.concatenate(ts)[kept], np.concatenate(ys)[kept]
    path.steps = min(path.steps, method.max_steps)
    path.ranks = (min(seen), max(seen)) if seen else (0, 0)
    path.seconds = time.perf_counter() - began
    return path


def _leap(native: NativeSteps, path: Path, ts: Floats, ys: Floats, t1: float) -> Stretch | None:
    """Across a singular position, as one step."""
    found = leap(native, ts, ys, t1)
    if found is None:
        return None
    path.leaps.append(found)
    landed = found.states(found.end)[0]
    if native.trusts(landed, found.end):
        landed = native.engine.projected(landed, found.end, native.p)
    native.step = 0.0
    finished = found.end == t1
    return Stretch(np.array([found.end]), landed[None], 0, finished, not finished, True, [len(native.rows)], [])


def _native_stretch(native: NativeSteps, y: Floats, t: float, t1: float, most: int) -> Stretch | None:
    found = native.stretch(y, t, t1, most)
    if found is None:
        return None
    finished = found.ending == FINISHED
    return Stretch(found.t, found.y, found.rejected, finished, not finished, True, [len(native.rows)], [])
