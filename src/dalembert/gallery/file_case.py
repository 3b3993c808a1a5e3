# SPDX-License-Identifier: BSD-3-Clause
"""Models of files as cases, for the commands and pages that show cases; and cases as models, to write them."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalembert.files.model import ModelFile
from dalembert.files.model_check import ModelCheck
from dalembert.gallery.definition import Case, Check, Measure
from dalembert.integration.default_tolerances import USUAL_RTOL
from dalembert.integration.drift import Projection
from dalembert.mechanisms.mechanism_assembly import Assembly
from dalembert.model.document import write_expression
from dalembert.model.system import System


def case_of(model: ModelFile, name: str) -> Case:
    """Return a model as a case; without a start or times, those of the case are empty."""
    assembly = _assembly(model)
    q0, qd0 = ((), ()) if assembly is None else map(tuple, assembly)
    q0, qd0 = (q0 if model.q0 is None else model.q0), (qd0 if model.qd0 is None else model.qd0)
    usual: dict[str, Any] = {"drift": Projection(), "rtol": USUAL_RTOL, "atol": None, "allow_violation": False}
    settings = usual | dict(model.settings)
    own = {key: settings.pop(key) for key in usual}
    return Case(
        name=name,
        title=model.title or name,
        about=model.about,
        source=model.source or "a model file",
        system=model.system,
        mechanism=model.mechanism,
        parameters=model.parameters,
        q0=q0,
        qd0=qd0,
        times=np.empty(0) if model.times is None else model.times,
        checks=tuple(_check(check, model.system) for check in model.checks),
        formulation=settings.pop("formulation", None),
        control=settings.pop("control", None),
        settings=settings,
        units=model.units,
        points=model.points_along if model.points else None,
        point_expressions=model.points or None,
        links=model.links,
        assembly=assembly,
        **own,
    )


def _assembly(model: ModelFile) -> Assembly | None:
    """Return the start of a mechanism in a file without one; None for other files, and if values are missing."""
    if model.mechanism is None or (model.q0 is not None and model.qd0 is not None):
        return None
    return model.assembly() if set(model.parameters) >= set(model.system.parameter_names) else None


def _check(check: ModelCheck, system: System) -> Check:
    """Return a check of a file as a check of a case."""

    def measured(column: int) -> Measure:
        return lambda run: check.values(system, run)[:, column]

    expected = float(check.expected) if check.expected.is_number else measured(1)
    return Check(
        check.what,
        measured(0),
        expected,
        check.tolerance,
        "the file",
        expected_text=write_expression(check.expected),
        times=check.times,
    )


def model_of(case: Case) -> ModelFile:
    """Return a case as a model, without its checks and pictures, which are functions of trajectories."""
    settings = {"rtol": case.rtol, "atol": case.atol, "drift": case.drift, "formulation": case.formulation}
    return ModelFile(
        system=case.system,
        mechanism=case.mechanism,
        parameters=case.parameters,
        q0=tuple(map(float, case.q0)),
        qd0=tuple(map(float, case.qd0)),
        times=case.times,
        settings={**settings, "allow_violation": case.allow_violation, "control": case.control, **case.settings},
        units=case.units,
        title=case.title,
        about=case.about,
        source=case.source,
    )
