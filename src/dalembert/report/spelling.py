# SPDX-License-Identifier: BSD-3-Clause
"""What the printers of all formats agree on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_DOTS = {"q": 0, "qd": 1, "qdd": 2, "Qi": 0}


def spelled(name: str) -> tuple[str, int, str]:
    """The letter, its dots and its family (coordinate, velocity …) of a plain symbol; other names as they are.

    >>> spelled("qd.theta1")
    ('theta1', 1, 'qd')
    """
    family, dot, letter = name.partition(".")
    return (letter, _DOTS[family], family) if dot and family in _DOTS else (name, 0, "")


def positive_first(terms: Sequence[Any]) -> list[Any]:
    """The terms of a sum with the negative ones last: x² − l² rather than −l² + x²."""
    return sorted(terms, key=lambda term: term.could_extract_minus_sign())


def shows_dots_for_zeros(matrix: Any) -> bool:
    """Whether a matrix is large and empty enough to be easier to read with dots in place of its zeros."""
    zeros = sum(entry == 0 for entry in matrix)
    return min(matrix.shape) > 3 and 2 * zeros >= len(matrix)
