# SPDX-License-Identifier: BSD-3-Clause
"""The signs of the coefficients of laws along a motion, as a test in JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import sympy as sp

from dalembert.common.lazy_jax import jax, jnp
from dalembert.integration.method import split_state
from dalembert.lowering.jax_functions import compiled
from dalembert.model.coefficients import SIGN_TESTS, parameter_conditions
from dalembert.model.moving_coefficients import ROUNDED_SIGN, moving_coefficients
from dalembert.model.system import System

if TYPE_CHECKING:
    from jax import Array


def wrong_signs(system: System) -> Callable[..., Array] | None:
    """Return a function (times, ys, p) that tests whether a coefficient of a law has the wrong sign along a motion.

    It is true where ``refuse_negative_coefficients`` raises for the parameters, or where ``MovingCoefficients`` finds a
    negative one at the states (T, 2n). The result is None if there is nothing to test.
    """
    conditions, moving, symbols = parameter_conditions(system), moving_coefficients(system), system.symbols
    if not conditions and moving is None:
        return None
    parameters = tuple(sp.Symbol(name, real=True) for name in system.parameter_names)
    fixed = compiled((parameters,), tuple(own.expression for own in conditions))
    values = () if moving is None else tuple(symbols.plain(own.value) for own in moving.coefficients)
    along = compiled((symbols.q, symbols.qd, symbols.time, parameters), values)

    def test(times: Any, ys: Array, p: Any) -> Array:
        holds = [SIGN_TESTS[own.sign](value) for own, value in zip(conditions, fixed(tuple(p)), strict=True)]
        off = [~jnp.asarray(own) for own in holds]
        if moving is not None:
            at, place = moving.checked_places(times)
            q, qd = split_state(ys[place])
            found = jax.vmap(lambda q, qd, t: jnp.stack([*map(_number, along(tuple(q), tuple(qd), t, tuple(p)))]))
            each = found(q, qd, jnp.asarray(at))
            # relative to the largest value so far, as in ``MovingCoefficients``
            largest = jax.lax.cummax(jnp.abs(each), axis=0)
            off.append((each < -ROUNDED_SIGN * largest).any())
        return jnp.stack(off).any()

    return test


def _number(value: Any) -> Array:
    return jnp.asarray(value, float)
