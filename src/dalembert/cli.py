# SPDX-License-Identifier: BSD-3-Clause
"""The subcommands of the command line."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import dalembert
from dalembert import gallery
from dalembert.figures.animation_files import WRITERS
from dalembert.integration.trajectory_files import FORMATS
from dalembert.terminal import add_checks, assignments, checks_table, end_table, print_text, transliterate_output

if TYPE_CHECKING:
    from dalembert.gallery.definition import Case
    from dalembert.integration.trajectory import Trajectory

app = typer.Typer(
    help="Constrained motion by the Udwadia–Kalaba equation.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


class DerivationFormat(StrEnum):
    """The formats of a derivation."""

    latex = "latex"
    markdown = "markdown"
    html = "html"


class FmuKind(StrEnum):
    """The kinds of an FMU."""

    co_simulation = "co-simulation"
    model_exchange = "model-exchange"
    both = "both"


Name = Annotated[str, typer.Argument(help="A case of the gallery; `dalembert list` names them.", show_default=False)]


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


@app.command("list")
def list_cases() -> None:
    """List the systems of the gallery.

    Example: dalembert list
    """
    table = Table("name", "what it is")
    for name, title in gallery.titles().items():
        table.add_row(name, title)
    Console().print(table)


@app.command()
def show(name: Name) -> None:
    """Show a case: its system, numbers, start and checks.

    Example: dalembert show bead
    """
    from dalembert.report.outcomes import expected_text

    case = gallery.case(name)
    system = case.system
    console = Console(highlight=False)
    console.print(f"[bold]{escape(case.title)}[/]  ({escape(case.source)})\n{escape(case.about)}\n")
    facts = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    facts.add_row("coordinates", ", ".join(system.coordinate_names))
    facts.add_row("parameters", assignments(case.parameters) or "none")
    facts.add_row("constraints", ", ".join(f"{c.name} ({c.level})" for c in system.constraints) or "none")
    if system.servos:
        facts.add_row("servos", ", ".join(map(_servo_text, system.servos)))
    facts.add_row("start", assignments(dict(zip(system.coordinate_names, case.q0, strict=True))))
    facts.add_row("velocities", assignments(dict(zip(system.coordinate_names, case.qd0, strict=True))))
    facts.add_row("times", f"{case.times[0]:g} to {case.times[-1]:g}, {len(case.times)} of them")
    facts.add_row("drift", "None" if case.drift is None else str(case.drift))
    console.print(facts)
    table = Table("check", "expected", "source")
    for check in case.checks:
        table.add_row(escape(check.what), expected_text(check), escape(check.source))
    console.print(table)


@app.command()
def check(name: Name) -> None:
    """Check whether a case is well posed at its start, and report the reasons if it is not.

    Example: dalembert check pendulum-rod-twice

    Exits with 1 if it is ill posed.
    """
    from dalembert.analysis.check import check as verdict_on

    case = gallery.case(name)
    verdict = verdict_on(
        case.system,
        case.q0,
        case.qd0,
        case.times[0],
        parameters=case.parameters,
        allow_violation=case.allow_violation,
    )
    print_text(str(verdict))
    if not verdict.well_posed:
        raise typer.Exit(1)


@app.command()
def derive(
    name: Name,
    format: Annotated[
        DerivationFormat | None,
        typer.Option(help="Format; by default from the file ending, else markdown.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A file: md, tex or html; the terminal when left out.")
    ] = None,
) -> None:
    """Derive the explicit equations of motion of a case, in seven steps.

    Example: dalembert derive bead -o bead.html
    """
    from dalembert.report.derivation import derive as derivation_of

    chosen = _format(format, output)
    case = gallery.case(name)
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


@app.command()
def run(
    name: Name,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter, as a0=0.2; may be repeated.")
    ] = None,
    times: Annotated[str | None, typer.Option(help="As 0:10:101 (start, end, count), or as 0,1,2.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a figure of the motion: png, pdf or svg.")] = None,
    animate: Annotated[Path | None, typer.Option(help="Write an animation of the motion: gif, html or mp4.")] = None,
    save: Annotated[Path | None, typer.Option(help="Write the trajectory: nc, csv, parquet or zarr.")] = None,
    ledger: Annotated[bool, typer.Option("--ledger", help="Print the work of every force.")] = False,
) -> None:
    """Simulate a case, with its own parameters or yours; with its own, check the results.

    Example: dalembert run particle --set a0=0.2 --times 0:2:201 --plot particle.png

    Exits with 1 if a check fails.
    """
    # checked before the simulation, which may take long
    _require_target(plot, "--plot", (".png", ".pdf", ".svg"))
    _require_target(animate, "--animate", tuple(WRITERS))
    _require_target(save, "--save", tuple(FORMATS))
    case = gallery.case(name)
    if animate is not None and case.points is None:
        raise dalembert.InputError(f"`--animate` must be used with a case that has points to draw; `{name}` has none.")
    changed = dict(_setting(text) for text in settings or ())
    found = case.simulate(parameters=changed, times=None if times is None else _times(times))
    console = Console(highlight=False)
    console.print(end_table(found))
    for note in found.notes:
        console.print(escape(note))
    if ledger:
        print_text(str(found.ledger()))
    if plot is not None:
        found.plot(units=case.units).savefig(plot, dpi=160)
    if animate is not None:
        found.animate(animate, points=case.points(found) if case.points else None, links=case.links)
    if save is not None:
        found.save(save)
    for path in (plot, animate, save):
        if path is not None:
            print_text(f"wrote {path}")
    if not changed and times is None:
        _report_checks(console, case, found)


@app.command()
def page(
    name: Name,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="File to write; the name of the case when left out.")
    ] = None,
) -> None:
    """Write a page that runs a case in the browser, with sliders for all its numbers; it works offline.

    Example: dalembert page bead -o bead.html

    Exits with 2 if a page cannot run the case, and says why.
    """
    target = Path(f"{name}.html") if output is None else output
    _require_target(target, "--output", (".html",))
    print_text(f"wrote {gallery.case(name).page(target)}")


@app.command()
def export(
    name: Name,
    output: Annotated[Path, typer.Option("-o", "--output", help="A file: c, py or fmu.", show_default=False)],
    kind: Annotated[FmuKind, typer.Option(help="What an FMU is for.")] = FmuKind.co_simulation,
    inputs: Annotated[
        list[str] | None, typer.Option("--input", help="A parameter or actuator to set from outside; may be repeated.")
    ] = None,
) -> None:
    """Write a case for other tools, with its numbers: C99, a Python module, or an FMU of FMI 2.0.

    Example: dalembert export crane -o crane.fmu
    """
    _require_target(output, "--output", (".c", ".py", ".fmu"))
    case = gallery.case(name)
    shared: dict[str, Any] = {"inputs": inputs or (), **_start_of(case)}
    if output.suffix.lower() == ".fmu":
        dalembert.export_fmu(case.system, output, kind.value, **shared)
    else:
        write = dalembert.export_c if output.suffix.lower() == ".c" else dalembert.export_python
        write(case.system, output, **shared)
    print_text(f"wrote {output}")


@app.command()
def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the pages.")] = Path("out/demo"),
) -> None:
    """Solve every case, run its checks, and write pages with all derivations and figures; takes some minutes.

    Example: dalembert demo -o out/demo

    Exits with 1 if a check fails.
    """
    from dalembert.report.gallery_pages import exhibits, write_pages

    console = Console()
    names = gallery.names()
    found: dict[str, Any] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("solving", total=len(names))
        for one in exhibits(names, output):
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


def _start_of(case: Case) -> dict[str, Any]:
    """Return the numbers of a case as arguments of an export."""
    return {
        "q0": case.q0,
        "qd0": case.qd0,
        "t0": float(case.times[0]),
        "parameters": dict(case.parameters),
        "drift": case.drift,
        "control": case.control,
        "allow_violation": case.allow_violation,
    }


_FORMATS = {".md": DerivationFormat.markdown, ".tex": DerivationFormat.latex, ".html": DerivationFormat.html}
"""The format of a derivation by the ending of its file."""


def _servo_text(servo: Any) -> str:
    by = "a force on every coordinate" if servo.by is None else " and ".join(actuator.name for actuator in servo.by)
    return f"{servo.name} ({servo.level}) by {by}"


def _format(option: DerivationFormat | None, output: Path | None) -> DerivationFormat:
    """Return the requested format, from the option or from the file ending."""
    if output is None:
        return option or DerivationFormat.markdown
    _require_target(output, "--output", tuple(_FORMATS))
    by_ending = _FORMATS[output.suffix.lower()]
    if option not in (None, by_ending):
        raise dalembert.InputError(
            f"`--format` must agree with the ending of the file; got {option} and `{output}`. Leave `--format` out."
        )
    return by_ending


def _report_checks(console: Console, case: Case, found: Trajectory) -> None:
    """Print the checks of a case; exit with 1 if one fails."""
    from dalembert.report.outcomes import row_of

    rows = tuple(row_of(outcome) for outcome in case.verify(found))
    table = checks_table()
    add_checks(table, rows, case.name)
    console.print(table)
    if not all(row.passed for row in rows):
        raise typer.Exit(1)


def _setting(text: str) -> tuple[str, float]:
    name, equals, value = text.partition("=")
    try:
        if not (equals and name.strip()):
            raise ValueError
        return name.strip(), float(value)
    except ValueError:
        raise dalembert.InputError(f"`--set` must look like a0=0.2; got `{text}`.") from None


def _times(text: str) -> Any:
    import numpy as np

    try:
        if ":" in text:
            start, end, count = text.split(":")
            return np.linspace(float(start), float(end), int(count))
        return np.array([float(part) for part in text.split(",")])
    except ValueError:
        raise dalembert.InputError(f"`--times` must look like 0:10:101 or 0,1,2; got `{text}`.") from None


def _require_target(path: Path | None, option: str, known: tuple[str, ...]) -> None:
    if path is not None and path.suffix.lower() not in known:
        raise dalembert.InputError(f"`{option}` must end in {', '.join(known)}; got `{path}`.")
    _require_folder(path, option)


def _require_folder(path: Path | None, option: str) -> None:
    if path is not None and not path.parent.is_dir():
        raise dalembert.InputError(f"`{option}` must name a file in a folder that exists; there is no `{path.parent}`.")


def main() -> None:
    """Run the command line; errors of the user are shown as messages without a traceback."""
    transliterate_output()
    try:
        app()
    except (dalembert.DalembertError, OSError, ModuleNotFoundError) as error:
        Console(stderr=True).print(f"[red]error:[/] {escape(str(error))}", highlight=False)
        raise SystemExit(2) from None
