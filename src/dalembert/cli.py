# SPDX-License-Identifier: BSD-3-Clause
"""The subcommands of the command line."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import dalembert
from dalembert import gallery
from dalembert.arguments import RunArguments, assignment, state_of, times_of
from dalembert.command_starts import option_advice, projected_start, start_text
from dalembert.figures.animation_files import WRITERS
from dalembert.integration.trajectory_files import FORMATS
from dalembert.named_cases import is_file, named_case
from dalembert.output_files import DerivationFormat, derivation_format, require_target
from dalembert.sweep_command import FILES, Kept, Sampling, SweepArguments, outcome_table, outcome_text, swept
from dalembert.terminal import (
    add_checks,
    checks_table,
    console_of,
    end_table,
    facts_table,
    print_text,
    transliterate_output,
)
from dalembert.watching import changes

if TYPE_CHECKING:
    from rich.console import Console

    from dalembert.gallery.definition import Case
    from dalembert.integration.trajectory import Trajectory

app = typer.Typer(
    help="Constrained motion by the Udwadia–Kalaba equation.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


class FmuKind(StrEnum):
    """The kinds of an FMU."""

    co_simulation = "co-simulation"
    model_exchange = "model-exchange"
    both = "both"


Name = Annotated[
    str,
    typer.Argument(
        help="A case of the gallery, which `dalembert list` names, or a model file (.toml).", show_default=False
    ),
]

Settings = Annotated[list[str] | None, typer.Option("--set", help="A parameter, as a0=0.2; may be repeated.")]
Coordinates = Annotated[str | None, typer.Option("--q0", help="Coordinates at the start, as x=1,y=0 or as 1,0.")]
Velocities = Annotated[str | None, typer.Option("--qd0", help="Velocities at the start, likewise.")]
Times = Annotated[str | None, typer.Option(help="As 0:10:101 (start, end, count), or as 0,1,2.")]


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
    console_of().print(table)


@app.command()
def show(name: Name) -> None:
    """Show a case: its system, numbers, start and checks.

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


@app.command()
def check(name: Name) -> None:
    """Check whether a case is well posed at its start, and report the reasons if it is not.

    A model file without a start is checked at generic states.

    Example: dalembert check pendulum-rod-twice

    Exits with 1 if it is ill posed.
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


@app.command()
def derive(
    name: Name,
    format: Annotated[
        DerivationFormat | None,
        typer.Option(help="Format; by default from the file extension, else markdown.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A file: md, tex or html; the terminal when left out.")
    ] = None,
) -> None:
    """Derive the explicit equations of motion of a case, in seven steps.

    Example: dalembert derive bead -o bead.html
    """
    from dalembert.report.derivation import derive as derivation_of

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


@app.command()
def classify(name: Name) -> None:
    """Classify the constraints of a case: holonomic, time-dependent, linear, with their integrals.

    Example: dalembert classify sleigh
    """
    from dalembert.analysis.classification import classify as classification_of

    print_text(str(classification_of(named_case(name).system)))


@app.command()
def new(
    path: Annotated[Path, typer.Argument(help="The file to write, ending in .toml.", show_default=False)],
    source: Annotated[str | None, typer.Option("--from", help="A case of the gallery to write instead.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that exists.")] = False,
) -> None:
    """Write a model file to begin with: a pendulum with comments, or a case of the gallery.

    Example: dalembert new pendulum.toml

    The checks and pictures of a case, which are Python functions, are not written.
    """
    require_target(path, "path", (".toml",))
    if path.exists() and not force:
        raise dalembert.InputError(f"`path` must be a new file; `{path}` exists. Pass `--force` to overwrite it.")
    if source is None:
        from dalembert.files.template import template

        path.write_text(template(path.name), encoding="utf-8")
    else:
        from dalembert.gallery.file_case import model_of

        model_of(gallery.case(source)).save(path)
    print_text(f"wrote {path}")


@app.command()
def run(
    name: Name,
    settings: Settings = None,
    q0: Coordinates = None,
    qd0: Velocities = None,
    times: Times = None,
    project: Annotated[
        bool, typer.Option("--project", help="Move the start onto the constraints first, and print it.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="Write a figure of the motion: png, pdf or svg.")] = None,
    animate: Annotated[Path | None, typer.Option(help="Write an animation of the motion: gif, html or mp4.")] = None,
    save: Annotated[Path | None, typer.Option(help="Write the trajectory: nc, csv, parquet or zarr.")] = None,
    ledger: Annotated[bool, typer.Option("--ledger", help="Print the work of every force.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Run again whenever the model file changes.")] = False,
) -> None:
    """Simulate a case, with its own parameters or yours; with its own, check the results.

    Example: dalembert run particle --set a0=0.2 --times 0:2:201 --plot particle.png

    Exits with 1 if a check fails.
    """
    # checked before the simulation, which may take long
    require_target(plot, "--plot", (".png", ".pdf", ".svg"))
    require_target(animate, "--animate", tuple(WRITERS))
    require_target(save, "--save", tuple(FORMATS))
    changed = dict(assignment(text, "--set") for text in settings or ())
    start = {key: state_of(text, f"--{key}") for key, text in (("q0", q0), ("qd0", qd0)) if text is not None}
    chosen = None if times is None else times_of(times)
    given = RunArguments(changed, start, chosen, plot, animate, save, ledger, project)
    if not watch:
        _run(name, given)
        return
    if not is_file(name):
        raise dalembert.InputError(f"`--watch` must be used with a model file; `{name}` is a case of the gallery.")
    for _ in changes(Path(name)):
        with suppress(typer.Exit), messages():
            _run(name, given)
        print_text(f"waiting for changes of {name}")


def _run(name: str, given: RunArguments) -> None:
    """Simulate a case once, and print and write what is asked for."""
    case, plot, animate, save = named_case(name, given.parameters), given.plot, given.animate, given.save
    drawn = case.points is not None or case.mechanism is not None
    if animate is not None and not drawn:
        raise dalembert.InputError(f"`--animate` must be used with a case that has points to draw; `{name}` has none.")
    start = projected_start(case, given) if given.project else given.start
    found = case.simulate(parameters=given.parameters, times=given.times, **start)
    if given.project:
        print_text(f"started from {start_text(case, start)}")
    console = console_of()
    console.print(end_table(found, case.units))
    for note in found.notes:
        console.print(escape(note))
    if given.ledger:
        print_text(str(found.ledger()))
    if save is not None:  # first: the results must not be lost if a figure cannot be drawn
        found.save(save, units=case.units)
    if plot is not None:
        found.plot(units=case.units).savefig(plot, dpi=160)
    if animate is not None and case.points is None and case.mechanism is not None:
        case.mechanism.animate(found, animate)
    elif animate is not None:
        found.animate(animate, points=case.points(found) if case.points else None, links=case.links)
    for path in (plot, animate, save):
        if path is not None:
            print_text(f"wrote {path}")
    if case.checks and not given.changed:
        _report_checks(console, case, found)


@app.command()
def animate(
    name: Name,
    output: Annotated[Path, typer.Option("-o", "--output", help="A file: gif, html or mp4.", show_default=False)],
    settings: Settings = None,
    q0: Coordinates = None,
    qd0: Velocities = None,
    times: Times = None,
) -> None:
    """Simulate a case and write an animation of its motion.

    Example: dalembert animate bead -o bead.html --times 0:1:101
    """
    run(name, settings, q0, qd0, times, animate=output)


@app.command()
def sweep(
    name: Name,
    grid: Annotated[
        list[str] | None, typer.Option(help="Values to combine, as g=9:10:101 or g=9,9.5,10; may be repeated.")
    ] = None,
    scatter: Annotated[
        list[str] | None,
        typer.Option(help="Values to draw, as l=normal(1,0.01) or l=uniform(0.9,1.1); may be repeated."),
    ] = None,
    members: Annotated[
        float | None, typer.Option(help="How many members to draw, for each point of the grid; 1e6 is a million.")
    ] = None,
    sampling: Annotated[Sampling, typer.Option(help="How to draw them.")] = Sampling.random,
    seed: Annotated[int, typer.Option(help="Another number draws other members.")] = 0,
    settings: Settings = None,
    q0: Coordinates = None,
    qd0: Velocities = None,
    times: Times = None,
    outputs: Annotated[str, typer.Option(help="As q,qd,multipliers,energy.")] = "q,qd",
    keep: Annotated[Kept, typer.Option(help="All times, the last one, or mean, variance and quantiles.")] = Kept.end,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A file: zarr, which can be continued, or nc.")
    ] = None,
    cluster: Annotated[str | None, typer.Option(help="Address of a Dask scheduler, as tcp://host:8786.")] = None,
    device: Annotated[str, typer.Option(help="cpu or gpu.")] = "cpu",
) -> None:
    """Simulate a case for many values of its parameters and starts.

    Names are those of parameters, of coordinates, whose values are starts, or of velocities (x').

    Example: dalembert sweep bead --grid mu=0:0.4:41 --scatter g=normal(9.81,0.01) --members 100 -o bead.zarr

    A sweep to a .zarr that was interrupted is continued by the same command.
    """
    require_target(output, "--output", FILES)
    start = {key: state_of(text, f"--{key}") for key, text in (("q0", q0), ("qd0", qd0)) if text is not None}
    given = SweepArguments(
        grid=grid or (),
        scatter=scatter or (),
        members=members,
        sampling=sampling,
        seed=seed,
        parameters=dict(assignment(text, "--set") for text in settings or ()),
        start=start,
        times=None if times is None else times_of(times),
        outputs=[part.strip() for part in outputs.split(",")],
        keep=keep,
        output=output,
        cluster=cluster,
        device=device,
    )
    found = swept(named_case(name, given.parameters), given)
    console = console_of()
    console.print(outcome_table(found))
    print_text(outcome_text(found))
    if output is not None:
        print_text(f"wrote {output}")


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
    target = Path(f"{Path(name).stem}.html") if output is None else output
    require_target(target, "--output", (".html",))
    print_text(f"wrote {named_case(name).page(target)}")


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
    require_target(output, "--output", (".c", ".py", ".fmu"))
    case = named_case(name)
    shared: dict[str, Any] = {"inputs": inputs or (), **case.export_arguments}
    if output.suffix.lower() == ".fmu":
        dalembert.export_fmu(case.system, output, kind.value, units=case.units, **shared)
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

    console = console_of()
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


def _report_checks(console: Console, case: Case, found: Trajectory) -> None:
    """Print the checks of a case; exit with 1 if one fails."""
    from dalembert.report.outcomes import row_of

    rows = tuple(row_of(outcome) for outcome in case.verify(found))
    table = checks_table()
    add_checks(table, rows, case.name)
    console.print(table)
    if not all(row.passed for row in rows):
        raise typer.Exit(1)


@contextmanager
def messages() -> Generator[None]:
    """Show errors of the user inside of the block as messages, without a traceback, and exit with 2."""
    try:
        yield
    except (dalembert.DalembertError, OSError, ModuleNotFoundError) as error:
        console_of(stderr=True).print(f"[red]error:[/] {escape(option_advice(str(error)))}", soft_wrap=True)
        raise typer.Exit(2) from None


def main() -> None:
    """Run the command line; errors of the user are shown as messages without a traceback."""
    transliterate_output()
    try:
        with messages():
            app()
    except typer.Exit as end:
        raise SystemExit(end.exit_code) from None
