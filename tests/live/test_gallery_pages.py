"""Live pages of the gallery, each made and simulated once: their numbers in Node.js, and the page in Chromium."""

from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from live.browser_numbers import CHROMIUM, ENDED, model_of, motions, visits
from live.compared_pages import LARGEST_DIFFERENCE, assert_numbers_of, few_times
from live.test_numbers import LIVE

PARTS = 4
"""Of which each starts Node.js and Chromium once."""

LAST = "livePage.player.stop(); livePage.player.seek(livePage.motion.reached); [livePage.now.t, ...livePage.now.y]"
UNFOLDED = "document.querySelectorAll('details').forEach(one => one.open = true); document.body.scrollWidth"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_page_of_the_gallery(part: int, tmp_path: Path) -> None:
    """A page has the numbers of `da.simulate`, runs without errors or requests, and fits into a narrow window."""
    runs = {name: da.gallery.case(name).simulate(progress=False) for name in LIVE[part::PARTS]}
    pages = {name: da.gallery.case(name).page(tmp_path / f"{name}.html") for name in runs}
    models = {name: model_of(page) for name, page in pages.items()}
    jobs = [{"model": models[name], "times": few_times(run).tolist()} for name, run in runs.items()]
    for (name, run), found in zip(runs.items(), motions(jobs, tmp_path), strict=True):
        assert pages[name].stat().st_size < 1_500_000
        assert_numbers_of(name, run, models[name], found)
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine; the pages' numbers were compared in Node.js")
    narrow = {"width": 400, "expressions": [ENDED, LAST, UNFOLDED]}
    seen = visits([{"page": page, **narrow} for page in pages.values()], tmp_path)
    for (name, run), page in zip(runs.items(), seen, strict=True):
        assert page["errors"] == [] and page["requests"] == [] and page["values"][2] <= 400, name
        assert_reached(name, run, page["values"][1])


def assert_reached(name: str, run: da.Trajectory, last: list[float]) -> None:
    """That the last time and state of a page are those of a run."""
    t, *state = last
    end = run if t == run.t[-1] else da.gallery.case(name).simulate(times=[run.t[0], t], progress=False)
    scale = np.maximum(np.abs(run.q).max(), 1e-3)
    assert np.abs(np.array(state[: run.q.shape[1]]) - end.q[-1]).max() < LARGEST_DIFFERENCE * scale, name
