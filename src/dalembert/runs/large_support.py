# SPDX-License-Identifier: BSD-3-Clause
"""Decides whether a call is solved by groups of similar terms, the path of large systems.

This module is imported for every system, and therefore imports nothing of that path.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dalembert.equation.factored import checked_formulation
from dalembert.integration.method import Method
from dalembert.model.large_statement import LargeStatement
from dalembert.model.system import System


def stated_large(system: Any, supported: Callable[..., bool], *arguments: Any) -> LargeStatement | None:
    """Return the groups of terms of a system that is too large for straight-line code; None for others.

    A system that is stated term by term keeps straight-line code where groups do not support the arguments.
    """
    if not isinstance(system, System) or system.templates is None:
        return None
    return system.templates if system.is_large or supported(*arguments) else None


def supports_formulation(formulation: Any) -> bool:
    """Return whether a formulation is the default one of large systems."""
    return checked_formulation(formulation).uses_engine


def supports_method(method: Method, control: Any) -> bool:
    """Return whether large systems can be simulated by a method."""
    return has_sparse_steps(method, control) and supports_formulation(method.formulation)


def has_sparse_steps(method: Method, control: Any) -> bool:
    """Return whether a method takes steps of large systems, whatever its formulation is."""
    drift = method.drift
    return method.tableau is not None and drift.in_machine_code and not drift.integrals and control is None


def supports_metric(metric: str, servos: bool) -> bool:
    """Return whether consistent states of large systems are found for these arguments of ``consistent_state``."""
    return metric == "mass" and not servos
