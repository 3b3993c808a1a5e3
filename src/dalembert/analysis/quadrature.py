# SPDX-License-Identifier: BSD-3-Clause
"""Times and states between the outputs of a run, fine enough to integrate along it at the accuracy of its steps."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from dalembert.equation.dynamics import Dynamics
from dalembert.integration.integrate import Method, integrate
from dalembert.integration.progress import Progress
from dalembert.integration.run import suited_to
from dalembert.integration.sampling import sample
from dalembert.integration.trajectory import Trajectory

Floats = NDArray[np.float64]

NODES = 5
"""Gauss's nodes on each step: exact to degree 9, beyond the order of any solver."""


class Nodes(NamedTuple):
    """States (k, n) at times t (k,) along a run, with weights, and the number of the output interval of each."""

    t: Floats
    weight: Floats
    interval: NDArray[np.int64]
    q: Floats
    qd: Floats


def nodes_along(dynamics: Dynamics, method: Method, run: Trajectory, p: Any) -> Nodes:
    """Gauss's nodes on every piece between neighbouring steps and outputs; the run is taken once more to find them."""
    dynamics = suited_to(dynamics, method.formulation)
    t0, t1 = float(run.t[0]), float(run.t[-1])
    y0 = jnp.concatenate([jnp.asarray(run.q[0]), jnp.asarray(run.qd[0])])
    with Progress(t0, t1, False) as silent:
        path = integrate(dynamics, method, y0, t0, t1, p, silent)
    grid = np.unique(np.concatenate([run.t, path.t[path.t < t1]]))
    place, weight = np.polynomial.legendre.leggauss(NODES)
    widths = np.diff(grid)[:, None]
    t = (grid[:-1, None] + widths * (1 + place) / 2).ravel()
    found = sample(dynamics, method, path, t, p)
    interval = np.searchsorted(run.t, t, side="right") - 1
    return Nodes(t, (widths * weight / 2).ravel(), interval, found["q"], found["qd"])
