"""The demonstration's pages: what they hold, and that a browser shows it without scrolling sideways."""

import json
import re
import shutil
import subprocess
from functools import partialmethod
from html.parser import HTMLParser
from pathlib import Path

import pytest

import dalembert as da
from dalembert.gallery.themes import THEMES, by_theme
from dalembert.report.case_figures import figures_of
from dalembert.report.case_page import CasePage, case_page
from dalembert.report.gallery_pages import write_pages
from dalembert.report.outcomes import Row
from helpers import PATIENCE, quick_first

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
NAMES = ("projectile", "pendulum-rod-twice", "measured", "manipulator")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pages of a few cases: with an animation, with contradictory constraints, with equations wider than a telephone.

    They take long to make: all tests of them are slow ones, so that they are made once.
    """
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            da.Trajectory, "animate", partialmethod(da.Trajectory.animate, fps=5)
        )  # few frames are an animation
        write_pages([case_page(name, folder) for name in NAMES], folder)
    return folder


class Links(HTMLParser):
    def __init__(self) -> None:
        HTMLParser.__init__(self)
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for key, value in attrs if key in ("href", "src") and value]


@pytest.mark.slow
def test_all_links_lead_to_files_and_none_to_the_network(folder: Path) -> None:
    pages = sorted(set(folder.glob("*.html")) - set(folder.glob("*-live.html")))
    assert len(pages) == len(NAMES) + 1
    for page in pages:
        links = Links()
        links.feed(page.read_text(encoding="utf-8"))
        assert links.found
        assert all((folder / link).is_file() for link in links.found), links.found
        assert "http" not in page.read_text(encoding="utf-8").replace("http://www.w3.org/1998/Math/MathML", "")


@pytest.mark.slow
def test_pages_link_to_live_pages_or_say_why_there_is_none(folder: Path) -> None:
    for name in NAMES:
        page = (folder / f"{name}.html").read_text(encoding="utf-8")
        live = folder / f"{name}-live.html"
        assert live.exists() == (f'href="{live.name}">Run it live</a>' in page) == (name != "measured")
    assert "There is no live page: a live page integrates with the compiled integrator" in page_of(folder, "measured")


def page_of(folder: Path, name: str) -> str:
    return (folder / f"{name}.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_pages_hold_checks_figures_and_equations(folder: Path) -> None:
    page = (folder / "pendulum-rod-twice.html").read_text(encoding="utf-8")
    assert "difference from the angle" in page and "✓" in page and "FAILED" not in page
    assert page.count("<figure>") == 5 and "pendulum-rod-twice.gif" in page
    assert page.count("<math") > 8
    assert "have no closed form" in (folder / "measured.html").read_text(encoding="utf-8")
    index = re.sub(r"\s+", " ", (folder / "index.html").read_text(encoding="utf-8"))
    assert "11 of 11 checks passed" in index and "3 of the 4 cases can be run live" in index


@pytest.mark.slow
def test_figures_are_drawings_that_scale(folder: Path) -> None:
    drawings = sorted(folder.glob("*.svg"))
    assert drawings and not list(folder.glob("*.png"))
    for drawing in drawings:
        assert drawing.stat().st_size < 200_000, drawing
        assert "<dc:date>" not in drawing.read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_index_is_grouped_and_searchable(folder: Path) -> None:
    index = (folder / "index.html").read_text(encoding="utf-8")
    themes = re.findall(r'<section class="theme"><h2>([^<]*)</h2>', index)
    assert themes == ["Systems of the review", "Is the question well posed?"]
    assert index.count('class="card"') == len(NAMES) and '<input id="filter" type="search"' in index


@pytest.mark.slow
def test_pages_lead_to_their_neighbours(folder: Path) -> None:
    order = ["projectile", "manipulator", "measured", "pendulum-rod-twice"]
    for before, name, after in zip([None, *order], order, [*order[1:], None], strict=False):
        nav = re.search(r"<nav>.*?</nav>", (folder / f"{name}.html").read_text(encoding="utf-8"))
        assert nav is not None
        expected = [f"{other}.html" for other in (before, "index", after) if other]
        assert re.findall(r'href="([^"]*)"', nav[0]) == expected


def test_every_case_has_a_theme_and_every_theme_has_cases() -> None:
    groups = by_theme(da.gallery.names())
    listed = [name for group in groups.values() for name in group]
    assert sorted(listed) == sorted(da.gallery.names())
    known = [name for text in THEMES.values() for name in text.split()]
    assert len(known) == len(set(known)) and set(known) <= set(da.gallery.names())


def test_failures_are_shown(tmp_path: Path) -> None:
    wrong = CasePage("one", "One", rows=(Row("x", "1", "2", "", False),))
    broken = CasePage("two", "Two", trouble="`q0` must <not> be")
    assert not wrong.passed and not broken.passed
    index = write_pages([wrong, broken], tmp_path).read_text(encoding="utf-8")
    assert "0 of 2 checks passed" in re.sub(r"\s+", " ", index)
    assert index.count("FAILED") == 4
    assert "`q0` must &lt;not&gt; be" in index


def test_a_case_that_cannot_run_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise da.InputError("`name` is out of order.")

    monkeypatch.setattr(da.gallery, "case", refuse)
    assert case_page("bead", tmp_path).trouble == "InputError: `name` is out of order."


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_the_search_field_hides_what_does_not_match(folder: Path) -> None:
    text = (folder / "index.html").read_text(encoding="utf-8")
    action = """<script>filter.value = "Rod TWICE"; filter.oninput();
      document.body.dataset.seen = [...document.querySelectorAll(".card:not([hidden])")].map(a => a.pathname).join();
      document.body.dataset.themes = document.querySelectorAll(".theme:not([hidden])").length;</script>"""
    page = folder / "search.htm"
    page.write_text(text.replace("</body>", f"{action}</body>"), encoding="utf-8")
    dom = dumped(page)
    assert re.findall(r'data-seen="[^"]*/([^"/]*)"', dom) == ["pendulum-rod-twice.html"]
    assert 'data-themes="1"' in dom


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("width", quick_first([1280, 400], [400]))
def test_browser_shows_mathematics_and_images_without_scrolling_sideways(folder: Path, width: int) -> None:
    for page in [folder / "index.html", *(folder / f"{name}.html" for name in NAMES)]:
        seen = look(page, width)
        assert seen["window"] == width
        assert seen["page"] <= width, page
        assert seen["images"] and min(seen["images"]) > 0
        if page.stem != "measured":  # contradictory constraints have no closed form
            assert seen["formulas"] and min(seen["formulas"]) > 5


def look(page: Path, width: int) -> dict:
    """Return a page as Chromium renders it, in a frame of the given width: its own window cannot be so narrow.

    A script, added for this, writes the sizes it sees into the document. Images are loaded at once, not lazily.
    """
    probe = """<script>addEventListener("load", () => parent.postMessage(JSON.stringify({
      page: document.documentElement.scrollWidth, window: innerWidth,
      images: [...document.images].map(i => i.naturalWidth),
      formulas: [...document.querySelectorAll("math")].map(m => m.getBoundingClientRect().height)}), "*"));</script>"""
    inner, outer = page.with_name(f"probe-{width}-{page.stem}.htm"), page.with_name(f"frame-{width}-{page.stem}.htm")
    text = page.read_text(encoding="utf-8").replace("</body>", f"{probe}</body>").replace('loading="lazy"', "")
    inner.write_text(text, encoding="utf-8")
    outer.write_text(
        f"""<body><script>addEventListener("message", e => document.body.dataset.seen = e.data);</script>
        <iframe src="{inner.name}" style="width: {width}px; height: 900px; border: 0"></iframe></body>""",
        encoding="utf-8",
    )
    shown = dumped(outer)
    found = re.search(r'data-seen="([^"]*)"', shown)
    assert found, shown[:500]
    return json.loads(found.group(1).replace("&quot;", '"'))


def dumped(page: Path) -> str:
    """The document that Chromium makes of a page, after its scripts have run."""
    command = [str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000"]
    patient = "--virtual-time-budget=10000"
    run = subprocess.run(
        [*command, patient, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    return run.stdout


@pytest.mark.parametrize(
    ("name", "caption"), [("block-viscous", "Coordinates, constraint forces, violations"), ("weber", "Coordinates")]
)
def test_captions_of_histories_name_what_is_drawn(name: str, caption: str) -> None:
    case = da.gallery.case(name)
    drawn = {one.name: one.caption for one in figures_of(case, case.simulate())}
    assert drawn["histories"] == caption
