# SPDX-License-Identifier: BSD-3-Clause
"""Common style of all figures: colours, line styles, axes, labels with units."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.common.extras import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Dark enough for print, distinct for colour-blind readers (Okabe and Ito).
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
# The numbers of styles and colours are coprime, so that 28 pairs differ before one repeats.
LINE_STYLES = ("-", "--", "-.", ":")

MOST_VECTOR_POINTS = 4_000
"""Points of a curve above which it is stored as pixels in an SVG file, which would grow by some bytes for each."""

SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def blank_figure(width: float, height: float) -> Figure:
    """Return an empty figure, made without pyplot, so that no window is opened and no global state changed."""
    require("matplotlib")
    from dalembert.figures.notebook_figure import NotebookFigure

    return NotebookFigure(figsize=(width, height), layout="constrained")


def canvas_figure(width: float, height: float) -> Figure:
    """Return an empty figure with a pixel canvas of 100 dpi, on which text can be measured and frames copied."""
    require("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=100, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_svg(figure: Figure, path: Path) -> None:
    """Save a figure as SVG with a transparent background; curves of very many points are stored as pixels."""
    require("matplotlib")
    from matplotlib import rc_context

    for axis in figure.axes:
        for line in axis.lines:
            if np.size(line.get_xdata()) > MOST_VECTOR_POINTS:
                line.set_rasterized(True)
    # reproducible: no date, and names that do not depend on chance
    with rc_context({"svg.hashsalt": "dalembert"}):
        figure.savefig(path, dpi=150, transparent=True, metadata={"Date": None})


def plain_axis(axis: Any) -> None:
    """Give an axis a faint grid and no frame."""
    axis.grid(alpha=0.25)
    axis.spines[["top", "right"]].set_visible(False)


def with_unit(title: str, unit: str | None) -> str:
    """Return an axis label such as `time t / s`."""
    if not unit:
        return title
    return f"{title} / ({unit})" if "/" in unit else f"{title} / {unit}"


def pretty(name: str) -> str:
    """Return a name as it is printed: `theta1` and `theta_1` become θ₁, `theta_arm` becomes θ_arm."""
    found = re.fullmatch(r"([A-Za-z]+)(?:_?(\d*)|(_\w+))", name)
    if not found:
        return name
    word, digits, index = found.groups(default="")
    return _greek(word) + digits.translate(SUBSCRIPTS) + index


def _greek(word: str) -> str:
    case = "SMALL" if word.islower() else "CAPITAL"
    try:
        return unicodedata.lookup(f"GREEK {case} LETTER {word.upper().replace('LAMBDA', 'LAMDA')}")
    except KeyError:
        return word
