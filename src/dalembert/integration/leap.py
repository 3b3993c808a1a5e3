# SPDX-License-Identifier: BSD-3-Clause
"""Through a singular position: where constraints lose rank for a moment, the motion goes on, but no equation tells how.

The rows of the constraints become parallel there. Close by, the accelerations lose their digits, and a solver that
shortens its steps only comes closer; one that steps over by luck may find itself on another branch. The motion itself
is smooth. So it is continued as a polynomial that agrees with positions, velocities and accelerations at some times
before, to a place where the rows are clearly independent again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import KroghInterpolator

from dalembert.integration.native_steps import NativeSteps
from dalembert.native.stepper import FINISHED

Floats = NDArray[np.float64]

NODES = 6
"""Times at which the polynomial agrees with position, velocity and acceleration; its degree is three times that."""

WINDOWS = (8.0, 4.0, 2.0, 1.0, 0.5, 0.25, 0.125)
"""Lengths of the stretch of motion that it is made from, in usual steps."""

KEPT_OFF = 0.1
"""How far before the brink that stretch ends, as a part of it: on the brink digits are lost already."""

FARTHEST = 0.5
"""How far it may be followed, as a part of that stretch: beyond, what polynomials say grows uncertain quickly."""

SURE = 1e-8
"""Uncertainty that is always allowed; it is that of a polynomial through one time less, which is far less certain."""

RESOLVED = 1e6
"""Least length of that stretch, in the smallest differences of time that there are."""

LOOKS = 200
"""Places looked at for the end of the singular position."""

EXACT = 1e-13
"""Tolerance of that stretch: errors of single steps would be magnified."""


class Leap(NamedTuple):
    """From a time to another; ``states`` tells q and q̇ (k, 2n) at k times.

    singular     when rank was lost, about
    uncertain    how much a polynomial through one time less differs in the end
    """

    start: float
    end: float
    singular: float
    uncertain: float
    states: Callable[[Any], Floats]


def leap(native: NativeSteps, ts: Floats, ys: Floats, t1: float) -> Leap | None:
    """Across the singular position that steps (k,) with states (k, 2n) have come up to; None if there is none near."""
    if len(ts) < 3:
        return None
    brink = float(ts[-1])
    usual = float(np.diff(ts[-1000:]).max())  # the last steps have become ever shorter
    found: list[tuple[float, Leap]] = []
    for window in WINDOWS:
        known = brink - KEPT_OFF * window * usual
        begin = int(np.searchsorted(ts, known - window * usual, side="right")) - 1
        if begin >= 0 and known - ts[begin] > RESOLVED * np.spacing(abs(brink)):
            found += _across(native, _exactly(native, float(ts[begin]), ys[begin], known), brink, t1)
    uncertain, best = min(found, key=lambda pair: pair[0], default=(np.inf, None))
    return best if uncertain <= 1 else None


def _across(
    native: NativeSteps, fine: tuple[Floats, Floats] | None, brink: float, t1: float
) -> list[tuple[float, Leap]]:
    """A leap from the motion up to the brink, if there is one, and its uncertainty as a part of what is allowed."""
    if fine is None:
        return []
    curve, rough = (_continued(native, *fine, count) for count in (NODES, NODES - 1))
    if curve is None or rough is None:
        return []
    reach = FARTHEST * (fine[0][-1] - fine[0][0])
    places = brink + reach * np.arange(1, LOOKS + 1) / LOOKS
    places = np.append(places[places < t1], t1) if places[-1] > t1 else places
    sure = np.array([native.trusts(y, t) for y, t in zip(curve(places), places, strict=True)])
    lost = np.flatnonzero(~sure)
    if not len(lost):
        return []
    regained = np.flatnonzero(sure[lost[0] :])
    if not len(regained) and places[-1] < t1:
        return []
    # a little beyond, so that the next step does not start on the brink
    first = lost[0] + regained[0] if len(regained) else len(places) - 1
    end = float(places[min(first + (first - lost[0]) // 4 + 1, len(places) - 1)])
    landed = curve(end)[0]
    allowed = 100 * (native.atol + native.rtol * np.abs(landed)) + SURE * (1 + np.abs(landed))
    singular = float((places[lost[0]] + places[first]) / 2)
    off = np.abs(landed - rough(end)[0])
    return [(float((off / allowed).max()), Leap(brink, end, singular, float(off.max()), curve))]


def _exactly(native: NativeSteps, t: float, y: Floats, last: float) -> tuple[Floats, Floats] | None:
    """The motion up to a time once more, as exactly as can be: times and states of its steps."""
    first = native.engine.first_step(y, t, last, native.p, EXACT, EXACT)
    found, _ = native.engine.stretch(y, t, last, first, native.p, EXACT, EXACT, 4096)
    if found.ending != FINISHED:
        return None
    return np.append(t, found.t), np.vstack([y, found.y])


def _continued(native: NativeSteps, ts: Floats, ys: Floats, count: int) -> Callable[[Any], Floats] | None:
    """The polynomial through ``count`` times of a motion, as a function of time."""
    middle, half = (ts[0] + ts[-1]) / 2, (ts[-1] - ts[0]) / 2
    times = middle - half * np.cos(np.pi * np.arange(count) / (count - 1))
    times[0], times[-1] = ts[0], ts[-1]
    before = np.searchsorted(ts, times, side="right") - 1
    found, told, trusted = native.engine.sample(ts[before], ys[before], times, native.p)
    if not trusted.all() or not np.isfinite(found).all():
        return None
    n = found.shape[1] // 2
    q, qd, qdd = found[:, :n], found[:, n:], told["acceleration"]
    # in a time scaled to ±1 differences of high order keep their digits
    scaled = (times - middle) / half
    given = np.stack([q, qd * half, qdd * half**2], axis=1).reshape(3 * count, n)
    curve = KroghInterpolator(np.repeat(scaled, 3), given)

    def states(t: Any) -> Floats:
        s = (np.atleast_1d(t) - middle) / half
        q, qd = curve.derivatives(s, 2)
        return np.concatenate([q, qd / half], axis=1)

    return states
