# SPDX-License-Identifier: BSD-3-Clause
"""One case of the gallery: run, verified, plotted and derived into a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dalembert import gallery
from dalembert.errors import InputError, ModelError
from dalembert.figures.style import save_svg
from dalembert.gallery.definition import Case
from dalembert.integration.trajectory import Trajectory
from dalembert.report.case_figures import figures_of
from dalembert.report.case_sections import sections_of
from dalembert.report.derive import derive
from dalembert.report.outcomes import Row, row_of

SHORTEST_ANIMATION, LONGEST_ANIMATION = 0.2, 20.0
"""Durations of the motions that are animated, in units of their time: shorter ones have no more than a few frames, and
longer ones need large files."""


@dataclass(frozen=True)
class Image:
    """A file in the folder of the gallery pages, and its caption."""

    file: str
    caption: str


@dataclass(frozen=True)
class CasePage:
    """The contents of the page of one case. It must be picklable, because cases are run in parallel processes.

    rows          the outcomes of its checks
    images        figures and animations, the most informative first
    derivation    its equations of motion as HTML
    live          the file of its live page, or a sentence that says why there is none
    trouble       the error with which the case failed, or None
    """

    name: str
    title: str
    about: str = ""
    source: str = ""
    rows: tuple[Row, ...] = ()
    images: tuple[Image, ...] = ()
    derivation: str = ""
    live: str = ""
    trouble: str | None = None

    @property
    def passed(self) -> bool:
        return self.trouble is None and all(row.passed for row in self.rows)


def case_page(name: str, folder: Path) -> CasePage:
    """Run a case, check it, and write its figures into the folder."""
    title = gallery.titles()[name]
    try:
        case = gallery.case(name)
        run = case.simulate(progress=False)
        rows = tuple(row_of(outcome) for outcome in case.verify(run))
        images = (*_figures(case, run, folder), *_animation(case, run, folder))
        return CasePage(name, title, case.about, case.source, rows, images, _derivation(case), _live(case, folder))
    except Exception as error:  # an error of any kind must not prevent the pages of the other cases
        return CasePage(name, title, trouble=f"{type(error).__name__}: {error}")


def _live(case: Case, folder: Path) -> str:
    """Write the live page of a case and return its file; if a page cannot run the case, return the reason."""
    try:
        return case.page(folder / f"{case.name}-live.html").name
    except (InputError, ModelError) as refusal:
        return f"There is no live page: {refusal}"


def _derivation(case: Case) -> str:
    if case.no_closed_form or not case.readable:
        text = case.no_closed_form or f"Too long to be read; <code>dalembert derive {case.name}</code> writes them."
        return f"<h2>Equations of motion</h2><p>{text}</p>"
    derivation = derive(case.system, drift=case.drift, title="Equations of motion", about=case.about)
    return f"{derivation.to_html(fragment=True)}\n{sections_of(case)}"


def _figures(case: Case, run: Trajectory, folder: Path) -> list[Image]:
    images: list[Image] = []
    for drawn in figures_of(case, run):
        file = f"{case.name}-{drawn.name}.svg"
        save_svg(drawn.figure, folder / file)
        images.append(Image(file, drawn.caption))
    return images


def _animation(case: Case, run: Trajectory, folder: Path) -> list[Image]:
    """Write an animation if the case has links; the motion of a single point is shown by its path."""
    lasts = float(run.t[-1] - run.t[0])
    if case.points is None or not case.links or not SHORTEST_ANIMATION <= lasts <= LONGEST_ANIMATION:
        return []
    file = f"{case.name}.gif"
    run.animate(folder / file, points=case.points(run), links=case.links)
    return [Image(file, "The motion")]
