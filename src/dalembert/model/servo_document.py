# SPDX-License-Identifier: BSD-3-Clause
"""Servo constraints and actuators as entries of a document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.common.names import quoted
from dalembert.errors import ModelError
from dalembert.model.constraint import Constraint
from dalembert.model.document import DocumentEntry, Scope, read_equation, read_expression, read_nested, write_expression
from dalembert.model.document import write_nested as nested
from dalembert.model.expression_text import expression_text
from dalembert.model.law_document import read_by_coordinate
from dalembert.model.ordering import name_of
from dalembert.model.servo import Actuator, Servo


def read_actuators(entry: DocumentEntry, scope: Scope) -> dict[str, Actuator]:
    """Return actuators by name."""
    found: dict[str, Actuator] = {}
    for own in entry.list():
        table = own.table(("name", "along", "limit"), required=("name", "along"))
        name = table["name"].text()
        if name in found:
            raise table["name"].error(f"actuators must differ in name; given twice: `{name}`.")
        limit = read_expression(table["limit"], scope) if "limit" in table else None
        with own.places():
            found[name] = Actuator(name, _read_direction(table["along"], scope), limit)
    return found


def _read_direction(entry: DocumentEntry, scope: Scope) -> Any:
    """Return a joint or a coordinate by its name, or expressions by coordinate or in order."""
    if not isinstance(entry.value, str):
        given = read_by_coordinate(entry, scope)
        return {scope.names.get(key, key): own for key, own in given.items()} if isinstance(given, dict) else given
    if isinstance(entry.value, str) and entry.value in scope.names and entry.value not in scope.arrays:
        own = scope.names[entry.value]  # elements of arrays are not among the names that are listed
        if isinstance(own, AppliedUndef):
            return own
    coordinates = {name: own for name, own in scope.names.items() if isinstance(own, AppliedUndef)}
    known = {**coordinates, **scope.joints}
    return known[entry.text(list(known))]


def read_servos(entry: DocumentEntry, scope: Scope, actuators: dict[str, Actuator]) -> tuple[Servo, ...]:
    return tuple(_read_servo(own, scope, actuators) for own in entry.list())


def _read_servo(entry: DocumentEntry, scope: Scope, actuators: dict[str, Actuator]) -> Servo:
    known = ("name", "requirement", "by", "settle", "cost", "metric")
    table = entry.table(known, required=("name", "requirement"))
    values: dict[str, Any] = {key: read_nested(table[key], scope) for key in ("settle", "cost") if key in table}
    if "metric" in table:
        values["metric"] = table["metric"].text()
    if "by" in table:
        values["by"] = tuple(actuators[own.text(list(actuators))] for own in table["by"].one_or_more())
    rows = tuple(_read_row(own, scope) for own in table["requirement"].one_or_more())
    with entry.places():
        return Servo(table["name"].text(), rows, **values)


def _read_row(entry: DocumentEntry, scope: Scope) -> Any:
    """Return the requirement of an equation, or of a table with its name."""
    if isinstance(entry.value, str):
        return read_equation(entry, scope)
    table = entry.table(("name", "equation"), required=("name", "equation"))
    equation = read_equation(table["equation"], scope)
    with table["equation"].places():
        return Constraint(equation, name=table["name"].text())


def write_actuators(servos: Sequence[Servo]) -> list[dict[str, Any]]:
    """Return the tables of all actuators, each once."""
    actuators = list(dict.fromkeys(actuator for servo in servos for actuator in servo.by or ()))
    names = [actuator.name for actuator in actuators]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ModelError([f"actuators in a file must differ in name; given twice: {quoted(repeated)}."])
    return [write_actuator(actuator) for actuator in actuators]


def write_actuator(actuator: Actuator) -> dict[str, Any]:
    """Return the table of an actuator."""
    along: Any = actuator.along
    if not isinstance(along, tuple):
        direction: Any = name_of(along)
    elif all(isinstance(entry, tuple) and len(entry) == 2 for entry in along):
        direction = {name_of(key): write_expression(value) for key, value in along}
    else:
        direction = [write_expression(entry) for entry in along]
    limit = {} if actuator.limit is None else {"limit": write_expression(actuator.limit)}
    return {"name": actuator.name, "along": direction, **limit}


def write_servo(servo: Servo) -> dict[str, Any]:
    """Return the table of a servo constraint."""
    rows = servo.requirement
    usual = [servo.name] if len(rows) == 1 else [f"{servo.name}[{i}]" for i in range(len(rows))]
    texts = [_write_row(row, name) for row, name in zip(rows, usual, strict=True)]
    table: dict[str, Any] = {"name": servo.name, "requirement": texts if len(texts) > 1 else texts[0]}
    if servo.by is not None:
        table["by"] = [actuator.name for actuator in servo.by]
    if servo.settle is not None:
        table["settle"] = _write_settling(servo.settle)
    if servo.cost is not None:
        table["cost"] = [[write_expression(e) for e in servo.cost.row(i)] for i in range(servo.cost.rows)]
    return table | ({} if servo.metric == "mass" else {"metric": servo.metric})


def _write_row(row: Constraint, usual: str) -> Any:
    equation = f"{expression_text(row.expression)} = 0"
    return equation if row.name == usual else {"name": str(row.name), "equation": equation}


def _write_settling(settle: Any) -> Any:
    if isinstance(settle[0], sp.MatrixBase):
        return [[nested(list(matrix.row(i))) for i in range(matrix.rows)] for matrix in settle]
    return write_expression(settle[0]) if len({*settle}) == 1 else nested(settle)
