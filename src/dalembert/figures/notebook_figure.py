# SPDX-License-Identifier: BSD-3-Clause
"""Figures that notebooks show; this module imports matplotlib, and is imported when the first figure is drawn."""

from __future__ import annotations

import io

from matplotlib.figure import Figure

from dalembert.common.notebook_html import POINTS_PER_INCH, RESOLUTION


class NotebookFigure(Figure):
    """A figure that a notebook shows, although pyplot does not know it."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        """Return the picture, and the width and height at which a notebook shows it."""
        packed = io.BytesIO()
        self.savefig(packed, format="png", dpi=RESOLUTION, facecolor="white")
        width, height = (round(side * POINTS_PER_INCH) for side in self.get_size_inches())
        return packed.getvalue(), {"width": width, "height": height}
