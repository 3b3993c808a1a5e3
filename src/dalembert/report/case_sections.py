# SPDX-License-Identifier: BSD-3-Clause
"""Further sections of the pages of some gallery cases, after their derivation."""

from __future__ import annotations

from dalembert.gallery.definition import Case
from dalembert.report.abbreviated_steps import abbreviated
from dalembert.report.comparison_sections import COMPARISONS
from dalembert.report.derivation_page import html
from dalembert.report.paper_sections import PAPER_SECTIONS
from dalembert.report.verdict_sections import VERDICTS


def sections_of(case: Case) -> str:
    """Return the sections of a case as HTML; an empty string if it has none."""
    found = [(title, steps()) for title, steps in PAPER_SECTIONS.get(case.name, ())]
    found += [
        (title, steps(case.system)) for table in (VERDICTS, COMPARISONS) for title, steps in table.get(case.name, ())
    ]
    return "\n".join(html(title, abbreviated(steps), fragment=True) for title, steps in found)
