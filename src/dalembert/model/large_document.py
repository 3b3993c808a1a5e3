# SPDX-License-Identifier: BSD-3-Clause
"""Systems stated by arrays as documents: each group of terms is one table, with the arrays it is stated over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp
from sympy.core.function import AppliedUndef

from dalembert.errors import ModelError
from dalembert.model import graph
from dalembert.model.array_document import (
    ElementNames,
    elements_text,
    is_of_coordinates,
    listed_part,
    part_of_array,
    part_text,
    placeholder,
    read_array,
    read_elements,
    require_copies,
)
from dalembert.model.declared_names import require_few_names, require_known, require_name_of_coordinate
from dalembert.model.deferred_fields import LARGEST_EXPANDED
from dalembert.model.document import DocumentEntry, Scope, read_expression, write_expression
from dalembert.model.document_budget import Budget
from dalembert.model.expression_work import FEWEST_COPIES
from dalembert.model.large_statement import LargeStatement, is_single
from dalembert.model.law_document import read_constraint, write_constraint
from dalembert.model.ordering import name_of
from dalembert.model.symbol_arrays import CoordinateArray, ParameterArray, Substitutions, substitutions
from dalembert.model.symbols import coordinates as new_coordinate
from dalembert.model.symbols import t
from dalembert.model.term_groups import AppliedForce, ConstraintGroup, MassEntries, constraint_group
from dalembert.model.work_limit import count_work


def read_pieces(entry: DocumentEntry, scope: Scope) -> tuple[Any, ...]:
    """Declare single coordinates, and arrays of them, in a scope, and return them."""
    require_few_names(entry)
    scope.names = ElementNames(scope.arrays, scope.names, entry.budget)
    found: list[Any] = []
    for own in entry.list():
        if isinstance(own.value, Mapping):
            table = own.table(("name", "count"), required=("name", "count"))
            require_name_of_coordinate(table["name"], table["name"].text())
            found.append(read_array(table["name"], scope, CoordinateArray, table["name"].text(), table["count"]))
            continue
        name = own.text()
        if name in scope.names or name in scope.arrays:
            raise own.error(f"a coordinate must have a name of its own; `{name}` is declared already.")
        require_name_of_coordinate(own, name)
        function: Any = sp.Function(name)
        scope.names[name] = function(t)
        found.append(scope.names[name])
    return tuple(found)


def read_masses(entry: DocumentEntry, scope: Scope) -> Any:
    """Return masses as ``da.System`` takes them: one for all, one for each piece, or mappings and groups."""
    if isinstance(entry.value, list) and any(isinstance(own, Mapping) for own in entry.value):  # pyright: ignore
        return [_read_terms(own, scope, "entries") for own in entry.list()]
    if isinstance(entry.value, Mapping):
        return _read_terms(entry, scope, "entries")
    if isinstance(entry.value, list):
        return [_read_along(own, scope) for own in entry.list()]
    return _read_along(entry, scope)


def read_forces(entry: DocumentEntry, scope: Scope) -> Any:
    """Return forces as ``da.System`` takes them: mappings and groups."""
    if isinstance(entry.value, (int, float)) and entry.value == 0:
        return 0
    return [_read_terms(own, scope, "components", "potential") for own in entry.one_or_more()]


def _read_along(entry: DocumentEntry, scope: Scope) -> Any:
    """Return a number, an expression, an array of numbers or an array of parameters."""
    found = read_elements(entry, scope)
    if is_of_coordinates(found):
        raise entry.expected("an expression, or an array of numbers or parameters")
    return sp.sympify(found, strict=True) if isinstance(found, (int, float)) else found


def _read_terms(entry: DocumentEntry, scope: Scope, *keys: str) -> Any:
    """Return a group of terms from a table with ``over``, or a mapping from coordinates to terms."""
    if not isinstance(entry.value, Mapping) or "over" not in entry.value:
        pairs = entry.table()
        for key in pairs.keys() & {*keys} - scope.arrays.keys() - scope.names.keys():
            raise entry.error(f"a table with `{key}` must have `over`, which gives the arrays behind its names.")
        return {key: value for own in pairs.items() for key, value in [_read_pair(*own, scope)]}
    table = entry.table((*keys, "over"), required=("over",))
    if len(table) != 2:
        raise entry.error(f"{entry.label} must have `over` and one of: {', '.join(f'`{key}`' for key in keys)}.")
    inner, over = _read_over(table["over"], scope)
    with entry.places():
        if "potential" in table:
            return _counted(AppliedForce.from_potential(read_expression(table["potential"], inner), over), scope)
        if "components" in table:
            own = table["components"].table().items()
            components = {_named(one, name, inner): read_expression(one, inner) for name, one in own}
            return _counted(AppliedForce.over(components, over), scope)
        return _counted(MassEntries.over(_read_mass_entries(table["entries"], inner), over), scope)


def _read_mass_entries(entry: DocumentEntry, inner: Scope) -> dict[Any, Any]:
    """Return entries of M by pairs of placeholders, from arrays such as ["u", "w", "m*cos(w)"]."""
    found: dict[Any, Any] = {}
    for own in entry.list():
        parts = own.list()
        if len(parts) != 3:
            raise own.expected('two names and a mass, such as ["u", "w", "m*cos(w)"]')
        first, second = (_named(part, part.text(), inner) for part in parts[:2])
        if (first, second) in found or (second, first) in found:
            raise own.error("an entry of the mass matrix must be given once; the matrix is symmetric.")
        found[first, second] = read_expression(parts[2], inner)
    return found


def _named(entry: DocumentEntry, name: str, inner: Scope) -> Any:
    """Return the placeholder of a name."""
    require_known(entry, name, _coordinates(inner))
    return inner.names[name]


def _coordinates(scope: Scope) -> list[str]:
    """Return the names of coordinates and of their arrays."""
    arrays = [name for name, own in scope.arrays.items() if isinstance(own, CoordinateArray)]
    return [*arrays, *(name for name, own in scope.names.items() if isinstance(own, AppliedUndef))]


def _read_pair(name: str, entry: DocumentEntry, scope: Scope) -> tuple[Any, Any]:
    """Return coordinates and the term along each of them, in which the array stands for its own element."""
    piece = part_of_array(entry, name, scope)
    if piece is None or not is_of_coordinates(piece):
        if name in scope.names:
            raise entry.error(f"terms must belong to coordinates; `{name}` is not one.")
        require_known(entry, name, _coordinates(scope))
    require_copies(entry, FEWEST_COPIES)
    many = isinstance(piece, CoordinateArray)
    inner = _inner(scope, {piece.name: new_coordinate(piece.name)}, entry.budget) if many else scope
    return piece, _read_along(entry, inner)


def _read_over(entry: DocumentEntry, scope: Scope) -> tuple[Scope, dict[Any, Any]]:
    """Return the scope of a group, with its placeholders, and what replaces each of them."""
    table = entry.table()
    require_copies(entry, FEWEST_COPIES * len(table))
    given = {name: read_elements(own, scope) for name, own in table.items()}
    placed = {name: placeholder(name, own) for name, own in given.items()}
    over = {placed[name]: own for name, own in given.items()}
    with entry.places():
        copies = substitutions(over, "a group")
    require_copies(entry, max(0, copies.count - FEWEST_COPIES) * len(table))
    return _inner(scope, placed, entry.budget), over


def _inner(scope: Scope, placed: Mapping[str, Any], budget: Budget) -> Scope:
    arrays = {name: array for name, array in scope.arrays.items() if name not in placed}
    return Scope(ElementNames(arrays, {**scope.names, **placed}, budget), folder=scope.folder, arrays=arrays)


def _counted(group: Any, scope: Scope) -> Any:
    """Return a group; count the work of expanding it, where the system is small enough to be expanded."""
    total = sum(array.size for array in scope.arrays.values() if isinstance(array, CoordinateArray))
    if total <= LARGEST_EXPANDED:
        own = [group.template.expression] if isinstance(group, ConstraintGroup) else [*group.components.values()]
        count_work(len(group) * sum(len(graph.Graph([sp.sympify(one, strict=True)]).nodes) for one in own))
    return group


def read_group(entry: DocumentEntry, scope: Scope) -> Any:
    """Return a constraint, or with ``over`` a group of constraints."""
    if not isinstance(entry.value, Mapping) or "over" not in entry.value:
        return read_constraint(entry, scope)
    table = entry.table()
    inner, over = _read_over(table["over"], scope)
    rest = DocumentEntry({key: own for key, own in entry.value.items() if key != "over"}, entry.path, entry.budget)
    one = read_constraint(rest, inner)
    if one.name is None or one.releases or not one.active:
        raise entry.error("a group of constraints must have a `name`, and be neither switched nor released.")
    relation = sp.Ge(one.expression, 0, evaluate=False) if one.one_sided else one.expression
    with entry.places():
        group = constraint_group(relation, over, str(one.name), one.nonideal, one.restitution, one.impact)
        return _counted(group, scope)


def with_known_laws(system: Any) -> Any:
    """Return a system; raise an error for a nonideal law that one stated by arrays does not support."""
    if system.is_large:
        _ = system.statement.laws
    return system


def write_statement(statement: LargeStatement) -> dict[str, Any]:
    """Return coordinates, masses, forces and constraints of a system stated by arrays as entries of a document."""
    if not statement.is_given:
        raise ModelError(
            [
                f"a system of {len(statement.coordinate_names)} coordinates must be stated by arrays to be written to "
                "a file; this one was derived. Save the mechanism instead, or state the system by arrays."
            ]
        )
    return {
        "coordinates": [_piece(piece) for piece in statement.pieces],
        "mass_matrix": _terms(statement.masses, "entries") or 0,
        "applied_force": _terms(statement.forces, "components") or 0,
    } | ({"constraints": [_write_group(group) for group in statement.constraints]} if statement.constraints else {})


def _piece(piece: Any) -> Any:
    if not isinstance(piece, CoordinateArray):
        return name_of(piece)
    if part_text(piece) != piece.name:
        raise ModelError([f"a part of an array must not be written as coordinates; got `{part_text(piece)}`."])
    return {"name": piece.name, "count": piece.size}


def _terms(groups: Any, key: str) -> Any:
    """Return groups of terms as one table by coordinates, or as an array of tables."""
    tables: list[dict[str, Any]] = []
    for group in groups:
        pair = _along(group)
        if pair is None:
            tables.append(_table(group, key))
        elif tables and "over" not in tables[-1] and pair[0] not in tables[-1]:
            tables[-1][pair[0]] = pair[1]
        else:
            tables.append({pair[0]: pair[1]})
    return tables[0] if len(tables) == 1 and "over" not in tables[0] else tables


def _along(group: Any) -> tuple[str, Any] | None:
    """Return coordinates and the term along each of them; None for a group that couples or renames coordinates."""
    copies: Substitutions = group.substitutions
    if len(group.components) != 1 or len(copies.coordinates) != 1:
        return None
    [(key, expression)], [(own, places)] = group.components.items(), copies.coordinates.items()
    single = len(places) == 1 and not isinstance(places, CoordinateArray) and places[0] == own
    named = isinstance(places, CoordinateArray) and places.name == name_of(own)
    if key not in (own, (own, own)) or not (single or named) or name_of(own) == "over":
        return None
    if copies.numbers:
        [(symbol, values)] = [*copies.numbers.items()][:1]
        plain = len(copies.numbers) == 1 and expression == symbol and not single
        text = elements_text(values, alone=isinstance(values, ParameterArray)) if plain else None
        return (part_text(places), text) if plain else None
    return (part_text(places) if named else name_of(own)), write_expression(expression)


def _table(group: Any, key: str) -> dict[str, Any]:
    if key == "components":
        terms: Any = {name_of(q): write_expression(own) for q, own in group.components.items()}
    else:
        terms = [[name_of(a), name_of(b), write_expression(own)] for (a, b), own in group.components.items()]
    return {key: terms, "over": _over(group.substitutions)}


def _over(copies: Substitutions) -> dict[str, Any]:
    """Return what replaces the placeholders; an element that all copies share is written once."""
    given = {name_of(key): own for key, own in (*copies.coordinates.items(), *copies.numbers.items())}
    texts = {name: elements_text(own) for name, own in given.items()}
    if not any(isinstance(own, list) for own in texts.values()) and not any(map(_is_array, given.values())):
        texts = {name: elements_text(own, alone=False) for name, own in given.items()}
    placed = {name_of(key) for key in copies.coordinates}
    return {name: listed_part(own) if isinstance(own, list) and name in placed else own for name, own in texts.items()}


def _is_array(given: Any) -> bool:
    return isinstance(given, (CoordinateArray, ParameterArray))


def _write_group(group: ConstraintGroup) -> dict[str, Any]:
    if group.own_names:
        raise ModelError([f"the constraints `{group.template.name}` have names of their own; a file cannot hold them."])
    table = write_constraint(group.template)
    if is_single(group):
        return table
    stated = {key: table.pop(key) for key in ("name", "equation", "inequality") if key in table}
    return {**stated, "over": _over(group.substitutions), **table}
