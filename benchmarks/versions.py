# SPDX-License-Identifier: BSD-3-Clause
"""The same calls with two versions of dalembert, in turns: ``python -m benchmarks.versions OTHER/src``.

Every measurement is a fresh process. The versions take turns, so that both meet the same load of the machine, and the
shortest time of each counts.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROUNDS = 3
REPEATED = 0.5
"""Seconds for which a warm call is repeated."""


def _gallery(name: str) -> Callable[[], Any]:
    import dalembert as da

    case = da.gallery.case(name)
    options = {"parameters": case.parameters, "allow_violation": case.allow_violation, "formulation": case.formulation}
    return lambda: da.simulate(case.system, case.q0, case.qd0, case.times, **options)


def _pendulum() -> Any:
    import dalembert as da

    x, y = da.coordinates("x y")
    return da.System((x, y), [[1, 0], [0, 1]], (0, -9.81), da.Constraint(x**2 + y**2 - 1, name="rod"))


def _motion() -> Callable[[], Any]:
    import dalembert as da

    system = _pendulum()
    return lambda: da.motion(system, (0, -1), (2, 0))


def _small() -> Callable[[], Any]:
    import dalembert as da

    system = _pendulum()
    return lambda: da.simulate(system, (1, 0), (0, 0), [0, 1])


def _fixed_step() -> Callable[[], Any]:
    import dalembert as da

    system = _pendulum()
    return lambda: da.simulate(system, (1, 0), (0, 0), [0, 1], step=1e-3)


def _sticking() -> Callable[[], Any]:
    import dalembert as da

    x, y = da.coordinates("x y")
    floor = da.Constraint(y, name="floor", nonideal=da.Coulomb(0.3))
    block = da.System((x, y), [[1, 0], [0, 1]], (0, -9.81), floor)
    return lambda: da.simulate(block, (0, 0), (1, 0), [0, 1])


def _ensemble() -> Callable[[], Any]:
    import numpy as np

    import dalembert as da

    system, starts = _pendulum(), np.linspace(-1, 1, 2000)
    q0 = np.stack([np.sin(starts), -np.cos(starts)], axis=1)
    return lambda: da.simulate_ensemble(system, q0, (0, 0), np.linspace(0, 3, 31))


def _flow() -> Callable[[], Any]:
    import jax
    import jax.numpy as jnp

    import dalembert as da

    motion = da.flow(_pendulum(), [0, 1])
    derivative = jax.jit(jax.jacfwd(lambda speed: motion(jnp.array([1.0, 0.0]), jnp.array([0.0, speed]), {})[0]))
    return lambda: derivative(0.1).block_until_ready()


def _of_bicycle(verb: str) -> Callable[[], Any]:
    import dalembert as da

    system = da.gallery.case("bicycle").system
    return lambda: getattr(da, verb)(system)


CALLS: dict[str, Callable[[], Callable[[], Any]]] = {
    "motion of a pendulum": _motion,
    "simulate a pendulum": _small,
    "simulate a pendulum, fixed step": _fixed_step,
    "simulate a block that comes to rest": _sticking,
    "simulate four-bar": lambda: _gallery("four-bar"),
    "simulate andrews": lambda: _gallery("andrews"),
    "simulate rolling-disc": lambda: _gallery("rolling-disc"),
    "simulate four-bars": lambda: _gallery("four-bars"),
    "simulate bicycle": lambda: _gallery("bicycle"),
    "ensemble of 2000 pendulums": _ensemble,
    "derivative of a flow": _flow,
    "check the bicycle": lambda: _of_bicycle("check"),
    "classify the bicycle": lambda: _of_bicycle("classify"),
}


def _measure(name: str) -> dict[str, float]:
    """Return the seconds of the first call, with the import and the model before it, and of later ones."""
    began = time.perf_counter()
    call = CALLS[name]()
    call()
    first = time.perf_counter() - began
    times: list[float] = []
    while not times or sum(times) < REPEATED:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return {"first": first, "later": min(times)}


def _in_process(name: str, source: Path) -> dict[str, float]:
    environment = os.environ | {"PYTHONPATH": f"{source}{os.pathsep}{Path(__file__).parent.parent}"}
    command = [sys.executable, "-m", "benchmarks.versions", "--measure", name]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(found.stdout.splitlines()[-1])


def _shortest(name: str, sources: list[Path]) -> list[dict[str, float]]:
    rounds = [[_in_process(name, source) for source in sources] for _ in range(ROUNDS)]
    return [{key: min(r[k][key] for r in rounds) for key in rounds[0][k]} for k in range(len(sources))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", nargs="?", type=Path, help="the folder `src` of another version")
    parser.add_argument("--measure", choices=CALLS, help="measure one call in this process")
    given = parser.parse_args()
    if given.measure:
        sys.stdout.write(json.dumps(_measure(given.measure)) + "\n")
        return
    if given.other is None or not (given.other / "dalembert").is_dir():
        parser.error("give the folder `src` of another version of dalembert.")
    sources = [given.other.resolve(), Path(__file__).parent.parent / "src"]
    sys.stdout.write("| call | first, s: other, this, ratio | later, ms: other, this, ratio |\n|---|---|---|\n")
    for name in CALLS:
        try:
            other, this = _shortest(name, sources)
        except subprocess.CalledProcessError as failed:  # an older version may not have, or not manage, a call
            reason = failed.stderr.strip().splitlines()[-1]
            sys.stdout.write(f"| {name} | not compared: {reason[:80]} | |\n")
            continue
        cells = [
            f"{other[key] * unit:.3g}, {this[key] * unit:.3g}, {this[key] / other[key]:.2f}"
            for key, unit in (("first", 1), ("later", 1000))
        ]
        sys.stdout.write(f"| {name} | {cells[0]} | {cells[1]} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
