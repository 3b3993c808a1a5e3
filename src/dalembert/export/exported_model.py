# SPDX-License-Identifier: BSD-3-Clause
"""The programs of a system and the names of their inputs and outputs: what every export writes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dalembert.array_types import Floats
from dalembert.equation import scalar_arithmetic as sl
from dalembert.equation.dynamics import Dynamics
from dalembert.export.identifiers import model_identifier
from dalembert.integration.drift import Drift
from dalembert.integration.native_steps import cure_of, is_refined, native_of, rows_for
from dalembert.levels import STATE_LEVELS
from dalembert.lowering.native_system import NativeSystem
from dalembert.lowering.programs import Programs
from dalembert.lowering.recorded_feedback import RecordedHeld
from dalembert.lowering.recorded_terms import RecordedTerms
from dalembert.lowering.source import Source
from dalembert.native.tape import Program, Tape


class Start(NamedTuple):
    """A time, a state (2n,) and the values of the parameters."""

    t: float
    y: Floats
    p: Floats


class OutputGroup(NamedTuple):
    """Outputs that follow one another: the kind, and their names as in the tables of ``run.save``."""

    kind: str
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class ExportedModel:
    """A system as programs.

    name          an identifier
    coordinates, parameters, constraints, levels    as in ``Dynamics``
    rows          numbers of the constraints in use; the others follow from them at the start
    drift         the drift cure
    start         None if no numbers were given
    accelerate    the acceleration, and one if it is valid, else zero
    project       the state after projection, or None
    agree         one where the constraints left out hold, or None if all are in use
    outputs       the outputs in ``groups``, and whether they are valid
    control       inputs of actuators and errors of servos, and whether they are valid; None without servos
    check         the scales of a state, and whether a motion may start there
    inputs        the names of the parameters that may change while the model runs
    """

    name: str
    coordinates: tuple[str, ...]
    parameters: tuple[str, ...]
    constraints: tuple[str, ...]
    levels: tuple[str, ...]
    rows: tuple[int, ...]
    drift: Drift
    start: Start | None
    accelerate: Program
    project: Program | None
    agree: Program | None
    outputs: Program
    groups: tuple[OutputGroup, ...]
    control: Program | None
    control_groups: tuple[OutputGroup, ...]
    check: Program
    inputs: tuple[str, ...]

    @property
    def n(self) -> int:
        return len(self.coordinates)

    @property
    def states(self) -> tuple[str, ...]:
        """The names of the components of the state: x for a coordinate, x' for its velocity."""
        return (*self.coordinates, *(f"{name}'" for name in self.coordinates))

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(name for group in self.groups for name in group.names)


def exported_model(
    dynamics: Dynamics, name: str, start: Start | None, drift: Drift, inputs: tuple[str, ...]
) -> ExportedModel:
    """Record the programs of a system; constraints that are redundant at the start, if there is one, are left out."""
    assert isinstance(dynamics.native, NativeSystem)
    source = dynamics.native.source
    rows, refined = _selection(dynamics, start)
    iterations, rates = cure_of(drift, dynamics.levels)
    programs = Programs(source, rows, rates, refined=refined)
    accelerate, project, agree = programs.hot(iterations)
    outputs, groups = _outputs(programs, dynamics)
    control, control_groups = _control(source, dynamics)
    return ExportedModel(
        name=model_identifier(name),
        coordinates=dynamics.coordinates,
        parameters=dynamics.parameters,
        constraints=dynamics.constraints,
        levels=dynamics.levels,
        rows=rows,
        drift=drift,
        start=start,
        accelerate=accelerate,
        project=project,
        agree=agree,
        outputs=outputs,
        groups=groups,
        control=control,
        control_groups=control_groups,
        check=_check(source),
        inputs=inputs,
    )


def _selection(dynamics: Dynamics, start: Start | None) -> tuple[tuple[int, ...], bool]:
    """Return the rows in use, and whether the solution is refined."""
    if start is None:
        # the numbers that would decide are not known: refinement only costs time
        return tuple(range(len(dynamics.levels))), native_of(dynamics).masses_differ
    rows = rows_for(dynamics, start.y, start.t, start.p)
    return rows, is_refined(dynamics, rows, start.y, start.t, start.p)


Part = tuple[OutputGroup, Sequence[Any]]
"""Outputs and their recorded values."""


def _part(kind: str, pattern: str, names: Sequence[str], values: Sequence[Any]) -> Part:
    return OutputGroup(kind, tuple(pattern.format(name) for name in names)), values


def _program(tape: Tape, parts: Sequence[Part], valid: Any) -> tuple[Program, tuple[OutputGroup, ...]]:
    values = [value for _, own in parts for value in own]
    return Program(tape, [*values, valid]), tuple(group for group, _ in parts if group.names)


def _outputs(programs: Programs, dynamics: Dynamics) -> tuple[Program, tuple[OutputGroup, ...]]:
    """Record all outputs, and whether they are valid."""
    recorded, energy = RecordedTerms(programs), programs.source.energy
    motion, numbers = recorded.motion(), range(programs.m)
    own = {level: recorded.residuals(level, numbers) for level in STATE_LEVELS}
    own["acceleration"] = [sl.sub(sl.dot(recorded.row(k), motion.acceleration), recorded.target(k)) for k in numbers]
    coordinates, constraints = dynamics.coordinates, dynamics.constraints
    parts = [
        _part("acceleration", "{}''", coordinates, motion.acceleration),
        _part("ideal_force", "ideal_force({})", coordinates, motion.ideal_force),
        _part("nonideal_force", "nonideal_force({})", coordinates, motion.nonideal_force),
        _part("multipliers", "multiplier({})", constraints, _of_all(programs, motion.multipliers)),
        _part("reactions", "reaction({})", constraints, _of_all(programs, motion.reactions)),
        _part("violation", "violation({})", constraints, [own[level][k] for k, level in enumerate(dynamics.levels)]),
        *([] if energy is None else [_part("energy", "{}", ["energy"], [recorded.read(energy)])]),
        *_control_parts(recorded, dynamics),
    ]
    return _program(recorded.tape, parts, recorded.well_conditioned())


def _of_all(programs: Programs, multipliers: Sequence[Any]) -> list[Any]:
    """Return the multipliers of the rows in use in the order of all constraints, zero for the others."""
    own = dict(zip(programs.rows, multipliers, strict=True))
    return [own.get(k, 0.0) for k in range(programs.m)]


def _control_parts(recorded: RecordedTerms, dynamics: Dynamics) -> list[Part]:
    """Return the inputs of actuators and the errors of servos; none if the inputs are parameters."""
    control = recorded.control
    if control is None or isinstance(control, RecordedHeld):
        return []
    errors = [own[0] if own else 0.0 for own in control.errors]  # an acceleration-level servo has none in the state
    rows = [(name, i, len(own), k) for name, own in dynamics.servos.items() for i, k in enumerate(own)]
    names = [name if count == 1 else f"{name}[{i}]" for name, i, count, _ in rows]
    return [
        _part("inputs", "input({})", dynamics.actuators, control.inputs),
        _part("errors", "error({})", names, [errors[k] for *_, k in rows]),
    ]


def _control(source: Source, dynamics: Dynamics) -> tuple[Program | None, tuple[OutputGroup, ...]]:
    """Record the inputs and errors alone, as a controller needs them; they do not depend on a selection of rows."""
    recorded = RecordedTerms(Programs.of_all_rows(source))
    parts = _control_parts(recorded, dynamics)
    return _program(recorded.tape, parts, 1.0) if parts else (None, ())


def _check(source: Source) -> Program:
    """Record the scales of a state, and whether a motion may start there."""
    program = Programs.of_all_rows(source).start()
    valid, _, *scales = program.outputs
    return Program(program.tape, [*scales, valid])
