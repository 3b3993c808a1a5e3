# SPDX-License-Identifier: BSD-3-Clause
"""A system as one C99 file: accelerations, forces, inputs of actuators, and steps with projection."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

from dalembert.common.target_path import target_path
from dalembert.export.arguments import model_of
from dalembert.export.c_header import STATE_ARGUMENTS, enumerations, header, interface
from dalembert.export.exported_model import ExportedModel
from dalembert.export.identifiers import identifiers
from dalembert.export.signals import c_signals
from dalembert.export.templates import template
from dalembert.integration.drift import Drift, Projection
from dalembert.model.contact_mode import ContactMode
from dalembert.native.c_source import c_function, condition_of
from dalembert.native.dormand_prince import DORMAND_PRINCE
from dalembert.native.program_text import Input, decimal
from dalembert.native.runge_kutta import RUNGE_KUTTA
from dalembert.native.step_control import ABRUPT_DISTANCE, FIXED_ABRUPT, FIXED_ROUNDING, SAFETY_FACTOR, SHORTEST_SPAN
from dalembert.native.stepper import LAST_STEP_SLACK, LEAST_RATIO, MOST_RATIO, MOST_RATIO_AT_REST
from dalembert.native.tableau import Factors, Tableau
from dalembert.native.tape import Program

SPACING = 4 * 2.0**-52
"""Shortest step relative to the time: four times the spacing of floats."""

FIRST_FRACTION = 1e-4
"""First step to try, as a fraction of the time to the end, if none is given. Steps grow fivefold where errors allow."""

SWITCH_BISECTIONS = 60
"""Bisections of a step within which a contact mode ends: more than the digits of a double."""

LONGEST_COEFFICIENT_LINE = 100
"""Characters in a line of coefficients."""


def export_c(
    system: Any,
    path: str | Path,
    *,
    parameters: Any = None,
    q0: Any = None,
    qd0: Any = None,
    t0: float = 0.0,
    drift: Drift | None = Projection(),
    control: Any = None,
    allow_violation: bool = False,
    inputs: Sequence[Any] = (),
    name: str | None = None,
    mode: ContactMode | None = None,
) -> Path:
    """Write a system as one C99 file that needs nothing but ``<math.h>``, and return its path.

    The file has functions for the acceleration, all forces and residuals, the inputs of actuators, the projection onto
    the constraints, a step of the classical Runge–Kutta method, and adaptive steps of the Dormand–Prince method of
    order 8. They are the same operations that run as machine code: no memory is allocated, nothing is global, and the
    run time is bounded. Every function returns whether its result is valid. The comment at the top of the file states
    the layout of all arrays.

    Parameters
    ----------
    path                    a file that ends in .c
    parameters, q0, qd0     optional; with them, the file has a function that sets a start. Constraints that are
                            redundant there are left out; without a start, the constraints must be independent
    t0                      the time of the start
    drift                   as for ``da.simulate``
    control                 a continuous ``da.controller`` that drives the actuators
    allow_violation         accept a start that does not satisfy the constraints
    inputs                  all actuators of the servos, which then become parameters, in the place of the servos; or
                            parameters that may change while the model runs
    name                    the prefix of all names in the file; by default that of the file
    mode                    of a system with contacts, which of them are closed and which stick. The file is that of
                            this ``da.ContactMode`` alone; it has functions for the quantities that are positive as
                            long as the mode lasts, and steps that end where one of them becomes negative

    Raises
    ------
    InputError    a ``da.FunctionSystem``, contacts without a ``mode``, or one that does not last at the start,
                  functions that C does not have, missing or unknown numbers, a path without a folder
    StateError    a start that does not satisfy the constraints

    Examples
    --------
    >>> import tempfile
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> rod = da.Constraint(x**2 + y**2 - 1, name="rod")
    >>> pendulum = da.System((x, y), [[1, 0], [0, 1]], (0, -10), rod)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     text = da.export_c(pendulum, f"{folder}/pendulum.c").read_text()
    >>> "int pendulum_step(double y[], double t, double h, const double p[])" in text
    True
    """
    target = target_path(path, (".c",))
    model = model_of(
        system,
        name or target.stem,
        q0=q0,
        qd0=qd0,
        t0=t0,
        parameters=parameters,
        drift=drift,
        control=control,
        allow_violation=allow_violation,
        inputs=inputs,
        mode=mode,
    )
    target.write_text(c_text(model), encoding="utf-8")
    return target


def c_text(model: ExportedModel) -> str:
    """Return the C file of a model."""
    helpers, steps = _template(model)
    blocks = [
        header(model),
        "#include <math.h>",
        enumerations(model),
        interface(model),
        helpers,
        *c_signals(model),
        *_functions(model),
        *([] if model.start is None else [_start(model)]),
        steps,
        *([] if model.switching is None else [_switching_steps(model)]),
    ]
    return "\n\n".join(block.strip("\n") for block in blocks) + "\n"


def _functions(model: ExportedModel) -> list[str]:
    """Return the straight-line functions."""
    name, count = model.name, len(model.output_names)
    found = [
        _function(model, "acceleration", model.accelerate, "qdd", f"{name}_COORDINATES"),
        _function(model, "outputs", model.outputs, "out", f"{name}_OUTPUTS") if count else "",
        _projection(model),
    ]
    if model.control is not None:
        found.append(_function(model, "inputs", model.control, "u", f"{name}_CONTROL"))
    if model.switching is not None:
        found.append(_function(model, "switching", model.switching, "s", f"{name}_SWITCHING"))
    if model.agree is not None:
        found.append(_condition(model, "agree", model.agree))
    return found


def _function(model: ExportedModel, verb: str, program: Program, target: str, count: str) -> str:
    """Return a function whose last output is its validity."""
    values = Program(program.tape, program.outputs[:-1])
    return c_function(
        f"int {model.name}_{verb}({STATE_ARGUMENTS}, double {target}[])",
        values,
        _inputs(model),
        [f"{target}[{i}]" for i in range(len(values.outputs))],
        condition_of(program),
        f"{model.name}_finite({target}, {count})",
    )


def _projection(model: ExportedModel) -> str:
    """Return the projection; the state itself if the drift cure has none."""
    head = f"int {model.name}_project({STATE_ARGUMENTS}, double projected[])"
    targets = [f"projected[{i}]" for i in range(2 * model.n)]
    finite = f"{model.name}_finite(projected, {model.name}_STATES)"
    if model.project is not None:
        return c_function(head, model.project, _inputs(model), targets, True, finite)
    copies = [f"    {target} = y[{i}];" for i, target in enumerate(targets)]
    return "\n".join([head, "{", *copies, "    (void)t;", "    (void)p;", f"    return {finite};", "}"])


def _condition(model: ExportedModel, verb: str, program: Program) -> str:
    """Return a function that only tests a state."""
    head = f"static int {model.name}_{verb}({STATE_ARGUMENTS})"
    return c_function(head, Program(program.tape, []), _inputs(model), [], condition_of(program), "1")


def checking_function(model: ExportedModel) -> str:
    """Return a function that tests whether a motion may start at a state, and computes the scales of the state."""
    values = Program(model.check.tape, model.check.outputs[:-1])
    return c_function(
        f"static int {model.name}_check({STATE_ARGUMENTS}, double scales[])",
        values,
        _inputs(model),
        [f"scales[{i}]" for i in range(2 * model.n)],
        condition_of(model.check),
        f"{model.name}_finite(scales, {model.name}_STATES)",
    )


def _inputs(model: ExportedModel) -> dict[tuple[str, int], Input]:
    """Return the variables of the inputs: q_x and qd_x for a coordinate x, p_g for a parameter g."""
    coordinates, parameters = identifiers(model.coordinates), identifiers(model.parameters)
    states = [*(f"q_{own}" for own in coordinates), *(f"qd_{own}" for own in coordinates)]
    found = {("y", i): Input(own, f"y[{model.name}_{own}]") for i, own in enumerate(states)}
    named = (parameters[place] for place in model.places)
    found |= {("p", i): Input(f"p_{own}", f"p[{model.name}_p_{own}]") for i, own in enumerate(named)}
    return found | {("t", 0): Input("t", "t")}


def _start(model: ExportedModel) -> str:
    assert model.start is not None
    lines = [f"*t = {decimal(model.start.t).text};"]
    lines += [f"y[{i}] = {decimal(value).text};" for i, value in enumerate(model.start.y)]
    lines += [f"p[{i}] = {decimal(value).text};" for i, value in enumerate(model.start.p)] or ["(void)p;"]
    head = f"void {model.name}_start(double *t, double y[], double p[])"
    return "\n".join([head, "{", *(f"    {line}" for line in lines), "}"])


def _template(model: ExportedModel) -> tuple[str, str]:
    """Return the text before the straight-line functions, and the integrators after them."""
    agree = f"{model.name}_agree(y, {{}}, p)"
    first, second = DORMAND_PRINCE.errors
    values: dict[str, Any] = {
        "NAME": model.name,
        "AGREE": "" if model.agree is None else agree.format("t") + " && ",
        "AND_AGREE": "" if model.agree is None else " && " + agree.format("*t"),
        **{f"FIXED_{key}": value for key, value in _tableau(RUNGE_KUTTA).items()},
        **_tableau(DORMAND_PRINCE),
        "ORDER": f"{DORMAND_PRINCE.order}.0",
        "ERROR_5": _row(first, len(DORMAND_PRINCE.nodes)),
        "ERROR_3": _row(second, len(DORMAND_PRINCE.nodes)),
        "ABRUPT": ABRUPT_DISTANCE,
        "FIXED_ABRUPT": FIXED_ABRUPT,
        "FIXED_ROUNDING": FIXED_ROUNDING,
        "MOST_RATIO": MOST_RATIO,
        "MOST_RATIO_AT_REST": MOST_RATIO_AT_REST,
        "LEAST_RATIO": LEAST_RATIO,
        "SAFETY_FACTOR": SAFETY_FACTOR,
        "LAST_STEP_SLACK": LAST_STEP_SLACK,
        "SHORTEST_SPAN": SHORTEST_SPAN,
        "SPACING": SPACING,
        "FIRST_FRACTION": FIRST_FRACTION,
    }
    before, _, after = template("integrator.c", values).partition("//---- functions\n")
    return before, after


def _switching_steps(model: ExportedModel) -> str:
    """Return the steps that end with a contact mode."""
    values = {"NAME": model.name, "SWITCH_BISECTIONS": SWITCH_BISECTIONS, "STAGES": len(DORMAND_PRINCE.nodes)}
    return template("switching.c", values)


def _tableau(tableau: Tableau) -> dict[str, str]:
    count = len(tableau.nodes)
    return {
        "STAGES": str(count),
        "NODES": _array(tableau.nodes),
        "WEIGHTS": _array([factors.get(k, 0.0) for factors in tableau.stages for k in range(count)]),
        "RESULT": _row(tableau.result, count),
    }


def _row(factors: Factors, count: int) -> str:
    return _array([factors.get(k, 0.0) for k in range(count)])


def _array(values: Sequence[float]) -> str:
    text = fill(", ".join(decimal(value).text for value in values), LONGEST_COEFFICIENT_LINE, break_on_hyphens=False)
    return "{" + text.replace("\n", "\n        ") + "}"
