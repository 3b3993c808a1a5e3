# SPDX-License-Identifier: BSD-3-Clause
"""Random throws of a triangle with rough corners: ``python -m benchmarks.random_contacts --count 1000``.

Restitution, friction, position and velocity are random. Every motion is checked: it ends, it does not penetrate the
ground by more than 1e-9, and it does not create energy. Motions that are refused are counted by their message.

``--ensemble`` simulates the throws as members of ensembles, 4096 at a time, by ``da.simulate_ensemble``.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import sys
import time
from collections import Counter
from multiprocessing import get_context
from typing import Any

import numpy as np
import sympy as sp

import dalembert as da

PENETRATION, ENERGY = 1e-9, 1e-8
"""Largest penetration, and largest gain of energy between two outputs, relative to that of the start."""

AT_ONCE = 4096
"""Members of one ensemble."""

LIMIT = 120
"""Seconds of CPU time after which a motion counts as one that hangs."""

TIMES = np.linspace(0, 1.5, 16)


def triangle(law: str = "poisson") -> da.System:
    """A body of mass 1 with three corners above rough ground."""
    x, y, a = da.coordinates("x y a")
    mu, e = da.parameters("mu e")
    contacts = []
    for name, (along, across) in {"A": (-0.5, -0.3), "B": (0.5, -0.3), "C": (0.1, 0.4)}.items():
        corner = (x + sp.cos(a) * along - sp.sin(a) * across, y + sp.sin(a) * along + sp.cos(a) * across)
        friction = da.Coulomb(mu, velocity=corner[0].diff(da.t), normal_force=da.multiplier(name))
        gap = sp.Ge(corner[1], 0)
        contacts.append(da.Constraint(gap, name=name, restitution=e, nonideal=friction, impact=law))
    kinetic = (x.diff(da.t) ** 2 + y.diff(da.t) ** 2 + a.diff(da.t) ** 2 / 8) / 2
    return da.System.from_lagrangian(kinetic - 10 * y, (x, y, a), constraints=contacts)


def start(seed: int) -> tuple[tuple[float, ...], Any, dict[str, float]]:
    """Return a random start: coordinates, velocities and parameters."""
    draw = np.random.default_rng(seed)
    q0 = (0.0, draw.uniform(0.7, 1.2), draw.uniform(-np.pi, np.pi))
    numbers = {"mu": draw.uniform(0, 0.5), "e": draw.uniform(0, 0.5)}
    return q0, 2 * draw.normal(size=3), numbers


def throw(system: da.System, seed: int) -> da.Trajectory:
    """Return the motion of a random start."""
    q0, qd0, numbers = start(seed)
    return da.simulate(system, q0, qd0, TIMES, parameters=numbers, progress=False)


def ensemble(first: int, count: int, seconds: float) -> int:
    """Simulate throws as members of ensembles, and print what was found after each; return whether all are good."""
    found, deepest, gained, handed_over, events, spent, cpu = Counter[str](), 0.0, -np.inf, 0, 0, 0.0, 0.0
    for begin in range(first, first + count, AT_ONCE):
        starts = [*map(start, range(begin, min(begin + AT_ONCE, first + count)))]
        q0, qd0 = (np.array([own[i] for own in starts]) for i in (0, 1))
        numbers = {name: np.array([own[2][name] for own in starts]) for name in ("mu", "e")}
        begun, cpu_begun = time.time(), time.process_time()
        many = da.simulate_ensemble(
            SYSTEM, q0, qd0, TIMES, parameters=numbers, outputs=("violation", "energy"), progress=False
        )
        spent, cpu = spent + time.time() - begun, cpu + time.process_time() - cpu_begun
        good = many["reason"].values == ""
        energy = many["energy"].values[good]
        deepest = max(deepest, -float(many["violation"].values[good].min()))
        gained = max(gained, float((np.diff(energy, axis=1).max(axis=1) / (1 + np.abs(energy[:, 0]))).max()))
        found.update(re.sub(r"[-+.0-9e]+", "#", str(reason))[:120] or "good" for reason in many["reason"].values)
        handed_over, events = handed_over + many.attrs["handed_over"], events + int(many["event_count"].sum())
        rate = {"wall_ms": round(1e3 * spent / found.total(), 2), "processor_ms": round(1e3 * cpu / found.total(), 2)}
        checks = {"penetration": deepest, "energy_gain": gained, "handed_over": handed_over, "events": events}
        print(json.dumps({"throws": found.total(), **rate, **checks, "reasons": dict(found)}), flush=True)
        if spent > seconds:
            break
    return int(deepest > PENETRATION or gained > ENERGY)


def fault(run: da.Trajectory) -> str:
    """Return what is wrong with a motion; empty if nothing is."""
    assert run.energy is not None
    gained = np.diff(run.energy).max() / (1 + abs(run.energy[0]))
    deep = -run.violation.min()
    if not np.isfinite(run.q).all() or run.t[-1] != TIMES[-1]:
        return "does not reach its end"
    if deep > PENETRATION:
        return f"penetrates by {deep:.1e}"
    return f"gains energy, {gained:.1e}" if gained > ENERGY else ""


SYSTEM = triangle()


def outcome(seed: int) -> tuple[int, str, int]:
    """Return the seed, "good", a fault or the message of a refusal, and the number of events."""

    def hangs(*_: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGVTALRM, hangs)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT)
    try:
        run = throw(SYSTEM, seed)
        return seed, fault(run) or "good", len(run.events)
    except TimeoutError:
        return seed, f"hangs: no end within {LIMIT} s", 0
    except da.DalembertError as refusal:
        return seed, f"refused: {re.sub(r'[-+.0-9e]+', '#', str(refusal))[:120]}", 0
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="largest number of throws")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--seconds", type=float, default=np.inf, help="time after which no further throws are begun")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--ensemble", action="store_true", help="throws as members of ensembles")
    given = parser.parse_args()
    if given.ensemble:
        return ensemble(given.first, given.count, given.seconds)
    for seed in range(10):  # compiled once, before the processes are made
        outcome(given.first + seed)
    begun, found, events = time.time(), Counter[str](), 0
    examples: dict[str, int] = {}
    with get_context("fork").Pool(given.processes) as pool:
        for seed, what, count in pool.imap_unordered(outcome, range(given.first, given.first + given.count), 20):
            found[what], events = found[what] + 1, events + count
            examples.setdefault(what, seed)
            if time.time() - begun > given.seconds:
                pool.terminate()
                break
    spent = time.time() - begun
    for what, count in found.most_common():
        print(f"{count:7d}  {what}  (such as seed {examples[what]})")
    print(json.dumps({"throws": found.total(), "events": events, "seconds": round(spent, 1), "first": given.first}))
    return int(any(what != "good" and not what.startswith("refused") for what in found))


if __name__ == "__main__":
    sys.exit(main())
