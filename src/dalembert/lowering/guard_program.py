# SPDX-License-Identifier: BSD-3-Clause
"""The guards of a phase of motion as a program: functions that are positive as long as the phase lasts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from dalembert.equation import scalar_arithmetic as sl
from dalembert.lowering.programs import Programs
from dalembert.lowering.recorded_terms import RecordedTerms
from dalembert.model.symbols import plain_multiplier, plain_reaction
from dalembert.native.tape import Program, Tape


@dataclass(frozen=True)
class PhaseGuards:
    """The guards of a phase, in their order.

    sliding     for each sliding contact its velocity and its slip direction, one component of each
    held        for each sticking contact the numbers of the constraints that hold it, and its static limit
    rounding    relative rounding error that is allowed for when a force is compared with this limit
    further     names of parameters that only guards have; they come after those of the active system
    functions   further guards, sign · expression + offset: the expression, and the parameters for sign and offset
    """

    sliding: tuple[tuple[Any, Any], ...]
    held: tuple[tuple[tuple[int, ...], Any], ...]
    rounding: float
    further: tuple[str, ...] = ()
    functions: tuple[tuple[Any, Any, Any], ...] = ()

    @property
    def rules(self) -> tuple[tuple[bool, ...], tuple[float, ...]]:
        """For each guard whether the phase ends where it is zero, and its scale: see ``GuardedPrograms``.

        A contact that stops has no direction any more, so that it ends at zero; a friction force may be at its limit,
        and a gap that has just opened is zero.
        """
        moving, at_rest, others = len(self.sliding), len(self.held), len(self.functions)
        ends = (True,) * moving + (False,) * (at_rest + others)
        return ends, (0.0,) * moving + (1.0,) * at_rest + (0.0,) * others


def guard_program(programs: Programs, guards: PhaseGuards) -> Program:
    """Record sliding velocities along their directions, distances of friction forces from their limits, and functions.

    These distances are relative to the sum of force and limit, which is positive unless both vanish.
    """
    recorded = RecordedTerms(programs)
    reactions = programs.by_number(recorded.motion().reactions)
    value = guard_reader(programs, recorded, reactions, guards.further)
    found = [sl.mul(value(v), value(direction)) for v, direction in guards.sliding]
    for numbers, limit in guards.held:
        # in a plane of contact friction has two components, and its limit is a circle
        force = length_of(recorded.tape, [reactions[k] for k in numbers])
        found.append(friction_margin(recorded.tape, force, value(limit), guards.rounding))
    for expression, sign, offset in guards.functions:
        found.append(sl.add(sl.mul(value(sign), value(expression)), value(offset)))
    return Program(recorded.tape, found)


def guard_reader(
    programs: Programs, recorded: RecordedTerms, reactions: Sequence[Any], further: Sequence[str]
) -> Callable[[Any], Any]:
    """Return a function that records an expression of the model at the state, with the actual reactions.

    ``further`` are names of parameters that the system does not have, which come after its own.
    """
    # other definitions of the multipliers: limits of friction depend on the actual reactions
    read, symbols = recorded.at(recorded.q, recorded.qd).read, programs.source.form.symbols
    for name, value in zip(programs.source.constraints, reactions, strict=True):
        read.define(plain_multiplier(name), value)
        read.define(plain_reaction(name), value)
    for i, name in enumerate(further, start=len(programs.source.parameters)):
        read.define(sp.Symbol(name, real=True), recorded.tape.input("p", i))
    return lambda expression: read(symbols.plain(expression))


def length_of(tape: Tape, components: Sequence[Any]) -> Any:
    """Record the length of a vector."""
    if len(components) == 1:
        return tape.record("fabs", components[0])
    return tape.record("sqrt", sl.dot(components, components))


def friction_margin(tape: Tape, force: Any, limit: Any, rounding: float) -> Any:
    """Record the relative distance of a force from its limit; one without either."""
    total = sl.add(force, limit)
    # without a load a contact can stick; its relative distance would be 0/0
    loaded = tape.record("<", 0.0, total)
    distance = sl.sub(sl.mul(1 + rounding, limit), force)
    return tape.record("select", loaded, tape.record("fdiv", distance, tape.record("select", loaded, total, 1.0)), 1.0)
