# SPDX-License-Identifier: BSD-3-Clause
"""Ranges of signals: no motion is computed at times and states at which a signal has no value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import InputError
from dalembert.model import graph
from dalembert.model.expression_values import expression_values
from dalembert.model.signal import Signal
from dalembert.model.symbols import t as time
from dalembert.model.system import System

NEAR_THE_END = 1e-4
"""Distance from the end of a range, relative to its length, at which it may be the reason why a motion ends."""

MORE_VALUES = 'Give the signal more values, or `extend="hold"` or `"periodic"`.'


def require_in_range(system: Any, times: Any, argument: str = "times") -> None:
    """Raise an error if a signal of time in a system has no value at one of the times."""
    bounded = _bounded(system)
    if not bounded:
        return
    first, last = float(np.min(times)), float(np.max(times))
    for node in bounded:
        low, high = node.data.polynomial.limits
        if node.args[1] == time and not low <= first <= last <= high:
            raise InputError(
                f"`{argument}` must lie in the range of signal `{node.data.name}`, {_range(node)}; got "
                f"{first:.6g} to {last:.6g}. {MORE_VALUES}"
            )


def require_state_in_range(system: Any, q: Floats, qd: Floats, t: Any, p: Sequence[Any]) -> None:
    """Raise an error if a signal of the state has no value there."""
    for node, value in _arguments(system, q, qd, t, p):
        low, high = node.data.polynomial.limits
        if not low <= value <= high:
            raise InputError(
                f"the argument `{graph.shown(node.args[1], 60)}` of signal `{node.data.name}` must lie in its range, "
                f"{_range(node)}; it is {value:.6g} at this state. {MORE_VALUES}"
            )


def end_of_range(system: Any, q: Floats, qd: Floats, t: Any, p: Sequence[Any]) -> str:
    """Return a sentence on a signal whose range ends near a state; empty if there is none."""
    for node, value in _arguments(system, q, qd, t, p):
        begin, end = node.data.polynomial.breakpoints[[0, -1]]
        if not begin + NEAR_THE_END * (end - begin) < value < end - NEAR_THE_END * (end - begin):
            return (
                f" There the argument `{graph.shown(node.args[1], 60)}` of signal `{node.data.name}` is {value:.6g}, "
                f"and the signal has values {_range(node)}. {MORE_VALUES}"
            )
    return ""


def _arguments(system: Any, q: Floats, qd: Floats, t: Any, p: Sequence[Any]) -> list[tuple[Signal, float]]:
    """Return the signals that have a range, and the values of their arguments."""
    found = _bounded(system)
    if not found:
        return []
    numbers = dict(zip(system.parameter_names, map(float, p), strict=True))
    compute = expression_values(system, tuple(node.args[1] for node in found))
    return list(zip(found, map(float, compute(float(t), np.concatenate([q, qd]), numbers)), strict=True))


def _bounded(system: Any) -> list[Signal]:
    if not isinstance(system, System):
        return []
    return [node for node in system.signals if node.data.polynomial.outside == "undefined"]


def _range(node: Signal) -> str:
    begin, end = node.data.polynomial.breakpoints[[0, -1]]
    return f"from {begin:.6g} to {end:.6g}"
