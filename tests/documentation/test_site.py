"""The documentation site: pages are reachable, links resolve, names are documented, and it builds offline."""

import importlib.util
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dalembert as da

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BORROWED = {"benchmarks/results.md", "changelog.md", "contributing.md"}
"""Pages of the site that are files elsewhere, under their name on the site; `website/hooks.py` adds them."""

PAGES = {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md"))}
CHAPTERS = sorted(name for name in PAGES if re.match(r"tutorial/\d\d-", name))
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"^```.*?^```$|^    .*?$|``.+?``|`[^`\n]+`", re.MULTILINE | re.DOTALL)


def prose(text: str) -> str:
    """The text of a page without its code, in which brackets are no links."""
    return CODE.sub("", text)


def anchors(text: str) -> set[str]:
    """The anchors of the headings of a page, as MkDocs makes them."""
    titles = re.findall(r"^#+ (.+)$", CODE.sub(lambda code: code[0] if "\n" not in code[0] else "", text), re.MULTILINE)
    plain = (re.sub(r"[^\w\s-]", "", title.encode("ascii", "ignore").decode()).strip().lower() for title in titles)
    return {re.sub(r"[-\s]+", "-", title) for title in plain}


def public_names() -> list[str]:
    """The names of the library; modules that happen to be loaded are none, except the gallery."""
    return [name for name in dir(da) if name == "gallery" or not inspect.ismodule(getattr(da, name))]


def test_every_page_is_in_the_navigation_once() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")[2]
    listed = re.findall(r"(\S+\.md)$", navigation, re.MULTILINE)
    assert sorted(listed) == sorted({*PAGES, *BORROWED})


@pytest.mark.parametrize("name", PAGES)
def test_relative_links_resolve(name: str) -> None:
    page = DOCS / name
    for target in LINK.findall(prose(PAGES[name])):
        if re.match(r"https?:", target):
            continue
        file, _, anchor = target.partition("#")
        found = (page.parent / file).resolve() if file else page
        on_site = os.path.relpath(page.parent / file, DOCS)
        assert found.exists() or on_site in BORROWED, f"{name} links to {target}"
        if anchor and found.suffix == ".md":
            assert anchor in anchors(found.read_text(encoding="utf-8")), f"{name} links to {target}"


def test_readme_links_resolve() -> None:
    for target in LINK.findall(prose((ROOT / "README.md").read_text(encoding="utf-8"))):
        assert re.match(r"https?:", target) or (ROOT / target.partition("#")[0]).exists(), target


def test_the_reference_documents_every_public_name_once() -> None:
    entries = [name for page in PAGES if page.startswith("reference/") for name in _entries(PAGES[page])]
    assert sorted(name for name in entries if "." not in name) == public_names()


def test_the_index_of_the_reference_lists_every_name() -> None:
    """The rows of mechanisms and errors name groups instead."""
    rows = re.findall(r"^\| \[.*?\]\((\w+\.md)\) \| (.*) \|$", PAGES["reference/index.md"], re.MULTILINE)
    assert len(rows) == len([page for page in PAGES if page.startswith("reference/")]) - 1
    for page, row in rows:
        if page not in ("mechanisms.md", "errors.md"):
            listed = re.findall(r"`(\w+)`", row)
            assert listed == [name for name in _entries(PAGES[f"reference/{page}"]) if "." not in name], page


def _entries(text: str) -> list[str]:
    return re.findall(r"^::: da\.([\w.]+)$", text, re.MULTILINE)


@pytest.mark.parametrize("name", PAGES)
def test_pages_mention_only_names_that_exist(name: str) -> None:
    text = re.sub(r"^::: .*$", "", PAGES[name], flags=re.MULTILINE)
    assert not set(re.findall(r"\bda\.([A-Za-z_]\w*)", text)) - set(public_names())


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_has_a_figure_and_two_exercises_with_answers(name: str) -> None:
    text = PAGES[name]
    assert text.count("](../figures/tutorial/") == 1
    assert re.findall(r"^\*\*(\d)\.\*\*", text, re.MULTILINE) == ["1", "2"]
    assert text.count("<summary>Answer</summary>") == 2
    assert text.count("<details") == text.count("</details>") == 2


def test_there_are_ten_chapters_and_ten_figures() -> None:
    assert [Path(name).stem[:2] for name in CHAPTERS] == [f"{k:02}" for k in range(1, 11)]
    assert {path.stem for path in (DOCS / "figures/tutorial").iterdir()} == {Path(name).stem for name in CHAPTERS}


def test_every_case_of_the_gallery_has_a_thumbnail() -> None:
    assert {path.stem for path in (DOCS / "figures/gallery").iterdir()} == set(da.gallery.names())


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("mkdocs") is None, reason="MkDocs is not installed: `pip install '.[docs]'`"
)
def test_the_site_builds_strictly_and_loads_nothing_from_the_network(tmp_path: Path) -> None:
    live = ("spiral", "particle", "cart-pole")  # tests/live has the pages of all cases
    path = f"{ROOT / 'src'}{os.pathsep}{ROOT}"
    environment = {**os.environ, "PYTHONPATH": path, "NO_MKDOCS_2_WARNING": "1", "LIVE_CASES": " ".join(live)}
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > len(PAGES)
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r'<(?:script|img|iframe|source)[^>]* src="(?:https?:)?//', text), page
        assert not re.search(r'<link[^>]* href="(?:https?:)?//', text), page
        shown = re.sub(r"<(pre|code|script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
        assert "arithmatex" not in shown and "$" not in shown, page  # every formula became MathML
    assert "<math" in (tmp_path / "explanation/equation.html").read_text(encoding="utf-8")
    gallery = (tmp_path / "gallery.html").read_text(encoding="utf-8")
    assert all(f'src="figures/gallery/{name}.png"' in gallery for name in da.gallery.names())
    assert re.findall(r'href="live/([\w-]+)\.html"', gallery) == list(live[:2])  # the last one is not supported
    assert {page.stem for page in (tmp_path / "live").iterdir()} == set(live[:2])
