# SPDX-License-Identifier: BSD-3-Clause
"""Texts of documents without control characters, which would reach terminals and the files of exports."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

from dalembert.errors import ModelError
from dalembert.model.document import DocumentEntry, DocumentError, EntryPath

_ALLOWED = "\n\t"

_REORDERING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
"""Classes of the characters that change the order in which a text is shown, so that it reads as another one."""


def require_printable(document: Mapping[str, Any]) -> None:
    """Raise an error if a key or a text of a document has control characters, or a name or a unit has line breaks.

    TOML allows them as escapes such as ``\\u001b``, by which a terminal that shows the text would obey a file.
    """
    for path, text, kind in _texts(document, ()):
        allowed = _ALLOWED if kind == "text" else ""
        for place, character in enumerate(text):
            if _is_control(character) and character not in allowed:
                raise DocumentEntry(text, path).error(
                    f"a {kind} must not contain control characters; got {character!r} as character {place + 1}."
                )


def _is_control(character: str) -> bool:
    return unicodedata.category(character) == "Cc" or unicodedata.bidirectional(character) in _REORDERING


def _texts(value: Any, path: EntryPath) -> Iterator[tuple[EntryPath, str, str]]:
    """Yield all keys and texts with their paths, and whether each is a name, a unit or another text."""
    if isinstance(value, str):
        is_unit = bool(path) and (path[-1] == "unit" or path[0] == "units")
        yield path, value, "unit" if is_unit else "name" if path and path[-1] == "name" else "text"
    elif isinstance(value, Mapping):
        for key, own in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield (*path, str(key)), str(key), "name"  # pyright: ignore[reportUnknownArgumentType]
            yield from _texts(own, (*path, str(key)))  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, list):
        for i, own in enumerate(value):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            yield from _texts(own, (*path, i))


def require_writable(document: Mapping[str, Any]) -> None:
    """Raise the same error for a document that is to be written, as one about the model."""
    try:
        require_printable(document)
    except DocumentError as error:
        raise ModelError([f"{error.problem} Rename it to save it."]) from None
