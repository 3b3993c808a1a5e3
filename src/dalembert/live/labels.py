# SPDX-License-Identifier: BSD-3-Clause
"""Labels of a live page: names as they are typeset, with an index below."""

from __future__ import annotations

from typing import Any

from dalembert.figures.style import pretty

LONGEST_LETTER = 3
"""Longest name, with its digits and prime, that is a letter and set in italics."""


def name_label(name: str, mark: str = "") -> dict[str, Any]:
    """Return the label of a coordinate or parameter; a ``mark`` such as a prime follows the letter.

    >>> name_label("theta_left", "′")
    {'text': 'theta_left′', 'base': 'θ′', 'index': 'left', 'italic': True}
    """
    letter, _, index = name.partition("_")
    if index.isdigit() or not letter:
        letter, index = name, ""
    base = pretty(letter) + mark
    return {
        "text": name + mark,
        "base": base,
        "index": index.replace("_", " "),
        "italic": len(base) <= LONGEST_LETTER,
    }


def word_label(words: str) -> dict[str, Any]:
    """Return the label of a constraint, an actuator or an energy."""
    return {"text": words, "base": words, "index": "", "italic": False}
