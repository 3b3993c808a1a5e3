# SPDX-License-Identifier: BSD-3-Clause
"""Values of any expressions along a trajectory, in machine code if their functions can be compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np
import sympy as sp

from dalembert.common.array_types import Floats
from dalembert.common.start_values import StartValue
from dalembert.errors import InputError, ModelError
from dalembert.integration.trajectory import Trajectory
from dalembert.lowering.batch_program import BatchProgram
from dalembert.lowering.recording import NoMachineCodeError, Recorder
from dalembert.model import graph
from dalembert.model.deep_stack import with_deep_stack
from dalembert.model.expressions import as_expression
from dalembert.model.numeric_function import numeric_function
from dalembert.model.ordering import name_of, quoted
from dalembert.model.symbols import (
    ConstraintSymbol,
    StateSymbols,
    functions_of_time,
    ideal_force,
    plain_multiplier,
    plain_reaction,
    t,
)
from dalembert.native.tape import Program, Tape

Evaluate = Callable[[Floats, Floats, Floats], Floats]
"""A function of states (T, k), times (T,) and parameters (p,) or (T, p) that returns values (T, expressions)."""


class States(Protocol):
    """States of a run or of several runs: those fields of a ``Trajectory`` that expressions need.

    Parameters are numbers, or arrays with one number for each state.
    """

    @property
    def t(self) -> Any: ...
    @property
    def q(self) -> Any: ...
    @property
    def qd(self) -> Any: ...
    @property
    def acceleration(self) -> Any: ...
    @property
    def ideal_force(self) -> Any: ...
    @property
    def multipliers(self) -> Any: ...
    @property
    def reactions(self) -> Any: ...
    @property
    def coordinates(self) -> tuple[str, ...]: ...
    @property
    def constraints(self) -> tuple[str, ...]: ...
    @property
    def parameters(self) -> Any: ...


class ArrayStates(NamedTuple):
    """States that are given by arrays; an implementation of ``States``."""

    t: Floats
    q: Floats
    qd: Floats
    acceleration: Floats
    ideal_force: Floats
    multipliers: Floats
    reactions: Floats
    coordinates: tuple[str, ...]
    constraints: tuple[str, ...]
    parameters: Mapping[str, Any]


def values_along(run: States, symbols: StateSymbols, given: Any) -> Floats:
    """Return the values of an expression, or of nested sequences of expressions, with a leading axis of times.

    ``symbols`` are those of the system. The states of the run, its accelerations, ideal forces and multipliers are the
    values of these symbols.
    """
    nested, shape = _nested(given)
    expressions = with_deep_stack(lambda: [_plain(symbols, e) for e in nested], "`expression`")
    places = [symbols.names.index(name) for name in run.coordinates]
    # in the order of the run's columns, which is not always that of the system's coordinates
    families = (symbols.q, symbols.qd, symbols.qdd, symbols.ideal_force)
    reactions = (*map(plain_multiplier, run.constraints), *map(plain_reaction, run.constraints))
    state = (*(family[k] for family in families for k in places), *reactions)
    parameters = tuple(sp.Symbol(name, real=True) for name in run.parameters)
    _refuse_unknown(run, symbols, expressions, {*state, *parameters, symbols.time})
    # by identity: comparing large expressions takes longer than compiling them again
    evaluate = _compiled(tuple(map(graph.IdentityKey, expressions)), state, symbols.time, parameters)
    parts = (run.q, run.qd, run.acceleration, run.ideal_force, run.multipliers, run.reactions)
    values = evaluate(np.concatenate(parts, axis=1), run.t, np.array([*run.parameters.values()], float).T)
    return values.reshape(len(run.t), *shape)


def values_of_part(run: Trajectory, given: Any) -> Floats:
    """Return the same as ``values_along`` for a large system, from the coordinates and constraints that occur in it."""
    nested, _ = _nested(given)
    expressions = [graph.evaluated(as_expression(e, "`expression`")) for e in nested]
    used = {q for e in expressions for q in (*functions_of_time(e), *graph.atoms(e, ideal_force))}
    names = {name_of(q.args[0] if isinstance(q, ideal_force) else q) for q in used}
    named = {m.name for e in expressions for m in graph.atoms(e, ConstraintSymbol)}
    columns = np.array([i for i, name in enumerate(run.coordinates) if name in names], int)
    rows = np.array([i for i, name in enumerate(run.constraints) if name in named], int)
    part = replace(
        run,
        **{name: getattr(run, name)[:, columns] for name in ("q", "qd", "acceleration", "ideal_force")},
        multipliers=run.multipliers[:, rows],
        reactions=run.reactions[:, rows],
        coordinates=tuple(run.coordinates[i] for i in columns),
        constraints=tuple(run.constraints[i] for i in rows),
        # arrays of parameters belong to single copies, which expressions cannot name
        parameters={name: value for name, value in run.parameters.items() if np.ndim(value) == 0},
    )
    functions: list[Any] = [sp.Function(name) for name in part.coordinates]
    return values_along(part, StateSymbols(tuple(f(t) for f in functions)), given)


def _nested(given: Any) -> tuple[list[Any], tuple[int, ...]]:
    """Return all expressions of nested sequences and matrices, and their shape; a column counts as a sequence.

    A quantity of a body, whose start was given, is the quantity during the motion.
    """
    if isinstance(given, StartValue):
        given = given.in_motion
    if isinstance(given, sp.MatrixBase):
        # a column of SymPy is a vector to its user, not a matrix with one column
        given = given.flat() if given.cols == 1 else given.tolist()
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if not isinstance(given, (tuple, list, sp.Tuple, sp.NDimArray)):
        return [given], ()
    parts = [_nested(part) for part in given]  # pyright: ignore[reportGeneralTypeIssues]
    if not parts:
        raise InputError("`expression` must hold at least one expression; got an empty sequence.")
    shapes = {shape for _, shape in parts}
    if len(shapes) != 1:
        raise InputError("`expression` must have rows of one length, to become an array; got different ones.")
    return [e for expressions, _ in parts for e in expressions], (len(parts), *shapes.pop())


def _plain(symbols: StateSymbols, given: Any) -> Any:
    """Return an expression in plain symbols."""
    try:
        return symbols.plain(graph.evaluated(as_expression(given, "`expression`")))
    except ModelError as error:
        raise InputError(str(error)) from None


def _refuse_unknown(run: States, symbols: StateSymbols, expressions: list[Any], known: set[Any]) -> None:
    """Raise an error for symbols that have no value along a run, and for expressions without any."""
    found = set().union(*(graph.free_symbols(e) for e in expressions))
    undefined = sp.core.function.AppliedUndef, sp.Derivative
    functions = {function for e in expressions for function in graph.atoms(e, *undefined)}
    unknown = {str(symbols.restore(part)) for part in (found - known) | functions}
    if unknown:
        raise InputError(
            f"`expression` must consist of coordinates of the run ({quoted(run.coordinates)}), their first and second "
            f"derivatives, `da.t`, and its parameters ({quoted(run.parameters) or 'none'}); unknown: "
            f"{quoted(sorted(unknown))}."
        )
    if not found:
        raise InputError(
            "`expression` must depend on the motion; got numbers only. A component such as `body.velocity[0]` is the "
            "initial value; evaluate `body.velocity` and take the column, or use `body.at(0, 0).velocity`, whose "
            "components are expressions."
        )


@lru_cache(maxsize=64)
def _compiled(
    keys: tuple[graph.IdentityKey, ...], state: tuple[Any, ...], time: Any, parameters: tuple[Any, ...]
) -> Evaluate:
    expressions = [key.expression for key in keys]
    tape = Tape()
    inputs = {symbol: tape.input("y", i) for i, symbol in enumerate(state)}
    inputs |= {symbol: tape.input("p", i) for i, symbol in enumerate(parameters)}
    read = Recorder(tape, inputs | {time: tape.input("t", 0)})
    try:
        program = BatchProgram(Program(tape, [read(e) for e in expressions]), len(state))
    # special functions, which SciPy has and machine code has not
    except NoMachineCodeError:
        return _by_scipy(expressions, state, time, parameters)
    return lambda y, t, p: program(y, t, np.broadcast_to(p, (len(t), p.shape[-1])))


def _by_scipy(expressions: list[Any], state: tuple[Any, ...], time: Any, parameters: tuple[Any, ...]) -> Evaluate:
    compute = numeric_function([*state, time, *parameters], expressions, "scipy")

    def evaluate(y: Floats, t: Floats, p: Floats) -> Floats:
        try:
            found = compute(*y.T, t, *p.T)
        except NameError as unknown:
            raise InputError(f"`expression` must have functions with numerical values: {unknown}.") from None
        # a constant expression has one value for all times
        return np.stack([np.broadcast_to(np.asarray(value, float), t.shape) for value in found], axis=1)

    return evaluate
