# SPDX-License-Identifier: BSD-3-Clause
"""Changes made by events: of the state, the parameters and the constraints that hold."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.model.coefficients import refuse_negative_coefficients
from dalembert.model.event import Change, Event
from dalembert.model.expression_values import expression_values
from dalembert.model.standard_form import energy
from dalembert.model.system import System


class Situation(NamedTuple):
    """A state (2n,), the values of parameters by name, and the names of the equations that hold."""

    y: Floats
    p: dict[str, float]
    active: frozenset[str]


def changed(system: System, events: Sequence[Event], now: Situation, t: float) -> Situation:
    """Return the situation after the changes of events that occur at one time, in their order."""
    for event in events:
        if event.then is not None:
            now = _after(system, event.then, now, t)
    return now


def _after(system: System, change: Change, now: Situation, t: float) -> Situation:
    y, p, active = now
    if change.values:
        further = tuple(sorted({*p} - {*system.parameter_names}))
        # the further names are sorted, since sets have another order in each process
        names, expressions = zip(*change.values, strict=True)
        values = expression_values(system, expressions, further)(t, y, p)
        places = {name: k for k, name in enumerate(system.coordinate_names)}
        places |= {f"{name}'": k + len(places) for name, k in list(places.items())}
        # all new values are computed from the old state first, so that their order does not matter
        y, p = np.array(y), dict(p)
        for name, value in zip(names, values, strict=True):
            if name in places:
                y[places[name]] = value
            else:
                p[name] = float(value)
        # a change may make a coefficient of damping or friction negative
        refuse_negative_coefficients(system, tuple(p[name] for name in system.parameter_names))
    return Situation(y, p, (active | {*change.on}) - {*change.off})


def energy_at(system: System, now: Situation, t: float) -> float:
    """Return the energy at a state: kinetic, and potential where a Lagrangian is known."""
    further = tuple(sorted({*now.p} - {*system.parameter_names}))
    return float(expression_values(system, (_energy(system),), further)(t, now.y, now.p)[0])


@lru_cache(maxsize=64)
def _energy(system: System) -> Any:
    if system.lagrangian is not None:
        return energy(system.lagrangian, system.symbols)
    n, qd = len(system.coordinates), system.velocities
    return sum(system.mass_matrix[i, j] * qd[i] * qd[j] / 2 for i in range(n) for j in range(n))
