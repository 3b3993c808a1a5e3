# SPDX-License-Identifier: BSD-3-Clause
"""Docstrings as Markdown for the reference pages.

The docstrings of the library are written to be read as text: sections underlined by dashes, and aligned rows such as
``rtol, atol    tolerances of the error per step``. A browser needs lists and code blocks instead.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from griffe import Extension

ROW = re.compile(r"^(?P<name>\S.*?)(?:\s{2,}|\s:\s)(?P<text>\S.*)$")
SECTIONS = ("Parameters", "Returns", "Raises", "Attributes")
OWN_NAME = re.compile(r"``(da\.(\w+)(?:\([^`]*\))?)``")


class MarkdownDocstrings(Extension):
    """The extension of griffe that converts every docstring."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = markdown_of(obj.docstring.value)


def markdown_of(docstring: str) -> str:
    """Return a docstring as Markdown."""
    section, parts = "", []
    for block in re.split(r"\n\s*\n", docstring.strip("\n")):
        lines = block.splitlines()
        if len(lines) > 1 and re.fullmatch(r"-{3,}", lines[1].strip()):
            section, lines = lines[0].strip(), lines[2:]
            parts.append(f"**{section}**")
        if lines:
            parts.append(_block(lines, section))
    return OWN_NAME.sub(r"[`\1`][dalembert.\2]", "\n\n".join(parts))


def _block(lines: Sequence[str], section: str) -> str:
    if lines[0].lstrip().startswith(">>>"):
        return "\n".join(["```pycon", *lines, "```"])
    if _is_table(lines, section):
        return "\n".join(_list_of(lines))
    return "\n".join(lines)


def _is_table(lines: Sequence[str], section: str) -> bool:
    """Return whether lines are aligned rows: names, then spaces, then a text that may continue on indented lines."""
    first = [line for line in lines if not line.startswith(" ")]
    rows = sum(ROW.match(line) is not None for line in first)
    return bool(rows) and (section in SECTIONS or (rows > 1 and 2 * rows >= len(first)))


def _list_of(lines: Sequence[str]) -> list[str]:
    found: list[str] = []
    for line in lines:
        row = ROW.match(line)
        if line.startswith(" ") and found:
            found[-1] += f" {line.strip()}"
        elif row is not None:
            found.append(f"- `{row['name'].replace('`', '')}`: {row['text']}")
        else:
            found.append(f"- `{line.strip()}`")
    return found
