# SPDX-License-Identifier: BSD-3-Clause
"""Constraints and nonideal laws as entries of a document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dalembert.errors import ModelError
from dalembert.model.constraint import Constraint
from dalembert.model.document import (
    BOOLEAN,
    EXPRESSION,
    SEVERAL,
    TEXT,
    DocumentEntry,
    FieldKind,
    Fields,
    Scope,
    read_equation,
    read_expression,
    read_object,
    write_expression,
    write_object,
)
from dalembert.model.expression_text import expression_text
from dalembert.model.friction import Coulomb, Stribeck
from dalembert.model.laws import Prescribed, Proportional, Quadratic, Viscous, as_laws


def read_by_coordinate(entry: DocumentEntry, scope: Scope) -> Any:
    """Return expressions in the order of the coordinates, or by their names."""
    if isinstance(entry.value, Mapping):
        return {key: read_expression(own, scope) for key, own in entry.table().items()}
    return [read_expression(own, scope) for own in entry.list()]


def _write_pairs(pairs: Any) -> Any:
    """Return the expressions of a prescribed law, whose pairs have names or numbers of coordinates as keys."""
    written = {key: write_expression(value) for key, value in pairs}
    return written if all(isinstance(key, str) for key in written) else list(written.values())


_BY_COORDINATE = FieldKind(read_by_coordinate, _write_pairs, "by coordinate")
_DAMPING: Fields = {"coefficient": EXPRESSION, "velocity": SEVERAL}
_FRICTION: Fields = {
    "mu": EXPRESSION,
    "mu_static": EXPRESSION,
    "velocity": SEVERAL,
    "normal_force": SEVERAL,
    "normal": TEXT,
    "smoothing": EXPRESSION,
}

LAWS: dict[str, tuple[Any, Fields]] = {
    "Viscous": (Viscous, _DAMPING),
    "Quadratic": (Quadratic, _DAMPING),
    "Proportional": (Proportional, {"coefficient": EXPRESSION}),
    "Prescribed": (
        Prescribed,
        {"expressions": FieldKind(read_by_coordinate, _write_pairs, "by coordinate"), "scaled": BOOLEAN},
    ),
    "Coulomb": (Coulomb, _FRICTION),
    "Stribeck": (Stribeck, {**_FRICTION, "speed": EXPRESSION}),
}
"""The laws by the value of ``type``, with their fields."""


def read_laws(entry: DocumentEntry, scope: Scope) -> Any:
    """Return laws: one table with a ``type`` or several, or one expression per coordinate."""
    several = entry.value if isinstance(entry.value, list) else [entry.value]
    if all(isinstance(own, Mapping) and "type" in own for own in several):  # pyright: ignore
        return tuple(read_object(own, scope, LAWS) for own in entry.one_or_more())
    if isinstance(entry.value, Mapping) and set(entry.value) & {"mu", "coefficient", "law"}:
        raise entry.error(f'{entry.label} must have the `type` of its law, such as `type = "Coulomb"`.')
    with entry.places():
        return Prescribed(read_by_coordinate(entry, scope))


def write_laws(laws: Any) -> Any:
    """Return one law as a table, several as an array of tables."""
    given = as_laws(laws, [])
    tables = [write_object(law, LAWS) for law in given]
    return tables if len(tables) != 1 else tables[0]


LAW = FieldKind(read_laws, write_laws, "laws")


def read_constraint(entry: DocumentEntry, scope: Scope) -> Constraint:
    """Return a constraint from a table, or from the text of its equation."""
    if isinstance(entry.value, str):
        equation = read_equation(entry, scope)
        with entry.places():
            return Constraint(equation)
    table = entry.table(("name", "equation", "nonideal"), required=("equation",))
    equation = read_equation(table["equation"], scope)
    laws = read_laws(table["nonideal"], scope) if "nonideal" in table else ()
    name = table["name"].text() if "name" in table else None
    with table["equation"].places():
        return Constraint(equation, name=name, nonideal=laws)


def write_constraint(constraint: Constraint) -> dict[str, Any]:
    """Return the table of a constraint."""
    if not constraint.is_permanent:
        raise ModelError(
            [
                f"`{constraint.name}` must be an equation that always holds to be written to a file; it is a contact "
                f"that opens and closes, or is switched by events. State the model in Python."
            ]
        )
    table: dict[str, Any] = {"name": str(constraint.name), "equation": f"{expression_text(constraint.expression)} = 0"}
    return table | ({"nonideal": write_laws(constraint.nonideal)} if constraint.nonideal else {})
