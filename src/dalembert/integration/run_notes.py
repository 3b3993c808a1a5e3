# SPDX-License-Identifier: BSD-3-Clause
"""Notes about a run for its trajectory, and its statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.common.array_types import all_true
from dalembert.equation.dynamics import Dynamics
from dalembert.integration.bifurcations import MOST_TIMES, crossing_notes
from dalembert.integration.coarse_steps import coarse_step_notes
from dalembert.integration.default_tolerances import coarse_notes
from dalembert.integration.method import Method
from dalembert.integration.path import Path
from dalembert.integration.step_monitor import kink_notes


def run_notes(dynamics: Dynamics, method: Method, path: Path, found: dict[str, Any], p: Any) -> tuple[str, ...]:
    """Return the notes about a path and the motion found along it."""
    return (
        *_rank_notes(path, found["rank"]),
        *coarse_notes(method, found["q"]),
        *crossing_notes(dynamics, method, path, p),
        *kink_notes(dynamics, path.monitor),
        *friction_notes(method, [path]),
    )


def phase_notes(dynamics: Dynamics, method: Method, path: Path, p: Any) -> list[str]:
    """Return the notes about the path of one phase of a run."""
    return [
        *_rank_notes(path, np.asarray(path.ranks)),
        *crossing_notes(dynamics, method, path, p),
        *kink_notes(dynamics, path.monitor),
    ]


def friction_notes(method: Method, paths: Sequence[Path]) -> list[str]:
    """Return a note on the fixed steps of the parts of a run that do not resolve friction near rest."""
    return coarse_step_notes(method.step, [path.monitor.coarse for path in paths if path.monitor is not None])


def _rank_notes(path: Path, ranks: Any) -> tuple[str, ...]:
    notes = list(path.notes)
    if path.crossings:
        times = [f"{crossing.singular:.6g}" for crossing in path.crossings]
        shown = ", ".join(times[:MOST_TIMES]) + (f" and {len(times) - MOST_TIMES} more" * (len(times) > MOST_TIMES))
        notes.append(
            f"The constraints lose rank about t = {shown}; the motion is continued smoothly through there, to within "
            f"{max(crossing.uncertain for crossing in path.crossings):.0e}."
        )
    lowest, highest = path.ranks
    if lowest != highest or not all_true(ranks == lowest):
        # outputs may lie at singular positions that no step has met
        lowest, highest = min(lowest, int(ranks.min())), max(highest, int(ranks.max()))
        last = f", last at t = {path.rank_changes[-1]:.6g}" if path.rank_changes else ""
        notes.append(f"The rank of the constraints changed during the run, between {lowest} and {highest}{last}.")
    return (*notes, *hand_over_notes(path))


def hand_over_notes(path: Path) -> list[str]:
    """Return a note if the compiled integrator handed over to the general one."""
    if path.handed_over is None:
        return []
    return [
        f"At t = {path.handed_over:.6g} the compiled integrator handed over to the general one, which is slower: the "
        f"constraints come close to losing their independence there, or the equations change abruptly."
    ]


def statistics(method: Method, path: Path) -> dict[str, Any]:
    """Return statistics of an integration, by name."""
    return {
        "steps": path.steps,
        "rejected": path.rejected,
        "seconds": path.seconds,
        "solver": method.solver_name,
        "formulation": type(method.formulation).__name__,
        "drift": type(method.drift).__name__,
        "program": "machine code" if path.native is not None else "JAX",
        "rtol": method.rtol,
        "atol": method.least_atol,
    }
