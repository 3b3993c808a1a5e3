"""Live pages in headless Chromium, used as a reader uses them."""

import re
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from helpers import CHAIN_NUMBERS, chain, chain_state
from live.browser_numbers import CHROMIUM, ENDED, played, visits

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")

X, Y, Z = da.coordinates("x y z")
L = da.parameters("l")

SLIDE = """(() => {
  const slider = document.getElementById("%s-slider");
  slider.value = %s;
  slider.dispatchEvent(new Event("input", {bubbles: true}));
})()"""

TYPE = """(() => {
  const box = document.getElementById("%s-box");
  box.value = "%s";
  box.dispatchEvent(new Event("input", {bubbles: true}));
})()"""

SEEK = "livePage.player.stop(); livePage.player.seek(%s)"
STATE = "[...livePage.now.y]"
PICTURE = "document.getElementById('stage').toDataURL()"
STATUS = "document.getElementById('status').textContent"
MESSAGE = "document.getElementById('message').textContent"

NAMELESS = """[...document.querySelectorAll("button, input, select, canvas")].filter(element => {
  const labelled = element.labels?.length || element.getAttribute("aria-label") || element.textContent.trim();
  return !labelled || element.tabIndex < 0 && !["CANVAS"].includes(element.tagName);
}).map(element => element.outerHTML)"""


@pytest.fixture
def pendulum(tmp_path: Path) -> Path:
    rod = da.Constraint(X**2 + Y**2 - L**2, name="rod", nonideal=(-X.diff(da.t), -Y.diff(da.t)))
    system = da.System.from_lagrangian((X.diff(da.t) ** 2 + Y.diff(da.t) ** 2) / 2 - 10 * Y, (X, Y), constraints=rod)
    options = {"points": {"pivot": (0, 0), "bob": (X, Y)}, "links": [("pivot", "bob")], "parameters": {"l": 1}}
    return da.page(system, (1, 0), (0, 0), (0, 4), tmp_path / "pendulum.html", **options)


def test_a_slider_moves_the_motion(pendulum: Path, tmp_path: Path) -> None:
    look = [SEEK % 3, STATE, PICTURE, STATUS]
    changes = [SLIDE % ("p0", 1.5), ENDED, *look, TYPE % ("p0", "-0.25"), ENDED, *look]
    reset = ["document.getElementById('reset').click()", ENDED, *look]
    (seen,) = visits([{"page": pendulum, "expressions": [ENDED, *look, *changes, *reset]}], tmp_path)
    assert seen["errors"] == [] and seen["requests"] == []
    values = seen["values"]
    first, longer, shorter, again = (values[k + 1 : k + 4] for k in (1, 7, 13, 19))
    assert np.hypot(*first[0][:2]) == pytest.approx(1) and np.hypot(*longer[0][:2]) == pytest.approx(1.5)
    assert np.hypot(*shorter[0][:2]) == pytest.approx(0.25)  # only l² is in the equations
    assert again[:2] == first[:2]
    assert len({first[1], longer[1], shorter[1]}) == 3
    assert "moved" not in first[2] and "steps" in first[2]
    assert "The start was moved onto the constraints, by up to 0.5 in x, to 1.5" in longer[2]


def test_boxes_show_six_digits_of_a_start_that_is_used_in_full(tmp_path: Path) -> None:
    angle = float(np.arcsin(0.3))
    system = da.System((X,), [[1]], (-sp.sin(X) - L * X,))
    page = da.page(system, (angle,), (0,), (0, 1), tmp_path / "start.html", parameters={"l": 7.2921159e-5})
    box = "document.getElementById('y0-box').value"
    reset = ["document.getElementById('reset').click()", ENDED, box, SEEK % 0, STATE]
    small = "document.getElementById('p0-box').value"
    expressions = [ENDED, box, TYPE % ("y0", "0.5"), ENDED, *reset, small, SLIDE % ("p0", 5e-5), small]
    (seen,) = visits([{"page": page, "expressions": expressions}], tmp_path)
    assert seen["errors"] == []
    *_, state, before, _, after = seen["values"]
    assert (before, after) == ("7.29212e-5", "5e-5")
    assert seen["values"][1] == seen["values"][6] == "0.304693" and state[0] == angle


def test_play_pause_speed_and_plots(pendulum: Path, tmp_path: Path) -> None:
    wait = "new Promise(done => setTimeout(() => done(livePage.player.value), 300))"
    button = "document.getElementById('play')"
    expressions = [
        *(ENDED, f"{button}.textContent", wait, f"{button}.click(); {button}.textContent", wait, wait),
        "document.getElementById('speed').value",
        "[...document.querySelectorAll('figcaption')].map(one => one.textContent)",
        "[...document.querySelectorAll('#ledger tr')].map(row => [...row.children].map(cell => cell.textContent))",
        "livePage.plots[0].keys[0].box.click(); livePage.plots[0].low > -1.2 && livePage.plots[0].high < 0.2",
        "livePage.plots.at(-1).high",
    ]
    (seen,) = visits([{"page": pendulum, "expressions": expressions}], tmp_path)
    assert seen["errors"] == []
    _, playing, moved, paused, before, after, speed, plots, ledger, narrowed, violated = seen["values"]
    assert (playing, paused, speed) == ("Pause", "Play", "1")
    assert 0 < moved <= before == after
    forces = ["Ideal constraint force", "Nonideal constraint force"]
    assert plots == ["Coordinates", *forces, "Energy", "Violation of the constraints"]
    works = ["applied forces", "ideal constraint force", "nonideal constraint force"]
    energies = ["change of kinetic energy", "change of potential energy", "energy change less all work"]
    assert [row[0] for row in ledger] == [*(f"work of {one}" for one in works), *energies]
    assert ledger[1][2] == "0"  # the rod does no work: the number is rounding
    assert narrowed is True  # without x, the plot has the range of y
    assert violated > -12  # a violation of the size of rounding does not fill its plot


def test_a_printed_page_has_no_controls(pendulum: Path, tmp_path: Path) -> None:
    rules = "[...document.styleSheets].flatMap(sheet => [...sheet.cssRules]).filter(r => r.conditionText === 'print')"
    texts = f"{rules}.flatMap(rule => [...rule.cssRules]).map(rule => rule.cssText)"
    (seen,) = visits([{"page": pendulum, "expressions": [texts]}], tmp_path)
    found = " ".join(seen["values"][0])
    assert re.search(r"\.player button[^{]*\{ display: none", found)
    assert re.search(r"figure[^{]*\{ break-inside: avoid", found)


def test_a_narrow_page_does_not_scroll_sideways_and_all_controls_have_names(pendulum: Path, tmp_path: Path) -> None:
    expressions = [
        *(ENDED, "document.documentElement.scrollWidth", NAMELESS),
        "getComputedStyle(document.body).backgroundColor",
        "document.querySelectorAll('button, input, select').length",
    ]
    jobs = [{"page": pendulum, "width": 400, "dark": dark, "expressions": expressions} for dark in (False, True)]
    papers = []
    for seen in visits(jobs, tmp_path):
        _, width, nameless, paper, controls = seen["values"]
        assert width == 400 and nameless == [] and controls > 15
        papers.append(paper)
    assert papers == ["rgb(251, 250, 247)", "rgb(23, 24, 26)"]


def test_an_embedded_page_is_compact_and_sends_its_height(pendulum: Path, tmp_path: Path) -> None:
    around = tmp_path / "around.html"
    fit = "heights.push(data.dalembertHeight); frame.height = heights.at(-1);"
    script = f"addEventListener('message', ({{data}}) => {{ {fit} }})"
    frame = f'<iframe id="frame" src="{pendulum.name}#compact" width="700"></iframe>'
    around.write_text(f"<!doctype html><script>const heights = []; {script}</script>{frame}", encoding="utf-8")
    received = "new Promise(done => { const look = () => heights.length ? done() : setTimeout(look, 20); look(); })"
    jobs = [
        {"page": around, "expressions": [received, "heights.at(-1)", "frame.offsetHeight >= heights.at(-1)"]},
        {"page": pendulum, "width": 700, "expressions": [ENDED, "document.documentElement.offsetHeight"]},
    ]
    embedded, whole = visits(jobs, tmp_path)
    assert embedded["errors"] == whole["errors"] == []
    assert embedded["values"][2] is True
    assert 300 < embedded["values"][1] < whole["values"][1] - 500  # without plots and ledger


def test_a_picture_in_space_is_turned_by_dragging_and_by_keys(tmp_path: Path) -> None:
    system = da.System((X, Y, Z), sp.eye(3), (-X, -2 * Y, -3 * Z))
    page = da.page(system, (1, 1, 1), (0, 1, 0), (0, 5), tmp_path / "space.html")
    drag = """(() => {
      const event = new PointerEvent("pointermove", {buttons: 1, movementX: 80, movementY: 30, bubbles: true});
      document.getElementById("stage").dispatchEvent(event);
    })()"""
    key = """document.getElementById("stage").dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowLeft"}))"""
    expressions = [ENDED, SEEK % 2, PICTURE, drag, PICTURE, key, PICTURE, "livePage.stage.view"]
    (seen,) = visits([{"page": page, "expressions": expressions}], tmp_path)
    assert seen["errors"] == []
    assert len({seen["values"][k] for k in (2, 4, 6)}) == 3
    view = np.array(seen["values"][-1])
    assert view @ view.T == pytest.approx(np.eye(2))


def test_a_page_says_what_it_cannot_compute(pendulum: Path, tmp_path: Path) -> None:
    spike = da.System((X,), [[1]], (-1e4 * sp.exp(-(((X - 0.5) / da.parameters("w")) ** 2)),))
    missed = da.page(spike, (0,), (1,), (0, 1), tmp_path / "spike.html", parameters={"w": 1e-5})
    wrong = [TYPE % ("y0", "0"), ENDED, MESSAGE, TYPE % ("t1", "-1"), ENDED, MESSAGE]
    jobs = [
        {"page": pendulum, "expressions": [ENDED, *wrong]},
        {"page": missed, "expressions": [ENDED, MESSAGE]},
    ]
    refused, inaccurate = visits(jobs, tmp_path)
    assert "No start on the constraints was found near these values" in refused["values"][3]
    assert "The motion must end after it begins, at t = 0" in refused["values"][6]
    assert "a step has missed an abrupt change of the forces" in inaccurate["values"][1]
    assert refused["errors"] == inaccurate["errors"] == []


def test_the_work_of_a_frame_is_measured(tmp_path: Path) -> None:
    """In processor time, for `python -m benchmarks.frame_rates`."""
    links = 4
    points = {f"p{k}": (f"x{k}", f"y{k}") for k in range(links)}
    options = {"parameters": CHAIN_NUMBERS, "points": points, "links": [("p0", "p1"), ("p2", "p3")]}
    page = da.page(chain(links), *chain_state(links), (0, 1), tmp_path / "chain.html", **options)
    ((work, rate),) = played([page], tmp_path)
    assert work > 0 and rate > 0
