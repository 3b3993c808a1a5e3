# SPDX-License-Identifier: BSD-3-Clause
"""Through a singular position: where constraints lose rank for a moment, the motion goes on, but no equation tells how.

The rows of the constraints become parallel there. Close by, the accelerations lose their digits, and a solver that
shortens its steps only comes closer; one that steps over by luck may find itself on another branch. The motion itself
is smooth. So it is continued as a polynomial that agrees with positions, velocities and accelerations at some times
before, to a place where the rows are clearly independent again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np

from dalembert.array_types import Floats
from dalembert.integration.native_steps import NativeSteps
from dalembert.native.step_control import settings_of
from dalembert.native.stepper import FINISHED

NODES = (6, 7, 8)
"""Numbers of times at which a polynomial agrees with position, velocity and acceleration."""

WINDOWS = (8.0, 6.0, 4.0, 2.0, 1.0, 0.5)
"""Lengths of the stretch of motion that polynomials are made from, in usual steps."""

KEPT_OFF = (0.1, 0.2)
"""How far before the brink that stretch ends, in usual steps: on the brink digits are lost already."""

FARTHEST = 0.5
"""How far a polynomial may be followed, in usual steps: beyond, what it says grows uncertain quickly."""

SURE = 1e-8
"""Uncertainty that is always allowed; it is that of a polynomial through one time less."""

RESOLVED = 1e6
"""Least length of that stretch, in the smallest differences of time that there are."""

LOOKS = 200
"""Places looked at for the end of the singular position."""

EXACT = 1e-13
"""Tolerance of that stretch: errors of single steps would be magnified."""


Curve = Callable[[Any], Floats]
"""States (k, 2n) at k times."""


class SingularityCrossing(NamedTuple):
    """From a time to another; ``states`` tells q and q̇ (k, 2n) at k times.

    singular     when rank was lost, about
    uncertain    how much a polynomial through one time less differs in the end
    """

    start: float
    end: float
    singular: float
    uncertain: float
    states: Curve


def cross_singularity(native: NativeSteps, ts: Floats, ys: Floats, t1: float) -> SingularityCrossing | None:
    """Across the singular position that steps (k,) with states (k, 2n) have come up to; None if there is none near."""
    if len(ts) < 3:
        return None
    brink = float(ts[-1])
    usual = float(np.diff(ts[-1000:]).max())  # the last steps have become ever shorter
    curves = list(_curves(native, ts, ys, usual))
    passage = next(filter(None, (_passage(native, curve, brink, usual, t1) for curve, _ in curves)), None)
    if passage is None:
        return None
    singular, end = passage
    landings = [(np.abs(curve(end) - rough(end))[0], curve) for curve, rough in curves]
    off, best = min(landings, key=lambda landing: float(landing[0].max()))
    landed = best(end)[0]
    allowed = 100 * (native.atol + native.rtol * np.abs(landed)) + SURE * (1 + np.abs(landed))
    return SingularityCrossing(brink, end, singular, float(off.max()), best) if (off <= allowed).all() else None


def _curves(native: NativeSteps, ts: Floats, ys: Floats, usual: float) -> Iterator[tuple[Curve, Curve]]:
    """Polynomials that continue the motion, each with one through a time less to judge it by."""
    for window, off in product(WINDOWS, KEPT_OFF):
        known = float(ts[-1]) - off * usual
        begin = int(np.searchsorted(ts, known - window * usual, side="right")) - 1
        if begin < 0 or known - ts[begin] < RESOLVED * np.spacing(abs(known)):
            continue
        fine = _exactly(native, float(ts[begin]), ys[begin], known)
        if fine is not None:
            found = [_continued(native, *fine, count) for count in (NODES[0] - 1, *NODES)]
            yield from ((curve, rough) for rough, curve in pairwise(found) if curve and rough)


def _passage(native: NativeSteps, curve: Curve, brink: float, usual: float, t1: float) -> tuple[float, float] | None:
    """When rank is lost along a curve, and when it is clearly there again, or the end of the run."""
    places = brink + FARTHEST * usual * np.arange(1, LOOKS + 1) / LOOKS
    places = np.append(places[places < t1], t1) if places[-1] > t1 else places
    sure = np.array([native.is_well_conditioned(y, t) for y, t in zip(curve(places), places, strict=True)])
    lost = np.flatnonzero(~sure)
    if not len(lost):
        return None
    regained = np.flatnonzero(sure[lost[0] :])
    if not len(regained) and places[-1] < t1:
        return None
    first = lost[0] + regained[0] if len(regained) else len(places) - 1
    # a little beyond, so that the next step does not start on the brink
    beyond = min(first + (first - lost[0]) // 4 + 1, len(places) - 1)
    return float((places[lost[0]] + places[first]) / 2), float(places[beyond])


def _exactly(native: NativeSteps, t: float, y: Floats, last: float) -> tuple[Floats, Floats] | None:
    """The motion up to a time once more, as exactly as can be: times and states of its steps."""
    settings = settings_of(t, last, EXACT, EXACT, np.inf, len(y))
    found, _ = native.engine.step_batch(y, t, last, 0.0, native.p, settings, 4096)
    if found.ending != FINISHED:
        return None
    return np.append(t, found.t), np.vstack([y, found.y])


def _continued(native: NativeSteps, ts: Floats, ys: Floats, count: int) -> Curve | None:
    """The polynomial through ``count`` times of a motion, as a function of time."""
    middle, half = (ts[0] + ts[-1]) / 2, (ts[-1] - ts[0]) / 2
    times = middle - half * np.cos(np.pi * np.arange(count) / (count - 1))
    times[0], times[-1] = ts[0], ts[-1]
    before = np.searchsorted(ts, times, side="right") - 1
    settings = settings_of(0.0, 0.0, EXACT, EXACT, np.inf, ys.shape[1])
    found, outputs, trust = native.engine.sample(ts[before], ys[before], times, native.p, settings)
    if not (trust > 0).all() or not np.isfinite(found).all():
        return None
    n = found.shape[1] // 2
    q, qd, qdd = found[:, :n], found[:, n:], outputs["acceleration"]
    from scipy.interpolate import KroghInterpolator  # here, since it takes long to import and few runs need it

    # in a time scaled to ±1 differences of high order keep their digits
    scaled = (times - middle) / half
    given = np.stack([q, qd * half, qdd * half**2], axis=1).reshape(3 * count, n)
    curve = KroghInterpolator(np.repeat(scaled, 3), given)

    def states(t: Any) -> Floats:
        s = (np.atleast_1d(t) - middle) / half
        q, qd = curve.derivatives(s, 2)
        return np.concatenate([q, qd / half], axis=1)

    return states
