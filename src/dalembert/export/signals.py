# SPDX-License-Identifier: BSD-3-Clause
"""The functions of signals in exported files: constant tables, and a binary search for the piece of a polynomial."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

from dalembert.export.exported_model import ExportedModel
from dalembert.native.program_text import decimal, lookup_name
from dalembert.native.tape import polynomials_of
from dalembert.numerics.piecewise_polynomial import PiecewisePolynomial

LONGEST_TABLE_LINE = 112
"""Characters in a line of numbers."""

_C_SEARCH = """\
/* The value at x of a piecewise polynomial, NAN outside of its range unless it is continued. */
static double dalembert_lookup(double x, int pieces, int degree, const double breakpoints[],
    const double coefficients[], int periodic, double low, double high)
{
    int first = 0, end = pieces, power;
    double shift, value;
    if (periodic) {
        const double period = breakpoints[pieces] - breakpoints[0];
        x = breakpoints[0] + (x - breakpoints[0] - floor((x - breakpoints[0])/period)*period);
    }
    if (!(x >= low && x <= high)) {
        return NAN;
    }
    while (end - first > 1) {
        const int middle = first + (end - first)/2;
        if (breakpoints[middle] <= x) {
            first = middle;
        } else {
            end = middle;
        }
    }
    shift = x - breakpoints[first];
    value = coefficients[first*(degree + 1) + degree];
    for (power = degree - 1; power >= 0; power--) {
        value = value*shift + coefficients[first*(degree + 1) + power];
    }
    return value;
}"""

_PYTHON_SEARCH = '''\
def _lookup(x, breakpoints, coefficients, periodic, low, high):
    """Return the values at x of a piecewise polynomial, NaN outside of its range unless it is continued."""
    breakpoints, coefficients = np.array(breakpoints), np.array(coefficients)
    if periodic:
        since, period = x - breakpoints[0], breakpoints[-1] - breakpoints[0]
        x = breakpoints[0] + (since - np.floor(since / period) * period)
    k = np.clip(np.searchsorted(breakpoints, x, side="right") - 1, 0, len(breakpoints) - 2)
    shift, value = x - breakpoints[k], coefficients[k, -1]
    for power in reversed(range(coefficients.shape[1] - 1)):
        value = value * shift + coefficients[k, power]
    return np.where((x >= low) & (x <= high), value, np.nan)'''


def signals_of(model: ExportedModel) -> list[PiecewisePolynomial]:
    """Return the signals of all programs of a model."""
    programs = (model.accelerate, model.project, model.agree, model.outputs, model.control, model.check)
    return polynomials_of(*(program for program in programs if program is not None))


def c_signals(model: ExportedModel) -> list[str]:
    """Return functions in C, one for each signal."""
    found = signals_of(model)
    return [_C_SEARCH, *map(_c_signal, found)] if found else []


def _c_signal(own: PiecewisePolynomial) -> str:
    low, high = _range(own, "-INFINITY", "INFINITY")
    pieces, degree = len(own.breakpoints) - 1, len(own.coefficients) - 1
    return "\n".join(
        [
            f"static double {lookup_name(own)}(double x)",
            "{",
            f"    static const double breakpoints[] = {{\n{_table(own.breakpoints.tolist())}}};",
            f"    static const double coefficients[] = {{\n{_table(own.coefficients.T.ravel().tolist())}}};",
            f"    return dalembert_lookup(x, {pieces}, {degree}, breakpoints, coefficients, "
            f"{int(own.outside == 'periodic')}, {low}, {high});",
            "}",
        ]
    )


def python_signals(model: ExportedModel) -> list[str]:
    """Return functions in Python, one for each signal."""
    found = signals_of(model)
    return [_PYTHON_SEARCH, *map(_python_signal, found)] if found else []


def _python_signal(own: PiecewisePolynomial) -> str:
    low, high = _range(own, "-np.inf", "np.inf")
    name = lookup_name(own)
    rows = ",\n".join(f"    [{', '.join(map(repr, row))}]" for row in own.coefficients.T.tolist())
    return (
        f"_{name}_breakpoints = [\n{_table(own.breakpoints.tolist())}]\n_{name}_coefficients = [\n{rows}]\n\n\n"
        f"def {name}(x):\n    return _lookup(\n        x, _{name}_breakpoints, _{name}_coefficients, "
        f"{own.outside == 'periodic'}, {low}, {high}\n    )"
    )


def _range(own: PiecewisePolynomial, low: str, high: str) -> tuple[str, str]:
    """Return the ends of the range outside of which a signal has no value."""
    if own.outside != "undefined":
        return low, high
    first, last = own.limits
    return decimal(first).text, decimal(last).text


def _table(values: Sequence[float]) -> str:
    text = ", ".join(decimal(value).text for value in values)
    return fill(
        text, LONGEST_TABLE_LINE, break_on_hyphens=False, initial_indent="        ", subsequent_indent="        "
    )
