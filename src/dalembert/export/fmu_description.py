# SPDX-License-Identifier: BSD-3-Clause
"""The description of a model for FMI 2.0: its variables, their start values, and what depends on what."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from xml.etree import ElementTree

import dalembert
from dalembert.common.names import column_unit
from dalembert.export.exported_model import ExportedModel, Start
from dalembert.integration.default_tolerances import USUAL_RTOL
from dalembert.native.program_text import decimal

KINDS_OF_FMU = {
    "co-simulation": ("CoSimulation",),
    "model-exchange": ("ModelExchange",),
    "both": ("ModelExchange", "CoSimulation"),
}
"""The elements of a description by the argument ``kind``."""

_ABILITIES = {
    "ModelExchange": {"completedIntegratorStepNotNeeded": "false"},
    "CoSimulation": {"canHandleVariableCommunicationStepSize": "true", "canInterpolateInputs": "false"},
}


class Variable(NamedTuple):
    """A variable: its name, role, variability and start value, the number of its integral among all, and its unit."""

    name: str
    causality: str
    variability: str
    start: float | None = None
    derivative_of: int | None = None
    unit: str | None = None


def variables(model: ExportedModel, start: Start) -> list[Variable]:
    """Return all variables in the order of their references."""
    n = model.n
    found = [Variable("time", "independent", "continuous")]
    for i, (name, value) in enumerate(zip(model.states, start.y.tolist(), strict=True)):
        # numbers of variables count from one, and the first one is the time
        found.append(Variable(name, "output", "continuous", value, None if i < n else i - n + 2))
    for i, name in enumerate(model.output_names):
        found.append(Variable(name, "output", "continuous", None, n + i + 2 if i < n else None))
    for name, value in zip(model.parameters, start.p.tolist(), strict=True):
        own = ("input", "continuous") if name in model.inputs else ("parameter", "fixed")
        found.append(Variable(name, *own, value))
    return found


def description(model: ExportedModel, kind: str, guid: str, units: Mapping[str, str]) -> str:
    """Return the file modelDescription.xml of a model with a start; ``units`` are by the names of columns."""
    start = model.start
    assert start is not None
    root = ElementTree.Element(
        "fmiModelDescription",
        fmiVersion="2.0",
        modelName=model.name,
        guid=guid,
        generationTool=f"dalembert {dalembert.__version__}",
        variableNamingConvention="flat",
        numberOfEventIndicators="0",
    )
    for element in KINDS_OF_FMU[kind]:
        own = _ABILITIES[element] | {"canGetAndSetFMUstate": "true", "canSerializeFMUstate": "true"}
        unit = ElementTree.SubElement(root, element, {"modelIdentifier": model.name} | own)
        sources = ElementTree.SubElement(unit, "SourceFiles")
        ElementTree.SubElement(sources, "File", name=f"{model.name}.c")
    known = [
        own._replace(unit=column_unit("t" if own.name == "time" else own.name, units))
        for own in variables(model, start)
    ]
    if any(own.unit for own in known):
        definitions = ElementTree.SubElement(root, "UnitDefinitions")
        for unit in dict.fromkeys(own.unit for own in known if own.unit):
            ElementTree.SubElement(definitions, "Unit", name=unit)
    experiment = {"startTime": decimal(start.t).text, "tolerance": repr(USUAL_RTOL)}
    ElementTree.SubElement(root, "DefaultExperiment", experiment)
    _add_variables(root, known)
    _add_structure(root, model, known)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _add_variables(root: ElementTree.Element, known: list[Variable]) -> None:
    parent = ElementTree.SubElement(root, "ModelVariables")
    for reference, own in enumerate(known):
        attributes = {
            "name": own.name,
            "valueReference": str(reference),
            "causality": own.causality,
            "variability": own.variability,
        }
        if own.causality == "output":
            attributes["initial"] = "calculated" if own.start is None else "exact"
        real = {} if own.unit is None else {"unit": own.unit}
        real |= {} if own.start is None else {"start": decimal(own.start).text}
        if own.derivative_of is not None:
            real["derivative"] = str(own.derivative_of)
        ElementTree.SubElement(ElementTree.SubElement(parent, "ScalarVariable", attributes), "Real", real)


def _add_structure(root: ElementTree.Element, model: ExportedModel, known: list[Variable]) -> None:
    outputs = [i for i, own in enumerate(known, start=1) if own.causality == "output"]
    n = model.n
    lists = {
        "Outputs": outputs,
        "Derivatives": [*range(n + 2, 2 * n + 2), *range(2 * n + 2, 3 * n + 2)],
        "InitialUnknowns": [i for i in outputs if known[i - 1].start is None],
    }
    parent = ElementTree.SubElement(root, "ModelStructure")
    for name, indices in lists.items():
        own = ElementTree.SubElement(parent, name)
        for index in indices:
            ElementTree.SubElement(own, "Unknown", index=str(index))
