# SPDX-License-Identifier: BSD-3-Clause
"""Members that stick and slip beside single runs, in processor time: ``python -m benchmarks.stick_slip_members``."""

from __future__ import annotations

import sys
import time
from unittest.mock import patch

import numpy as np
import sympy as sp

import dalembert as da
from dalembert.stick_slip.simulation import StickSlipSimulation

COUNT, TIMES = 4096, np.linspace(0, 20, 101)
k, mu, mu_s, speed, coupling = da.parameters("k mu mu_s V c")


def friction(q: sp.Expr, of: str) -> da.Coulomb:
    return da.Coulomb(mu, velocity=q.diff(da.t) - speed, normal_force=da.multiplier(of), mu_static=mu_s)


def one_block() -> tuple[da.System, list[float]]:
    """A block on a belt, held back by a spring."""
    x, y = da.coordinates("x y")
    belt = da.Constraint(y, name="belt", nonideal=friction(x, "belt"))
    return da.System((x, y), sp.eye(2), (-k * x, -10), belt), [0.1, 0]


def two_blocks() -> tuple[da.System, list[float]]:
    """Two such blocks, coupled by another spring."""
    x, y, z, w = da.coordinates("x y z w")
    pull = coupling * (z - x)
    rows = [da.Constraint(q, name=name, nonideal=friction(p, name)) for p, q, name in ((x, y, "one"), (z, w, "two"))]
    return da.System((x, y, z, w), sp.eye(4), (-k * x + pull, -10, -k * z - pull, -10), rows), [0.1, 0, -0.1, 0]


def measure(system: da.System, q0: list[float]) -> str:
    """Return processor times of a member, of a single run, and of the integration inside it, and the difference."""
    numbers = {"k": np.linspace(1, 9, COUNT), "mu": 0.2, "mu_s": 0.4, "V": 0.5, "c": 1.3}
    own = {name: numbers[name] for name in system.parameter_names}
    start = q0, [0.5 if i % 2 == 0 else 0.0 for i in range(len(q0))]
    da.simulate_ensemble(system, *start, TIMES, parameters=own, progress=False)  # compiles
    began = time.process_time()
    many = da.simulate_ensemble(system, *start, TIMES, parameters=own, progress=False)
    member = (time.process_time() - began) / COUNT
    whole, inside, difference, events = [], [], 0.0, []
    for i in np.linspace(0, COUNT - 1, 6).astype(int):
        spent, kept = [0.0], StickSlipSimulation.advance

        def advance(*arguments, kept=kept, spent=spent):
            began = time.process_time()
            found = kept(*arguments)
            spent[0] += time.process_time() - began
            return found

        with patch.object(StickSlipSimulation, "advance", advance):
            began = time.process_time()
            run = da.simulate(system, *start, TIMES, parameters=own | {"k": own["k"][i]})
            whole.append(time.process_time() - began)
        inside.append(spent[0])
        events.append(len(run.events))
        difference = max(difference, float(np.abs(many["q"].values[i] - run.q).max()))
    times = 1e6 * member, 1e3 * np.median(whole), 1e3 * np.median(inside)
    handed_over = many.attrs["handed_over"]
    return (
        f"{np.mean(events):.0f} transitions; member {times[0]:.0f} µs, `da.simulate` {times[1]:.0f} ms, integration "
        f"{times[2]:.0f} ms; difference {difference:.0e}, handed over {handed_over}\n"
    )


if __name__ == "__main__":
    for make in (one_block, two_blocks):
        sys.stdout.write(f"{make.__name__}: {measure(*make())}")
        sys.stdout.flush()
