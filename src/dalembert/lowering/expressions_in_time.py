# SPDX-License-Identifier: BSD-3-Clause
"""Jumps in time of expressions outside the equations of motion, such as limits of friction and those of events."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from dalembert.common.array_types import Floats
from dalembert.lowering.batch_program import BatchProgram
from dalembert.lowering.recording import NoMachineCodeError, Recorder
from dalembert.lowering.time_decisions import time_decisions
from dalembert.lowering.time_functions import functions_of, signals_of
from dalembert.model.symbols import plain_multiplier, plain_reaction
from dalembert.model.system import System
from dalembert.native.tape import Program, Tape
from dalembert.numerics.piecewise_polynomial import PiecewisePolynomial


class ExpressionsInTime(NamedTuple):
    """The functions of time alone in expressions, and their signals.

    functions    (k, f) at times (k,) for parameters (p,), or None; the last ones are ``decisions``
    decisions    the number of those that decide between branches of the others
    """

    functions: Callable[[Floats, Floats], Floats] | None
    signals: tuple[PiecewisePolynomial, ...]
    decisions: int = 0


@lru_cache(maxsize=64)
def expressions_in_time(system: System, expressions: tuple[Any, ...], parameters: tuple[str, ...]) -> ExpressionsInTime:
    """Return the functions of time in expressions of a system; none if these contain a function without a program."""
    tape, symbols = Tape(), system.symbols
    forces = [kind(name) for kind in (plain_multiplier, plain_reaction) for name in system.constraint_names]
    # forces count as parts of the state: what depends on them is no function of time alone
    state = [*symbols.q, *symbols.qd, *forces]
    inputs: dict[Any, Any] = {symbol: tape.input("y", i) for i, symbol in enumerate(state)}
    inputs |= {sp.Symbol(name, real=True): tape.input("p", i) for i, name in enumerate(parameters)}
    inputs[symbols.time] = tape.input("t", 0)
    read = Recorder(tape, inputs)
    plain = [symbols.plain(e) for e in expressions]
    try:
        program = Program(tape, [read(e) for e in plain])
        known = [sp.Symbol(name, real=True) for name in parameters]
        decisions = [read(e) for e in time_decisions(plain, symbols.time, known)]
    except NoMachineCodeError:
        return ExpressionsInTime(None, ())
    found, steady = functions_of("t", program)
    signals = signals_of("t", program)
    if steady or not found:
        return ExpressionsInTime(None, signals)
    run = BatchProgram(Program(tape, [*found, *decisions]), len(state))
    # the programs do not depend on the state, for which zeros stand
    return ExpressionsInTime(lambda t, p: run(np.zeros((len(t), len(state))), t, p), signals, len(decisions))
