# SPDX-License-Identifier: BSD-3-Clause
"""Checks of the signals of a model: names and continuous derivatives."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dalembert.common.names import quoted
from dalembert.model import graph
from dalembert.model.signal import Signal
from dalembert.model.symbols import functions_of_time

DERIVATIVES = {"position": 2, "velocity": 1, "acceleration": 0}
"""Time derivatives of a constraint of each level in the equations of motion."""


def signals_in(expressions: Iterable[Any]) -> list[Signal]:
    """Return the signals of some expressions, in a fixed order."""
    found = {node for expression in expressions for node in graph.atoms(expression, Signal)}
    return sorted(found, key=lambda node: (node.data.key, str(node.args[1])))


def signal_problems(system: Any) -> list[str]:
    """Return the problems of the signals of a system as sentences."""
    found = signals_in(system.expressions())
    if not found:
        return []
    problems = _name_problems(found)
    for node in found:
        if node.data.kind == "previous" and functions_of_time(node.args[1]):
            problems.append(
                f'signal `{node.data.name}` must be a function of time, since values of kind "previous" jump; it is '
                f'one of `{graph.shown(node.args[1])}`. Use `kind="linear"`, or another one.'
            )
    for constraint in system.constraints:
        where = f"constraint `{constraint.name}` at {constraint.level} level depends"
        # a velocity that jumps is followed by an impulse, as that of a belt or of any other function of time
        least = -2 if constraint.level == "velocity" else -1
        problems += _impulses(constraint.expression, DERIVATIVES[constraint.level], where, least)
    for servo in system.servos:
        for own in servo.requirement:
            where = f"requirement `{own.name}` at {own.level} level depends"
            problems += _impulses(own.expression, DERIVATIVES[own.level], where)
    for expression in (*system.mass_matrix.todok().values(), *system.applied_force):
        problems += _impulses(expression, 0, "the equations of motion depend")
    return [*dict.fromkeys(problems)]


def _name_problems(found: list[Signal]) -> list[str]:
    numbers: dict[str, set[Any]] = {}
    for node in found:
        key = node.data.key
        numbers.setdefault(node.data.name, set()).add((*key[:3], key[4]))
    twice = [name for name, different in numbers.items() if len(different) > 1]
    if not twice:
        return []
    return [f"signals with different numbers must have different names; given twice: {quoted(twice)}. Pass `name=`."]


def _impulses(expression: Any, derivatives: int, where: str, least: int = -1) -> list[str]:
    """Return a problem for each signal that jumps before its last derivative, which then contains impulses."""
    problems: list[str] = []
    for node in signals_in([expression]):
        data, needed = node.data, node.data.order + derivatives
        if node.data.polynomial.smoothness - derivatives < least:
            what = f'the signal of kind "{data.kind}"{" that is held" if data.extend == "hold" else ""}'
            order = data.order + data.polynomial.smoothness + 1
            problems.append(
                f"derivative {needed} of signal `{data.name}`, on which {where}, must be finite; {what} jumps"
                f'{f" in its derivative {order}" if order else ""}. Use a smoother `kind`, such as "cubic".'
            )
    return problems
