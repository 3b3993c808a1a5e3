# SPDX-License-Identifier: BSD-3-Clause
"""HTML of objects in a notebook. No colour is set, so that text is readable on light and on dark pages."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RESOLUTION = 144
"""Dots per inch of figures in notebooks."""

POINTS_PER_INCH = 72
"""CSS pixels per inch of a figure: smaller than life, as a figure beside text."""


def block(*parts: str) -> str:
    """Return parts one below the other; empty ones are left out."""
    return f"<div>{''.join(part for part in parts if part)}</div>"


def paragraph(text: str, *, strong: bool = False) -> str:
    """Return a paragraph of plain text."""
    shown = f"<b>{escape(text)}</b>" if strong else escape(text)
    return f'<p style="margin: 0.3em 0">{shown}</p>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> str:
    """Return a table; the first ``words`` columns are aligned to the left, the others to the right."""
    sides = ["left" if i < words else "right" for i in range(len(head))]

    def row(cells: Sequence[str], element: str) -> str:
        shown = (
            f'<{element} style="text-align: {side}; padding: 0.15em 0.8em">{escape(cell)}</{element}>'
            for cell, side in zip(cells, sides, strict=True)
        )
        return f"<tr>{''.join(shown)}</tr>"

    body = "".join(row(cells, "td") for cells in rows)
    return f'<table style="border-collapse: collapse"><thead>{row(head, "th")}</thead><tbody>{body}</tbody></table>'


def preformatted(text: str) -> str:
    """Return text in a fixed-width font with its own line breaks."""
    return f'<pre style="margin: 0.3em 0; line-height: 1.3; font-family: monospace">{escape(text)}</pre>'


def figure_or_nothing(draw: Callable[[], Figure], description: str) -> str:
    """Return a figure as an image within the HTML; empty where matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ModuleNotFoundError:
        return ""
    figure, packed = draw(), io.BytesIO()
    # white behind axes and labels, which are drawn in black also on a dark page
    figure.savefig(packed, format="png", dpi=RESOLUTION, facecolor="white")
    width = round(figure.get_figwidth() * POINTS_PER_INCH)
    data = base64.b64encode(packed.getvalue()).decode()
    return f'<img alt="{escape(description)}" width="{width}" src="data:image/png;base64,{data}">'


def embedded(document: str, width: int, height: int) -> str:
    """Return a whole HTML document, with scripts and names of its own, as a frame within another one."""
    return (
        f'<iframe srcdoc="{escape(document)}" width="{width}" height="{height}" '
        f'style="border: 0; background: white; max-width: 100%"></iframe>'
    )
