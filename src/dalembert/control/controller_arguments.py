# SPDX-License-Identifier: BSD-3-Clause
"""Checks of the arguments of controllers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import InputError
from dalembert.model import graph
from dalembert.model.input_values import scalar_value
from dalembert.model.ordering import quoted
from dalembert.model.symbols import free_parameters, functions_of_time
from dalembert.model.symbols import t as t_
from dalembert.model.system import System
from dalembert.model.uncertainty import AdaptiveBound, BoundedUncertainty
from dalembert.model.validation import expression_problems


def number_value(given: Any, argument: str) -> float:
    """Return one finite number."""
    if isinstance(given, str):  # which NumPy would convert
        raise InputError(f"`{argument}` must be a number; got {given!r}.")
    return float(scalar_value(given, argument))


def limit_value(name: str, limit: Any, parameters: Mapping[str, float]) -> float:
    """Return the limit of an actuator as a number; infinite if it has none."""
    if limit is None:
        return np.inf
    value = limit.subs(parameters)
    if not value.is_number:
        raise InputError(
            f"`limit` of actuator `{name}` must be a number or an expression of parameters for a sampled "
            f"controller; got `{limit}`."
        )
    return float(value)


def require_layers(system: System, robust: Any, adaptive: Any) -> None:
    """Raise an error unless the layers are of their classes and use the symbols of the model."""
    for name, layer, kind in (("robust", robust, BoundedUncertainty), ("adaptive", adaptive, AdaptiveBound)):
        if layer is None:
            continue
        if not isinstance(layer, kind):
            raise InputError(f"`{name}` must be a `da.{kind.__name__}`; got {layer!r}.")
        for field in fields(layer):
            expression, where = getattr(layer, field.name), f"`{field.name}` of {kind.__name__}"
            problems = expression_problems(system, expression, where)
            unknown = sorted({s.name for s in free_parameters([expression])} - set(system.parameter_names))
            if unknown:
                problems.append(f"{where} must use parameters of the model; {quoted(unknown)} is unknown.")
            if problems:
                raise InputError(" ".join(problems))
            moving = functions_of_time(expression) or t_ in graph.free_symbols(expression)
            if kind is AdaptiveBound and moving:
                raise InputError(f"{where} must be a number or an expression of parameters; got `{expression}`.")


def noise_values(given: Any, n: int) -> Floats:
    """Return the standard deviations (2n,) of coordinates and velocities."""
    try:
        noise = np.atleast_1d(np.asarray(given, float))
    except (TypeError, ValueError):
        noise = np.empty(0)
    if noise.shape not in ((1,), (n,), (2 * n,)) or not (noise >= 0).all() or not np.isfinite(noise).all():
        raise InputError(f"`noise` must be one, {n} or {2 * n} standard deviations, none negative; got {given!r}.")
    return np.resize(noise, 2 * n) if len(noise) < 2 * n else noise
