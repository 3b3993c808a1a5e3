"""Comparisons of one seed: what the processes of the long run work on."""

from __future__ import annotations

from typing import Literal, NamedTuple

import diffrax

import dalembert as da
from fuzz.compare import FORMULATIONS, IMPLICIT, Outcome, motions, simulations
from fuzz.rough import contacts, rough

WAYS = {
    "projection": {},
    "no drift cure": {"drift": None},
    "Baumgarte": {"drift": "rates"},
    "fixed step": {"step": 0.0005},
    "implicit": {"solver": da.Implicit()},
}
GENERAL = {
    "diffrax, Dopri8": {"solver": diffrax.Dopri8()},
    IMPLICIT: {"solver": diffrax.Kvaerno5(), "max_steps": 2000},
}


class Task(NamedTuple):
    """A random problem: its accelerations, its motion by the compiled integrator, or its motion by diffrax too.

    Those of the kind "rough" have dry friction and impacts, those of the kind "contacts" have contacts that open and
    close, ropes, and wheels that roll and slip.
    """

    seed: int
    kind: Literal["motion", "simulation", "general", "rough", "contacts"]


def compared(task: Task) -> list[Outcome]:
    """Return all comparisons of a task."""
    if task.kind == "motion":
        return list(motions(task.seed, FORMULATIONS))
    if task.kind == "rough":
        return list(rough(task.seed))
    if task.kind == "contacts":
        return list(contacts(task.seed))
    return list(simulations(task.seed, WAYS | (GENERAL if task.kind == "general" else {})))
