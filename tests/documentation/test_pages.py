"""Generated parts of the documentation site: cards of the gallery, the pendulum of the home page, figures."""

from pathlib import Path

import pytest
from website import ensemble_figures, hooks, thumbnails, tutorial_figures
from website.pages import PENDULUM, _live_page, double_pendulum, gallery_cards, pendulum_element, write_pendulum

import dalembert as da

DOCS = Path(__file__).parents[2] / "docs"
TABLE = "| case | description | source |\n|---|---|---|\n| `bead` | Bead & wire | Udwadia |\n"


def test_rows_of_the_table_become_cards() -> None:
    page = gallery_cards(f"before\n\n{TABLE}\nafter", ["bead"], live=())
    assert page.startswith('before\n\n<div class="cards">\n<div class="card" id="bead">')
    assert "<strong>Bead &amp; wire</strong>" in page
    assert "<code>dalembert run bead</code>" in page
    assert "live/" not in page
    assert page.endswith("</div>\n\nafter")


def test_cards_of_cases_with_a_live_page_link_to_it() -> None:
    assert '<a href="live/bead.html">' in gallery_cards(TABLE, ["bead"], live={"bead"})


def test_a_case_that_is_not_listed_is_named() -> None:
    with pytest.raises(ValueError, match=r"must list every case; it does not list belt"):
        gallery_cards(TABLE, ["bead", "belt"], live=())


def test_all_cases_of_the_page_become_cards() -> None:
    page = gallery_cards((DOCS / "gallery.md").read_text(encoding="utf-8"), da.gallery.names(), live=())
    assert page.count('class="card"') == len(da.gallery.names())
    assert "| `" not in page.split("## The cases")[1]


def test_the_home_page_has_a_place_for_the_pendulum() -> None:
    assert (DOCS / "index.md").read_text(encoding="utf-8").count(PENDULUM) == 1
    assert double_pendulum().coordinate_names == ("x1", "y1", "x2", "y2")


@pytest.mark.slow
def test_the_pendulum_is_written_under_the_name_that_the_page_shows(tmp_path: Path) -> None:
    assert f'src="assets/{write_pendulum(tmp_path).name}#compact"' in pendulum_element()


def test_every_chapter_has_a_function_that_draws_its_figure() -> None:
    assert set(tutorial_figures.FIGURES) == {path.stem for path in (DOCS / "tutorial").glob("[01]*.md")}


@pytest.mark.slow
@pytest.mark.parametrize("name", ensemble_figures.FIGURES)
def test_figures_of_ensembles_are_drawn(name: str) -> None:
    """With a few members only; the files of the page are there."""
    assert ensemble_figures.FIGURES[name](20).axes
    assert (ensemble_figures.FOLDER / f"{name}.png").exists()


@pytest.mark.parametrize("name", tutorial_figures.FIGURES)
def test_figures_of_the_tutorial_are_drawn(name: str) -> None:
    assert tutorial_figures.FIGURES[name]().axes


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bead", "pendulum"])
def test_thumbnails_are_drawn_with_and_without_pictures_of_the_case(name: str) -> None:
    figure = thumbnails.thumbnail(da.gallery.case(name))
    assert tuple(figure.get_size_inches()) == (thumbnails.WIDTH, thumbnails.HEIGHT)


@pytest.mark.parametrize(
    ("tex", "spaced"),
    [
        (r"a \sin 2\omega", "<mi>a</mi>{}<mi>sin</mi>{}<mn>2</mn>"),
        (r"2 \sin^2 t", "<mn>2</mn>{}<msup><mi>sin</mi><mn>2</mn></msup>{}<mi>t</mi>"),
        (r"\cos(t)", "<mrow><mi>cos</mi><mo"),
    ],
)
def test_functions_in_formulas_have_thin_spaces(tex: str, spaced: str) -> None:
    thin = '<mspace width="0.167em"/>'
    assert spaced.format(thin, thin) in hooks._mathml(tex, "inline")


def test_cases_that_pages_cannot_run_are_left_out(tmp_path: Path) -> None:
    """Such as those with contacts: a site with all live pages is not built in the tests."""
    assert _live_page("bouncing-ball", tmp_path) is None
