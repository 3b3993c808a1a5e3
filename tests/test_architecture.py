"""docs/architecture.md says what the source does: its layers, and the functions that a call goes through."""

import re
import sys
import tomllib
from pathlib import Path

import pytest

import dalembert as da
from helpers import pendulum

ROOT = Path(__file__).parents[1]
PACKAGE = Path(da.__file__).parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
LAYERS = next(contract["layers"] for contract in CONTRACTS if contract["type"] == "layers")
ROW = re.compile(r"^\| \d+ \| `([^`]+)` \| `([^`]+)` \|", re.MULTILINE)

CALLS = {
    "simulate": lambda system: da.simulate(system, (1, 0), (0, 0), [0, 1], parameters={"g": 9.81}),
    "motion": lambda system: da.motion(system, (1, 0), (0, 0), parameters={"g": 9.81}),
}


def section(heading):
    """The text under a heading of the page, up to the next one."""
    return re.split(r"^#+ ", PAGE.split(f"# {heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def paths_in(text):
    """The tables of hops in a text: each a list of (file, function)."""
    tables = (ROW.findall(part) for part in text.split("\n\n"))
    return [table for table in tables if table]


def stacks(call, last):
    """The library's functions on the stack, from the outermost, each time that a function is entered."""
    found = []

    def profile(frame, event, _):
        if event != "call" or frame.f_code.co_qualname != last:
            return
        stack = []
        while frame is not None:
            file = Path(frame.f_code.co_filename)
            if file.is_relative_to(PACKAGE):
                stack.append((file.relative_to(PACKAGE).as_posix(), frame.f_code.co_qualname))
            frame = frame.f_back
        found.append(stack[::-1])

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found


def test_the_figure_shows_the_layers_of_the_contract():
    figure = section("Layers").split("```text\n", 1)[1].split("```", 1)[0]
    shown, row = [], []
    for line in figure.splitlines():
        if line.startswith("│"):
            row += line.split("│")[1].split()
        elif row:
            shown.append(set(row))
            row = []
    stated = [{name.strip().removeprefix("dalembert.") for name in layer.split("|")} for layer in LAYERS]
    assert shown == stated


def test_every_module_is_in_a_layer():
    named = {name.strip().removeprefix("dalembert.") for layer in LAYERS for name in layer.split("|")}
    parts = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert parts - {"__init__"} == named


@pytest.mark.parametrize("verb", CALLS)
def test_a_call_goes_the_way_that_is_described(verb):
    system = pendulum()
    CALLS[verb](system)  # builds and compiles
    described = paths_in(section(f"`da.{verb}`"))
    assert described
    for hops in described:
        assert len(hops) <= 10
        assert hops in stacks(lambda: CALLS[verb](system), hops[-1][1])


def test_the_first_call_builds_the_system_as_described():
    system = pendulum(name="a rod of which no other test has built a system")
    (hops,) = paths_in(section("The first call"))
    assert hops in stacks(lambda: CALLS["simulate"](system), hops[-1][1])


def test_all_files_that_are_named_exist():
    named = re.findall(r"`((?:\w+/)+\w+\.(?:py|md))`", PAGE)
    assert named
    missing = [name for name in named if not (PACKAGE / name).exists() and not (ROOT / name).exists()]
    assert missing == []


def test_all_names_in_the_text_exist():
    source = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    helpers = (ROOT / "tests" / "helpers.py").read_text(encoding="utf-8")
    named = set(re.findall(r"`([A-Za-z_][\w.]*)`", PAGE)) - set(re.findall(r"`([\w/]+\.(?:py|md|toml))`", PAGE))
    words = set(re.findall(r"\w+", source + helpers))
    assert {name for name in named if name.split(".")[-1] not in words} == set()
