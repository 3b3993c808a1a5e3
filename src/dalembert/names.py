# SPDX-License-Identifier: BSD-3-Clause
"""Names of coordinates, parameters and constraints, as keys and in messages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def name_of(key: Any) -> str:
    """Return the name of a symbol or of a coordinate such as x(t), with primes for its time derivatives.

    A string is its own name.
    """
    if type(key).__name__ == "Derivative":  # SymPy's, which this layer does not import
        return name_of(key.expr) + "'" * key.derivative_count
    name = getattr(key, "name", None)
    return name if isinstance(name, str) else str(key)


def quoted(names: Iterable[str]) -> str:
    """Return names as messages show them.

    >>> quoted(["x", "y"])
    '`x`, `y`'
    """
    return ", ".join(f"`{name}`" for name in names)
