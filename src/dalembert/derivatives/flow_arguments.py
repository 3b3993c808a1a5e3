# SPDX-License-Identifier: BSD-3-Clause
"""The arguments of a flow as JAX arrays; their values are known only outside of JAX's transformations."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import Array

from dalembert.errors import InputError
from dalembert.model.input_values import parameter_values, state_values
from dalembert.model.ordering import by_name, in_order, name_problems


def state_array(names: tuple[str, ...], state: Any, argument: str, known: bool) -> Array:
    """Return q or qd in coordinate order; their values are checked if they are known."""
    if known:
        return jnp.asarray(state_values(names, state, argument))
    values, problems = in_order(names, state, argument, "coordinate")
    if problems:
        raise InputError(" ".join(problems))
    return jnp.stack([_real(value, argument) for value in values])


def ordered_parameters(names: tuple[str, ...], parameters: Any, known: bool) -> tuple[Array, ...]:
    """Return the parameters in order; their values are checked if they are known."""
    if known:
        return tuple(jnp.asarray(value) for value in parameter_values(names, parameters))
    values, problems = by_name({} if parameters is None else parameters, "parameters", "parameter")
    values = values or {}
    problems += name_problems(names, values, "parameters", "parameter")
    if problems:
        raise InputError(" ".join(problems))
    return tuple(_real(values[name], "parameters") for name in names)


def _real(value: Any, argument: str) -> Array:
    if jnp.iscomplexobj(value):
        raise InputError(f"`{argument}` must be real; got complex numbers. Give their real parts, `.real`.")
    number = jnp.asarray(value, float)
    if number.ndim:
        raise InputError(
            f"`{argument}` must hold one number per name; got shape {number.shape}. For many motions at once, map the "
            f"flow by `jax.vmap`."
        )
    return number
