# SPDX-License-Identifier: BSD-3-Clause
"""Hooks of MkDocs: formulas as MathML, console sessions, pages from outside ``docs``, the pendulum of the home page.

The Markdown files stay readable in a repository browser, so that everything that only the site needs is added here.
"""

from __future__ import annotations

import html
import re
import tempfile
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File

import dalembert as da
from website.pages import PENDULUM, gallery_cards, live_pages, pendulum_element, write_pendulum

ROOT = Path(__file__).parents[1]
BORROWED = {
    "benchmarks/results.md": "benchmarks/results.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
}
"""Pages of the site that are files elsewhere in the repository."""

FONT = ROOT / "src/dalembert/report/fonts"
"""The mathematics font of derivations, and its licence: formulas look the same whatever fonts a reader has."""

ENTRY = re.compile(r"^::: da\.([\w.]+)$", re.MULTILINE)
TIGHT = re.compile(r"<mo( [^>]*)?>(&#x0002F;|&#x0007C;)</mo>")
"""A slash or a bar, which MathML would surround by spaces: those of 1/2 and |λ|."""
FUNCTION = re.compile(
    r"(?P<before></m(?:i|n|sub|sup|row|frac)>)?"
    r"(?P<name><msup><mi>(?:sin|cos|tan)</mi><m\w>[^<]*</m\w></msup>|(?<!<msup>)<mi>(?:sin|cos|tan|ln|exp)</mi>)"
    r"(?P<after>(?!<mo[^>]*>&#x00028;|</))?"
)
"""The name of a function, which has a thin space before it and, if no bracket follows, behind it."""
CONSOLE = re.compile(r"^```python\n(>>> .*?)\n*^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
DISPLAY = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.DOTALL)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that are not in ``docs``, the pendulum, the font of formulas, and the live pages of the gallery."""
    for target, source in BORROWED.items():
        files.append(File.generated(config, target, abs_src_path=str(ROOT / source)))
    with tempfile.TemporaryDirectory() as folder:
        written = write_pendulum(Path(folder))
        files.append(File.generated(config, f"assets/{written.name}", content=written.read_bytes()))
    for part in ("math.woff2", "OFL.txt"):
        files.append(File.generated(config, f"assets/{part}", abs_src_path=str(FONT / part)))
    for name, content in live_pages().items():
        files.append(File.generated(config, f"live/{name}.html", content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Mark examples as console sessions, point links at the pages of the site, and put generated parts in place."""
    source = page.file.src_uri
    if source in BORROWED:
        markdown = re.sub(r"\]\(docs/", "](", markdown)
    markdown = markdown.replace("](../benchmarks/results.md)", "](benchmarks/results.md)")
    markdown = re.sub(r"\[([^]]*)\]\(\.\./benchmarks/data/[^)]*\)", r"\1", markdown)  # data that the site does not hold
    if source == "index.md":
        markdown = markdown.replace(PENDULUM, pendulum_element())
    if source == "gallery.md":
        markdown = gallery_cards(markdown, da.gallery.names(), live_pages())
    markdown = ENTRY.sub(_entry, markdown)
    return CONSOLE.sub(lambda block: f"```pycon\n{block[1]}\n```", markdown)


def on_page_content(content: str, page: Any, config: Any, files: Any) -> str:
    """Convert formulas to MathML, which browsers show without a script."""
    content = INLINE.sub(lambda found: _mathml(found[1], "inline"), content)
    return DISPLAY.sub(lambda found: f'<div class="formula">{_mathml(found[1], "block")}</div>', content)


def _entry(found: re.Match[str]) -> str:
    """Return the directive that documents a name, under the name by which users call it."""
    name = found[1]
    shown = name.rpartition(".")[2] if "." in name else f"da.{name}"
    lines = [f"::: dalembert.{name}", "    options:", f"      heading: {shown}", f"      toc_label: {shown}"]
    return "\n".join(lines)


def _mathml(tex: str, display: str) -> str:
    found = convert(html.unescape(tex).strip(), display=display)
    found = TIGHT.sub(r'<mo\1 lspace="0" rspace="0">\2</mo>', found)
    return FUNCTION.sub(_spaced, found)


def _spaced(function: re.Match[str]) -> str:
    """Return the name of a function with thin spaces."""
    thin = '<mspace width="0.167em"/>'
    before = f"{function['before']}{thin}" if function["before"] else ""
    return before + function["name"] + (thin if function["after"] is not None else "")
