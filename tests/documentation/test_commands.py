"""Command lines in the documentation: the subcommands, their options and the names of cases exist."""

import re
import shlex
from pathlib import Path

import pytest
import typer

import dalembert as da
from dalembert.cli import app

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
LINES = sorted(
    {
        line.strip()
        for page in PAGES
        for line in re.findall(r"^ {4,}(dalembert .*)$", page.read_text(encoding="utf-8"), re.M)
    }
    | {code for page in PAGES for code in re.findall(r"`(dalembert \w[^`]*)`", page.read_text(encoding="utf-8"))}
)
COMMANDS = typer.main.get_command(app).commands


@pytest.mark.parametrize("line", LINES)
def test_a_documented_command_line_can_be_parsed(line: str) -> None:
    _, subcommand, *words = shlex.split(line, comments=True)
    if not words and subcommand not in ("list", "demo"):
        assert subcommand in COMMANDS  # the mention of a command
        return
    context = COMMANDS[subcommand].make_context(subcommand, list(words))
    name = context.params.get("name", "NAME")
    assert name in (*da.gallery.names(), "NAME") or name.endswith(".toml")
