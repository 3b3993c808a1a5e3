# SPDX-License-Identifier: BSD-3-Clause
"""The outcome of a check as text, for the terminal and for HTML pages."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dalembert.gallery.definition import Check, Outcome

SMALLEST_DECIMAL = 1e-4
"""Smaller values are printed with an exponent, since leading zeros would be hard to read."""


class Row(NamedTuple):
    """One line of a table of checks."""

    what: str
    expected: str
    got: str
    source: str
    passed: bool


def row_of(outcome: Outcome) -> Row:
    """Return the table row of an outcome."""
    check = outcome.check
    return Row(check.what, expected_text(check), _got_text(outcome), check.source, outcome.passed)


def expected_text(check: Check) -> str:
    """Return the expected value and its tolerance, as `46.2898317 ± 1e-09`."""
    return _numbers(check.expected) + (f" ± {check.tolerance:.0e}" if check.tolerance else "")


def _got_text(outcome: Outcome) -> str:
    """Return the result as text; of several values compared with one, that with the largest error."""
    got, expected = outcome.got, np.asarray(outcome.check.expected, float)
    if got.shape == expected.shape:
        return _numbers(got)
    off = np.abs(got - expected).ravel()
    return _numbers(got.ravel()[int(np.argmax(off))])


def _numbers(values: Any) -> str:
    return ", ".join(
        f"{value:.10g}" if abs(value) >= SMALLEST_DECIMAL or value == 0 else f"{value:.1e}"
        for value in np.ravel(values)
    )
