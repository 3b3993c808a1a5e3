# SPDX-License-Identifier: BSD-3-Clause
"""Types of arrays in signatures, tests of small arrays, and objects that NumPy reads as numbers but are none."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
"""An array of float64; docstrings give its shape."""


def is_masked(given: Any) -> bool:
    """Return whether an object is an array with masked entries."""
    # NumPy imports its masked arrays, which takes 30 ms, when they are first used: before that there are none
    return "numpy.ma" in sys.modules and isinstance(given, np.ma.MaskedArray) and bool(np.ma.is_masked(given))


def not_numbers(given: Any) -> str:
    """Return the reason why an object is refused that NumPy would turn into numbers; empty if it is not.

    >>> not_numbers(bytearray(b"ab"))
    "must hold numbers; got bytearray(b'ab')."
    """
    if is_masked(given):
        return "must hold a number everywhere; it has masked entries. Leave them out, or fill them by `.filled(...)`."
    raw = isinstance(given, (bytes, bytearray)) or (isinstance(given, memoryview) and given.format in ("B", "b", "c"))
    return f"must hold numbers; got {given!r:.80}." if raw else ""


def rejection_reason(given: Any, array: Any) -> str:
    """Return the reason why an array does not hold real numbers; empty if it does."""
    if reason := not_numbers(given):
        return reason
    kind = array.dtype.kind
    entries = array.ravel() if kind == "O" else ()
    if kind == "c" or any(isinstance(entry, (complex, np.complexfloating)) for entry in entries):
        return (
            "must be real; got complex numbers. Give their real parts, `.real`, even if the imaginary parts are zero."
        )
    if kind in "mM":
        example = "(times - times[0]) / np.timedelta64(1, 's')"
        return f"must hold plain numbers; got {array.dtype}. Turn dates into seconds, as in `{example}`."
    if kind == "b" or any(isinstance(entry, (bool, np.bool_)) for entry in entries):
        return f"must hold numbers; got booleans, {_cut(given)}."
    if kind in "SV" or any(isinstance(entry, (bytes, set)) for entry in entries):
        return f"must hold numbers; got {_cut(given)}."
    return ""


def _cut(given: Any) -> str:
    text = repr(given)
    return text if len(text) <= 80 else f"{text[:77]}..."


def row_labels(given: Any) -> Any | None:
    """Return the labels of the rows of a pandas object or of an xarray DataArray; None if it has none."""
    package = type(given).__module__.partition(".")[0]
    if package == "pandas":
        index = getattr(given, "index", None)  # an index itself has none
        return None if index is None else np.asarray(index)
    if package == "xarray" and type(given).__name__ == "DataArray":
        # of two axes, that with names is the one of the columns
        rows = [d for d in given.dims if d in given.coords and (given.ndim == 1 or given[d].dtype.kind not in "UO")]
        return np.asarray(given[rows[0]].values) if len(rows) == 1 else None
    return None


def labels_of(given: Any) -> Any | None:
    """Return the labels of the rows of a pandas object; None if there are none, or if they only count from zero."""
    labels = row_labels(given)
    return None if labels is None or np.array_equal(labels, np.arange(len(labels))) else labels


def axis_labels(given: Any, axis: int) -> Any | None:
    """Return the labels of an axis, counted from the end, of a pandas object or a DataArray; None if there are none, or
    if they only count from zero."""
    package, labels = type(given).__module__.partition(".")[0], None
    if package == "pandas" and hasattr(given, "axes") and -axis <= len(given.axes):
        labels = np.asarray(given.axes[axis])
    elif package == "xarray" and hasattr(given, "dims") and -axis <= len(given.dims):
        name = given.dims[axis]
        labels = np.asarray(given[name].values) if name in given.coords else None
    return None if labels is None or np.array_equal(labels, np.arange(len(labels))) else labels


def vector_of(values: Sequence[Any]) -> Floats:
    """Return numbers, of Python, NumPy or JAX, as an array (k,)."""
    # for many parameters in half the time of a list of floats
    return np.fromiter(values, float, len(values))


def all_true(mask: NDArray[np.bool_]) -> bool:
    """Return whether all entries are true, for a small array in a quarter of the time of ``mask.all()``."""
    return np.count_nonzero(mask) == mask.size


def all_finite(values: Any) -> bool:
    """Return whether all entries of an array, of NumPy or JAX, are finite."""
    return all_true(np.isfinite(np.asarray(values)))
