# SPDX-License-Identifier: BSD-3-Clause
"""Smooth continuation of a motion through a singular position, where the constraints lose rank for a moment.

At such a position the rows become dependent and the acceleration is not determined. Near it the accelerations lose
their digits, and an integrator that shortens its steps only comes closer; one that happens to step over it may continue
on another branch. The motion itself is smooth. It is therefore extrapolated by a polynomial that interpolates
positions, velocities and accelerations before the singularity, to a time at which the rows are independent again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.integration.native_steps import NativeSteps
from dalembert.integration.newton_polynomial import interpolating_polynomial
from dalembert.native.step_control import settings_of
from dalembert.native.stepper import FINISHED

NODE_COUNTS = (6, 7, 8)
"""Numbers of interpolation nodes; at each the polynomial matches position, velocity and acceleration."""

WINDOWS = (8.0, 6.0, 4.0, 2.0, 1.0, 0.5)
"""Lengths of the interpolation interval, in usual steps."""

INTERPOLATION_GAPS = (0.1, 0.2)
"""Distances from the end of that interval to the last step, in usual steps: the last states have lost digits."""

LONGEST_EXTRAPOLATION = 0.5
"""Longest extrapolation, in usual steps: beyond it the error grows quickly."""

ALLOWED_UNCERTAINTY = 1e-8
"""Uncertainty of the extrapolated state that is accepted at any tolerance: half of the digits are lost near a
singular position. It is estimated by the polynomial with one node less."""

LEAST_INTERPOLATION_INTERVAL = 1e6
"""Least length of the interpolation interval, in units in the last place of time: its nodes need six digits."""

PROBES = 200
"""Times ahead at which the rows are tested for independence."""

INTERPOLATED_TOLERANCE = 1e-13
"""Tolerance of the repeated integration over the interpolation interval: extrapolation magnifies its errors, and no
smaller tolerance can be met in double precision."""


Curve = Callable[[Any], Floats]
"""States (k, 2n) at k times."""


class SingularityCrossing(NamedTuple):
    """A crossing from ``start`` to ``end``; ``states`` returns q and q̇ (k, 2n) at k times.

    singular     the approximate time at which rank is lost
    uncertain    estimated error of the final state: its difference from a polynomial with one node less
    outputs      forces and accelerations at times within it, by name, if they are not those at the states
    """

    start: float
    end: float
    singular: float
    uncertain: float
    states: Curve
    outputs: Callable[[Any], dict[str, Floats]] | None = None


def cross_singularity(native: NativeSteps, ts: Floats, ys: Floats, t1: float) -> SingularityCrossing | None:
    """Cross a singular position just ahead of steps (k,) with states (k, 2n); return None if there is none."""
    if len(ts) < 3:
        return None
    last = float(ts[-1])
    usual = float(np.diff(ts[-1000:]).max())  # the largest, since steps shrink towards the singularity
    curves = list(_curves(native, ts, ys, usual))
    passage = next(filter(None, (_passage(native, curve, last, usual, t1) for curve, _ in curves)), None)
    if passage is None:
        return None
    singular, end = passage
    landings = [(np.abs(curve(end) - rough(end))[0], curve) for curve, rough in curves]
    # all windows are tried: how far digits are lost before the singularity differs from case to case
    off, best = min(landings, key=lambda landing: float(landing[0].max()))
    landed = best(end)[0]
    allowed = 100 * (native.atol + native.rtol * np.abs(landed)) + ALLOWED_UNCERTAINTY * (1 + np.abs(landed))
    return SingularityCrossing(last, end, singular, float(off.max()), best) if (off <= allowed).all() else None


INTERPOLATED_OUTPUTS = ("acceleration", "ideal_force", "nonideal_force", "multipliers", "reactions")
"""Outputs that are not determined where rank is lost, and continuous there if the motion is smooth."""


def interpolated_crossing(ts: Floats, at: dict[str, Any], singular: float) -> SingularityCrossing:
    """Return the crossing of a singular position amid four times, interpolated from the outputs at them."""
    start, width = float(ts[0]), float(ts[-1] - ts[0])
    scaled = (ts - start) / width
    derivatives = np.stack([at["q"], at["qd"] * width, at["acceleration"] * width**2], axis=1)
    full, rough = (
        interpolating_polynomial(np.repeat(scaled[[0, -1]], count), derivatives[[0, -1], :count].reshape(2 * count, -1))
        for count in (3, 2)
    )
    fields = {name: interpolating_polynomial(scaled, np.asarray(at[name])) for name in INTERPOLATED_OUTPUTS}

    def states(t: Any) -> Floats:
        q, qd = full.with_slopes((t - start) / width)
        return np.concatenate([q, qd / width], axis=1)

    def outputs(t: Any) -> dict[str, Floats]:
        return {name: field((t - start) / width) for name, field in fields.items()}

    middle = (singular - start) / width
    # the difference of the quintic from the cubic, which leaves out the accelerations
    uncertain = float(np.abs(full(middle) - rough(middle)).max())
    return SingularityCrossing(start, start + width, singular, uncertain, states, outputs)


def _curves(native: NativeSteps, ts: Floats, ys: Floats, usual: float) -> Iterator[tuple[Curve, Curve]]:
    """Yield polynomials that continue the motion, each with one of one node less that estimates its error."""
    for window, gap in product(WINDOWS, INTERPOLATION_GAPS):
        known = float(ts[-1]) - gap * usual
        begin = int(np.searchsorted(ts, known - window * usual, side="right")) - 1
        # not enough steps, or an interval too short for its nodes to be distinct times
        if begin < 0 or known - ts[begin] < LEAST_INTERPOLATION_INTERVAL * np.spacing(abs(known)):
            continue
        fine = _integrate_accurately(native, float(ts[begin]), ys[begin], known)
        if fine is not None:
            found = [_interpolate(native, *fine, count) for count in (NODE_COUNTS[0] - 1, *NODE_COUNTS)]
            yield from ((curve, rough) for rough, curve in pairwise(found) if curve and rough)


def _passage(native: NativeSteps, curve: Curve, last: float, usual: float, t1: float) -> tuple[float, float] | None:
    """Return the time at which rank is lost along a curve, and one at which it is restored, or the end of the run."""
    times = last + LONGEST_EXTRAPOLATION * usual * np.arange(1, PROBES + 1) / PROBES
    times = np.append(times[times < t1], t1) if times[-1] > t1 else times
    well_conditioned = np.array([native.is_well_conditioned(y, t) for y, t in zip(curve(times), times, strict=True)])
    lost = np.flatnonzero(~well_conditioned)
    if not len(lost):
        return None
    regained = np.flatnonzero(well_conditioned[lost[0] :])
    # rank is lost for good, which is no crossing
    if not len(regained) and times[-1] < t1:
        return None
    first = lost[0] + regained[0] if len(regained) else len(times) - 1
    # end a little beyond, so that the next step does not start next to the singularity
    beyond = min(first + (first - lost[0]) // 4 + 1, len(times) - 1)
    return float((times[lost[0]] + times[first]) / 2), float(times[beyond])


def _integrate_accurately(native: NativeSteps, t: float, y: Floats, last: float) -> tuple[Floats, Floats] | None:
    """Repeat the integration up to a time with the smallest tolerance; return times and states of its steps."""
    settings = settings_of(t, last, INTERPOLATED_TOLERANCE, INTERPOLATED_TOLERANCE, np.inf, len(y))
    found, _ = native.engine.step_batch(y, t, last, 0.0, native.p, settings, 4096)
    if found.ending != FINISHED:
        return None
    return np.append(t, found.t), np.vstack([y, found.y])


def _interpolate(native: NativeSteps, ts: Floats, ys: Floats, count: int) -> Curve | None:
    """Return the polynomial that interpolates a motion at ``count`` nodes, as a function of time."""
    middle, half = (ts[0] + ts[-1]) / 2, (ts[-1] - ts[0]) / 2
    # Chebyshev points keep the interpolation error small up to the ends of the interval
    times = middle - half * np.cos(np.pi * np.arange(count) / (count - 1))
    times[0], times[-1] = ts[0], ts[-1]
    before = np.searchsorted(ts, times, side="right") - 1
    settings = settings_of(0.0, 0.0, INTERPOLATED_TOLERANCE, INTERPOLATED_TOLERANCE, np.inf, ys.shape[1])
    found, outputs, validity, is_complete = native.engine.sample(ts[before], ys[before], times, native.p, settings)
    if not is_complete and not ((validity > 0).all() and np.isfinite(found).all()):
        return None
    n = found.shape[1] // 2
    q, qd, qdd = found[:, :n], found[:, n:], outputs["acceleration"]
    # with time scaled to ±1, divided differences of high order keep their digits
    scaled = (times - middle) / half
    derivatives = np.stack([q, qd * half, qdd * half**2], axis=1).reshape(3 * count, n)
    curve = interpolating_polynomial(np.repeat(scaled, 3), derivatives)

    def states(t: Any) -> Floats:
        q, qd = curve.with_slopes((t - middle) / half)
        return np.concatenate([q, qd / half], axis=1)

    return states
