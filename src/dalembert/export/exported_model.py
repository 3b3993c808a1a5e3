# SPDX-License-Identifier: BSD-3-Clause
"""The programs of a system and the names of their inputs and outputs: what every export writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from dalembert.common.array_types import Floats
from dalembert.common.levels import STATE_LEVELS
from dalembert.equation import scalar_arithmetic as sl
from dalembert.equation.dynamics import Dynamics, native_of
from dalembert.export.identifiers import model_identifier
from dalembert.export.mode_system import ModeSystem
from dalembert.export.output_groups import OutputGroup, Part, part, program_of
from dalembert.export.switching import switching_parts
from dalembert.integration.drift import Drift
from dalembert.integration.native_steps import cure_of
from dalembert.integration.row_selection import is_refined, rows_for
from dalembert.lowering.native_system import NativeSystem
from dalembert.lowering.programs import Programs
from dalembert.lowering.recorded_feedback import RecordedHeld
from dalembert.lowering.recorded_terms import RecordedTerms
from dalembert.lowering.source import Source
from dalembert.native.tape import Program


class Start(NamedTuple):
    """A time, a state (2n,) and the values of the parameters."""

    t: float
    y: Floats
    p: Floats


@dataclass(frozen=True, eq=False)
class ExportedModel:
    """A system as programs.

    name          an identifier
    coordinates, constraints, levels    as in ``Dynamics``
    parameters    the layout of p
    places        for each parameter of the programs its place in that layout
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
    switching     the quantities in ``switching_groups``, positive as long as a contact mode lasts, and whether they
                  are valid; None for a system without contacts
    sliding       the sliding velocity of each closed contact under dry friction, as text
    """

    name: str
    coordinates: tuple[str, ...]
    parameters: tuple[str, ...]
    places: tuple[int, ...]
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
    switching: Program | None = None
    switching_groups: tuple[OutputGroup, ...] = ()
    sliding: Mapping[str, str] = field(default_factory=dict[str, str])

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

    @property
    def switching_names(self) -> tuple[str, ...]:
        return tuple(name for group in self.switching_groups for name in group.names)


def exported_model(
    dynamics: Dynamics,
    name: str,
    start: Start | None,
    drift: Drift,
    inputs: tuple[str, ...],
    mode: ModeSystem | None,
    layout: FileLayout,
) -> ExportedModel:
    """Record the programs of a system; constraints that are redundant at the start, if there is one, are left out."""
    assert isinstance(dynamics.native, NativeSystem)
    source = dynamics.native.source
    rows, refined = _selection(dynamics, start, layout)
    iterations, rates = cure_of(drift, dynamics.levels)
    programs = Programs(source, rows, rates, refined=refined)
    hot = programs.hot(iterations)
    outputs, groups = _outputs(programs, dynamics, mode, layout)
    control, control_groups = _control(source, dynamics)
    switching, switching_groups = _switching(programs, mode, layout)
    return ExportedModel(
        name=model_identifier(name),
        coordinates=dynamics.coordinates,
        parameters=layout.parameters,
        places=layout.places,
        constraints=layout.constraints,
        levels=dynamics.levels,
        rows=rows,
        drift=drift,
        start=start,
        accelerate=hot.accelerate,
        project=hot.project,
        agree=hot.agree,
        outputs=outputs,
        groups=groups,
        control=control,
        control_groups=control_groups,
        check=_check(source),
        inputs=inputs,
        switching=switching,
        switching_groups=switching_groups,
        sliding={} if mode is None else mode.sliding_velocities,
    )


class FileLayout(NamedTuple):
    """Parameters and constraints as a file names them, the places of the programs' parameters, and further ones.

    further    parameters of contacts that the equations do not have; in programs they come after all others
    """

    parameters: tuple[str, ...]
    places: tuple[int, ...]
    constraints: tuple[str, ...]
    further: tuple[str, ...]

    @classmethod
    def of(cls, dynamics: Dynamics, mode: ModeSystem | None) -> FileLayout:
        if mode is None:
            return cls(dynamics.parameters, tuple(range(len(dynamics.parameters))), dynamics.constraints, ())
        names, all_names = mode.public_names, mode.parameters
        further = tuple(name for name in mode.whole.parameter_names if name not in dynamics.parameters)
        own = (*(names.get(name, name) for name in dynamics.parameters), *further)
        constraints = tuple(names.get(name, name) for name in dynamics.constraints)
        return cls(all_names, tuple(map(all_names.index, own)), constraints, further)

    def of_programs(self, p: Floats) -> Floats:
        """Return the parameters of the programs, the further ones included, from those of a file."""
        return p[list(self.places)]


def _selection(dynamics: Dynamics, start: Start | None, layout: FileLayout) -> tuple[tuple[int, ...], bool]:
    """Return the rows in use, and whether the solution is refined."""
    if start is None:
        # the numbers that would decide are not known: refinement only costs time
        return tuple(range(len(dynamics.levels))), native_of(dynamics).masses_differ
    p = layout.of_programs(start.p)[: len(dynamics.parameters)]
    rows = rows_for(dynamics, start.y, start.t, p)
    return rows, is_refined(dynamics, rows, start.y, start.t, p)


def _outputs(
    programs: Programs, dynamics: Dynamics, mode: ModeSystem | None, layout: FileLayout
) -> tuple[Program, tuple[OutputGroup, ...]]:
    """Record all outputs, and whether they are valid."""
    recorded, energy = RecordedTerms(programs), programs.source.energy
    motion, numbers = recorded.motion(), range(programs.m)
    own = {level: recorded.residuals(level, numbers) for level in STATE_LEVELS}
    own["acceleration"] = [sl.sub(sl.dot(recorded.row(k), motion.acceleration), recorded.target(k)) for k in numbers]
    coordinates, constraints = dynamics.coordinates, layout.constraints
    contacts = [] if mode is None else switching_parts(programs, recorded, mode, layout.further)
    parts = [
        part("acceleration", "{}''", coordinates, motion.acceleration),
        part("ideal_force", "ideal_force({})", coordinates, motion.ideal_force),
        part("nonideal_force", "nonideal_force({})", coordinates, motion.nonideal_force),
        part("multipliers", "multiplier({})", constraints, programs.by_number(motion.multipliers)),
        part("reactions", "reaction({})", constraints, programs.by_number(motion.reactions)),
        part("violation", "violation({})", constraints, [own[level][k] for k, level in enumerate(dynamics.levels)]),
        *(found for found in contacts if found[0].kind != "closing_force"),  # the reactions have these already
        *([] if energy is None else [part("energy", "{}", ["energy"], [recorded.read(energy)])]),
        *_control_parts(recorded, dynamics),
    ]
    return program_of(recorded.tape, parts, recorded.well_conditioned())


def _switching(
    programs: Programs, mode: ModeSystem | None, layout: FileLayout
) -> tuple[Program | None, tuple[OutputGroup, ...]]:
    """Record what is positive as long as a contact mode lasts."""
    if mode is None:
        return None, ()
    recorded = RecordedTerms(programs)
    parts = switching_parts(programs, recorded, mode, layout.further)
    watched = [found for found in parts if found[0].kind != "gap_rate"]
    return program_of(recorded.tape, watched, recorded.well_conditioned())


def _control_parts(recorded: RecordedTerms, dynamics: Dynamics) -> list[Part]:
    """Return the inputs of actuators and the errors of servos; none if the inputs are parameters."""
    control = recorded.control
    if control is None or isinstance(control, RecordedHeld):
        return []
    errors = [own[0] if own else 0.0 for own in control.errors]  # an acceleration-level servo has none in the state
    rows = [(name, i, len(own), k) for name, own in dynamics.servos.items() for i, k in enumerate(own)]
    names = [name if count == 1 else f"{name}[{i}]" for name, i, count, _ in rows]
    return [
        part("inputs", "input({})", dynamics.actuators, control.inputs),
        part("errors", "error({})", names, [errors[k] for *_, k in rows]),
    ]


def _control(source: Source, dynamics: Dynamics) -> tuple[Program | None, tuple[OutputGroup, ...]]:
    """Record the inputs and errors alone, as a controller needs them; they do not depend on a selection of rows."""
    recorded = RecordedTerms(Programs.of_all_rows(source))
    parts = _control_parts(recorded, dynamics)
    return program_of(recorded.tape, parts, 1.0) if parts else (None, ())


def _check(source: Source) -> Program:
    """Record the scales of a state, and whether a motion may start there."""
    program = Programs.of_all_rows(source).start()
    valid, _, *scales = program.outputs
    return Program(program.tape, [*scales, valid])
