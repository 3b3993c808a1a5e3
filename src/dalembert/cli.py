# SPDX-License-Identifier: BSD-3-Clause
"""The command line: its options, its subcommands, and their errors."""

from __future__ import annotations

from typing import Annotated

import typer

import dalembert
from dalembert.commands.case_facts import check, classify, derive, list_cases, new, show
from dalembert.commands.simulations import animate, run, sweep
from dalembert.commands.terminal import print_text, transliterate_output
from dalembert.commands.user_errors import messages
from dalembert.commands.written_files import demo, export, page

app = typer.Typer(
    help="Constrained motion by the Udwadia–Kalaba equation.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def _version(wanted: bool) -> None:
    if wanted:
        print_text(f"dalembert {dalembert.__version__}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Constrained motion by the Udwadia–Kalaba equation: equations, forces, motion."""


app.command("list")(list_cases)
for command in (show, check, derive, classify, new, run, animate, sweep, page, export, demo):
    app.command()(command)


def main() -> None:
    """Run the command line; errors of the user are shown as messages without a traceback."""
    transliterate_output()
    try:
        with messages():
            app()
    except typer.Exit as end:
        raise SystemExit(end.exit_code) from None
