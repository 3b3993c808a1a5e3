# SPDX-License-Identifier: BSD-3-Clause
"""Constraints and nonideal laws as entries of a document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

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
    read_inequality,
    read_object,
    write_expression,
    write_object,
)
from dalembert.model.expression_text import expression_text
from dalembert.model.friction import Coulomb, Stribeck
from dalembert.model.laws import Prescribed, Proportional, Quadratic, SlidingForce, Viscous, as_laws


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
    "SlidingForce": (SlidingForce, {"force": SEVERAL, "velocity": SEVERAL}),
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
        laws = tuple(read_object(own, scope, LAWS) for own in entry.one_or_more())
        return laws if isinstance(entry.value, list) else laws[0]  # as given, so that a joint is read back equal
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


CONTACT_KEYS: Fields = {"restitution": EXPRESSION, "impact": TEXT, "releases": BOOLEAN, "active": BOOLEAN}
"""Keys of a constraint that is a contact, or does not always hold."""


def read_constraint(entry: DocumentEntry, scope: Scope) -> Constraint:
    """Return a constraint from a table, or from the text of its equation."""
    if isinstance(entry.value, str):
        equation = read_equation(entry, scope)
        with entry.places():
            return Constraint(equation)
    table = entry.table(("name", "equation", "inequality", "nonideal", *CONTACT_KEYS))
    stated = [key for key in ("equation", "inequality") if key in table]
    if len(stated) != 1:
        raise entry.error("a constraint must have an `equation`, or an `inequality`, and not both.")
    what = table[stated[0]]
    relation = (read_equation if stated == ["equation"] else read_inequality)(what, scope)
    laws = read_laws(table["nonideal"], scope) if "nonideal" in table else ()
    name = table["name"].text() if "name" in table else None
    contact = {key: CONTACT_KEYS[key].read(table[key], scope) for key in CONTACT_KEYS if key in table}
    with what.places():
        return Constraint(relation, name=name, nonideal=laws, **contact)


def write_constraint(constraint: Constraint) -> dict[str, Any]:
    """Return the table of a constraint."""
    kind, sign = ("inequality", ">=") if constraint.one_sided else ("equation", "=")
    usual = {field.name: field.default for field in fields(constraint)}
    contact = {
        key: field.write(getattr(constraint, key))
        for key, field in CONTACT_KEYS.items()
        if getattr(constraint, key) != usual[key]
    }
    laws = {"nonideal": write_laws(constraint.nonideal)} if constraint.nonideal else {}
    return {"name": str(constraint.name), kind: f"{expression_text(constraint.expression)} {sign} 0", **contact, **laws}
