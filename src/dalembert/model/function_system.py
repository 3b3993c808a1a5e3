# SPDX-License-Identifier: BSD-3-Clause
"""A mechanical system defined by numerical functions instead of symbols."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dalembert.common.names import listed, summary
from dalembert.errors import ModelError
from dalembert.model.constraint import LEVELS, Level
from dalembert.model.ordering import quoted


@dataclass(frozen=True)
class FunctionConstraint:
    """One or several equations ``function(...) = 0`` of one level, as a JAX function.

    function    φ(q, t, p) at position level, ψ(q, qd, t, p) at velocity level, χ(q, qd, qdd, t, p), linear in qdd, at
                acceleration level; returns a number or a vector
    level       "position", "velocity" or "acceleration"
    name        its name in messages and results; the rows of a vector are named name[0], name[1] …
    """

    function: Callable[..., Any]
    level: Level
    name: str | None = None

    def __repr__(self) -> str:
        return f"FunctionConstraint({self.level!r}, name={self.name!r})"

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise ModelError([f"`level` must be one of {quoted(LEVELS)}; got {self.level!r}."])


@dataclass(frozen=True)
class FunctionSystem:
    """A mechanical system whose terms are JAX functions of (q, qd, t, p); A and b follow by automatic differentiation.

    q and qd are arrays of shape (n,), t is a number, p a dict of the parameters by name. Give either the mass matrix
    and the applied force, or a Lagrangian (``applied_force`` then holds the forces not contained in it).

    coordinates    names of the n coordinates; q1 … qn by default
    parameters     names of the constants; by default those passed in a call
    nonideal       C as a function of (q, qd, t, p, ideal_force)

    Raises
    ------
    ModelError     if neither or both descriptions are given, or names are not unique

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> import dalembert as da
    >>> pendulum = da.FunctionSystem(
    ...     mass_matrix=lambda q, qd, t, p: p["m"] * jnp.eye(2),
    ...     applied_force=lambda q, qd, t, p: jnp.array([0.0, -p["m"] * p["g"]]),
    ...     constraints=(da.FunctionConstraint(lambda q, t, p: q @ q - p["l"] ** 2, "position", name="rod"),),
    ... )
    >>> point = da.motion(pendulum, q=(0, -1), qd=(1, 0), parameters={"m": 2, "g": 10, "l": 1})
    >>> print(point.ideal_force)
    [ 0. 22.]
    """

    mass_matrix: Callable[..., Any] | None = None
    applied_force: Callable[..., Any] | None = None
    constraints: tuple[FunctionConstraint, ...] = ()
    nonideal: Callable[..., Any] | None = None
    lagrangian: Callable[..., Any] | None = None
    coordinates: tuple[str, ...] | None = None
    parameters: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        return summary(
            f"FunctionSystem of {listed(self.coordinate_names) or 'unnamed coordinates'}",
            listed((str(constraint.name) for constraint in self.constraints), "constraints"),
            listed(self.parameter_names, "parameters"),
        )

    def __post_init__(self) -> None:
        given = self.constraints
        constraints = (given,) if isinstance(given, FunctionConstraint) else tuple(given)
        invalid = [c for c in constraints if not isinstance(c, FunctionConstraint)]
        if invalid:
            raise ModelError([f"`constraints` must hold `da.FunctionConstraint` objects; got {c!r}." for c in invalid])
        numbered = [
            c if c.name is not None else replace(c, name=f"constraint {i}") for i, c in enumerate(constraints, 1)
        ]
        object.__setattr__(self, "constraints", tuple(numbered))
        for field in ("coordinates", "parameters"):
            object.__setattr__(self, field, _names(getattr(self, field)))
        problems = self._problems()
        if problems:
            raise ModelError(problems)

    def _problems(self) -> list[str]:
        problems: list[str] = []
        newton = self.mass_matrix is not None
        if newton == (self.lagrangian is not None):
            problems.append("a function system must have either `mass_matrix` and `applied_force` or a `lagrangian`.")
        if newton and self.applied_force is None:
            problems.append("`applied_force` must be given along with `mass_matrix`; return zeros if there is none.")
        for field in ("mass_matrix", "applied_force", "nonideal", "lagrangian"):
            if getattr(self, field) is not None and not callable(getattr(self, field)):
                problems.append(f"`{field}` must be a function; got {getattr(self, field)!r}.")
        for field in ("coordinates", "parameters"):
            given = getattr(self, field) or ()
            duplicates = sorted({name for name in given if given.count(name) > 1})
            if duplicates:
                problems.append(f"`{field}` must differ from one another; given twice: {quoted(duplicates)}.")
        names = [c.name for c in self.constraints]
        duplicates = sorted({str(name) for name in names if names.count(name) > 1})
        if duplicates:
            problems.append(f"constraint names must be unique; given twice: {quoted(duplicates)}.")
        return problems

    def constrain(self, *constraints: FunctionConstraint) -> FunctionSystem:
        """Return the same system with additional constraints."""
        return replace(self, constraints=(*self.constraints, *constraints))

    def sized(self, n: int, parameters: Sequence[str]) -> FunctionSystem:
        """Return the same system with names for n coordinates and for its parameters, if it had none."""
        coordinates = self.coordinates or tuple(f"q{i}" for i in range(1, n + 1))
        names = tuple(sorted(parameters)) if self.parameters is None else self.parameters
        return replace(self, coordinates=coordinates, parameters=names)

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        return self.coordinates or ()

    @property
    def parameter_names(self) -> tuple[str, ...]:
        return self.parameters or ()


def _names(given: Any) -> tuple[str, ...] | None:
    if given is None:
        return None
    return tuple(given.replace(",", " ").split()) if isinstance(given, str) else tuple(str(name) for name in given)
