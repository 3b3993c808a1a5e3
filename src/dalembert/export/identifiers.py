# SPDX-License-Identifier: BSD-3-Clause
"""Names of a model as identifiers of C and Python."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence


def identifier(name: str) -> str:
    """Return a name with letters, digits and underscores only; Greek letters become their names.

    >>> identifier("θ₁"), identifier("left motor")
    ('theta1', 'left_motor')
    """
    letters = "".join(map(_spelled, unicodedata.normalize("NFKD", name)))
    return re.sub(r"\W+", "_", letters, flags=re.ASCII).strip("_") or "unnamed"


def model_identifier(name: str) -> str:
    """Return the name of a model as an identifier, which does not start with a digit.

    >>> model_identifier("4-bar")
    'model_4_bar'
    """
    plain = identifier(name)
    return f"model_{plain}" if plain[0].isdigit() else plain


def _spelled(character: str) -> str:
    if character.isascii():
        return character
    words = unicodedata.name(character, "").split()
    if "GREEK" in words and "LETTER" in words:
        name = words[words.index("LETTER") + 1].lower()
        return name.capitalize() if "CAPITAL" in words else name
    return "" if unicodedata.combining(character) else "_"


def identifiers(names: Sequence[str]) -> tuple[str, ...]:
    """Return distinct identifiers of names: those that would coincide are numbered.

    >>> identifiers(["x'", "x", "y"])
    ('x', 'x_2', 'y')
    """
    found: list[str] = []
    for name in names:
        plain = identifier(name)
        numbered = (plain if k == 1 else f"{plain}_{k}" for k in range(1, len(names) + 2))
        found.append(next(candidate for candidate in numbered if candidate not in found))
    return tuple(found)
