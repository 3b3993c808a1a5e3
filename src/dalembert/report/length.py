# SPDX-License-Identifier: BSD-3-Clause
"""Length of expressions: which are too long to be simplified and printed as they are."""

from __future__ import annotations

from typing import Any

from dalembert.model import graph

LONG_FORMULA = 20_000
"""Size, copies of repeated subexpressions included, above which an expression is neither simplified nor printed as it
is: a formula of that size fills pages."""


def is_long(expression: Any) -> bool:
    """Return whether an expression is too long, or nested too deeply, to be simplified and printed as it is."""
    found = graph.facts(expression)
    return found.size > LONG_FORMULA or found.depth >= graph.DEEP
