# SPDX-License-Identifier: BSD-3-Clause
"""Thumbnails of the gallery: ``python -m website.thumbnails [NAME ...]`` writes those of the named cases, or of all."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import dalembert as da
from dalembert.figures.style import COLOURS, blank_figure
from dalembert.gallery.definition import Case, Picture
from dalembert.report.case_figures import draw

FOLDER = Path(__file__).parents[1] / "docs" / "figures" / "gallery"
WIDTH, HEIGHT, DPI = 3.2, 2.0, 100


def thumbnail(case: Case) -> Any:
    """Return the first picture of a case in a small format, or its coordinates against time if it has no pictures."""
    run = case.simulate(progress=False)
    return _pictured(case.pictures[0], run) if case.pictures else _histories(run)


def _pictured(picture: Picture, run: da.Trajectory) -> Any:
    figure = draw(picture, run)
    figure.set_size_inches(WIDTH, HEIGHT)
    axis = figure.axes[0]
    if axis.get_legend() is not None:
        axis.get_legend().remove()
    _small_text(axis)
    return figure


def _histories(run: da.Trajectory) -> Any:
    figure = blank_figure(WIDTH, HEIGHT)
    axis: Any = figure.subplots()
    for k, name in enumerate(run.coordinates):
        axis.plot(run.t, run[name], color=COLOURS[k % len(COLOURS)], linewidth=1)
    axis.set(xlabel="time t", ylabel="coordinates")
    axis.margins(x=0)
    axis.spines[["top", "right"]].set_visible(False)
    _small_text(axis)
    return figure


def _small_text(axis: Any) -> None:
    axis.tick_params(labelsize=7, length=2)
    axis.locator_params(nbins=4) if axis.get_yscale() == "linear" else None
    for label in (axis.xaxis.label, axis.yaxis.label):
        label.set_fontsize(8)


def main(names: list[str]) -> None:
    for name in names or da.gallery.names():
        thumbnail(da.gallery.case(name)).savefig(FOLDER / f"{name}.png", dpi=DPI)


if __name__ == "__main__":
    main(sys.argv[1:])
