# SPDX-License-Identifier: BSD-3-Clause
"""Places of values in the text of a TOML file, which Python's ``tomllib`` does not tell.

The text is one that ``tomllib`` has read; only what is needed to find keys and values is scanned.
"""

from __future__ import annotations

import re

Path = tuple[str | int, ...]

_GAP = re.compile(r"(?:[ \t\r\n,]|#[^\n]*)*")
_BLANK = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRINGS = (
    re.compile(r'"""(?:\\.|[^\\])*?"{3,5}', re.DOTALL),
    re.compile(r"'''.*?'{3,5}", re.DOTALL),
    re.compile(r'"(?:\\.|[^"\\\n])*"'),
    re.compile(r"'[^'\n]*'"),
)
_PLAIN = re.compile(r"[^\s,\]}#]+(?: [0-9][^\s,\]}#]*)?")  # a date may hold a blank
_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[ \t]*\n\s*|.)", re.DOTALL)


def place_in(text: str, path: Path, offset: int | None) -> tuple[int, int]:
    """Return line and column of the key of an entry or, with an offset, of a character of its text."""
    scanner = _Scanner(text)
    scanner.scan()
    while path and path not in scanner.keys:
        path = path[:-1]
    place = scanner.keys.get(path, 0) if offset is None else _inside(text, scanner.values.get(path, 0), offset)
    return line_and_column(text, place)


def line_and_column(text: str, place: int) -> tuple[int, int]:
    """Return line and column of a character, counted from one."""
    return text.count("\n", 0, place) + 1, place - text.rfind("\n", 0, place)


def _inside(text: str, place: int, offset: int) -> int:
    """Return the place of the character ``offset`` of a string that begins at ``place``."""
    quote = text[place : place + 1]
    if quote not in ('"', "'"):
        return place
    triple = text.startswith(quote * 3, place)
    place += 3 if triple else 1
    if triple and text.startswith("\n", place):
        place += 1
    for _ in range(offset):
        escape = _ESCAPE.match(text, place) if quote == '"' else None
        place = escape.end() if escape else place + 1
    return min(place, len(text))


class _Scanner:
    """Finds the offsets of keys and of values, by path; entries of arrays have those of their values as keys."""

    def __init__(self, text: str):
        self.text, self.place = text, 0
        self.keys: dict[Path, int] = {}
        self.values: dict[Path, int] = {}
        self.counts: dict[Path, int] = {}  # of tables in arrays of tables

    def scan(self) -> None:
        table: Path = ()
        self._skip(_GAP)
        while self.place < len(self.text):
            if self.text[self.place] == "[":
                table = self._header()
            else:
                self._pair(table)
            self._skip(_GAP)

    def _skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.place)
        self.place = match.end() if match else self.place + 1
        return match.group() if match else ""

    def _header(self) -> Path:
        """Return the path of a table from its header."""
        start, many = self.place, self.text.startswith("[[", self.place)
        self.place += 2 if many else 1
        keys = self._keys()
        self._skip(re.compile(r"\]{1,2}"))
        path: Path = ()
        for k, key in enumerate(keys):
            path = (*path, key)
            if many and k == len(keys) - 1:
                self.counts[path] = self.counts.get(path, -1) + 1
                self.keys.setdefault(path, start)
            if path in self.counts:
                path = (*path, self.counts[path])
        self.keys[path] = start
        return path

    def _keys(self) -> list[str]:
        """Return the parts of a key, divided by dots."""
        keys: list[str] = []
        while True:
            self._skip(_BLANK)
            if self.text[self.place : self.place + 1] in ('"', "'"):
                keys.append(self._string()[1:-1])
            else:
                keys.append(self._skip(_BARE))
            self._skip(_BLANK)
            if not self.text.startswith(".", self.place):
                return keys
            self.place += 1

    def _pair(self, table: Path) -> None:
        start = self.place
        keys = self._keys()
        self.place += 1  # the equals sign
        self._skip(_BLANK)
        path: Path = table
        for key in keys:
            path = (*path, key)
            self.keys.setdefault(path, start)
        self._value(path)

    def _value(self, path: Path) -> None:
        self.values[path] = self.place
        self.keys.setdefault(path, self.place)
        first = self.text[self.place : self.place + 1]
        if first in ('"', "'"):
            self._string()
        elif first in "[{" and first:
            self.place += 1
            self._skip(_GAP)
            count = 0
            while self.place < len(self.text) and self.text[self.place] not in "]}":
                if first == "[":
                    self._value((*path, count))
                else:
                    self._pair(path)
                count += 1
                self._skip(_GAP)
            self.place += 1
        else:
            self._skip(_PLAIN)

    def _string(self) -> str:
        for pattern in _STRINGS:
            match = pattern.match(self.text, self.place)
            if match:
                self.place = match.end()
                return match.group()
        self.place += 1
        return ""
