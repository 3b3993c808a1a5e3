# SPDX-License-Identifier: BSD-3-Clause
"""Quadrature nodes along a run, fine enough to integrate powers at its accuracy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.equation.dynamics import Dynamics
from dalembert.integration.method import Method
from dalembert.integration.path import Path
from dalembert.integration.path_outputs import outputs_along
from dalembert.integration.progress import Progress
from dalembert.integration.run import corrected_start, followed, suited_to
from dalembert.integration.start_states import require_start
from dalembert.integration.trajectory import Trajectory

LEAST_INTERVALS = 256
"""Intervals into which a run is divided at least: the state of a driven mechanism may be so smooth that a few steps
suffice, while the force that drives it has short pulses."""

MOST_BISECTIONS = 40
"""Times that an interval is divided in two; a jump of a power is then located to rounding."""

BISECTIONS_BEFORE_ROUNDING = 8
ROUNDING_GROWTH = 8
"""Bisections after which errors are taken for rounding of the powers if the intervals that have them become so many
times more; those with jumps and kinks do not become more."""

ROUNDING_OF_ENERGY = 1e-12
"""Work, relative to the kinetic energy, that is rounding: powers of forces that do no work are no more than that."""

SHARE_OF_ANY_INTERVAL = 1e-4
"""Share of the tolerance that any interval may have, however short: that at a jump would be bisected for ever."""

MOST_INTERVALS = 200_000
"""Further intervals beyond which no more are divided."""

INTERVALS_AT_ONCE = 4096
"""Intervals evaluated at once, for the sake of memory."""

# the rule of Gauss and Kronrod with 15 nodes, of which every other one is a node of Gauss's rule with 7
_OUTER = (0.991455371120812639206854697526329, 0.949107912342758524526189684047851, 0.864864423359769072789712788640926)
_INNER = (0.741531185599394439863864773280788, 0.586087235467691130294144691693013, 0.405845151377397166906606412076961)
_PLACES = (*_OUTER, *_INNER, 0.207784955007898467600689403773245)
_KRONROD = (
    *(0.022935322010529224963732008058970, 0.063092092629978553290700663189204, 0.104790010322250183839876322541518),
    *(0.140653259715525918745189590510238, 0.169004726639267902826583426598550, 0.190350578064785409913256402421014),
    0.204432940075298892414161999234649,
)
_GAUSS = (0.129484966168869693270611432679082, 0.279705391489276667901467771423780, 0.381830050505118944950369775488975)
PLACES = np.array([*(-x for x in _PLACES), 0.0, *_PLACES[::-1]])
KRONROD = np.array([*_KRONROD, 0.209482141084727828012999174891714, *_KRONROD[::-1]])
GAUSS = np.zeros(15)
GAUSS[1::2] = [*_GAUSS, 0.417959183673469387755102040816327, *_GAUSS[::-1]]


class IntegratedSegment(NamedTuple):
    """A part of a run that was integrated with the same dynamics, from ``start`` to ``end``.

    places    for each entry of the ledger of these dynamics, the index of the entry of the run to which it belongs
    """

    dynamics: Dynamics
    p: Any
    path: Path
    start: float
    end: float
    places: NDArray[np.int64]


class RunMagnitudes(NamedTuple):
    """Magnitudes of a whole run, beside which the work of each of its segments is judged.

    A segment at rest has powers of rounding only: relative to themselves no quadrature of them is accurate.

    energy    kinetic energy
    power     of all forces at a velocity of the size of the absolute tolerance
    """

    energy: float
    power: float


class Nodes(NamedTuple):
    """Quadrature nodes: states (k, n) at times t (k,) along a segment."""

    t: Floats
    q: Floats
    qd: Floats


class Quadrature(NamedTuple):
    """Nodes in the order of time with their weights, values (k, v) there, and the index of the output interval of each.

    error    estimated error of the integrals, in sum over all values that were to be accurate
    """

    t: Floats
    weight: Floats
    interval: NDArray[np.int64]
    values: Floats
    error: float

    def add(self, increments: Floats, powers: Floats) -> None:
        """Add the integrals of powers (k, e) between outputs to increments (T, e)."""
        np.add.at(increments, self.interval + 1, self.weight[:, None] * powers)


def whole_run(dynamics: Dynamics, method: Method, p: Any, run: Trajectory, entries: int) -> IntegratedSegment:
    """Return the whole run as one segment; it is integrated once more, since a trajectory does not keep its steps."""
    path = integrated_again(dynamics, method, p, np.concatenate([run.q[0], run.qd[0]]), run.t)
    return IntegratedSegment(dynamics, p, path, float(run.t[0]), float(run.t[-1]), np.arange(entries))


def integrated_again(dynamics: Dynamics, method: Method, p: Any, y0: Floats, times: Floats) -> Path:
    """Return all steps of a run from its start; the same ones as before, since ``times`` are its times."""
    suited = suited_to(dynamics, method.formulation)
    q, qd = np.split(y0, 2)
    off = method.drift.projections and require_start(suited, q, qd, times[0], p, allow_violation=True, projected=True)
    corrected = corrected_start(suited, method, q, qd, times[0], p) if off else None
    with Progress(float(times[0]), float(times[-1]), False) as silent:
        path, _ = followed(suited, method, y0, times, p, silent, corrected, all_steps=True)
    return path


def quadrature(
    segment: IntegratedSegment,
    method: Method,
    times: Floats,
    values: Callable[[Nodes], Floats],
    exact: int,
    of_run: RunMagnitudes,
) -> Quadrature:
    """Return nodes along a segment that integrate the first ``exact`` values to the relative tolerance of the run.

    The other values are energies, whose rounding bounds the accuracy.

    Steps and outputs divide the segment into intervals, which are bisected until the rules of Gauss and of Kronrod
    agree: a power may vary much faster than the state, from which the step size is chosen.
    """
    begin, end = _intervals(segment, times)
    found: list[tuple[Any, ...]] = []
    scale, energy, further, few, span = 0.0, of_run.energy, 0, 0, float(times[-1] - times[0])
    for bisections in range(MOST_BISECTIONS + 1):
        at, weight, value = _evaluated(segment, method, begin, end, values)
        error, size = integral_errors(value[..., :exact], end - begin)
        # the scale is that of the first division, so that the criterion does not change from one to the next
        scale = scale or max(float(size.sum()), of_run.power * span)
        energy = max(energy, float(np.abs(value[..., exact:]).max(initial=0.0)))
        share = (end - begin) / span + SHARE_OF_ANY_INTERVAL
        accurate = error <= method.rtol * (size + scale * share) + ROUNDING_OF_ENERGY * energy * share
        left = int((~accurate).sum())
        few = left if bisections <= BISECTIONS_BEFORE_ROUNDING else few
        further += 2 * left
        # at a jump or a kink one half of an interval is left, of rounding both
        if bisections == MOST_BISECTIONS or further > MOST_INTERVALS or left > ROUNDING_GROWTH * few:
            accurate[:] = True
        found.append((at[accurate], weight[accurate], value[accurate], error[accurate]))
        begin, end = begin[~accurate], end[~accurate]
        if not len(begin):
            break
        middle = (begin + end) / 2
        begin, end = np.stack([begin, middle], axis=1).ravel(), np.stack([middle, end], axis=1).ravel()
    t, weight, value, error = (np.concatenate(parts) for parts in zip(*found, strict=True))
    order = np.argsort(t.ravel())
    t = t.ravel()[order]
    # nodes of tiny steps may round to the end
    interval = np.minimum(np.searchsorted(times, t, side="right") - 1, len(times) - 2)
    return Quadrature(t, weight.ravel()[order], interval, value.reshape(len(t), -1)[order], float(error.sum()))


def _intervals(segment: IntegratedSegment, times: Floats) -> tuple[Floats, Floats]:
    """Return the begins and ends of intervals between neighbouring steps and outputs, none of them long."""
    inside = [t[(t > segment.start) & (t < segment.end)] for t in (times, segment.path.t)]
    # a segment that begins after a jump begins where its steps do
    grid = np.unique(np.concatenate([[max(segment.start, float(segment.path.t[0])), segment.end], *inside]))
    return divided(grid, float(times[-1] - times[0]))


def divided(grid: Floats, span: float) -> tuple[Floats, Floats]:
    """Return the begins and ends of the parts of intervals, none of them long beside the span of the run."""
    longest = span / LEAST_INTERVALS
    parts = np.maximum(1, np.ceil(np.diff(grid) / longest).astype(int))
    number = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    first, width = np.repeat(grid[:-1], parts), np.repeat(np.diff(grid) / parts, parts)
    # the ends are the next begins: sums of widths would not meet the outputs exactly
    begin = first + number * width
    return begin, np.append(begin[1:], grid[-1])


def _evaluated(
    segment: IntegratedSegment, method: Method, begin: Floats, end: Floats, values: Callable[[Nodes], Floats]
) -> tuple[Floats, Floats, Floats]:
    """Return times (k, 15) of nodes in k intervals, their weights and the values (k, 15, v)."""
    middle, half = ((begin + end) / 2)[:, None], ((end - begin) / 2)[:, None]
    t = middle + half * PLACES
    suited = suited_to(segment.dynamics, method.formulation)
    blocks: list[Floats] = []
    for first in range(0, len(t), INTERVALS_AT_ONCE):
        own = t[first : first + INTERVALS_AT_ONCE].ravel()
        states = outputs_along(suited, method, segment.path, own, segment.p, states_only=True)
        blocks.append(values(Nodes(own, states["q"], states["qd"])))
    return t, half * KRONROD, np.concatenate(blocks).reshape(*t.shape, -1)


def integral_errors(values: Floats, widths: Floats) -> tuple[Floats, Floats]:
    """Return the errors (k,) of integrals over intervals and the integrals of absolute values, in sum over values.

    The estimate is that of QUADPACK: the difference of the rules is the error of Gauss's rule, which is much larger
    than that of Kronrod's if both are small beside the variation of the values.
    """
    half = widths[:, None] / 2
    mean = np.einsum("j,kjv->kv", KRONROD, values) / 2
    difference = half * np.abs(np.einsum("j,kjv->kv", KRONROD - GAUSS, values))
    variation = half * np.einsum("j,kjv->kv", KRONROD, np.abs(values - mean[:, None]))
    safe = np.where(variation > 0, variation, 1.0)
    # 200 and 1.5 are the empirical constants of QUADPACK (Piessens et al. 1983)
    error = np.where(variation > 0, variation * np.minimum(1.0, 200 * difference / safe) ** 1.5, difference)
    size = half * np.einsum("j,kjv->kv", KRONROD, np.abs(values))
    return error.sum(axis=1), size.sum(axis=1)
