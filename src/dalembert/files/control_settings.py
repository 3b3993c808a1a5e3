# SPDX-License-Identifier: BSD-3-Clause
"""Controllers as entries of a model file: nominal values, robust layers, sampling, and a model of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from dalembert.control.controller import Controller, controller
from dalembert.errors import ModelError
from dalembert.model.document import EXPRESSION, DocumentEntry, Fields, Scope, write_expression
from dalembert.model.system import System
from dalembert.model.system_document import SYSTEM_KEYS, read_system, system_document
from dalembert.model.uncertainty import AdaptiveBound, BoundedUncertainty
from dalembert.model.value_document import assumptions_entry

LAYERS: dict[str, tuple[Any, Fields]] = {
    "robust": (BoundedUncertainty, dict.fromkeys(("rho", "epsilon"), EXPRESSION)),
    "adaptive": (AdaptiveBound, dict.fromkeys(("growth", "leakage", "epsilon", "start"), EXPRESSION)),
}
CONTROL_NUMBERS = ("period", "delay", "seed")
CONTROL_KEYS = ("parameters", *LAYERS, *CONTROL_NUMBERS, "noise", "model")
MODEL_KEYS = (*SYSTEM_KEYS, "parameters", "signals", "definitions")
"""Keys of a model of the controller's own."""


def read_control(entry: DocumentEntry, scope: Scope, system: System, values: Mapping[str, float]) -> Controller:
    """Return a controller; by default its model is the system, with the values of the file."""
    table = entry.table(CONTROL_KEYS)
    if "model" in table:
        table["model"].table(MODEL_KEYS)
        scope = Scope(folder=scope.folder)
        system = read_system(table["model"], scope)
    given: dict[str, Any] = {key: table[key].number() for key in CONTROL_NUMBERS if key in table}
    for key, (make, known) in LAYERS.items():
        if key in table:
            required = [one.name for one in fields(make) if one.default is MISSING]
            own = table[key].table(tuple(known), required)
            with table[key].places():
                given[key] = make(**{name: known[name].read(own[name], scope) for name in own})
    if "noise" in table:
        given["noise"] = [own.number() for own in table["noise"].one_or_more()]
    nominal = {name: values[name] for name in system.parameter_names if name in values}
    if "parameters" in table:
        nominal |= {name: own.number() for name, own in table["parameters"].table(system.parameter_names).items()}
    with entry.places():
        return controller(system, parameters=nominal, **given)


def write_control(control: Any, system: System) -> dict[str, Any]:
    """Return the table of a controller on a system; its model is written if it is another one."""
    if not isinstance(control, Controller):
        raise ModelError([f"a model file can hold a controller made by `da.controller`; got {control!r}."])
    table: dict[str, Any] = {"parameters": dict(control.parameters)} if control.parameters else {}
    for key, (_, known) in LAYERS.items():
        layer = getattr(control, key)
        if layer is not None:
            table[key] = {name: write_expression(getattr(layer, name)) for name in known}
    table |= {} if control.period is None else {"period": control.period}
    table |= {"delay": control.delay} if control.delay else {}
    table |= {} if control.noise is None else {"noise": control.noise.tolist(), "seed": int(control.seed)}
    return table if control.system == system else table | {"model": _model(control.system)}


def _model(system: System) -> dict[str, Any]:
    """Return the model of a controller, with the names of its parameters."""
    names = assumptions_entry(system)
    return system_document(system) | ({"parameters": names} if names else {})
