# SPDX-License-Identifier: BSD-3-Clause
"""The quantities of a contact mode that are positive as long as it lasts, as outputs of an exported model."""

from __future__ import annotations

from typing import Any

import sympy as sp

from dalembert.equation import scalar_arithmetic as sl
from dalembert.export.mode_system import ModeSystem
from dalembert.export.output_groups import Part, part
from dalembert.lowering.guard_program import friction_margin, guard_reader, length_of
from dalembert.lowering.programs import Programs
from dalembert.lowering.recorded_terms import RecordedTerms
from dalembert.model.symbols import t as time
from dalembert.stick_slip.modes import LOAD_ROUNDING


def switching_parts(
    programs: Programs, recorded: RecordedTerms, mode: ModeSystem, further: tuple[str, ...]
) -> list[Part]:
    """Record sliding velocities along their directions, margins of friction that sticks, gaps, and closing forces.

    ``further`` are parameters that only these quantities have; they come after those of the equations.
    """
    reactions = programs.by_number(recorded.motion().reactions)
    value = guard_reader(programs, recorded, reactions, further)
    speeds = [
        sl.dot([value(v) for v in own.velocity], [value(d) for d in own.direction]) for own in mode.sliding.values()
    ]
    margins: list[Any] = []
    for own in mode.sticking.values():
        force = length_of(recorded.tape, [reactions[k] for k in mode.held_rows(own)])
        limit = value(own.mu_static * own.normal_size)
        margins.append(friction_margin(recorded.tape, force, limit, LOAD_ROUNDING))
    forces = [reactions[mode.system.constraint_names.index(name)] for name in mode.closed]
    gaps = [str(own.name) for own in mode.open]
    return [
        part("speed", "speed({})", list(mode.sliding), speeds),
        part("margin", "margin({})", list(mode.sticking), margins),
        part("gap", "gap({})", gaps, [value(own.expression) for own in mode.open]),
        part("closing_force", "reaction({})", mode.closed, forces),
        part("gap_rate", "gap'({})", gaps, [value(sp.diff(own.expression, time)) for own in mode.open]),
    ]
