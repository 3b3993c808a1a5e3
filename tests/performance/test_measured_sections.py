# SPDX-License-Identifier: BSD-3-Clause
"""Sections that measurements write into the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.document_sections import replace_section


def test_a_marked_section_is_replaced_and_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- peers: begin -->\nold\n<!-- peers: end -->\nafter\n", encoding="utf-8")
    replace_section("peers", "new", page)
    replace_section("peers", "newer\n", page)
    assert page.read_text() == "before\n<!-- peers: begin -->\n\nnewer\n\n<!-- peers: end -->\nafter\n"


@pytest.mark.parametrize("text", ["", "<!-- peers: end --> <!-- peers: begin -->", "<!-- peers: begin -->" * 2])
def test_marks_that_are_missing_or_doubled_are_refused(tmp_path: Path, text: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="must hold `<!-- peers: begin -->`"):
        replace_section("peers", "new", page)
