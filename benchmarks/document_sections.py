# SPDX-License-Identifier: BSD-3-Clause
"""Sections of the documentation that are written by a measurement, between marks in the text."""

from __future__ import annotations

from pathlib import Path

PERFORMANCE = Path(__file__).parents[1] / "docs" / "performance.md"


def replace_section(name: str, text: str, path: Path = PERFORMANCE) -> None:
    """Put a text between ``<!-- name: begin -->`` and ``<!-- name: end -->``; both marks must be there once."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    whole = path.read_text(encoding="utf-8")
    if whole.count(begin) != 1 or whole.count(end) != 1 or whole.index(end) < whole.index(begin):
        raise ValueError(
            f"`{path}` must hold `{begin}` and, after it, `{end}`, each once; write them where it belongs."
        )
    before, rest = whole.split(begin)
    after = rest.split(end)[1]
    path.write_text(f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}", encoding="utf-8")
