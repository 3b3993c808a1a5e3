# SPDX-License-Identifier: BSD-3-Clause
"""The equations of states that satisfy the constraints and meet the requirements of all servo constraints."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.common.array_types import Floats, vector_of
from dalembert.common.levels import STATE_LEVELS, rows_at
from dalembert.lowering.programs import Programs
from dalembert.lowering.recorded_control import RecordedControl
from dalembert.lowering.recorded_terms import RecordedTerms
from dalembert.lowering.source import Source
from dalembert.model.control_form import Requirement
from dalembert.native.derivatives import differentiated
from dalembert.native.protocol import StateEquations
from dalembert.native.tape import Program


def state_equations(source: Source) -> StateEquations:
    """Return the residuals of all constraints and the errors of all requirements with their derivatives.

    The errors of a requirement are β, its derivatives that contain no inputs, and the combinations ψ with those of
    other requirements: see ``RecordedControl``. If all of them vanish, they do so at all later times.
    """
    # also redundant rows, which a state must satisfy as well
    recorded = RecordedTerms(Programs.of_all_rows(source))
    outputs: list[Any] = []
    levels: list[str] = []
    constraints: list[int] = []
    for level in STATE_LEVELS:
        rows = [int(k) for k in np.flatnonzero(rows_at(source.levels, level))]
        outputs += recorded.residuals(level, rows)
        levels += [level] * len(rows)
        constraints += rows
    names: list[str] = []
    for requirement, errors in _errors(source, recorded):
        # β restricts positions and β̇ velocities; higher derivatives and ψ restrict both together
        own = {"position": ("position", "velocity"), "velocity": ("velocity",)}.get(requirement.level, ())
        outputs += errors
        levels += [*own, *["both"] * (len(errors) - len(own))]
        names += [requirement.name] * len(errors)
    program = Program(recorded.tape, outputs)

    def at(y: Floats, t: float, p: Any) -> tuple[Floats, Floats]:
        return differentiated(program, y, float(t), vector_of(p))

    return StateEquations(tuple(levels), tuple(constraints), tuple(names), at)


def _errors(source: Source, recorded: RecordedTerms) -> list[tuple[Requirement, list[Any]]]:
    """Record the errors of each requirement and their derivatives, without the inputs that make them settle."""
    form = source.control
    if form is None:
        return []
    return [*zip(form.requirements, RecordedControl(recorded, form, source.structure).errors, strict=True)]
