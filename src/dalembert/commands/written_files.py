# SPDX-License-Identifier: BSD-3-Clause
"""Commands that write cases for browsers and other tools: page, export, demo."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import dalembert
from dalembert import gallery
from dalembert.commands.named_cases import named_case
from dalembert.commands.options import Name
from dalembert.commands.output_files import require_target
from dalembert.commands.terminal import add_checks, checks_table, console_of, print_text


class FmuKind(StrEnum):
    """The kinds of an FMU."""

    co_simulation = "co-simulation"
    model_exchange = "model-exchange"
    both = "both"


def page(
    name: Name,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The file to write; by default it has the name of the case.")
    ] = None,
) -> None:
    """Write a page that runs a case in the browser, with sliders for its parameters and initial state.

    Example: dalembert page bead -o bead.html

    Exits with status 2 if a page cannot run the case, and says why.
    """
    target = Path(f"{Path(name).stem}.html") if output is None else output
    require_target(target, "--output", (".html",))
    print_text(f"wrote {named_case(name).page(target)}")


def export(
    name: Name,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The file to write: c, py or fmu.", show_default=False)
    ],
    kind: Annotated[
        FmuKind | None, typer.Option(help="The kind of FMU to write; co-simulation by default.", show_default=False)
    ] = None,
    inputs: Annotated[
        list[str] | None,
        typer.Option("--input", help="A parameter or actuator that becomes an input; may be repeated."),
    ] = None,
) -> None:
    """Export a case, with its parameters and initial state, as C99, a Python module, or an FMU of FMI 2.0.

    Example: dalembert export crane -o crane.fmu
    """
    require_target(output, "--output", (".c", ".py", ".fmu"))
    if kind is not None and output.suffix.lower() != ".fmu":
        raise dalembert.InputError(f"`--kind` must be used with an FMU, whose name ends in .fmu; got `{output}`.")
    case = named_case(name)
    shared: dict[str, Any] = {"inputs": inputs or (), **case.export_arguments}
    if output.suffix.lower() == ".fmu":
        dalembert.export_fmu(case.system, output, (kind or FmuKind.co_simulation).value, units=case.units, **shared)
    else:
        write = dalembert.export_c if output.suffix.lower() == ".c" else dalembert.export_python
        write(case.system, output, **shared)
    print_text(f"wrote {output}")


def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder of the pages.")] = Path("out/demo"),
) -> None:
    """Solve every case, run its checks, and write pages with all derivations and figures; takes some minutes.

    Example: dalembert demo -o out/demo

    Exits with status 1 if a check fails.
    """
    from dalembert.report.gallery_pages import case_pages, write_pages

    console = console_of()
    names = gallery.names()
    found: dict[str, Any] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("solving", total=len(names))
        for one in case_pages(names, output):
            found[one.name] = one
            progress.update(task, advance=1, description=f"solved {one.name}")
            if not console.is_terminal:
                print_text(f"solved {one.name}, {len(found)} of {len(names)}")
    shown = [found[name] for name in names]
    table = checks_table()
    for one in shown:
        add_checks(table, one.rows, one.name)
        if one.trouble is not None:
            table.add_row(one.name, "could not be run", "", escape(one.trouble), "[red]NO[/]", end_section=True)
    console.print(table)
    print_text(f"wrote {write_pages(shown, output)}")
    if not all(one.passed for one in shown):
        raise typer.Exit(1)
