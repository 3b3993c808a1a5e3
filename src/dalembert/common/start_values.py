# SPDX-License-Identifier: BSD-3-Clause
"""Numbers with which a motion starts, and the expressions of the same quantities during the motion."""

from __future__ import annotations

from typing import Any, Protocol


class HasMotion(Protocol):
    """An object that has expressions of the quantities whose start is given, by name."""

    def in_motion(self, quantity: str) -> Any: ...


class StartValue:
    """The initial value of a quantity of a body.

    It is a number or a tuple of numbers, and behaves as such; ``in_motion`` is the quantity at any time.
    """

    _owner: HasMotion
    _quantity: str

    @property
    def in_motion(self) -> Any:
        """The quantity at any time: an expression, or a column of expressions."""
        return self._owner.in_motion(self._quantity)


class StartVector(StartValue, tuple[float, ...]):
    """The components of an initial value."""


class StartNumber(StartValue, float):
    """An initial value with one component."""


def start_value(owner: HasMotion, quantity: str, given: Any) -> StartVector | StartNumber:
    """Return an initial value of an object that knows its quantities during the motion."""
    value = StartVector(given) if isinstance(given, tuple) else StartNumber(given)
    value._owner, value._quantity = owner, quantity  # pyright: ignore[reportPrivateUsage]
    return value
