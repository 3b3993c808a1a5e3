# SPDX-License-Identifier: BSD-3-Clause
"""Trial phases of a transition: some of the contacts held, the others sliding, and the accelerations of each trial."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from functools import lru_cache

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.integration.path_outputs import outputs_at
from dalembert.model.friction_contacts import Contact
from dalembert.model.system import System
from dalembert.stick_slip.modes import cached_mode
from dalembert.stick_slip.phases import Phase


def geometry(before: Phase, sticking: Collection[Contact], directions: dict[Contact, Floats]) -> Phase:
    """Return the phase without its servo constraints, for the terms of its constraints alone.

    Inputs may be unable to meet the requirements where these contacts are held.
    """
    mode = before.mode
    plain = cached_mode(_without_servos(mode.system), mode.contacts, tuple(sticking))
    return Phase(plain, before.method, before.p, directions, {})


@lru_cache(maxsize=64)
def _without_servos(system: System) -> System:
    return replace(system, servos=())


def phase_with(before: Phase, sticking: Collection[Contact], directions: dict[Contact, Floats]) -> Phase:
    """Return the phase in which some contacts stick, and the others slide in given directions."""
    mode = before.mode
    mode = cached_mode(mode.system, mode.contacts, tuple(sticking))
    kept = {name: getattr(before, name) for name in ("guards", "pressing", "frictionless", "sharing")}
    return Phase(mode, before.method, before.p, directions, {}, **kept)


def acceleration_of(phase: Phase, y: Floats, t: float) -> Floats:
    """Return the accelerations (n,) at a state."""
    here = np.array([t])
    return outputs_at(phase.mode.dynamics, phase.method, None, here, y[None], here, phase.values)["acceleration"][0]


def unit_vector(v: Floats) -> Floats:
    """Return v divided by its length."""
    return v / np.linalg.norm(v)
