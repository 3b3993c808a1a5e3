# SPDX-License-Identifier: BSD-3-Clause
"""The directions of sliding of contacts under dry friction, as a test for steps in JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import sympy as sp

from dalembert.common.lazy_jax import jnp
from dalembert.integration.method import split_state
from dalembert.lowering.jax_functions import compiled
from dalembert.model.friction_contacts import contacts
from dalembert.model.system import System

if TYPE_CHECKING:
    from jax import Array


def slides_on(system: System) -> Callable[..., Array] | None:
    """Return a function that tests whether every contact under dry friction keeps its direction of sliding in a step.

    The result is None if there are no such contacts.
    """
    touching = contacts(system)
    if not touching:
        return None
    symbols = system.symbols
    parameters = tuple(sp.Symbol(name, real=True) for name in system.parameter_names)
    velocities = tuple(tuple(map(symbols.plain, contact.velocity)) for contact in touching)
    sliding = compiled((symbols.q, symbols.qd, symbols.time, parameters), velocities)

    def at(t: Any, y: Array, p: Any) -> list[list[Array]]:
        q, qd = split_state(y)
        return [[jnp.asarray(c, float) for c in v] for v in sliding(tuple(q), tuple(qd), t, tuple(p))]

    def slides(t0: Any, y0: Array, t1: Any, y1: Array, p: Any) -> Array:
        pairs = zip(at(t0, y0, p), at(t1, y1, p), strict=True)
        # sliding keeps its direction if the velocities at both ends have a positive scalar product
        return jnp.stack([sum(a * b for a, b in zip(*pair, strict=True)) > 0 for pair in pairs]).all()

    return slides
