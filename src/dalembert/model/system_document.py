# SPDX-License-Identifier: BSD-3-Clause
"""Systems as documents: nested tables, arrays, texts and numbers, as TOML files hold them."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import sympy as sp

from dalembert.errors import ModelError
from dalembert.model.array_document import declares_array, has_arrays, read_parameter_array
from dalembert.model.declared_names import require_few_names, require_name_of_coordinate
from dalembert.model.document import (
    DocumentEntry,
    DocumentError,
    Scope,
    read_expression,
    read_nested,
    sentences,
    write_expression,
)
from dalembert.model.expression_operands import CONSTANTS
from dalembert.model.expression_text import expression_text, name_text
from dalembert.model.expression_work import MOST_DERIVED, TOO_MUCH_DERIVED
from dalembert.model.graph import operations
from dalembert.model.large_document import (
    read_forces,
    read_group,
    read_masses,
    read_pieces,
    with_known_laws,
    write_statement,
)
from dalembert.model.large_statement import LargeStatement
from dalembert.model.law_document import read_by_coordinate, read_constraint, read_laws, write_constraint, write_laws
from dalembert.model.laws import Coefficient
from dalembert.model.servo_document import read_actuators, read_servos, write_actuators, write_servo
from dalembert.model.signal_checks import signals_in
from dalembert.model.signal_document import read_signals, write_signals
from dalembert.model.standard_form import euler_lagrange
from dalembert.model.system import System
from dalembert.model.value_document import read_assumptions
from dalembert.model.work_limit import WorkLimitReached, limited_work

SYSTEM_KEYS = (
    "coordinates",
    "mass_matrix",
    "applied_force",
    "lagrangian",
    "nonideal",
    "constraints",
    "actuators",
    "servos",
    "coefficients",
)
"""Keys of a document that describe a system."""

MOST_COMPARED = 10_000
"""Operations of a Lagrangian up to which the mass matrix is left out if it follows from it: comparing takes time."""


def declared(entry: DocumentEntry | None, what: str) -> list[str]:
    """Return declared names from an array or from the keys of a table."""
    if entry is None:
        return []
    require_few_names(entry)
    keyed = isinstance(entry.value, Mapping)
    entries = entry.table() if keyed else {own.text(): own for own in entry.list()}
    if not keyed and len(entries) < len(entry.value):
        raise entry.error(f"{entry.label} must name each {what} once; one is given twice.")
    for name, own in entries.items():
        if what == "coordinate":
            require_name_of_coordinate(own, name)
        with own.places():
            name_text(name)
    return list(entries)


def read_names(table: Mapping[str, DocumentEntry], scope: Scope) -> tuple[Any, ...]:
    """Declare coordinates, parameters, signals and definitions of a document in a scope; return the coordinates."""
    by_arrays = "coordinates" in table and has_arrays(table["coordinates"])
    read = read_pieces if by_arrays else read_coordinates
    found = read(table["coordinates"], scope) if "coordinates" in table else ()
    for name in declared(table.get("parameters"), "parameter"):
        if name in scope.names:
            raise table["parameters"].error(f"a parameter must not have the name of a coordinate; got `{name}`.")
        if by_arrays and declares_array(table["parameters"], name):
            read_parameter_array(table["parameters"].table()[name], scope, name)
            continue
        scope.names[name] = sp.Symbol(name, **read_assumptions(table["parameters"], name))
    if "signals" in table:
        read_signals(table["signals"], scope)
    if "definitions" in table:
        for name, entry in table["definitions"].table().items():
            if name in scope.names:
                raise entry.error(f"a definition must have a name of its own; `{name}` is declared already.")
            with entry.places():
                name_text(name)
            scope.names[name] = scope.parsed(entry)
    return found


def read_coordinates(entry: DocumentEntry, scope: Scope) -> tuple[Any, ...]:
    """Declare coordinates in a scope, and return them."""
    names = declared(entry, "coordinate")
    if not names:
        raise entry.error("`coordinates` must hold at least one name; got none.")
    known = [name for name in names if name in scope.names]
    if known:
        raise entry.error(f"a coordinate must have a name of its own; `{known[0]}` is declared already.")
    found = tuple(sp.Function(name)(CONSTANTS["t"].expression) for name in names)
    scope.names.update(zip(names, found, strict=True))
    return found


def read_system(document: DocumentEntry, scope: Scope) -> System:
    """Return the system of a document; the scope receives its names."""
    table = document.table(required=("coordinates",))
    coordinates = read_names(table, scope)
    values: dict[str, Any] = {}
    for key, read in (_READERS | (_ARRAY_READERS if scope.arrays else {})).items():
        if key in table:
            values[key] = read(table[key], scope)
    actuators = read_actuators(table["actuators"], scope) if "actuators" in table else {}
    if "servos" in table:
        values["servos"] = read_servos(table["servos"], scope, actuators)
    elif actuators:
        raise table["actuators"].error("`actuators` must serve a servo; there is no `[[servos]]` table.")
    with located(document):
        if "mass_matrix" in table:
            document.table(required=("applied_force",))
            return with_known_laws(System(coordinates, **values))
        if "lagrangian" not in table:
            raise document.error("the file must give `mass_matrix` or `lagrangian`; there is neither.")
        coefficients = values.pop("coefficients", ())
        system = System.from_lagrangian(values.pop("lagrangian"), coordinates, **values)
        return replace(system, coefficients=coefficients) if coefficients else system


def _read_mass_matrix(entry: DocumentEntry, scope: Scope) -> Any:
    """Return rows of expressions, or a diagonal."""
    if isinstance(entry.value, Mapping):
        diagonal = entry.table(("diagonal",), required=("diagonal",))["diagonal"].list()
        entries = {(k, k): sp.sympify(read_expression(own, scope), strict=True) for k, own in enumerate(diagonal)}
        return sp.SparseMatrix(len(diagonal), len(diagonal), entries)  # a dense one takes long for 1000 coordinates
    return read_nested(entry, scope)


def _read_coefficient(entry: DocumentEntry, scope: Scope) -> tuple[str, Coefficient]:
    table = entry.table(("owner", "name", "value", "positive", "otherwise"), required=("owner", "name", "value"))
    given: dict[str, Any] = {}
    if "positive" in table:
        given["positive"] = table["positive"].boolean()
    if "otherwise" in table:
        given["otherwise"] = table["otherwise"].text()
    value = scope.parsed(table["value"]).expression
    return table["owner"].text(), Coefficient(table["name"].text(), value, **given)


_READERS: dict[str, Any] = {
    "mass_matrix": _read_mass_matrix,
    "applied_force": read_by_coordinate,
    "lagrangian": read_expression,
    "constraints": lambda entry, scope: tuple(read_constraint(own, scope) for own in entry.list()),
    "nonideal": read_laws,
    "coefficients": lambda entry, scope: tuple(_read_coefficient(own, scope) for own in entry.list()),
}


_ARRAY_READERS: dict[str, Any] = {
    "mass_matrix": read_masses,
    "applied_force": read_forces,
    "constraints": lambda entry, scope: tuple(read_group(own, scope) for own in entry.list()),
}


@contextmanager
def located(document: DocumentEntry) -> Generator[None]:
    """Give the problems of a whole model the place of the entry that they name."""
    try:
        yield
    except ModelError as error:
        problem = sentences(error.problems)
        raise DocumentError(problem, (*document.path, *_path_to(problem, document.value))) from None
    except WorkLimitReached:
        culprit = ("lagrangian",) if "lagrangian" in document.value else ()
        raise DocumentError(TOO_MUCH_DERIVED, (*document.path, *culprit)) from None


def _path_to(problem: str, table: Mapping[str, Any]) -> tuple[str | int, ...]:
    """Return the path to the part of the model that a problem names first."""
    for word in re.findall(r"`([^`]*)`", problem):
        if word in table:
            return (word,)
        for key in ("constraints", "servos", "actuators", "joints", "bodies"):
            names = [part.get("name") if isinstance(part, Mapping) else part for part in table.get(key, ())]
            if word in names:
                return key, names.index(word)
    return ()


def system_document(system: System) -> dict[str, Any]:
    """Return a system as a document.

    Raises
    ------
    ModelError    if the system cannot be written: a function outside of the grammar, or a controller that is attached
    """
    if system.feedback is not None or system.conserved is not None:
        raise ModelError(["a system with a controller or conserved integrals attached cannot be written to a file."])
    if system.statement is not None and system.deferred is None:
        return _array_document(system, system.statement)
    document: dict[str, Any] = {"coordinates": list(system.coordinate_names)}
    if not _follows_from_lagrangian(system):
        document["mass_matrix"] = _write_matrix(system.mass_matrix)
        document["applied_force"] = [write_expression(e) for e in system.applied_force]
    if system.lagrangian is not None:
        document["lagrangian"] = expression_text(system.lagrangian)
    document |= {"signals": write_signals(system.signals)} if system.signals else {}
    return document | written_parts(system.constraints, system.servos, system.nonideal, system.coefficients)


def _array_document(system: System, statement: LargeStatement) -> dict[str, Any]:
    """Return a system that is stated by arrays as a document, which is read once, for the limits of files."""
    signals = write_signals(signals_in(statement.expressions()))
    document = write_statement(statement) | ({"signals": signals} if signals else {})
    document |= written_parts((), system.servos, system.nonideal)
    parameters = {name: {"count": size} if size else {} for name, size in statement.parameters.items()}
    try:
        with limited_work(MOST_DERIVED):
            read_system(DocumentEntry(document | {"parameters": parameters}), Scope())
    except DocumentError as error:
        raise ModelError([error.problem]) from None
    except WorkLimitReached:
        raise ModelError([TOO_MUCH_DERIVED]) from None
    return document


def written_parts(
    constraints: Sequence[Any], servos: Sequence[Any], nonideal: Any = (), coefficients: Sequence[Any] = ()
) -> dict[str, Any]:
    """Return the entries that systems and mechanisms have in common; those that are empty are left out."""
    entries = {
        "nonideal": write_laws(nonideal) if nonideal else None,
        "constraints": [write_constraint(constraint) for constraint in constraints],
        "actuators": write_actuators(servos),
        "servos": [write_servo(servo) for servo in servos],
        "coefficients": [_write_coefficient(owner, own) for owner, own in coefficients],
    }
    return {key: value for key, value in entries.items() if value}


def _follows_from_lagrangian(system: System) -> bool:
    """Return whether mass matrix and force are those of the Lagrangian."""
    if system.lagrangian is None or operations(system.lagrangian) > MOST_COMPARED:
        return False
    mass_matrix, force = euler_lagrange(system.lagrangian, system.symbols)
    return list(mass_matrix) == list(system.mass_matrix) and list(force) == list(system.applied_force)


def _write_matrix(matrix: Any) -> Any:
    if matrix.rows > 1 and matrix.is_diagonal():
        return {"diagonal": [write_expression(matrix[i, i]) for i in range(matrix.rows)]}
    return [[write_expression(e) for e in matrix.row(i)] for i in range(matrix.rows)]


def _write_coefficient(owner: str, own: Coefficient) -> dict[str, Any]:
    usual = Coefficient(own.name, own.value)
    table: dict[str, Any] = {"owner": owner, "name": own.name, "value": write_expression(own.value)}
    table |= {"positive": True} if own.positive else {}
    return table | ({} if own.otherwise == usual.otherwise else {"otherwise": own.otherwise})
