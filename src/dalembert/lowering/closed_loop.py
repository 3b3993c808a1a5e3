# SPDX-License-Identifier: BSD-3-Clause
"""Controlled systems as a whole: their motion near a state, the directions of their inputs, and frozen references."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from dalembert.common.array_types import Floats
from dalembert.common.levels import STATE_LEVELS
from dalembert.equation import scalar_arithmetic as sl
from dalembert.lowering.control_structure import ControlStructure
from dalembert.lowering.programs import Programs
from dalembert.lowering.recorded_control import RecordedControl
from dalembert.lowering.recorded_terms import RecordedTerms
from dalembert.lowering.source import Source
from dalembert.model import graph
from dalembert.model.control_form import ControlForm
from dalembert.model.standard_form import constraint_row
from dalembert.model.symbols import StateSymbols
from dalembert.model.system import System
from dalembert.native.derivatives import differentiated
from dalembert.native.tape import Program


class ControlledMotion(NamedTuple):
    """A controlled motion near a state.

    residuals (k,)                what constraints and requirements are off: see ``servo_equations``
    across (k, 2n)                their derivatives by the state
    acceleration (n,), slopes (n, 2n)    q̈ with the inputs, not limited, and its derivatives by the state
    """

    residuals: Floats
    across: Floats
    acceleration: Floats
    slopes: Floats


class ClosedLoop:
    """The motion of a system under its inputs, of which the limits are ignored."""

    def __init__(self, source: Source):
        assert source.control is not None
        control = replace(source.control, limits=(None,) * len(source.control.actuators))
        recorded = RecordedTerms(Programs.of_all_rows(replace(source, control=control)))
        acceleration, control = recorded.motion().acceleration, recorded.control
        assert control is not None
        # also redundant rows: their residuals show whether a state satisfies the constraints
        everything = range(recorded.programs.m)
        residuals = [r for level in STATE_LEVELS for r in recorded.residuals(level, everything)]
        residuals += [error for own in control.errors for error in own]
        self._residuals = Program(recorded.tape, residuals)
        self._program = Program(recorded.tape, [*residuals, *acceleration])

    def residuals(self, y: Floats, t: float, p: Floats) -> tuple[Floats, Floats]:
        """Return what constraints and requirements are off, and its derivatives by the state."""
        return differentiated(self._residuals, y, t, p)

    def near(self, y: Floats, t: float, p: Floats) -> ControlledMotion:
        """Return the motion near a state."""
        values, slopes = differentiated(self._program, y, t, p)
        k = len(self._residuals.outputs)
        return ControlledMotion(values[:k], slopes[:k], values[k:], slopes[k:])


class InputDirections(NamedTuple):
    """Accelerations within the physical constraints, at one state.

    inputs (k, n)     of the inputs that have least cost for their effect on each requirement
    normals (k, n)    of the ideal force of each requirement, if it were a constraint
    weights (n,)      the roots of the diagonal of M, by which coordinates are compared
    """

    inputs: Floats
    normals: Floats
    weights: Floats


def input_directions(source: Source, y: Floats, t: float, p: Floats) -> InputDirections:
    """Return the directions of inputs and of ideal forces at one state."""
    form = source.control
    assert form is not None
    terms = RecordedTerms(Programs.of_all_rows(source))
    # without the further rows of a tangent realisation: the direct effect of the inputs is asked for
    control = RecordedControl(terms, form, ControlStructure())
    at_rest, n = [0] * terms.programs.m, terms.programs.n
    inputs: list[Any] = []
    normals: list[Any] = []
    for i, requirement in enumerate(form.requirements):
        total: sl.Vector = [0] * n
        for u, column in zip(control.weighted(control.effect(i)), control.columns, strict=True):
            total = sl.plus(total, column, u)
        inputs += total
        normals += terms.solve([terms.read(e) for e in requirement.row.gradient], at_rest).acceleration
    # evaluated once, by the interpreter of tapes: compiling would take longer
    values = differentiated(Program(terms.tape, [*inputs, *normals, *terms.diagonal]), y, t, p)[0]
    k = len(form.requirements)
    own, ideal, masses = np.split(values, [k * n, 2 * k * n])
    return InputDirections(own.reshape(k, n), ideal.reshape(k, n), np.sqrt(np.abs(masses)))


def with_frozen_time(source: Source, system: System, t: float) -> Source:
    """Return the source of the same system in which every explicit function of time keeps its value at one time.

    The rates of a reference are zero then, and the controlled system can be in equilibrium.
    """
    symbols, form = source.form.symbols, source.form
    fixed = {symbols.time: sp.Float(t)}
    # differentiated after the replacement, so that derivatives by time are zero
    rows = [constraint_row(_frozen(constraint, symbols, fixed), symbols) for constraint in system.constraints]
    standing = replace(
        form,
        mass_matrix=_replaced(form.mass_matrix, fixed),
        applied_force=_replaced(form.applied_force, fixed),
        constraint_matrix=tuple(row.gradient for row in rows),
        constraint_rhs=tuple(row.rhs for row in rows),
        position=tuple(row.position for row in rows),
        velocity=tuple(row.velocity for row in rows),
    )
    laws = source.laws
    if laws is not None:
        laws = replace(laws, components=_replaced(laws.components, fixed), mu=_replaced(laws.mu, fixed))
    return replace(source, form=standing, laws=laws, control=_frozen_control(source.control, system, symbols, fixed))


def _frozen_control(form: Any, system: System, symbols: StateSymbols, fixed: Any) -> ControlForm:
    expressions = [requirement for servo in system.servos for requirement in servo.requirement]
    requirements = [
        replace(
            requirement,
            row=constraint_row(_frozen(constraint, symbols, fixed), symbols),
            settling=_replaced(requirement.settling, fixed),
            rate=_replaced(requirement.rate, fixed),
        )
        for requirement, constraint in zip(form.requirements, expressions, strict=True)
    ]
    return replace(
        form,
        requirements=tuple(requirements),
        directions=_replaced(form.directions, fixed),
        cost=_replaced(form.cost, fixed),
        limits=_replaced(form.limits, fixed),
    )


def _frozen(constraint: Any, symbols: StateSymbols, fixed: Any) -> Any:
    return replace(constraint, expression=symbols.restore(_replaced(symbols.plain(constraint.expression), fixed)))


def _replaced(nested: Any, fixed: Any) -> Any:
    """Replace symbols in nested tuples of expressions."""
    if isinstance(nested, tuple):
        return tuple(_replaced(entry, fixed) for entry in nested)
    return graph.replace(nested, fixed) if isinstance(nested, sp.Basic) else nested
