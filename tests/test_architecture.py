"""docs/architecture.md says what the source does: its layers, and the functions that a call goes through."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import dalembert as da
from helpers import PATIENCE

ROOT = Path(__file__).parents[1]
PACKAGE = Path(da.__file__).parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
LAYERS = next(contract["layers"] for contract in CONTRACTS if contract["type"] == "layers")
ROW = re.compile(r"^\| \d+ \| `([^`]+)` \| `([^`]+)` \|", re.MULTILINE)

CALLS = ("simulate", "motion")


def section(heading):
    """The text under a heading of the page, up to the next one."""
    return re.split(r"^#+ ", PAGE.split(f"# {heading}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]


def paths_in(text):
    """The tables of hops in a text: each a list of (file, function)."""
    tables = (ROW.findall(part) for part in text.split("\n\n"))
    return [table for table in tables if table]


@pytest.fixture(scope="module")
def stacks():
    """The library's functions on the stack, from the outermost, each time that the last function of a table is entered.

    All tables are those of one process; what it is asked is (call, last function, whether it is the first call).
    """
    asked = [(verb, hops[-1][1], False) for verb in CALLS for hops in paths_in(section(f"`da.{verb}`"))]
    asked += [("simulate", hops[-1][1], True) for hops in paths_in(section("The first call"))]
    where = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests"), *sys.path])}
    script = [sys.executable, str(ROOT / "tests" / "call_stacks.py"), json.dumps(asked)]
    done = subprocess.run(script, capture_output=True, text=True, timeout=PATIENCE, check=True, env=where)
    found = [[[tuple(hop) for hop in stack] for stack in own] for own in json.loads(done.stdout)]
    return dict(zip(asked, found, strict=True))


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
def test_a_call_goes_the_way_that_is_described(verb, stacks):
    described = paths_in(section(f"`da.{verb}`"))
    assert described
    for hops in described:
        assert len(hops) <= 10
        assert hops in stacks[verb, hops[-1][1], False]


def test_the_first_call_builds_the_system_as_described(stacks):
    (hops,) = paths_in(section("The first call"))
    assert hops in stacks["simulate", hops[-1][1], True]


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
