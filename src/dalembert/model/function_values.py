# SPDX-License-Identifier: BSD-3-Clause
"""Values of Python functions at states: where one has none, no motion begins or continues."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import InputError
from dalembert.model import graph
from dalembert.model.expression_values import expression_values
from dalembert.model.symbols import ideal_force, multiplier, reaction
from dalembert.model.system import System


def require_function_values(system: Any, q: Floats, qd: Floats, t: Any, p: Sequence[Any]) -> None:
    """Raise an error if a Python function of a system has no finite value at a state."""
    for problem in _problems(system, q, qd, t, p):
        raise InputError(f"a Python function must return a finite number at this state; {problem}.")


JUST_AHEAD = (0.0, 1e-9, 1e-6)
"""Times ahead at which functions are examined where a motion ends, relative to the time integrated so far."""


def end_of_function_values(system: Any, q: Floats, qd: Floats, t: Any, p: Sequence[Any], so_far: float = 0.0) -> str:
    """Return a sentence on a Python function that has no value near a state; empty if there is none.

    ``so_far`` is the time integrated up to the state, where a function may have its last value.
    """
    for node in () if not isinstance(system, System) else system.python_functions:
        for call, what in node.data.failures.items():
            return f" Near it `{call}` {what}."
    for ahead in (part * so_far for part in JUST_AHEAD):
        for problem in _problems(system, q + ahead * qd, qd, t + ahead, p):
            return f" {'Just ahead' if ahead else 'There'} {problem}."
    return ""


def _problems(system: Any, q: Floats, qd: Floats, t: Any, p: Sequence[Any]) -> Iterator[str]:
    nodes = [] if not isinstance(system, System) else system.python_functions
    # forces are not known yet
    nodes = [node for node in nodes if not graph.has_kind(node, ideal_force, multiplier, reaction)]
    numbers = dict(zip(system.parameter_names, map(float, p), strict=True)) if nodes else {}
    for node in nodes:
        if node.data.is_derivative:
            continue
        node.data.failures.clear()
        places = expression_values(system, node.places)(float(t), np.concatenate([q, qd]), numbers)
        value = float(node.data.value(*places))
        if not np.isfinite(value):
            call = node.data.call_text(tuple(map(float, places)))
            yield f"`{call}` {node.data.failures.get(call, f'is {value}')}"
