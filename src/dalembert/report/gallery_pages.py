# SPDX-License-Identifier: BSD-3-Clause
"""The gallery as HTML: an index by theme and one page per case, linked, without network access."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from html import escape
from pathlib import Path

from dalembert.figures.html_page import document
from dalembert.gallery.themes import by_theme
from dalembert.report.case_page import CasePage, Image, case_page
from dalembert.report.derivation_page import DERIVATION_STYLE, PAGE_STYLE, math_font_style
from dalembert.report.outcomes import Row

EQUATION = """<math display="block"><mrow><mi>M</mi><mover><mi>q</mi><mo style="font-size: 120%">¨</mo></mover>
<mo>=</mo><mi>Q</mi><mo>+</mo>
<msup><mi>M</mi><mrow><mn>1</mn><mo lspace="0" rspace="0">/</mo><mn>2</mn></mrow></msup>
<msup><mi>B</mi><mo>+</mo></msup>
<mo>(</mo><mi>b</mi><mo>−</mo><mi>A</mi><msup><mi>M</mi><mrow><mo>−</mo><mn>1</mn></mrow></msup><mi>Q</mi><mo>)</mo>
<mo>+</mo>
<msup><mi>M</mi><mrow><mn>1</mn><mo lspace="0" rspace="0">/</mo><mn>2</mn></mrow></msup>
<mo>(</mo><mi>I</mi><mo>−</mo><msup><mi>B</mi><mo>+</mo></msup><mi>B</mi><mo>)</mo>
<msup><mi>M</mi><mrow><mo>−</mo><mn>1</mn><mo lspace="0" rspace="0">/</mo><mn>2</mn></mrow></msup>
<mi>C</mi></mrow></math>"""

GALLERY_STYLE = """
main { max-width: 62rem; margin: 0 auto; line-height: 1.5; font-family: Charter, "Bitstream Charter", "Sitka Text",
  Cambria, Georgia, serif; }
main h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 0.6rem; text-wrap: balance; }
main h2 { font-size: 1.3rem; margin: 2.2rem 0 0.6rem; }
main a { color: #0060a0; }
main .lead { max-width: 44rem; }
main .source { color: #6b6b6b; }
main .live { display: inline-block; border: 1px solid currentColor; border-radius: 6px; padding: 0.15rem 0.8rem;
  font-weight: 600; text-decoration: none; }
main .scroll { overflow-x: auto; }
main table { border-collapse: collapse; width: 100%; font-size: 0.92rem; font-variant-numeric: tabular-nums; }
main th, main td { text-align: left; vertical-align: top; padding: 0.3rem 0.8rem 0.3rem 0; }
main th { font-weight: 600; border-bottom: 1.5px solid currentColor; }
main td { border-bottom: 1px solid #d8d5cd; }
main .yes { color: #1a7a46; } main .no { color: #b3261e; font-weight: 700; }
main .cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(17rem, 100%), 1fr)); gap: 1.1rem; }
main .card { border: 1px solid #d8d5cd; border-radius: 6px; overflow: hidden; text-decoration: none; color: inherit;
  display: block; }
main .card img { display: block; width: 100%; height: 11rem; object-fit: contain;
  padding: 0.5rem 0.5rem 0; box-sizing: border-box; }
main .card p { margin: 0; padding: 0.6rem 0.8rem; border-top: 1px solid #d8d5cd; }
main .figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 1.2rem; }
main figure { margin: 0; }
main figure img { max-width: 100%; height: auto; }
main figcaption { font-size: 0.94rem; color: #6b6b6b; }
main .derivation { margin: 2.2rem 0 0; max-width: none; }
main .derivation p { max-width: 46rem; }
@media (prefers-color-scheme: dark) {
  main a { color: #7cb8ee; } main .source, main figcaption { color: #9c9c9c; }
  main td, main .card, main .card p { border-color: #3a3b3e; }
  main .yes { color: #6fcf97; } main .no { color: #ff8a80; }
  /* figures are drawn for white paper: lightness inverted, hues kept */
  main img { filter: invert(0.92) hue-rotate(180deg); }
}
main math { font-family: "dalembert math", math; }
main nav { display: flex; flex-wrap: wrap; gap: 0.3rem 1.5rem; justify-content: space-between; margin: 0 0 1.2rem; }
main input { font: inherit; width: 100%; max-width: 24rem; padding: 0.35rem 0.6rem; color: inherit;
  background: transparent; border: 1px solid #8a8a8a; border-radius: 6px; }
main [hidden] { display: none; }
@media print {
  main nav, main input { display: none; }
  main { max-width: none; font-size: 10pt; orphans: 3; widows: 3; }
  main h1, main h2, main h3 { break-after: avoid; }
  main .figures { grid-template-columns: 1fr 1fr; }
  main figure img { max-height: 50mm; }
  main figure img[src$="-histories.svg"] { max-height: 76mm; } /* several plots above one another */
  main figure:has(img[src$=".gif"]) { display: none; }
  main figure, main tr, main .card { break-inside: avoid; }
  main .scroll { overflow: visible; }
}
"""

FILTER = """<script>
const filter = document.getElementById("filter");
filter.oninput = () => {
  const words = filter.value.toLowerCase().split(/\\s+/);
  const has = element => words.every(word => element.textContent.toLowerCase().includes(word));
  document.querySelectorAll(".card, tr[data-case]").forEach(one => one.hidden = !has(one));
  document.querySelectorAll(".theme").forEach(one => one.hidden = !one.querySelector(".card:not([hidden])"));
};
</script>"""
"""Shows the cards and rows of the index that contain all words of the search field."""


ALL_STYLES = (math_font_style(), PAGE_STYLE, DERIVATION_STYLE, GALLERY_STYLE)


def case_pages(names: Sequence[str], folder: Path) -> Iterator[CasePage]:
    """Run the cases in parallel on all cores, and yield the contents of each page as soon as it is ready."""
    folder.mkdir(parents=True, exist_ok=True)
    # spawn, not fork: JAX has threads, which a forked process would inherit in an undefined state
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(len(names), os.cpu_count() or 1), mp_context=context) as pool:
        for future in as_completed([pool.submit(case_page, name, folder) for name in names]):
            yield future.result()


def write_pages(found: Sequence[CasePage], folder: Path) -> Path:
    """Write one page per case and the index, and return the path of the index."""
    ordered = {one.name: one for one in found}
    names = [name for group in by_theme(ordered).values() for name in group]
    for before, name, after in zip([None, *names], names, [*names[1:], None], strict=False):
        page = _case_page(ordered[name], *(ordered[other] if other else None for other in (before, after)))
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    index = folder / "index.html"
    index.write_text(_index(found), encoding="utf-8")
    return index


def _index(found: Sequence[CasePage]) -> str:
    passed = sum(row.passed for one in found for row in one.rows)
    total = sum(max(len(one.rows), 1) for one in found)
    cards = "\n".join(_theme(theme, names, found) for theme, names in by_theme(one.name for one in found).items())
    live = sum(one.live.endswith(".html") for one in found)
    rows = "\n".join(_table_row(row, one) for one in found for row in _rows(one))
    return document(
        "dalembert: the systems of the papers",
        f"""<main>
<h1>The systems of the papers, solved and checked</h1>
<p class="lead">Each system is stated, its equation of motion derived, its motion simulated, and every known answer
compared. {passed} of {total} checks passed. {live} of the {len(found)} cases can be run live: their pages link to one
that computes the motion in the browser, with sliders for all numbers. The equation behind all of them:</p>
<div class="scroll">{EQUATION}</div>
<p class="lead">M is the mass matrix, Q the applied force, A q̈ = b the constraints differentiated until accelerations
appear, B = A M<sup>−1/2</sup> with its Moore–Penrose inverse B<sup>+</sup>, and C describes nonideal constraints:
under a virtual displacement v, the constraint force does the work v<sup>T</sup>C.</p>
<p><input id="filter" type="search" placeholder="Search the cases" aria-label="Search the cases"></p>
{cards}
<h2>Checks</h2>
<div class="scroll"><table>
<tr><th>case</th><th>check</th><th>expected</th><th>got</th><th>pass</th></tr>
{rows}
</table></div>
</main>
{FILTER}""",
        *ALL_STYLES,
    )


def _theme(theme: str, names: Sequence[str], found: Sequence[CasePage]) -> str:
    cards = "\n".join(_card(one) for name in names for one in found if one.name == name)
    return f'<section class="theme"><h2>{escape(theme)}</h2>\n<div class="cards">\n{cards}\n</div></section>'


def _case_page(one: CasePage, before: CasePage | None, after: CasePage | None) -> str:
    figures = "\n".join(_figure(image) for image in one.images)
    rows = "\n".join(_table_row(row, None) for row in _rows(one))
    return document(
        f"{one.title} · dalembert",
        f"""<main>
<nav>{_neighbour(before, "← ")}<a href="index.html">all cases</a>{_neighbour(after, "", " →")}</nav>
<h1>{escape(one.title)}</h1>
<p class="lead">{escape(one.about)}</p>
<p class="source">{escape(one.source)}. Run it: <code>dalembert run {one.name}</code></p>
{_live_link(one)}
<h2>Checks</h2>
<div class="scroll"><table>
<tr><th>check</th><th>expected</th><th>got</th><th>source</th><th>pass</th></tr>
{rows}
</table></div>
<h2>Figures</h2>
<div class="figures">
{figures}
</div>
{one.derivation}
</main>""",
        *ALL_STYLES,
    )


def _live_link(one: CasePage) -> str:
    """Return the link to the live page of a case, or the reason why there is none."""
    if one.live.endswith(".html"):
        return (
            f'<p class="lead"><a class="live" href="{one.live}">Run it live</a> in the browser: change its numbers and '
            f"watch.</p>"
        )
    return f'<p class="source">{escape(one.live).replace("`", "")}</p>' if one.live else ""


def _neighbour(one: CasePage | None, before: str, after: str = "") -> str:
    return "<span></span>" if one is None else f'<a href="{one.name}.html">{before}{escape(one.title)}{after}</a>'


def _rows(one: CasePage) -> Sequence[Row]:
    return one.rows if one.trouble is None else [Row("could not be run", "", one.trouble, "", False)]


def _card(one: CasePage) -> str:
    image = f'<img src="{one.images[0].file}" alt="" loading="lazy">' if one.images else ""
    return f'<a class="card" href="{one.name}.html">{image}<p>{_mark(one.passed)} {escape(one.title)}</p></a>'


def _figure(image: Image) -> str:
    caption = escape(image.caption)
    return f'<figure><img src="{image.file}" alt="{caption}"><figcaption>{caption}</figcaption></figure>'


def _table_row(row: Row, one: CasePage | None) -> str:
    """Return a row of the table of a case, with its source, or of the table of all cases, with a link to the case."""
    texts = (row.what, row.expected, row.got)
    cells = "".join(f"<td>{escape(text)}</td>" for text in (texts if one else (*texts, row.source)))
    first = f'<td><a href="{one.name}.html">{one.name}</a></td>' if one else ""
    mark = f' data-case="{one.name}"' if one else ""
    return f"<tr{mark}>{first}{cells}<td>{_mark(row.passed)}</td></tr>"


def _mark(passed: bool) -> str:
    return '<span class="yes" title="passed">✓</span>' if passed else '<span class="no">FAILED</span>'
