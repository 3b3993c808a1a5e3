# SPDX-License-Identifier: BSD-3-Clause
"""The arguments of ``da.System`` as expressions in coordinate order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sympy as sp

from dalembert.errors import ModelError
from dalembert.model import graph
from dalembert.model.constraint import named_constraints
from dalembert.model.deep_stack import with_deep_stack
from dalembert.model.expressions import as_expression, as_expressions, as_matrix
from dalembert.model.force_parts import ForcePart, is_named, named_parts, sum_of
from dalembert.model.laws import as_laws
from dalembert.model.ordering import in_order, name_of
from dalembert.model.standard_form import euler_lagrange
from dalembert.model.symbols import StateSymbols
from dalembert.model.validation import coordinate_problems

if TYPE_CHECKING:
    from dalembert.model.system import System


def checked_coordinates(given: Any) -> tuple[Any, ...]:
    """Return the coordinates as a tuple, or raise: no other check makes sense without valid coordinates."""
    coordinates = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    if problems := coordinate_problems(coordinates):
        raise ModelError(problems)
    return coordinates


def checked_arguments(system: System, coordinates: tuple[Any, ...], problems: list[str]) -> dict[str, Any]:
    """Return the arguments of a system as tuples and expressions, and add the problems with them."""
    given, forces, constraints = system.mass_matrix, system.applied_force, given_constraints(system.constraints)
    lagrangian, servos = system.lagrangian, system.servos
    return {
        "coordinates": coordinates,
        "mass_matrix": with_deep_stack(lambda: mass_matrix(given, problems), "`mass_matrix`"),
        "applied_force": with_deep_stack(lambda: force_column(coordinates, forces, problems), "`applied_force`"),
        "constraints": with_deep_stack(lambda: named_constraints(constraints, coordinates), "a constraint"),
        "nonideal": as_laws(system.nonideal, problems),
        "lagrangian": None if lagrangian is None else as_expression(lagrangian, "`lagrangian`"),
        "servos": tuple(servos) if isinstance(servos, (tuple, list)) else (servos,),
    }


def keep_force_parts(system: System, coordinates: tuple[Any, ...], problems: list[str]) -> None:
    """Keep the parts of an applied force that is given by names, and their sum as the applied force."""
    if not is_named(system.applied_force):
        return
    if system.lagrangian is not None:
        problems.append(
            "an applied force by names must be without `lagrangian`, from which it is not known which of the "
            "forces it contains. Use `da.System.from_lagrangian`, whose `applied_force` holds the others."
        )
    parts = named_parts(coordinates, system.applied_force, problems)
    fitting = [part for part in parts if len(part.force) == len(coordinates)]
    object.__setattr__(system, "force_parts", parts)
    object.__setattr__(system, "applied_force", sum_of(fitting, len(coordinates)))


def lagrangian_arguments(given: Any, coordinates: Any, applied_force: Any, problems: list[str]) -> dict[str, Any]:
    """Return arguments of ``System`` for a Lagrangian and further forces, and add the problems with the forces."""
    coordinates = checked_coordinates(coordinates)
    parts: tuple[ForcePart, ...] = ()
    if is_named(applied_force):
        parts = named_parts(coordinates, applied_force, problems)
        applied_force = None if problems else sum_of(parts, len(coordinates))
    further = sp.zeros(len(coordinates), 1)
    if applied_force is not None:
        column = force_column(coordinates, applied_force, problems)
        further = further if problems else column  # zero, so that other problems are reported as well
    lagrangian, mass, force = with_deep_stack(lambda: from_lagrangian(given, coordinates), "the Lagrangian")
    return {
        "coordinates": coordinates,
        "mass_matrix": mass,
        "applied_force": force + further,
        "lagrangian": lagrangian,
        "force_parts": parts,
    }


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
