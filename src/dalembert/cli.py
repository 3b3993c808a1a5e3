# SPDX-License-Identifier: BSD-3-Clause
"""The command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import dalembert

app = typer.Typer(
    help="Constrained motion by the Udwadia–Kalaba equation.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"dalembert {dalembert.__version__}")
        raise typer.Exit()


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which.")] = False,
) -> None:
    """Constrained motion by the Udwadia–Kalaba equation: equations, forces, motion."""


@app.command()
def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the figures.")] = Path("out/demo"),
) -> None:
    """Solve the showcase problems, compare with known answers, draw the figures.

    Exits with 1 if an answer is off.

    Example: dalembert demo -o out/demo
    """
    from dalembert.showcase import checks, figures

    console = Console()
    table = Table("problem", "check", "expected", "got", "pass", title="Known answers")
    passed = True
    with console.status("solving …"):
        for check in checks():
            passed &= check.passed
            verdict = "[green]yes[/]" if check.passed else "[red]NO[/]"
            table.add_row(check.problem, check.what, check.expected, check.got, verdict)
    console.print(table)
    output.mkdir(parents=True, exist_ok=True)
    with console.status("drawing …"):
        for name, figure in figures():
            path = output / f"{name}.png"
            figure.savefig(path, dpi=160)
            console.print(f"wrote {path}")
    if not passed:
        raise typer.Exit(1)


def main() -> None:
    """Run the command line; a mistake of the user's gets a message, not a traceback."""
    try:
        app()
    except dalembert.DalembertError as error:
        Console(stderr=True).print(f"[red]error:[/] {error}", highlight=False, markup=True)
        raise SystemExit(2) from None
