# SPDX-License-Identifier: BSD-3-Clause
"""Quadrature nodes along a run, fine enough to integrate powers at the accuracy of its steps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.array_types import Floats
from dalembert.equation.dynamics import Dynamics
from dalembert.integration.method import Method
from dalembert.integration.path import Path
from dalembert.integration.path_outputs import outputs_along
from dalembert.integration.progress import Progress
from dalembert.integration.run import corrected_start, followed, suited_to
from dalembert.integration.start_states import require_start
from dalembert.integration.trajectory import Trajectory

GAUSS_NODES = 8
"""Gauss–Legendre nodes on each step, exact to degree 15. The power of a force may vary much faster than the state, from
which the step size is chosen."""


class Leg(NamedTuple):
    """A part of a run that was integrated with the same dynamics, from ``start`` to ``end``.

    places    for each entry of the ledger of these dynamics, the index of the entry of the run to which it belongs
    """

    dynamics: Dynamics
    p: Any
    path: Path
    start: float
    end: float
    places: NDArray[np.int64]


class Nodes(NamedTuple):
    """Quadrature nodes: states (k, n) at times t (k,) along a leg, weights, and the index of the output interval."""

    t: Floats
    weight: Floats
    interval: NDArray[np.int64]
    q: Floats
    qd: Floats


def whole_run(dynamics: Dynamics, method: Method, p: Any, run: Trajectory, entries: int) -> Leg:
    """Return the whole run as one leg; it is integrated once more, since a trajectory does not keep its steps."""
    path = integrated_again(dynamics, method, p, np.concatenate([run.q[0], run.qd[0]]), run.t)
    return Leg(dynamics, p, path, float(run.t[0]), float(run.t[-1]), np.arange(entries))


def integrated_again(dynamics: Dynamics, method: Method, p: Any, y0: Floats, times: Floats) -> Path:
    """Return all steps of a run from its start; the same ones as before, since ``times`` are its times."""
    suited = suited_to(dynamics, method.formulation)
    q, qd = np.split(y0, 2)
    off = method.drift.projections and require_start(suited, q, qd, times[0], p, allow_violation=True, projected=True)
    corrected = corrected_start(suited, method, q, qd, times[0], p) if off else None
    with Progress(float(times[0]), float(times[-1]), False) as silent:
        path, _ = followed(suited, method, y0, times, p, silent, corrected, all_steps=True)
    return path


def nodes_along(leg: Leg, method: Method, times: Floats) -> Nodes:
    """Return the Gauss–Legendre nodes on every interval of a leg between neighbouring steps and output times."""
    inside = [t[(t > leg.start) & (t < leg.end)] for t in (times, leg.path.t)]
    grid = np.unique(np.concatenate([[leg.start, leg.end], *inside]))
    place, weight = np.polynomial.legendre.leggauss(GAUSS_NODES)
    widths = np.diff(grid)[:, None]
    t = (grid[:-1, None] + widths * (1 + place) / 2).ravel()
    found = outputs_along(suited_to(leg.dynamics, method.formulation), method, leg.path, t, leg.p)
    interval = np.minimum(
        np.searchsorted(times, t, side="right") - 1, len(times) - 2
    )  # nodes of tiny steps may round to the end
    return Nodes(t, (widths * weight / 2).ravel(), interval, found["q"], found["qd"])
