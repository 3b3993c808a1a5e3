# SPDX-License-Identifier: BSD-3-Clause
"""Commands that simulate a case, once or for many numbers: run, animate, sweep."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

import dalembert
from dalembert.commands.command_arguments import RunArguments, assignment, state_of, times_of
from dalembert.commands.named_cases import is_file, named_case
from dalembert.commands.options import Coordinates, Name, Settings, Times, Velocities
from dalembert.commands.output_files import endings_text, require_target
from dalembert.commands.starts import projected_start, start_text
from dalembert.commands.sweep_command import FILES, Kept, Sampling, SweepArguments, outcome_table, outcome_text, swept
from dalembert.commands.terminal import add_checks, checks_table, console_of, end_table, print_text
from dalembert.commands.user_errors import messages
from dalembert.commands.watching import changes
from dalembert.common.names import ledger_units
from dalembert.figures.animation_files import WRITERS
from dalembert.integration.trajectory_files import FORMATS

if TYPE_CHECKING:
    from rich.console import Console

    from dalembert.gallery.definition import Case
    from dalembert.integration.trajectory import Trajectory


def run(
    name: Name,
    settings: Settings = None,
    q0: Coordinates = None,
    qd0: Velocities = None,
    times: Times = None,
    project: Annotated[
        bool, typer.Option("--project", help="Move the initial state onto the constraints first, and print it.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="Write a figure of the motion: png, pdf or svg.")] = None,
    animate: Annotated[
        Path | None, typer.Option(help=f"Write an animation of the motion: {endings_text(WRITERS)}.")
    ] = None,
    save: Annotated[Path | None, typer.Option(help=f"Write the trajectory: {endings_text(FORMATS)}.")] = None,
    ledger: Annotated[bool, typer.Option("--ledger", help="Print the ledger: the work of every force.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Run again whenever the model file changes.")] = False,
) -> None:
    """Simulate a case. Without changes of its numbers, compare the run with the known results.

    Example: dalembert run particle --set a0=0.2 --times 0:2:201 --plot particle.png

    Exits with status 1 if a check fails.
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
    if not Path(name).is_file():
        raise dalembert.InputError(f"`--watch` must be used with a model file that exists; there is no `{name}`.")
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
        print_text(found.ledger().to_text(ledger_units(case.units)))
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


def _report_checks(console: Console, case: Case, found: Trajectory) -> None:
    """Print the checks of a case; exit with 1 if one fails."""
    from dalembert.report.outcomes import row_of

    rows = tuple(row_of(outcome) for outcome in case.verify(found))
    table = checks_table()
    add_checks(table, rows, case.name)
    console.print(table)
    if not all(row.passed for row in rows):
        raise typer.Exit(1)


def animate(
    name: Name,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The file to write: gif, html or mp4.", show_default=False)
    ],
    settings: Settings = None,
    q0: Coordinates = None,
    qd0: Velocities = None,
    times: Times = None,
) -> None:
    """Simulate a case and write an animation of its motion.

    Example: dalembert animate bead -o bead.html --times 0:1:101
    """
    run(name, settings, q0, qd0, times, animate=output)


def sweep(
    name: Name,
    grid: Annotated[
        list[str] | None,
        typer.Option(
            help="Values of a quantity, combined with all others, as g=9:10:101 or g=9,9.5,10; may be repeated."
        ),
    ] = None,
    scatter: Annotated[
        list[str] | None,
        typer.Option(
            help="The distribution of a quantity, as l=normal(1,0.01) or l=uniform(0.9,1.1); may be repeated."
        ),
    ] = None,
    members: Annotated[
        float | None, typer.Option(help="The number of members to draw for each point of the grid; 1e6 is a million.")
    ] = None,
    sampling: Annotated[Sampling, typer.Option(help="The method by which members are drawn.")] = Sampling.random,
    seed: Annotated[int, typer.Option(help="The seed of the random numbers; another one draws other members.")] = 0,
    settings: Settings = None,
    q0: Coordinates = None,
    qd0: Velocities = None,
    times: Times = None,
    outputs: Annotated[str, typer.Option(help="The outputs to keep, as q,qd,multipliers,energy,ledger.")] = "q,qd",
    keep: Annotated[
        Kept, typer.Option(help="Keep all times, the last one, or mean, variance and quantiles.")
    ] = Kept.end,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="The file to write: zarr, which can be continued, or nc.")
    ] = None,
    cluster: Annotated[str | None, typer.Option(help="The address of a Dask scheduler, as tcp://host:8786.")] = None,
    device: Annotated[str, typer.Option(help="The device that integrates the members: cpu or gpu.")] = "cpu",
) -> None:
    """Simulate a case for many values of its parameters and initial states.

    Names are those of parameters, or of coordinates and velocities (x'), whose values are initial values.

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
