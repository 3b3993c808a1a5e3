# SPDX-License-Identifier: BSD-3-Clause
"""Text of TOML documents from nested mappings, lists, texts and numbers; Python's ``tomllib`` only reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

LONGEST_ARRAY_LINE = 110
"""Longest line of an array; longer ones have one entry per line."""

IN_ONE_LINE = ("coordinates",)
"""Keys of arrays of short tables, which are written as an array and not as sections."""

_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def toml_text(document: Mapping[str, Any]) -> str:
    """Return a document as text: plain values first, then tables, then arrays of tables.

    >>> print(toml_text({"format": 1, "units": {"x": "m", "t": "s"}, "constraints": [{"name": "rod"}]}))
    format = 1
    <BLANKLINE>
    [units]
    x = "m"
    t = "s"
    <BLANKLINE>
    [[constraints]]
    name = "rod"
    <BLANKLINE>
    """
    sections = {key for key, value in document.items() if _are_tables(value) and key not in IN_ONE_LINE}
    plain = {key: value for key, value in document.items() if not _is_table(value) and key not in sections}
    blocks = [_lines(plain)] if plain else []
    for key, value in document.items():
        if _is_table(value):
            blocks.append([f"[{_key(key)}]", *_lines(value)])
        elif key in sections:
            blocks += [[f"[[{_key(key)}]]", *_lines(table)] for table in value]
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _is_table(value: Any) -> bool:
    """Return whether a value gets a section of its own: a mapping of several entries, or of entries that are long."""
    return isinstance(value, Mapping) and (len(value) > 1 or len(_value(value)) > LONGEST_ARRAY_LINE)


def _are_tables(value: Any) -> bool:
    """Return whether a value is written as an array of tables, one section for each."""
    return isinstance(value, list) and bool(value) and all(isinstance(entry, Mapping) for entry in value)  # pyright: ignore


def _lines(table: Mapping[str, Any]) -> list[str]:
    return [f"{_key(key)} = {_value(value, len(key) + 3)}" for key, value in table.items()]


def _key(name: str) -> str:
    return name if _PLAIN_KEY.fullmatch(name) else _text(name)


def _value(value: Any, indent: int = 0) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(key)} = {_value(own)}' for key, own in value.items())} }}" if value else "{}"
    if isinstance(value, list):
        entries = [_value(entry) for entry in value]
        line = f"[{', '.join(entries)}]"
        if len(line) + indent <= LONGEST_ARRAY_LINE:
            return line
        return "[\n" + "".join(f"  {entry},\n" for entry in entries) + "]"
    return repr(value)


def _text(value: str) -> str:
    return '"' + "".join(_ESCAPES.get(c, c if c.isprintable() else f"\\U{ord(c):08X}") for c in value) + '"'
