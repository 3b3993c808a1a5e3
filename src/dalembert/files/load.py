# SPDX-License-Identifier: BSD-3-Clause
"""Reading of model files."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dalembert.errors import FileError, InputError
from dalembert.files.model import ModelFile
from dalembert.files.model_check import read_check
from dalembert.files.positions import line_and_column, place_in
from dalembert.files.run_settings import RUN_SETTINGS, read_settings
from dalembert.mechanisms.cancelled_parameters import cancelled_parameters
from dalembert.mechanisms.given_quantities import given_quantities
from dalembert.mechanisms.mechanism import Mechanism
from dalembert.mechanisms.mechanism_document import MECHANISM_KEYS, read_mechanism
from dalembert.model.control_form import distinct_actuators
from dalembert.model.document import DocumentEntry, DocumentError, Scope
from dalembert.model.document_texts import require_printable
from dalembert.model.document_work import require_few_values
from dalembert.model.expression_work import LARGEST_FILE, MOST_DERIVED, TOO_MUCH_DERIVED
from dalembert.model.system import System
from dalembert.model.system_document import SYSTEM_KEYS, read_system
from dalembert.model.value_document import (
    FORMAT,
    array_statement,
    named_arrays,
    read_parameters,
    read_state,
    read_times,
)
from dalembert.model.work_limit import WorkLimitReached, limited_work

COMMON_KEYS = (
    *(
        "format",
        "title",
        "about",
        "source",
        "parameters",
        "signals",
        "definitions",
        "simulate",
        "units",
        "checks",
        "drawing",
    ),
)
"""Keys that files of systems and of mechanisms have in common."""

_LONG_KEY = re.compile(r"""(?<![\w-])(?:(?:[\w-]+|"[^"\n]*"|'[^'\n]*')[ \t]*\.[ \t]*){20}""")
"""A key of more than twenty parts: ``tomllib`` takes a time that grows with the square of their number."""

_HINTS = {
    r"Illegal character '\n'": "A text is not closed before the end of its line.",
    "Invalid value": "Texts and expressions are written between quotes.",
    "Expected newline or end of document after a statement": "Texts and expressions are written between quotes.",
    "Cannot overwrite a value": "A key is given twice, or a table of an array has one bracket: write `[[bodies]]`.",
}
"""Remedies by the messages of ``tomllib``."""

_PLACE = re.compile(r"(?P<problem>.*?) \(at (?:line (?P<line>\d+), column (?P<column>\d+)|end of document)\)$")


def load(path: str | Path) -> ModelFile:
    """Return the model of a TOML file: its system, or its mechanism, with the numbers to run it.

    Expressions in the file are parsed, never evaluated as code.

    Raises
    ------
    FileError     if the file is wrong: the message begins with file, line and column
    InputError    if there is no such file, or it has another extension

    Examples
    --------
    >>> import dalembert as da
    >>> model = da.load("pendulum.toml")  # doctest: +SKIP
    >>> run = model.simulate()  # doctest: +SKIP
    """
    source = Path(str(path))
    if source.suffix.lower() != ".toml":
        raise InputError(f"`path` must end in .toml; got `{source}`.")
    if not os.path.isfile(source):  # `Path.is_file` raises an error for names that are too long
        raise InputError(f"`path` must name a file; there is no `{source}`.")
    if source.stat().st_size > LARGEST_FILE:
        raise InputError(f"a model file must have at most {LARGEST_FILE} bytes; `{source}` is larger.")
    try:
        text = source.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError("the file must be text in UTF-8.", str(source), _line_of(error), 1) from None
    return loads(text, str(source))


def loads(text: str, path: str = "<text>") -> ModelFile:
    """Return the model of the text of a file; ``path`` names it in messages."""
    text = text.replace("\r\n", "\n")
    document = _document(text, path)
    try:
        require_few_values(document)
        require_printable(document)
        folder = Path(path).parent if os.path.isfile(path) else None
        with limited_work(MOST_DERIVED):
            return _read_model(DocumentEntry(document), folder)
    except WorkLimitReached:
        raise FileError(TOO_MUCH_DERIVED, path, 1, 1) from None
    except DocumentError as error:
        line, column = place_in(text, error.path, error.offset)
        raise FileError(error.problem, path, line, column) from None


def _document(text: str, path: str) -> dict[str, Any]:
    """Return the content of a TOML file."""
    long = _LONG_KEY.search(text)
    if long:
        line, column = line_and_column(text, long.start())
        raise FileError("a key must not have that many parts divided by dots.", path, line, column)
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _PLACE.match(str(error))
        problem = found["problem"] if found else str(error)
        line, column = (
            (int(found["line"]), int(found["column"])) if found and found["line"] else line_and_column(text, len(text))
        )
        hint = f" {_HINTS[problem]}" if problem in _HINTS else ""
        raise FileError(f"the file must be TOML: {problem}.{hint}", path, line, column) from None
    except RecursionError:
        raise FileError("the file must not hold arrays or tables nested that deep.", path, 1, 1) from None
    except ValueError as error:  # a number with more digits than Python converts
        raise FileError(f"the file must hold numbers below 1e308: {str(error)[:80]}.", path, 1, 1) from None


def _line_of(error: UnicodeDecodeError) -> int:
    return bytes(error.object[: error.start]).count(b"\n") + 1


def _read_model(document: DocumentEntry, folder: Path | None) -> ModelFile:
    """Return the model of a document; ``folder`` is that of its file."""
    is_mechanism = isinstance(document.value, Mapping) and "bodies" in document.value
    own = MECHANISM_KEYS if is_mechanism else (*SYSTEM_KEYS, "bodies", "joints", "forces")
    table = document.table((*COMMON_KEYS, *own), required=("format",))
    if table["format"].value != FORMAT:
        raise table["format"].error(
            f"`format` must be {FORMAT}, the version that is known; got {table['format'].value!r}."
        )
    scope = Scope(folder=folder)
    if is_mechanism:
        mechanism = read_mechanism(document, scope)
        system = mechanism.system
    else:
        mechanism, system = None, read_system(document, scope)
    values, units = read_parameters(table.get("parameters"), scope.arrays)
    run = _run(table.get("simulate"), scope, system, mechanism, values)
    events = run.get("settings", {}).get("events", ())
    stated = array_statement(system)
    own = system.parameter_names if stated is None else tuple(stated.parameters)
    cancelled = () if mechanism is None else cancelled_parameters(mechanism)
    for name in cancelled:  # they have no effect, and da.simulate takes no values for them
        values.pop(name, None)
        units.pop(name, None)
    _require_used(table, {*own, *cancelled, *(name for event in events for name in event.parameters)})
    texts = {key: table[key].text() for key in ("title", "about", "source") if key in table}
    return ModelFile(
        system=system,
        mechanism=mechanism,
        parameters=values,
        units=units | _units(table.get("units"), system, mechanism),
        checks=tuple(read_check(one, scope, system) for one in table["checks"].list()) if "checks" in table else (),
        **texts,
        **run,
        **_drawing(table.get("drawing"), scope),
    )


def _require_used(table: Mapping[str, DocumentEntry], used: set[str]) -> None:
    """Raise an error for a parameter that occurs nowhere: its value would be refused later."""
    if "parameters" not in table:
        return
    given = table["parameters"]
    entries = given.table() if isinstance(given.value, Mapping) else {own.text(): own for own in given.list()}
    for name, entry in entries.items():
        if name not in used:
            raise entry.error(f"parameter `{name}` must occur in the model; it occurs nowhere. Leave it out.")


def _units(entry: DocumentEntry | None, system: System, mechanism: Any) -> dict[str, str]:
    """Return units by name, which must be one of the model."""
    if entry is None:
        return {}
    coordinates = system.coordinate_names
    known = ["t", "energy", "power", *coordinates, *(f"force {name}" for name in coordinates), *system.parameter_names]
    known += [*system.constraint_names, *(servo.name for servo in system.servos)]
    known += [actuator.name for actuator in distinct_actuators(system.servos)]
    known += [] if mechanism is None else [part.name for part in (*mechanism.joints, *mechanism.actuators)]
    arrays = named_arrays(system)
    table = entry.table([*arrays, *known])
    return {name: own.text() for key, own in table.items() for name in arrays.get(key, [key])}


def _run(
    entry: DocumentEntry | None, scope: Scope, system: System, mechanism: Mechanism | None, values: Mapping[str, float]
) -> dict[str, Any]:
    """Return the start, the times and the settings of a simulation."""
    if entry is None:
        return {}
    table = entry.table(("q0", "qd0", "keep", "times", *RUN_SETTINGS))
    found: dict[str, Any] = {
        key: read_state(table[key], system.coordinate_names, scope.arrays) for key in ("q0", "qd0") if key in table
    }
    if "keep" in table:
        found["keep"] = _read_kept(table["keep"], mechanism, given=found)
    if "times" in table:
        found["times"] = read_times(table["times"])
    return {**found, "settings": read_settings(table, scope, system, values)}


def _read_kept(entry: DocumentEntry, mechanism: Mechanism | None, given: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of quantities that assembly keeps."""
    if mechanism is None or given.keys() >= {"q0", "qd0"}:
        raise entry.error(
            "`keep` must be used where a mechanism is assembled; this file has no bodies, or a start of its own. Leave "
            "it out."
        )
    names = mechanism.system.coordinate_names
    known = [*(quantity.name for quantity in given_quantities(mechanism.bodies, names)), *names]
    return tuple(own.text(known) for own in entry.one_or_more())


def _drawing(entry: DocumentEntry | None, scope: Scope) -> dict[str, Any]:
    """Return the points and links of an animation."""
    if entry is None:
        return {}
    table = entry.table(("points", "links"), required=("points",))
    points: dict[str, tuple[Any, ...]] = {}
    for name, own in table["points"].table().items():
        place = own.list()
        if len(place) not in (2, 3):
            raise own.error(f"a point of a drawing must have two or three coordinates; `{name}` has {len(place)}.")
        points[name] = tuple(scope.parsed(part).expression for part in place)
    links: list[tuple[str, str]] = []
    for own in table["links"].list() if "links" in table else ():
        ends = [end.text(list(points)) for end in own.list()]
        if len(ends) != 2:
            raise own.error(f"a link of a drawing must connect two points; got {len(ends)}.")
        links.append((ends[0], ends[1]))
    return {"points": points, "links": tuple(links)}
