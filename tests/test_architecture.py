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


def stacks(call, last, *, first=False):
    """The library's functions on the stack, from the outermost, each time that a function is entered."""
    asked = json.dumps([[call, last, first]])
    where = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests"), *sys.path])}
    script = [sys.executable, str(ROOT / "tests" / "call_stacks.py"), asked]
    done = subprocess.run(script, capture_output=True, text=True, timeout=120, check=True, env=where)
    (found,) = json.loads(done.stdout)
    return [[tuple(hop) for hop in stack] for stack in found]


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
    described = paths_in(section(f"`da.{verb}`"))
    assert described
    for hops in described:
        assert len(hops) <= 10
        assert hops in stacks(verb, hops[-1][1])


def test_the_first_call_builds_the_system_as_described():
    (hops,) = paths_in(section("The first call"))
    assert hops in stacks("simulate", hops[-1][1], first=True)


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
