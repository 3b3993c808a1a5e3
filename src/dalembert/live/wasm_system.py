# SPDX-License-Identifier: BSD-3-Clause
"""The machine code of a live page: the integrator of an experiment in WebAssembly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dalembert.errors import InputError
from dalembert.integration.native_steps import cure_of
from dalembert.integration.row_selection import is_refined, rows_for
from dalembert.live.experiment import Experiment
from dalembert.lowering.page_programs import PageOutputs, page_outputs, recorded_expressions
from dalembert.lowering.programs import Programs
from dalembert.lowering.recording import NoMachineCodeError
from dalembert.lowering.time_programs import time_function_program
from dalembert.model.coefficients import parameter_conditions
from dalembert.native.tape import LIBRARY, Program, polynomials_of
from dalembert.native.wasm_integrator import WasmIntegrator, wasm_integrator
from dalembert.numerics.piecewise_polynomial import PiecewisePolynomial

START_ITERATIONS = 2
"""Iterations of the projection of a start in one call; the page repeats it until the start no longer moves."""


MOST_SIGNAL_NUMBERS = 65_536
"""Numbers of all signals of a page: half of the memory that a page has for constants and for the stack."""

SERVED = LIBRARY.keys() | {"fmin", "fmax", "exp2", "exp10", "log2", "log10", "cbrt", "ldexp"}
"""Functions that a page has, in the script ``library.js``: those of a tape, and those that LLVM may call instead."""


class WasmSystem(NamedTuple):
    """The integrator of an experiment and what a page must know of it.

    outputs           lengths of the parts of its outputs
    rows              numbers of the constraints in use: those that are independent at the start
    scratch           doubles that the largest of its programs writes
    time_functions    the number of explicit functions of time that may jump or begin suddenly
    """

    integrator: WasmIntegrator
    outputs: PageOutputs
    rows: tuple[int, ...]
    scratch: int
    time_functions: int


def wasm_system(experiment: Experiment, points: Sequence[Any]) -> WasmSystem:
    """Compile an experiment for a page that draws points, given as expressions in plain symbols."""
    dynamics, source = experiment.dynamics, experiment.native.source
    numbers = (experiment.start, experiment.t0, np.array(experiment.p, float))
    rows = rows_for(dynamics, *numbers)
    iterations, rates = cure_of(experiment.method.drift, dynamics.levels)
    programs = Programs(source, rows, rates, refined=is_refined(dynamics, rows, *numbers))
    everything = Programs.of_all_rows(source)
    try:
        outputs, lengths = page_outputs(programs, points)
    except NoMachineCodeError as missing:  # the equations have been compiled before, so that a point contains it
        raise InputError(
            f"the points must consist of functions that can be compiled; `{missing}` cannot. Leave it out."
        ) from None
    others = {"start": everything.start(), "restore": programs.projection(START_ITERATIONS)}
    masses = [e for row in source.form.mass_matrix for e in row]
    others["mass_matrix"] = recorded_expressions(everything, masses)
    in_time = time_function_program(everything, with_signals=True)
    if in_time is not None:
        others["time_functions"] = in_time
    conditions = parameter_conditions(experiment.system)
    if conditions:
        others["conditions"] = recorded_expressions(everything, [condition.expression for condition in conditions])
    hot = programs.hot(iterations)
    _require_room(polynomials_of(outputs, *others.values(), *_given(hot)))
    integrator = wasm_integrator(programs.n, hot, outputs, others)
    _require_served(integrator)
    scratch = max(len(program.outputs) for program in (*others.values(), *_given(hot)))
    return WasmSystem(integrator, lengths, rows, scratch, 0 if in_time is None else len(in_time.outputs))


def _given(programs: Sequence[Program | None]) -> list[Program]:
    return [program for program in programs if program is not None]


def _require_room(signals: Sequence[PiecewisePolynomial]) -> None:
    """Raise an error if the numbers of signals do not fit into the memory below the stack of a page."""
    numbers = sum(own.breakpoints.size + own.coefficients.size for own in signals)
    if numbers > MOST_SIGNAL_NUMBERS:
        raise InputError(
            f"signals of a live page must have at most {MOST_SIGNAL_NUMBERS} breakpoints and coefficients; those of "
            f"{', '.join(f'`{name}`' for name in dict.fromkeys(own.name for own in signals))} are {numbers}. Thin "
            f"them out, or use `da.simulate`."
        )


def _require_served(integrator: WasmIntegrator) -> None:
    """Raise an error if the code calls a function that a page does not have."""
    missing = [name for name in integrator.module.imports if name not in SERVED]
    if missing:
        raise InputError(
            f"a live page must have every function of the system; it lacks {', '.join(f'`{m}`' for m in missing)}. "
            f"`da.simulate` has them, and `run.animate` shows the motion."
        )
