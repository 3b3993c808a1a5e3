# SPDX-License-Identifier: BSD-3-Clause
"""Commands about cases that need no simulation: list, show, check, derive, classify, new."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

import dalembert
from dalembert import gallery
from dalembert.commands.named_cases import named_case, named_model
from dalembert.commands.options import Name
from dalembert.commands.output_files import DerivationFormat, derivation_format, require_target
from dalembert.commands.terminal import console_of, facts_table, print_text


def list_cases() -> None:
    """List the systems of the gallery.

    Example: dalembert list
    """
    table = Table("name", "what it is")
    for name, title in gallery.titles().items():
        table.add_row(name, title)
    console_of().print(table)


def show(name: Name) -> None:
    """Show a case: its system, parameters, initial state and checks.

    Example: dalembert show bead
    """
    from dalembert.report.outcomes import expected_text

    case = named_case(name)
    console = console_of()
    console.print(f"[bold]{escape(case.title)}[/]  ({escape(case.source)})\n{escape(case.about)}\n")
    console.print(facts_table(case))
    table = Table("check", "expected", "source")
    for check in case.checks:
        table.add_row(escape(check.what), escape(expected_text(check)), escape(check.source))
    if case.checks:
        console.print(table)


def check(name: Name) -> None:
    """Check whether a case is well posed at its initial state, and report the reasons if it is not.

    A model file without a start is checked at generic states.

    Example: dalembert check pendulum-rod-twice

    Exits with status 1 if it is ill posed.
    """
    from dalembert.analysis.check import check as verdict_on

    case = named_case(name)
    if not len(case.q0):
        verdict = verdict_on(case.system)
    else:
        verdict = verdict_on(
            case.system,
            case.q0,
            case.qd0,
            case.times[0] if len(case.times) else 0.0,
            parameters=case.parameters,
            allow_violation=case.allow_violation,
        )
    print_text(str(verdict))
    if not verdict.well_posed:
        raise typer.Exit(1)


def derive(
    name: Name,
    format: Annotated[
        DerivationFormat | None,
        typer.Option(help="The format; by default that of the file extension, or markdown.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="The file to write: md, tex or html; by default, print to the terminal."),
    ] = None,
) -> None:
    """Derive the explicit equations of motion of a case, in seven steps.

    Example: dalembert derive bead -o bead.html
    """
    from dalembert.report.derive import derive as derivation_of

    chosen = derivation_format(format, output)
    case = named_case(name)
    derivation = derivation_of(case.system, drift=case.drift, title=case.title, about=case.about)
    write = {
        DerivationFormat.latex: derivation.to_latex,
        DerivationFormat.markdown: derivation.to_markdown,
        DerivationFormat.html: derivation.to_html,
    }
    text = write[chosen]()
    if output is None:
        print_text(text)
    else:
        output.write_text(text, encoding="utf-8")
        print_text(f"wrote {output}")


def classify(name: Name) -> None:
    """Classify the constraints of a case: holonomic, time-dependent, linear, with their integrals.

    Example: dalembert classify sleigh
    """
    from dalembert.analysis.classification import classify as classification_of

    print_text(str(classification_of(named_case(name).system)))


def new(
    path: Annotated[Path, typer.Argument(help="The file to write, ending in .toml.", show_default=False)],
    source: Annotated[
        str | None,
        typer.Option("--from", help="A case of the gallery, or a model file, to copy instead of the pendulum."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
) -> None:
    """Write a model file to begin with: a pendulum with comments, a case of the gallery, or another model file.

    Example: dalembert new pendulum.toml

    The checks and figures of a case are Python functions and are not written, nor are the comments of a model file.
    """
    require_target(path, "path", (".toml",))
    if path.exists() and not force:
        raise dalembert.InputError(f"`path` must be a new file; `{path}` exists. Pass `--force` to overwrite it.")
    if source is None:
        from dalembert.files.template import template

        path.write_text(template(path.name), encoding="utf-8")
    else:
        named_model(source).save(path)
    print_text(f"wrote {path}")
