# SPDX-License-Identifier: BSD-3-Clause
"""The statement of a system by arrays from the arguments of ``da.System``, with its problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp

from dalembert.common.names import LISTED_NAMES
from dalembert.errors import ModelError
from dalembert.model.constraint import Constraint
from dalembert.model.control_form import servo_problems
from dalembert.model.expressions import as_expression
from dalembert.model.input_values import as_numbers
from dalembert.model.large_statement import SINGLE, LargeStatement
from dalembert.model.laws import as_laws
from dalembert.model.ordering import name_of, quoted
from dalembert.model.symbol_arrays import CoordinateArray, ParameterArray, Substitutions
from dalembert.model.symbols import coordinates as new_coordinate
from dalembert.model.symbols import functions_of_time
from dalembert.model.term_groups import AppliedForce, ConstraintGroup, MassEntries

MASS = sp.Symbol("mass")
FORCE = sp.Symbol("force")
"""Placeholders of the numbers of masses and forces that are given as arrays."""


def is_stated_by_arrays(coordinates: Any, applied_force: Any, constraints: Any) -> bool:
    """Return whether a system is stated by arrays of coordinates or by groups of terms."""
    given = (_sequence(coordinates), _sequence(applied_force), _sequence(constraints))
    kinds = (CoordinateArray, AppliedForce, ConstraintGroup)  # entries of M alone cannot be stated without arrays
    return any(isinstance(part, kinds) for parts in given for part in parts)


def _sequence(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (tuple, list)) else [] if given is None else [given]


def term_by_term(given: Any) -> Any:
    """Return coordinates or constraints with the members of arrays and groups in their places."""
    kinds = (CoordinateArray, ConstraintGroup)
    if not any(isinstance(part, kinds) for part in _sequence(given)):
        return given
    return tuple(one for part in _sequence(given) for one in (part if isinstance(part, kinds) else (part,)))


def large_statement(
    coordinates: Any, mass_matrix: Any, applied_force: Any, constraints: Any, nonideal: Any = (), servos: Any = ()
) -> LargeStatement:
    """Return a system stated by arrays; raise an error that says what is wrong with it."""
    pieces = tuple(_sequence(coordinates))
    problems: list[str] = []
    found = LargeStatement(
        pieces,
        tuple(_masses(pieces, mass_matrix)),
        tuple(force for part in _sequence(applied_force) for force in _forces(pieces, part)),
        tuple(_group(constraint) for constraint in _sequence(constraints)),
        nonideal=as_laws(nonideal, problems),
        servos=tuple(_sequence(servos)),
    )
    problems += servo_problems(found.servos, found.coordinate_names, found.constraint_names)
    if problems:
        raise ModelError(problems)
    _require_known(found, problems)
    return found


def _masses(pieces: tuple[Any, ...], given: Any) -> list[MassEntries]:
    """Return M from one mass for all, one for each piece or coordinate, or groups of entries and mappings."""
    parts = _sequence(given)
    if any(isinstance(part, (MassEntries, Mapping)) for part in parts):
        return [entries for part in parts for entries in _mass_entries(part)]
    sizes = [len(piece) if isinstance(piece, CoordinateArray) else 1 for piece in pieces]
    entries: Any = [given] * len(pieces)
    if isinstance(given, np.ndarray) and given.shape == (sum(sizes),):
        entries = np.split(given, np.cumsum(sizes)[:-1])
    elif isinstance(given, (tuple, list)) and len(given) == len(pieces):
        entries = list(given)
    elif isinstance(given, (tuple, list)) or np.ndim(given) > 0:
        raise ModelError(
            [
                f"`mass_matrix` of a system stated by arrays must be one mass, one for each of the {len(pieces)} "
                f"entries of `coordinates`, an array of {sum(sizes)} numbers, or `da.MassEntries` for entries beside "
                f"the diagonal; got {_shown(given)}."
            ]
        )
    return [_on_diagonal(piece, entry) for piece, entry in zip(pieces, entries, strict=True)]


def _mass_entries(given: Any) -> list[MassEntries]:
    """Return entries of M from a group of them, or from a mapping of coordinates to masses."""
    if isinstance(given, MassEntries):
        return [given]
    if isinstance(given, Mapping):
        return [_on_diagonal(piece, mass) for piece, mass in given.items()]
    raise ModelError(
        [
            "`mass_matrix` of a system stated by arrays must consist of `da.MassEntries` objects, and mappings from "
            f"coordinates to masses; got {given!r:.80}."
        ]
    )


def _on_diagonal(piece: Any, mass: Any) -> MassEntries:
    group = along(piece, mass, MASS, "`mass_matrix`")
    return MassEntries({(q, q): value for q, value in group.components.items()}, group.substitutions)


def _forces(pieces: tuple[Any, ...], given: Any) -> list[AppliedForce]:
    if isinstance(given, AppliedForce):
        return [given]
    if isinstance(given, Mapping):
        return [along(piece, force, FORCE, "`applied_force`") for piece, force in given.items()]
    sizes = [len(piece) if isinstance(piece, CoordinateArray) else 1 for piece in pieces]
    if isinstance(given, np.ndarray) and given.shape == (sum(sizes),):
        parts = np.split(given, np.cumsum(sizes)[:-1])
        return [along(piece, part, FORCE, "`applied_force`") for piece, part in zip(pieces, parts, strict=True)]
    if not isinstance(given, np.ndarray) and given == 0:
        return []
    raise ModelError(
        [
            "`applied_force` of a system stated by arrays must be `da.AppliedForce` objects, mappings from "
            f"coordinates to forces, or an array of {sum(sizes)} numbers; got {_shown(given)}."
        ]
    )


def _shown(given: Any) -> str:
    """Return a value as messages show it; of an array or a sparse matrix its shape."""
    shape = getattr(given, "shape", None)
    return f"{given!r:.80}" if shape is None else f"an array of shape {shape}"


def along(piece: Any, given: Any, symbol: Any, where: str) -> AppliedForce:
    """Return a term along each coordinate of a piece, from one expression or from an array."""
    many = isinstance(piece, CoordinateArray)
    placeholder = new_coordinate(piece.name if many else name_of(piece))
    places = piece if many else (piece,)
    if isinstance(given, ParameterArray) or np.ndim(given):
        values = given if isinstance(given, ParameterArray) else as_numbers(given, where.strip("`"))
        if len(values) != len(places):
            raise ModelError([f"{where} must have {len(places)} entries for `{placeholder.name}`; got {len(values)}."])
        return AppliedForce({placeholder: symbol}, Substitutions({placeholder: places}, {symbol: values}, len(places)))
    expression = as_expression(given, where)
    return AppliedForce({placeholder: expression}, Substitutions({placeholder: places}, {}, len(places)))


def _group(given: Any) -> ConstraintGroup:
    if isinstance(given, ConstraintGroup):
        return given
    if not isinstance(given, Constraint) or given.name is None or given.releases or not given.active:
        raise ModelError(
            [
                "`constraints` of a system stated by arrays must have names, and not be switched or released; got "
                f"{given!r:.80}. Write `da.Constraint.over(expression, {{...}}, name=...)`."
            ]
        )
    return ConstraintGroup(given, SINGLE)


def _repeated(names: Sequence[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def _require_known(found: LargeStatement, problems: list[str]) -> None:
    """Raise an error for unknown coordinates, or names given twice."""
    for expressions, copies in found.groups(laws=False):
        own = {q for expression in expressions for q in functions_of_time(expression)} - copies.coordinates.keys()
        try:
            for places in (*copies.coordinates.values(), tuple(own)):
                found.positions.of(places)
        except ModelError as error:
            problems += error.problems
    groups = [str(group.template.name) for group in found.constraints]
    # a single constraint may have the name of a member of a group
    twice = _repeated(groups) or _repeated(found.constraint_names)
    if twice:
        problems.append(f"constraint names must be unique; given twice: {quoted(twice[:LISTED_NAMES])}.")
    if problems:
        raise ModelError(list(dict.fromkeys(problems)))
