# SPDX-License-Identifier: BSD-3-Clause
"""The arguments of ``da.System`` as expressions in coordinate order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from dalembert.errors import ModelError
from dalembert.model import graph
from dalembert.model.expressions import as_expression, as_expressions, as_matrix
from dalembert.model.ordering import in_order, name_of
from dalembert.model.standard_form import euler_lagrange
from dalembert.model.symbols import StateSymbols
from dalembert.model.validation import coordinate_problems


def checked_coordinates(given: Any) -> tuple[Any, ...]:
    """Return the coordinates as a tuple, or raise: no other check makes sense without valid coordinates."""
    coordinates = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if problems := coordinate_problems(coordinates):
        raise ModelError(problems)
    return coordinates


def from_lagrangian(given: Any, coordinates: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    """Return the evaluated Lagrangian, and the mass matrix and the force that follow from it."""
    lagrangian = graph.evaluated(as_expression(given, "the Lagrangian"))
    mass, force = euler_lagrange(lagrangian, StateSymbols(coordinates))
    # symbols with assumptions are those of the user again, as in the Lagrangian
    assumed = {sp.Symbol(own.name): own for own in graph.free_symbols(lagrangian) if own != sp.Symbol(own.name)}
    return lagrangian, graph.replace(mass, assumed), graph.replace(force, assumed)


def given_constraints(given: Any) -> tuple[Any, ...]:
    """Return the constraints as a tuple; None stands for none."""
    return () if given is None else tuple(given) if isinstance(given, (tuple, list)) else (given,)


def mass_matrix(given: Any, problems: list[str]) -> Any:
    """Return the mass matrix, or an empty one, and add the problems with it."""
    try:
        found = as_matrix(given, "`mass_matrix`")
    except ModelError as error:
        problems += error.problems
        return sp.ImmutableMatrix(0, 0, [])
    if not found:
        problems.append(f"`mass_matrix` must have one row and one column per coordinate; got the shape {found.shape}.")
    return found


def force_column(coordinates: Sequence[Any], given: Any, problems: list[str]) -> Any:
    """Return the applied force as a column in coordinate order, or an empty one, and add the problems with it."""
    names = [name_of(q) for q in coordinates]
    values, found = in_order(names, given, "applied_force", "coordinate")
    problems += found
    try:
        return sp.ImmutableMatrix(len(values), 1, as_expressions(values, "`applied_force`"))
    except ModelError as error:
        problems += error.problems
        return sp.ImmutableMatrix(0, 1, [])
