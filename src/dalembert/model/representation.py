# SPDX-License-Identifier: BSD-3-Clause
"""Short text of objects that contain expressions: the call that makes them, without defaults."""

from __future__ import annotations

import re
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

import numpy as np
import sympy as sp

from dalembert.model.symbols import StateSymbols, functions_of_time

LONGEST_PART = 60
"""Characters of an expression that are printed."""

ZEROS = re.compile(r"(\d\.\d*?)0+(?!\d)")
"""Zeros at the end of a decimal number, of which SymPy prints fifteen digits."""


def representation(value: Any) -> str:
    """Return the call that makes an object, without arguments that are left at their defaults, on one line.

    Large expressions are described, long ones are cut, and time derivatives have primes.
    """
    own = [field for field in fields(value) if _is_shown(field, value)] if is_dataclass(value) else []
    return f"{type(value).__name__}({', '.join(_argument(field, getattr(value, field.name)) for field in own)})"


def short(value: Any) -> str:
    """Return the text of a part of an object."""
    if isinstance(value, sp.MatrixBase):
        return short(tuple(value.flat() if 1 in value.shape else map(tuple, value.tolist())))
    if isinstance(value, (tuple, list)):
        return f"({', '.join(map(short, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, sp.Float):
        return short(float(value))
    if isinstance(value, sp.Basic):
        text = StateSymbols(tuple(functions_of_time(value))).readable(value)
        text = ZEROS.sub(r"\1", text).replace(". ", " ").replace(".*", "*").removesuffix(".")
        return text if len(text) <= LONGEST_PART else f"{text[: LONGEST_PART - 1]}…"
    if isinstance(value, (float, np.floating)):
        return f"{float(value):.6g}"
    return f"<{getattr(value, '__name__', 'function')}>" if callable(value) else repr(value)


def _argument(field: Field[Any], value: Any) -> str:
    """Return an argument, with its name if it has a default."""
    return short(value) if field.default is MISSING else f"{field.name}={short(value)}"


def _is_shown(field: Field[Any], value: Any) -> bool:
    if field.default is MISSING or not field.repr:
        return field.repr
    own: Any = getattr(value, field.name)
    if isinstance(own, sp.MatrixBase):  # an argument that was checked: a column of what was given
        own = tuple(own.flat())
    return own is not field.default and (field.default is None or not np.array_equal(own, field.default))
