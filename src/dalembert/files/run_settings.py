# SPDX-License-Identifier: BSD-3-Clause
"""Settings of a simulation as entries of a model file: tolerances, drift cure, formulation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from dalembert.equation.extended_dalembert import ExtendedDAlembert
from dalembert.equation.factored import Factored
from dalembert.equation.multipliers import Multipliers
from dalembert.equation.pseudo_inverse import PseudoInverse
from dalembert.equation.singular_mass import SingularMass
from dalembert.equation.stacked_least_squares import StackedLeastSquares
from dalembert.errors import InputError
from dalembert.files.control_settings import read_control, write_control
from dalembert.integration.default_tolerances import USUAL_RTOL
from dalembert.integration.drift import DRIFT_CURES, NoCure, Projection
from dalembert.model.document import DocumentEntry, Scope, read_nested, write_expression
from dalembert.model.event_document import read_events, write_event
from dalembert.model.system import System
from dalembert.settings import method_of

FORMULATIONS: dict[str, Any] = {
    one.__name__: one
    for one in (Factored, Multipliers, PseudoInverse, SingularMass, StackedLeastSquares, ExtendedDAlembert)
}
"""All formulations by name, for model files and tests."""

DRIFTS: dict[str, Any] = {**{one.__name__: one for one in DRIFT_CURES}, "none": NoCure}
"""All drift cures by name."""

TOLERANCES = ("rtol", "atol", "step", "max_step", "max_steps")
"""Settings that are numbers."""

_USUAL = {"rtol": USUAL_RTOL, "atol": None, "step": None, "max_step": None, "max_steps": 1}

RUN_SETTINGS = (*TOLERANCES, "allow_violation", "drift", "formulation", "events", "control")
"""All settings, named like the arguments of ``da.simulate``."""


def read_settings(
    table: Mapping[str, DocumentEntry], scope: Scope, system: System, values: Mapping[str, float]
) -> dict[str, Any]:
    """Return arguments of ``da.simulate``."""
    found = _read_tolerances(table)
    if "allow_violation" in table:
        found["allow_violation"] = table["allow_violation"].boolean()
    if "drift" in table:
        found["drift"] = _read_drift(table["drift"], scope)
    if "formulation" in table:
        found["formulation"] = _read_formulation(table["formulation"])
    if "events" in table:
        found["events"] = read_events(table["events"], scope, system)
    if "control" in table:
        found["control"] = read_control(table["control"], scope, system, values)
    return found


def _read_tolerances(table: Mapping[str, DocumentEntry]) -> dict[str, Any]:
    """Return the settings that are numbers; each is checked along with those before it."""
    found: dict[str, Any] = {}
    for key in TOLERANCES:
        if key in table:
            found[key] = table[key].number()
            with table[key].places():
                method_of(None, None, None, **(_USUAL | found))
    return found


def _read_drift(entry: DocumentEntry, scope: Scope) -> Any:
    """Return a drift cure from its name, or from a table with its ``type`` and its arguments."""
    table = {"type": entry} if isinstance(entry.value, str) else entry.table(required=("type",))
    kind = table["type"].text(list(DRIFTS))
    arguments = fields(DRIFTS[kind])
    if not isinstance(entry.value, str):
        entry.table(("type", *(one.name for one in arguments)))
    if kind == "none":
        return None
    given = {one.name: table[one.name] for one in arguments if one.name in table}
    required = [one.name for one in arguments if one.default is MISSING]
    if not set(required) <= set(given):
        names = " and ".join(f"`{name}`" for name in required)
        raise entry.error(f'a drift cure "{kind}" must be given {names}, in a table.')
    values = {name: _read_argument(name, own, scope) for name, own in given.items()}
    with entry.places():
        return DRIFTS[kind](**values)


def _read_argument(name: str, entry: DocumentEntry, scope: Scope) -> Any:
    """Return an argument of a drift cure: first integrals, or a number."""
    if name == "conserve":
        return tuple(_read_integral(own, scope) for own in entry.one_or_more())
    return entry.number()


def _read_integral(entry: DocumentEntry, scope: Scope) -> Any:
    return entry.value if entry.value == "energy" else scope.parsed(entry).expression


def _read_formulation(entry: DocumentEntry) -> Any:
    if isinstance(entry.value, str):
        kind = entry.text(list(FORMULATIONS))
        with entry.places():
            return FORMULATIONS[kind]()
    table = entry.table(("type", "weight"), required=("type",))
    kind = table["type"].text(list(FORMULATIONS))
    if "weight" not in table:
        return FORMULATIONS[kind]()
    if kind != "StackedLeastSquares":
        raise table["weight"].error("only `StackedLeastSquares` has a `weight`; leave it out.")
    with entry.places():
        return StackedLeastSquares(weight=np.array(read_nested(table["weight"], Scope()), float))


def write_settings(settings: Mapping[str, Any], system: System) -> dict[str, Any]:
    """Return the entries of settings; those at their default may be among them."""
    found: dict[str, Any] = {key: settings[key] for key in TOLERANCES if settings.get(key) is not None}
    if settings.get("allow_violation"):
        found["allow_violation"] = True
    if "drift" in settings and settings["drift"] != Projection():
        found["drift"] = _write_drift(settings["drift"])
    if settings.get("formulation") is not None:
        found["formulation"] = _write_formulation(settings["formulation"])
    if settings.get("events"):
        found["events"] = [write_event(event) for event in settings["events"]]
    if settings.get("control") is not None:
        found["control"] = write_control(settings["control"], system)
    return found


def _write_drift(drift: Any) -> Any:
    if drift is None or isinstance(drift, NoCure):
        return "none"
    if type(drift) not in DRIFT_CURES:
        raise InputError(f"a model file can hold the drift cures {', '.join(DRIFTS)}; got {drift!r}.")
    entries: dict[str, Any] = {"type": type(drift).__name__}
    for one in fields(drift):
        value = getattr(drift, one.name)
        if one.name == "conserve":
            entries["conserve"] = [own if isinstance(own, str) else write_expression(own) for own in drift.integrals]
        else:
            entries[one.name] = int(value) if one.type == "int" else float(value)
    return entries


def _write_formulation(formulation: Any) -> Any:
    name = type(formulation).__name__
    if name not in FORMULATIONS:
        raise InputError(f"a model file can hold the formulations {', '.join(FORMULATIONS)}; got {formulation!r}.")
    if not isinstance(formulation, StackedLeastSquares) or formulation.weight is None:
        return name
    weight = formulation.weight
    if callable(weight):
        raise InputError("a model file can hold a `weight` of numbers; got a function.")
    return {"type": name, "weight": np.asarray(weight, float).tolist()}
