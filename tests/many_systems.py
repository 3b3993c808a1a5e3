"""Many different systems in one process: memory maps and resident memory must stay as they are after the first ones.

``make memory`` runs 2000 systems by each path and prints the table of docs/accuracy.md.
"""

from __future__ import annotations

import argparse
import gc
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

import dalembert as da
from dalembert.lowering.build import KEPT_DYNAMICS, build
from dalembert.native import assembly
from fuzz.compare import devices

MAPS, STATUS = Path("/proc/self/maps"), Path("/proc/self/status")
x, y = da.coordinates("x y")
START = ((1, 0), (0, 0))


def pendulum(k: int) -> da.System:
    """Pendulums that differ in their numbers and, in turns, in their law."""
    laws = (da.Viscous(0.1 + k / 4096), da.Quadratic(0.2 + k / 4096), ())
    rod = da.Constraint(x**2 + y**2 - 1, name="rod")
    return da.System((x, y), sp.diag(1 + k / 2048, 1), (0, -9.81 - k / 1024), rod, nonideal=laws[k % 3])


def block(k: int) -> da.System:
    """Blocks on a floor, which come to rest."""
    floor = da.Constraint(y, name="floor", nonideal=da.Coulomb(0.2 + k / 8192))
    return da.System((x, y), sp.eye(2), (0, -9.81 - k / 1024), floor)


def pushed(k: int) -> da.System:
    """Bodies under a constant force."""
    return da.System((x,), [[1]], (-k / 1024,))


def pushed_block(k: int) -> da.System:
    """Blocks under a given normal force."""
    friction = da.Coulomb(0.2 + k / 8192, velocity=x.diff(da.t), normal_force=10)
    return da.System((x,), [[1]], (-k / 1024,), nonideal=friction)


def ball(k: int) -> da.System:
    """Balls that rebound from a floor."""
    floor = da.Constraint(sp.Ge(y, 0), name="floor", restitution=0.1 + k / 8192)
    return da.System((y,), [[1]], (-9.81 - k / 1024,), floor)


DIFFERENT_FUNCTIONS = 100
"""Systems with functions in Python after which their programs repeat, and are read from JAX's cache on disk: each
system is compiled and mapped anew, in a sixth of the time."""


def with_function(k: int) -> da.System:
    """Pendulums with a drag that is a function in Python, another one for each system."""
    j = k % DIFFERENT_FUNCTIONS
    drag = da.function("drag", lambda v: -(0.1 + j / 4096) * v * abs(v))
    rod = da.Constraint(x**2 + y**2 - 1, name="rod")
    return da.System((x, y), sp.eye(2), (drag(x.diff(da.t)), -9.81 - j / 1024), rod)


def _by_diffrax(k: int) -> object:
    import diffrax

    return da.simulate(pendulum(k), *START, [0, 0.1], solver=diffrax.Tsit5())


def _ensemble(k: int, **options: Any) -> object:
    return da.simulate_ensemble(pendulum(k), np.ones((3, 1)) * START[0], START[1], [0, 0.1], **options)


def _stick_slip_ensemble(k: int) -> object:
    """Every fourth ensemble slides and comes to rest; the others, in one mode, are compiled in half the time."""
    speed, last = ((0.1, 0.2), (0.1, 0.02), (0, 0.02), (-0.1, 0.02))[k % 4]
    return da.simulate_ensemble(pushed_block(k), np.zeros((3, 1)), (speed,), [0, last])


PATHS: dict[str, Callable[[int], object]] = {
    "motion": lambda k: da.motion(pendulum(k), *START),
    "simulate": lambda k: da.simulate(pendulum(k), *START, [0, 0.1]),
    "fixed step": lambda k: da.simulate(pendulum(k), *START, [0, 0.1], step=0.01),
    "implicit": lambda k: da.simulate(pendulum(k), *START, [0, 0.1], solver=da.Implicit()),
    "stick and slip": lambda k: da.simulate(block(k), (0, 0), (0.1, 0), [0, 0.2]),
    "ledger": lambda k: da.simulate(pendulum(k), *START, [0, 0.1]).ledger(),
    "ensemble": _ensemble,
    "ensemble, stick and slip": _stick_slip_ensemble,
    "ensemble, contacts": lambda k: da.simulate_ensemble(ball(k), np.full((3, 1), 0.02), (0,), [0, 0.1]),
    "ensemble, events": lambda k: da.simulate_ensemble(
        pushed(k), np.zeros((3, 1)), (0.1,), [0, 0.1], events=[da.Event(x - 0.005, name="mark")]
    ),
    "motion, da.function": lambda k: da.motion(with_function(k), *START),
    "da.function": lambda k: da.simulate(with_function(k), *START, [0, 0.1]),
    "ensemble, GPU": lambda k: _ensemble(k, device="gpu", step=0.01),
    "diffrax": _by_diffrax,
    "flow": lambda k: da.flow(pendulum(k), [0, 0.1])(*START, {}),
}
MOST_MAPS, MOST_KILOBYTES = 0.5, 100
"""Largest growth per system that counts as none: caches of bounded size fill, and the heap fragments while they do."""

COMPILED_BY_JAX = ("diffrax", "flow")
WITHOUT_KEPT_PROGRAMS = ("motion, da.function", "da.function")
"""Paths of which the programs of all systems are dropped before memory is read. At 500 maps for each system the limit
``MOST_MAPS`` is reached, and programs are dropped, every 40 systems: readings between would differ by 20 000 maps."""


@dataclass(frozen=True)
class Memory:
    """Memory maps and resident megabytes after some number of systems."""

    systems: int
    maps: int
    megabytes: float


def memory(systems: int) -> Memory:
    gc.collect()
    resident = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmRSS"))
    return Memory(systems, MAPS.read_text().count("\n"), int(resident.split()[1]) / 1024)


def measured(path: str, systems: int, warm_up: int, readings: int = 10, seconds: float = np.inf) -> list[Memory]:
    """Memory while so many systems are computed, from the end of the warm-up on, or until the time is over."""
    compute, began = PATHS[path], time.perf_counter()
    found: list[Memory] = []
    places = set(np.linspace(warm_up, systems, readings + 1).astype(int))
    for k in range(systems + 1):
        if k in places:
            if path in WITHOUT_KEPT_PROGRAMS:
                build.cache_clear()
            found.append(memory(k))
            if time.perf_counter() - began > seconds:
                break
        if k < systems:
            compute(k)
    return found


def slopes(found: list[Memory]) -> tuple[float, float]:
    """Memory maps and kilobytes per system, by least squares."""
    systems = [m.systems for m in found]
    per_map, per_megabyte = (np.polyfit(systems, [getattr(m, a) for m in found], 1)[0] for a in ("maps", "megabytes"))
    return float(per_map), float(1024 * per_megabyte)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=600, help="most time for one path (default 600)")
    parser.add_argument("--path", choices=PATHS, help="one path, in this process; all of them, one by one, if left out")
    parser.add_argument("--unoptimised", action="store_true", help="compile without LLVM's passes: in half the time")
    given = parser.parse_args()
    if given.path is None:
        sys.stdout.write("| path | systems | maps, before and after | MB, before and after | maps, kB per system |\n")
        sys.stdout.write("|---|---|---|---|---|\n")
        sys.stdout.flush()
        command = [sys.executable, __file__, "--systems", str(given.systems), "--seconds", str(given.seconds)]
        command += ["--unoptimised"] * given.unoptimised
        here = [path for path in PATHS if "gpu" in devices() or not path.endswith("GPU")]
        return max(subprocess.run([*command, "--path", path], check=False).returncode for path in here)
    if given.unoptimised:
        assembly.PASSES = assembly.SELECTION = 0
    found = measured(given.path, given.systems, min(3 * KEPT_DYNAMICS, given.systems // 4), 20, given.seconds)
    first, last = found[0], found[-1]
    maps, kilobytes = slopes(found)
    sys.stdout.write(
        f"| {given.path} | {last.systems} | {first.maps}, {last.maps} | {first.megabytes:.0f}, {last.megabytes:.0f} "
        f"| {maps:.2f}, {kilobytes:.1f} |\n"
    )
    sys.stdout.flush()
    build.cache_clear()
    return int(maps > MOST_MAPS or kilobytes > MOST_KILOBYTES)


if __name__ == "__main__":
    sys.exit(main())
