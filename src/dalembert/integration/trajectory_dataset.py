# SPDX-License-Identifier: BSD-3-Clause
"""Trajectories as labelled datasets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.integration.run_events import RunEvent
from dalembert.integration.saturation import Saturation

if TYPE_CHECKING:
    import xarray as xr

    from dalembert.integration.trajectory import Trajectory

PER_COORDINATE = ("q", "qd", "acceleration", "ideal_force", "nonideal_force")
PER_CONSTRAINT = ("multipliers", "reactions", "violation", "velocity_violation")
PER_TIME = ("rank", "inconsistency", "energy")

USUAL_THEORY = "d'Alembert"


def dataset_of(run: Trajectory) -> xr.Dataset:
    """Return a trajectory as a dataset with dimensions time, coordinate and constraint."""
    import xarray as xr

    variables: dict[str, Any] = {name: (("time", "coordinate"), getattr(run, name)) for name in PER_COORDINATE}
    if run.constraints:  # a dimension of length zero would become unlimited in a NetCDF file
        variables |= {name: (("time", "constraint"), getattr(run, name)) for name in PER_CONSTRAINT}
    variables |= {name: (("time",), getattr(run, name)) for name in PER_TIME if getattr(run, name) is not None}
    labels = {"time": run.t, "coordinate": list(run.coordinates)}
    labels |= {"constraint": list(run.constraints)} if run.constraints else {}
    if run.input_force is not None:
        variables["input_force"] = (("time", "coordinate"), run.input_force)
    if run.estimated_bound is not None:
        variables["estimated_bound"] = (("time",), run.estimated_bound)
    variables |= {f"input({name})": (("time",), values) for name, values in run.inputs.items()}
    for name, values in run.servo_error.items():
        rows = f"requirement of {name}"
        variables[f"error({name})"] = (("time",) if values.ndim == 1 else ("time", rows), values)
    texts = ("parameters", "statistics", "notes", "events", "saturation")
    described = {key: json.dumps(getattr(run, key)) for key in texts}
    described["model"] = json.dumps(run.model if run.source is None else run.source.model_text())
    return xr.Dataset(variables, labels, described | {"theory": run.theory})


def fields_of(data: xr.Dataset) -> dict[str, Any]:
    """Return the fields of a trajectory from a dataset that ``dataset_of`` returned."""
    names = (*PER_COORDINATE, *PER_CONSTRAINT, *PER_TIME)
    arrays: dict[str, Any] = {name: data[name].values if name in data else None for name in names}
    if "constraint" not in data:
        arrays |= dict.fromkeys(PER_CONSTRAINT, np.zeros((len(data["time"]), 0)))
    return arrays | {
        "t": data["time"].values,
        "coordinates": tuple(str(name) for name in data["coordinate"].values),
        "constraints": tuple(str(name) for name in data["constraint"].values) if "constraint" in data else (),
        "parameters": json.loads(data.attrs["parameters"]),
        "statistics": json.loads(data.attrs["statistics"]),
        "notes": tuple(json.loads(data.attrs["notes"])),
        "events": tuple(RunEvent.from_values(event) for event in json.loads(data.attrs["events"])),
        "theory": str(data.attrs.get("theory", USUAL_THEORY)),  # files written before there was another have none
        "model": json.loads(data.attrs.get("model", '""')),
        "inputs": _called(data, "input"),
        "input_force": data["input_force"].values if "input_force" in data else None,
        "estimated_bound": data["estimated_bound"].values if "estimated_bound" in data else None,
        "saturation": tuple(Saturation(*one) for one in json.loads(data.attrs.get("saturation", "[]"))),
        "servo_error": _called(data, "error"),
    }


def _called(data: xr.Dataset, kind: str) -> dict[str, Floats]:
    """Return the variables ``kind(name)`` of a dataset by name."""
    prefix = f"{kind}("
    return {str(key)[len(prefix) : -1]: data[key].values for key in data if str(key).startswith(prefix)}
