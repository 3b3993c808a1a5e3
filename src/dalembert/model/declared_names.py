# SPDX-License-Identifier: BSD-3-Clause
"""Names that a document declares or refers to: which are allowed, how many, and the most similar known one."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from dalembert.common.names import quoted
from dalembert.model.document import DocumentEntry
from dalembert.model.expression_operands import CONSTANTS
from dalembert.model.expression_text import name_text

MOST_DECLARED = 500
"""Largest number of coordinates, and of parameters, of a file; an array of them counts as one."""


def require_few_names(entry: DocumentEntry) -> None:
    """Raise an error for more names than a file may declare."""
    count = len(entry.value) if isinstance(entry.value, (list, Mapping)) else 0  # pyright: ignore
    if count > MOST_DECLARED:
        raise entry.error(f"{entry.label} must hold at most {MOST_DECLARED} names; got {count}.")


def require_name_of_coordinate(entry: DocumentEntry, name: str) -> None:
    """Raise an error for a name that cannot be written, or has a meaning of its own."""
    with entry.places():
        written = name_text(name)
    if name in CONSTANTS and written == f"`{name}`":
        raise entry.error(f"a coordinate must not be named `{name}`, which has a meaning of its own.")


def require_known(entry: DocumentEntry, name: str, known: Sequence[str], what: str = "coordinate") -> None:
    """Raise an error with the most similar known name."""
    if name not in known:
        near = difflib.get_close_matches(name[:100], known, n=1)
        hint = f"Did you mean `{near[0]}`?" if near else f"Known are: {quoted(known) or 'none'}."
        raise entry.error(f"unknown {what} `{name[:100]}`. {hint}")
