# SPDX-License-Identifier: BSD-3-Clause
"""Text of objects that contain expressions, in which large expressions are described instead of printed."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import sympy as sp

from dalembert.model import graph


def representation(value: Any) -> str:
    """Return the ``repr`` of a dataclass, tuple, matrix or expression, with large expressions described."""
    if is_dataclass(value):
        shown = [f"{field.name}={representation(getattr(value, field.name))}" for field in fields(value) if field.repr]
        return f"{type(value).__qualname__}({', '.join(shown)})"
    if type(value) is tuple:
        return f"({', '.join(map(representation, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, sp.MatrixBase):
        large = any(map(graph.is_large, value.flat()))
        return f"Matrix({_rows(value)})" if large else repr(value)
    if isinstance(value, sp.Basic) and graph.is_large(value):
        return f"<{graph.shown(value)}>"
    return repr(value)


def _rows(matrix: Any) -> str:
    rows = (", ".join(map(representation, matrix.row(i).flat())) for i in range(matrix.rows))
    return f"[{', '.join(f'[{row}]' for row in rows)}]"
