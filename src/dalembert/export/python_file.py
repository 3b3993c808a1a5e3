# SPDX-License-Identifier: BSD-3-Clause
"""A system as one Python module that needs nothing but NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dalembert
from dalembert.common.target_path import target_path
from dalembert.export.arguments import model_of
from dalembert.export.c_file import SWITCH_BISECTIONS
from dalembert.export.exported_model import ExportedModel
from dalembert.export.identifiers import identifiers
from dalembert.export.signals import python_signals
from dalembert.export.templates import template
from dalembert.integration.drift import Drift, Projection
from dalembert.model.contact_mode import ContactMode
from dalembert.native.c_source import condition_of
from dalembert.native.program_text import Input, decimal
from dalembert.native.python_source import python_function
from dalembert.native.runge_kutta import RUNGE_KUTTA
from dalembert.native.step_control import FIXED_ABRUPT, FIXED_ROUNDING
from dalembert.native.tape import Program


def export_python(
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
    mode: ContactMode | None = None,
) -> Path:
    """Write a system as one Python module that needs nothing but NumPy, and return its path.

    The module has the same functions as the file of ``da.export_c``, except for adaptive steps. They accept one state
    (2n,), or k states as the columns of an array (2n, k), and return their result with its validity.

    Parameters
    ----------
    path            a file that ends in .py
    all others      as for ``da.export_c``

    Raises
    ------
    InputError, StateError    as for ``da.export_c``

    Examples
    --------
    >>> import runpy, tempfile
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> rod = da.Constraint(x**2 + y**2 - 1, name="rod")
    >>> pendulum = da.System((x, y), [[1, 0], [0, 1]], (0, -10), rod)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     module = runpy.run_path(str(da.export_python(pendulum, f"{folder}/pendulum.py")))
    >>> qdd, valid = module["acceleration"]([0, -1, 2, 0], 0.0, ())
    >>> print(qdd + 0.0, valid)
    [0. 4.] True
    """
    target = target_path(path, (".py",))
    model = model_of(
        system,
        target.stem,
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
    target.write_text(python_text(model), encoding="utf-8")
    return target


def python_text(model: ExportedModel) -> str:
    """Return the Python module of a model."""
    stages = {s: tuple(factors.items()) for s, factors in enumerate(RUNGE_KUTTA.stages)}
    values: dict[str, Any] = {
        "NAME": model.name,
        "VERSION": dalembert.__version__,
        "STATES": model.states,
        "PARAMETERS": model.parameters,
        "CONSTRAINTS": model.constraints,
        "OUTPUTS": model.output_names,
        "SWITCHING": _switching(model),
        "START": _start(model),
        "NODES": RUNGE_KUTTA.nodes,
        "STAGES": tuple(stages.values()),
        "RESULT": tuple(RUNGE_KUTTA.result.items()),
        "FIXED_ABRUPT": FIXED_ABRUPT,
        "FIXED_ROUNDING": FIXED_ROUNDING,
        "FUNCTIONS": "\n\n\n".join([*python_signals(model), *_functions(model)]),
        "AGREES": "True" if model.agree is None else "agrees(y, t, p)[1]",
        "PROJECTED": "y1, True" if model.project is None else "project(y1, t + h, p)",
    }
    return template("module.py.txt", values)


def _functions(model: ExportedModel) -> list[str]:
    found = [
        _function(model, "acceleration", "Return the accelerations q'', and whether they are valid.", model.accelerate),
        _function(model, "outputs", "Return all outputs in the order of ``OUTPUTS``.", model.outputs),
    ]
    if model.control is not None:
        about = "Return the inputs of the actuators and the errors of the servos."
        found.append(_function(model, "inputs", about, model.control))
    if model.project is not None:
        about = "Return the state after projection onto the constraints."
        found.append(python_function("def project(y, t, p):", about, model.project, _inputs(model), True))
    if model.switching is not None:
        about = "Return what is positive as long as the contact mode lasts, in the order of ``SWITCHING``."
        found.append(_function(model, "switching", about, model.switching))
        found.append(template("switching.py.txt", {"SWITCH_BISECTIONS": SWITCH_BISECTIONS}).strip("\n"))
    if model.agree is not None:
        about = "Return whether the constraints that are left out hold."
        program, condition = Program(model.agree.tape, []), condition_of(model.agree)
        found.append(python_function("def agrees(y, t, p):", about, program, _inputs(model), condition))
    return found


def _function(model: ExportedModel, verb: str, about: str, program: Program) -> str:
    values = Program(program.tape, program.outputs[:-1])
    return python_function(f"def {verb}(y, t, p):", about, values, _inputs(model), condition_of(program))


def _inputs(model: ExportedModel) -> dict[tuple[str, int], Input]:
    coordinates, parameters = identifiers(model.coordinates), identifiers(model.parameters)
    states = [*(f"q_{own}" for own in coordinates), *(f"qd_{own}" for own in coordinates)]
    found = {("y", i): Input(own, f"y[{i}]") for i, own in enumerate(states)}
    found |= {("p", i): Input(f"p_{parameters[k]}", f"p[{k}]") for i, k in enumerate(model.places)}
    return found | {("t", 0): Input("t", "t")}


def _switching(model: ExportedModel) -> str:
    """Return the names of what ends a contact mode, and the sliding velocities, as text."""
    if model.switching is None:
        return ""
    return f"SWITCHING = {model.switching_names}\nSLIDING_VELOCITIES = {model.sliding}\n"


def _start(model: ExportedModel) -> str:
    """Return the start as the text of a tuple: time, state and parameters."""
    if model.start is None:
        return "None"
    y, p = ("[" + ", ".join(decimal(x).text for x in own) + "]" for own in (model.start.y, model.start.p))
    return f"({decimal(model.start.t).text}, {y}, {p})"
