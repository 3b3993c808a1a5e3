# SPDX-License-Identifier: BSD-3-Clause
"""A system as a functional mock-up unit (FMU) of FMI 2.0, for co-simulation and model exchange."""

from __future__ import annotations

import os
import tempfile
import uuid
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from dalembert.common.names import name_of, quoted
from dalembert.common.target_path import target_path
from dalembert.errors import InputError
from dalembert.export.arguments import model_of
from dalembert.export.c_file import c_text, checking_function
from dalembert.export.compiler import SUFFIXES, compile_library, host
from dalembert.export.exported_model import ExportedModel
from dalembert.export.fmu_description import KINDS_OF_FMU, description
from dalembert.export.templates import template
from dalembert.integration.default_tolerances import USUAL_ATOL, USUAL_RTOL
from dalembert.integration.drift import Drift, Projection
from dalembert.model.ordering import unknown_names
from dalembert.settings import LEAST_RTOL

MOST_INTERNAL_STEPS = 1_000_000
"""Largest number of internal steps in one communication step."""

MOST_DRIFT = 100.0
"""Distance from the constraints, in tolerances, at which a state is projected in model exchange: each projection is an
event, after which the tool starts its integration anew."""

MODEL_NAMESPACE = uuid.UUID("8d2f6c1e-5b0a-4a3e-9f57-0c4d1e7a6b92")
"""The namespace of the identifiers of models; equal models have equal identifiers."""


def export_fmu(
    system: Any,
    path: str | Path,
    kind: Literal["co-simulation", "model-exchange", "both"] = "co-simulation",
    *,
    q0: Any,
    qd0: Any,
    parameters: Any = None,
    t0: float = 0.0,
    inputs: Sequence[Any] = (),
    drift: Drift | None = Projection(),
    control: Any = None,
    allow_violation: bool = False,
    platforms: Sequence[str] | None = None,
    units: Mapping[str, str] | None = None,
) -> Path:
    """Write a system as a functional mock-up unit of FMI 2.0, which other simulation tools run, and return its path.

    For co-simulation the unit contains the adaptive Dormand–Prince method of order 8 with the drift cure. For model
    exchange the tool integrates, and states that drift from the constraints are projected onto them in events. The
    variables have the names of the columns of ``run.save("run.csv")``: x, x', x'', forces, multipliers, reactions,
    violations, inputs of actuators and the energy, all of them outputs. Start values and parameters may be set before
    the initialisation.

    Parameters
    ----------
    path               a file that ends in .fmu
    kind               "co-simulation", "model-exchange" or "both"
    q0, qd0            the start values of the state
    parameters         the start values of all parameters
    inputs             parameters that become inputs, which may change while the model runs; or all actuators of the
                       servos, which are then driven from outside
    platforms          "linux64", "win64" and "darwin64", by default that of this computer. Others are compiled by
                       ``ziglang``, which ``pip install 'dalembert[fmu]'`` installs
    units              by name of a coordinate or a parameter, and "t"; "force x" is the unit of forces along x
    t0, drift, control, allow_violation    as for ``da.export_c``

    Raises
    ------
    InputError, StateError    as for ``da.export_c``; unknown inputs, or inputs in constraints on positions or
                              velocities
    DeviceError               no C compiler was found

    Examples
    --------
    >>> import tempfile
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> k, F = da.parameters("k F")
    >>> mass = da.System((x,), [[1]], (F - k * x,))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     unit = da.export_fmu(
    ...         mass, f"{folder}/mass.fmu", q0=(0,), qd0=(0,), parameters={"k": 2, "F": 1}, inputs=["F"])
    ...     print(unit.name)
    mass.fmu
    """
    if kind not in KINDS_OF_FMU:
        raise InputError(f"`kind` must be one of {quoted(KINDS_OF_FMU)}; got {kind!r}.")
    wanted = _platforms(platforms)
    target = target_path(path, (".fmu",))
    model = model_of(
        system,
        target.stem,
        q0=q0,
        qd0=qd0,
        t0=t0,
        parameters={} if parameters is None else parameters,
        drift=drift,
        control=control,
        allow_violation=allow_violation,
        inputs=inputs,
    )
    known = _units(model, units, system.parameter_names)

    def describe(guid: str) -> str:
        return description(model, kind, guid, known)

    _write(model, target, describe, wanted, allow_violation)
    return target


def _units(model: ExportedModel, given: Any, parameters: Sequence[str]) -> dict[str, str]:
    """Return units by name, or raise an error for a name that the model does not have.

    ``parameters`` are those of the system; the model has fewer if its actuators are driven from outside.
    """
    if given is not None and not isinstance(given, Mapping):
        raise InputError(f'`units` must map names to units, as {{"x": "m", "t": "s"}}; got {given!r}.')
    found = {} if given is None else {name_of(key): str(unit) for key, unit in given.items()}
    coordinates = model.states[: model.n]
    forces = ("force", *(f"force {name}" for name in coordinates))
    named = (*model.output_names, *model.parameters)
    inside = [name.removesuffix(")").partition("(")[2] for name in named if "(" in name]
    known = tuple(dict.fromkeys(("t", *coordinates, *parameters, *model.parameters, *inside, *forces)))
    problems = unknown_names(known, found, "units", "name")
    if problems:
        raise InputError(" ".join(problems))
    return found


def _platforms(given: Any) -> list[str]:
    names = [host()] if given is None else [given] if isinstance(given, str) else list(given)
    unknown = [name for name in names if name not in SUFFIXES]
    if unknown or not names:
        raise InputError(f"`platforms` must be among {quoted(SUFFIXES)}; got {quoted(map(str, unknown)) or 'none'}.")
    return list(dict.fromkeys(names))


def _write(
    model: ExportedModel,
    target: Path,
    describe: Callable[[str], str],
    platforms: Sequence[str],
    allow_violation: bool,
) -> None:
    """Compile the model and write the archive; no incomplete file is ever left behind.

    ``describe`` returns the description of the model with a given identifier.
    """
    guid = str(uuid.uuid5(MODEL_NAMESPACE, fmu_source(model, "", allow_violation)))
    source = fmu_source(model, guid, allow_violation)
    content: dict[str, bytes] = {
        "modelDescription.xml": describe(guid).encode(),
        f"sources/{model.name}.c": source.encode(),
    }
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / f"{model.name}.c"
            file.write_text(source, encoding="utf-8")
            for name in platforms:
                library = file.with_suffix(SUFFIXES[name])
                compile_library(file, library, name)
                content[f"binaries/{name}/{library.name}"] = library.read_bytes()
        with zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in content.items():
                # without the time of writing, so that equal models make equal files
                archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
        os.replace(beside, target)
    finally:
        beside.unlink(missing_ok=True)


def fmu_source(model: ExportedModel, guid: str, allow_violation: bool) -> str:
    """Return the C source of a unit: the model, and the functions of FMI."""
    values = {
        "NAME": model.name,
        "GUID": guid,
        "MOST_INTERNAL_STEPS": MOST_INTERNAL_STEPS,
        "MOST_DRIFT": MOST_DRIFT,
        "RTOL": USUAL_RTOL,
        "LEAST_RTOL": LEAST_RTOL,
        "ATOL_RATIO": USUAL_ATOL / USUAL_RTOL,
        "IS_INPUT": "".join(f"{int(name in model.inputs)}, " for name in model.parameters),
        "ALLOWED": " && 0" if allow_violation else "",
    }
    return "\n".join([c_text(model), checking_function(model) + "\n", template("fmi2.c", values)])
