"""Motions with dry friction, impacts and contacts: single runs, ensembles and time steps beside SciPy with events."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import dalembert as da
from fuzz.compare import INTEGRATION, MAGNIFIED, Outcome, difference, outcome
from fuzz.contact_problems import random_ball, random_bobs, random_wheel
from fuzz.contact_references import ball_reference, bobs_reference, wheel_reference
from fuzz.oscillators import (
    TIMES,
    Beads,
    Blocks,
    Motion,
    beads_reference,
    blocks_reference,
    random_beads,
    random_blocks,
)

STEP = 5e-3
FIRST_ORDER = 4
"""The difference between steps h and h/2, times this, bounds the error of h where that is in proportion to the step."""

OFF_BY_STEPS = 10
"""Steps by which a motion in time steps may lag: each of a few events is noticed up to a step late."""


def rough(seed: int) -> Iterator[Outcome]:
    """Blocks that stick and slip, and particles that hit one another."""
    blocks, x, v = random_blocks(seed)
    yield from _compared("stick and slip", seed, blocks, (x, v), blocks_reference)
    beads, x, v = random_beads(seed)
    yield from _compared("impacts", seed, beads, (x, v), beads_reference)


def contacts(seed: int) -> Iterator[Outcome]:
    """Balls that bounce and slide, bobs on ropes, and wheels that roll and slip."""
    yield from _touching("bounce and slide", seed, *random_ball(seed), ball_reference)
    yield from _touching("ropes", seed, *random_bobs(seed), bobs_reference)
    yield from _touching("roll and slip", seed, *random_wheel(seed), wheel_reference)


def _touching(kind: str, seed: int, problem: Any, start: np.ndarray, solve: Callable[..., Any]) -> Iterator[Outcome]:
    fine, coarse = (solve(problem, start.copy(), rtol) for rtol in (1e-11, 1e-8))
    if fine is None or coarse is None or len(fine.states) != len(coarse.states):
        return
    reference, magnified = fine.states, MAGNIFIED * difference(coarse.states, fine.states)
    system, (q, qd), times = problem.system(), problem.given(start), TIMES * problem.units.time

    def single() -> np.ndarray:
        run = da.simulate(system, q, qd, times)
        return problem.natural(run.q, run.qd)

    def member() -> np.ndarray:
        many = da.simulate_ensemble(system, np.stack([q, q]), qd, times)
        refused = str(many["reason"].values[1])
        if refused:
            raise da.DalembertError(refused)
        return problem.natural(many["q"].values[1], many["qd"].values[1])

    yield outcome(f"{kind}, simulate", seed, single, reference, INTEGRATION + magnified)
    yield outcome(f"{kind}, ensemble", seed, member, reference, INTEGRATION + magnified)


def _compared(
    kind: str,
    seed: int,
    problem: Blocks | Beads,
    start: tuple[np.ndarray, np.ndarray],
    solve: Callable[..., Motion | None],
) -> Iterator[Outcome]:
    fine, coarse = (solve(problem, *start, rtol) for rtol in (1e-11, 1e-8))
    if fine is None or coarse is None:
        return
    reference, magnified = fine.states, MAGNIFIED * difference(coarse.states, fine.states)
    system, (q, qd), n = problem.system(), problem.start(*start), problem.n
    times = TIMES * problem.units.time

    def single() -> np.ndarray:
        run = da.simulate(system, q, qd, times)
        return problem.units.natural(run.q[:, :n], run.qd[:, :n])

    def member() -> np.ndarray:
        many = da.simulate_ensemble(system, np.stack([q, q]), qd, times)
        refused = str(many["reason"].values[1])
        if refused:
            raise da.DalembertError(refused)
        return problem.units.natural(many["q"].values[1, :, :n], many["qd"].values[1, :, :n])

    yield outcome(f"{kind}, simulate", seed, single, reference, INTEGRATION + magnified)
    if isinstance(problem, Blocks):
        yield outcome(f"{kind}, ensemble", seed, member, reference, INTEGRATION + magnified)
        if problem.belt.any() or problem.kinetic != problem.static:
            return  # time steps know one coefficient of friction
        system = problem.system(one_sided=True)

    distinct = _distinct(fine.events)
    if len(distinct) == 1:
        return

    def stepped(step: float = STEP) -> np.ndarray:
        solver = da.MoreauJean(step * problem.units.time)
        run = da.simulate(system, q, qd, times[distinct], solver=solver)
        return run.q[:, :n] / problem.units.length  # velocities jump, and not at exactly the same times

    found = outcome(f"{kind}, Moreau–Jean", seed, stepped, reference[distinct, :n], OFF_BY_STEPS * STEP)
    if found.verdict == "disagrees":
        # two steps may err alike, by events that both notice late: a quarter of the step then shows the error
        finer = FIRST_ORDER * max(difference(stepped(), stepped(STEP / k)) for k in (2, 4))
        found = found._replace(allowed=OFF_BY_STEPS * STEP + finer + magnified)
    yield found


def _distinct(events: np.ndarray) -> np.ndarray:
    """Output times before events that may change their order by time steps, after which the motion is another."""
    close = np.flatnonzero(np.diff(events) < OFF_BY_STEPS * STEP)
    last = events[close[0]] if len(close) else TIMES[-1]
    return np.flatnonzero(last >= TIMES)
