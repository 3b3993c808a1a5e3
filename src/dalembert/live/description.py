# SPDX-License-Identifier: BSD-3-Clause
"""The description of a live page for its scripts: numbers, names, controls, plots and the ledger."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from itertools import accumulate, pairwise
from numbers import Real
from typing import Any

from dalembert.common.names import name_of, quoted
from dalembert.errors import InputError
from dalembert.integration.default_tolerances import USUAL_ATOL
from dalembert.live.experiment import Experiment
from dalembert.live.labels import name_label, word_label
from dalembert.live.scene import Scene
from dalembert.live.wasm_system import WasmSystem
from dalembert.model.coefficients import parameter_conditions
from dalembert.model.friction_contacts import contacts

Ranges = Mapping[str, tuple[float, float]]


def description(experiment: Experiment, scene: Scene, compiled: WasmSystem, ranges: Ranges) -> dict[str, Any]:
    """Return everything that the scripts of a page need, ready for JSON."""
    dynamics, method = experiment.dynamics, experiment.method
    lengths = compiled.outputs
    ends = [*accumulate(lengths, initial=0)]
    places = {_camel(name): [*place] for name, place in zip(lengths._fields, pairwise(ends), strict=True)}
    labels = [name_label(name, mark) for mark in ("", "′") for name in dynamics.coordinates]
    return {
        "binary": base64.b64encode(compiled.integrator.module.binary).decode(),
        "n": len(dynamics.coordinates),
        "workspace": compiled.integrator.workspace,
        "scratch": compiled.scratch,
        "outputs": places,
        "outputLength": sum(lengths),
        "powers": lengths.powers,
        "timeFunctions": compiled.time_functions,
        "parameters": [{"value": value} for value in experiment.p],
        "conditions": [
            {"sign": condition.sign, "sentence": condition.sentence.replace("`", "")}
            for condition in parameter_conditions(experiment.system)
        ],
        "start": experiment.start.tolist(),
        "stateLabels": [label["text"] for label in labels],
        "t0": experiment.t0,
        "t1": experiment.t1,
        "rtol": method.rtol,
        "atol": method.atol,
        "usualAtol": USUAL_ATOL,
        "longest": method.max_step if math.isfinite(method.max_step) else None,
        "projected": method.drift.projections > 0,
        "allowViolation": experiment.allow_violation,
        "leftOut": [name for k, name in enumerate(dynamics.constraints) if k not in compiled.rows],
        "contacts": _contacts(experiment),
        "groups": _groups(experiment, labels, ranges),
        "plots": _plots(experiment, places),
        "ledger": _ledger_rows(experiment),
        "scene": scene.described(),
    }


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def _contacts(experiment: Experiment) -> list[dict[str, Any]]:
    """Return the contacts that can stick, with the places of their sliding velocities."""
    found = contacts(experiment.system)
    ends = [*accumulate((len(contact.velocity) for contact in found), initial=0)]
    return [
        {"name": contact.name, "places": [*range(*place)]} for contact, place in zip(found, pairwise(ends), strict=True)
    ]


def _groups(experiment: Experiment, labels: list[dict[str, Any]], ranges: Ranges) -> list[dict[str, Any]]:
    """Return the controls of parameters, of the start and of the last time."""
    dynamics, n = experiment.dynamics, len(experiment.q0)
    of_parameters = [
        _control(f"p{k}", name_label(name), value, ranges.get(name), "p", k)
        for k, (name, value) in enumerate(zip(dynamics.parameters, experiment.p, strict=True))
        if name not in dynamics.unreported
    ]
    names = [*dynamics.coordinates, *(f"{name}'" for name in dynamics.coordinates)]
    of_start = [
        _control(f"y{k}", label, value, ranges.get(name), "y", k)
        for k, (name, label, value) in enumerate(zip(names, labels, experiment.start.tolist(), strict=True))
    ]
    span = experiment.t1 - experiment.t0
    last = (experiment.t0 + span / 2, experiment.t0 + 2 * span)
    end = _control("t1", word_label("end"), experiment.t1, ranges.get("t", last), "t1", 0)
    return [
        {"title": "Parameters", "controls": of_parameters},
        {"title": "Start: coordinates", "controls": of_start[:n]},
        {"title": "Start: velocities", "controls": of_start[n:]},
        {"title": "Time", "controls": [end]},
    ]


def _control(key: str, label: dict[str, Any], value: float, given: Any, array: str, place: int) -> dict[str, Any]:
    low, high = usual_range(value) if given is None else given
    limits = {"low": low, "high": high}
    return {"id": key, "label": label, "value": value, **limits, "array": array, "place": place}


def usual_range(value: float) -> tuple[float, float]:
    """Return the range of a slider: half to twice the value, or −1 to 1 about zero."""
    low, high = sorted((value / 2, value * 2))
    return (low, high) if value else (-1.0, 1.0)


def checked_ranges(experiment: Experiment, ranges: Any) -> dict[str, tuple[float, float]]:
    """Return the ranges of sliders by name of a parameter, a coordinate, its velocity as ``x'``, or ``"t"``."""
    given: Any = {} if ranges is None else ranges
    if not isinstance(given, Mapping):
        raise InputError(f"`ranges` must map names to pairs (lowest, highest); got {ranges!r}.")
    dynamics = experiment.dynamics
    known = (*dynamics.parameters, *dynamics.coordinates, *(f"{name}'" for name in dynamics.coordinates), "t")
    found = {name_of(key): value for key, value in given.items()}
    unknown = [name for name in found if name not in known]
    if unknown:
        raise InputError(f"`ranges` must name parameters and coordinates; `{unknown[0]}` is none of {quoted(known)}.")
    return {name: _range(name, value) for name, value in found.items()}


def _range(name: str, given: Any) -> tuple[float, float]:
    pair: Any = given if isinstance(given, (tuple, list)) and len(given) == 2 else (None, None)
    if not all(isinstance(x, Real) and math.isfinite(x) for x in pair) or not pair[0] < pair[1]:
        raise InputError(f"the range of `{name}` must be two finite numbers, the lower one first; got {given!r}.")
    return float(pair[0]), float(pair[1])


def _plots(experiment: Experiment, places: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the plots that have curves; a column is a place among time, state and outputs."""
    dynamics, n = experiment.dynamics, len(experiment.q0)
    coordinates = [name_label(name) for name in dynamics.coordinates]

    def plot(title: str, labels: Any, first: int, logarithmic: bool = False) -> dict[str, Any]:
        curves = [{"label": label, "column": first + k} for k, label in enumerate(labels)]
        return {"title": title, "curves": curves, "logarithmic": logarithmic}

    def output(title: str, labels: Any, part: str, logarithmic: bool = False) -> dict[str, Any]:
        return plot(title, labels, 1 + 2 * n + places[part][0], logarithmic)

    energy = "Energy" if dynamics.knows_energy else "Kinetic energy"
    found = [
        plot("Coordinates", coordinates, 1),
        output("Ideal constraint force", coordinates if dynamics.constraints else (), "idealForce"),
        output("Nonideal constraint force", coordinates if dynamics.laws else (), "nonidealForce"),
        output("Inputs", map(word_label, dynamics.actuators), "inputs"),
        output(energy, (word_label(energy.lower()),), "energy"),
        output("Violation of the constraints", map(word_label, dynamics.constraints), "violation", True),
    ]
    return [one for one in found if one["curves"]]


def _ledger_rows(experiment: Experiment) -> list[dict[str, Any]]:
    """Return the rows of the ledger; a kind is the number of a power, or the name of a difference of energies."""
    dynamics = experiment.dynamics
    rows = [
        (True, "work of applied forces", 0),
        (bool(dynamics.actuators), "work of actuators", 1),
        (bool(dynamics.constraints), "work of ideal constraint force", 2),
        (bool(dynamics.laws), "work of nonideal constraint force", 3),
        (True, "change of kinetic energy", "kinetic"),
        (dynamics.knows_energy, "change of potential energy", "potential"),
        (True, "energy change less all work", "audit"),
    ]
    return [{"label": label, "kind": kind} for wanted, label, kind in rows if wanted]
