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
    return Row(check.what, _expected_value(outcome), _got_text(outcome), check.source, outcome.passed)


def expected_text(check: Check) -> str:
    """Return the expected value and its tolerance, as `46.2898317 ± 1e-09`."""
    return (check.expected_text if callable(check.expected) else _numbers(check.expected)) + _tolerance(check)


def _expected_value(outcome: Outcome) -> str:
    """Return the expected value with its tolerance; of a history, at the time of the largest error."""
    expected = outcome.expected if outcome.at is None else _at_largest_error(outcome, outcome.expected)
    return _numbers(expected) + _tolerance(outcome.check)


def _got_text(outcome: Outcome) -> str:
    """Return the result as text; of several values compared with one and of a history, that with the largest error."""
    if outcome.at is not None:
        value = _numbers(_at_largest_error(outcome, outcome.got))
        return f"{value} (largest difference {outcome.off:.1e}, at t = {outcome.at:g})"
    if outcome.got.shape == outcome.expected.shape:
        return _numbers(outcome.got)
    return _numbers(_at_largest_error(outcome, outcome.got))


def _at_largest_error(outcome: Outcome, values: Any) -> float:
    off = np.abs(outcome.got - outcome.expected)
    return float(np.broadcast_to(values, off.shape).ravel()[int(np.argmax(off))])


def _tolerance(check: Check) -> str:
    return f" ± {check.tolerance:.0e}" if check.tolerance else ""


def _numbers(values: Any) -> str:
    return ", ".join(
        f"{value:.10g}" if abs(value) >= SMALLEST_DECIMAL or value == 0 else f"{value:.1e}"
        for value in np.ravel(values)
    )
