# SPDX-License-Identifier: BSD-3-Clause
"""The programs of a live page: what it plots and draws at a state, recorded with the equations of motion."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from dalembert.equation import scalar_arithmetic as sl
from dalembert.lowering.programs import Programs
from dalembert.lowering.recorded_terms import RecordedTerms
from dalembert.native.derivatives import along
from dalembert.native.tape import Program


class PageOutputs(NamedTuple):
    """Lengths of the parts of the outputs of a live page.

    ``powers`` are those of the applied forces, of the inputs, of the ideal and of the nonideal constraint force, as in
    a ledger; ``sliding`` are the components of the sliding velocities of contacts under dry friction. The last part is
    one if the solution is well conditioned, else zero.
    """

    ideal_force: int
    nonideal_force: int
    violation: int
    energy: int
    kinetic: int
    powers: int
    inputs: int
    sliding: int
    points: int
    well_conditioned: int


def recorded_expressions(programs: Programs, expressions: Sequence[Any]) -> Program:
    """Record expressions in plain symbols."""
    recorded = RecordedTerms(programs)
    return Program(recorded.tape, [recorded.read(e) for e in expressions])


def page_outputs(programs: Programs, points: Sequence[Any]) -> tuple[Program, PageOutputs]:
    """Record the outputs of a live page; ``points`` are expressions in plain symbols.

    The energy is the kinetic energy if the system has no Lagrangian.
    """
    recorded, source = RecordedTerms(programs), programs.source
    motion, control = recorded.motion(), recorded.control
    # also without a Lagrangian, which systems stated by forces do not have
    momentum = [sl.dot(row, recorded.qd) for row in recorded.mass_matrix]
    kinetic = sl.mul(0.5, sl.dot(recorded.qd, momentum))
    energy = kinetic if source.energy is None else recorded.read(source.energy)
    rates = {("y", i): rate for i, rate in enumerate(recorded.qd)} | {("t", 0): 1.0}
    # the power of Q includes the rate of change of the energy at fixed q̇: see ``analysis/energy_terms.py``
    (transport,) = along(recorded.tape, [energy], rates)
    applied: sl.Vector = [recorded.read(e) for e in source.form.applied_force]
    driven: sl.Vector = [0] * programs.n
    for force in () if control is None else control.input_forces:
        driven = sl.plus(driven, force)
    forces = (driven, motion.ideal_force, motion.nonideal_force)
    parts = (
        motion.ideal_force,
        motion.nonideal_force,
        [_violation(recorded, k, level, motion.acceleration) for k, level in enumerate(source.levels)],
        [energy],
        [kinetic],
        [sl.add(sl.dot(applied, recorded.qd), transport), *(sl.dot(force, recorded.qd) for force in forces)],
        [] if control is None else control.inputs,
        [recorded.read(v) for velocity in source.sliding for v in velocity],
        [recorded.read(e) for e in points],
        [recorded.well_conditioned()],
    )
    return Program(recorded.tape, [x for part in parts for x in part]), PageOutputs(*map(len, parts))


def _violation(recorded: RecordedTerms, k: int, level: str, acceleration: sl.Vector) -> Any:
    """Record the residual of a constraint at its own level."""
    if level == "acceleration":
        return sl.sub(sl.dot(recorded.row(k), acceleration), recorded.target(k))
    return recorded.residuals(level, [k])[0]
