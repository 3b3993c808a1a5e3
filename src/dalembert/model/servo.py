# SPDX-License-Identifier: BSD-3-Clause
"""Servo constraints: requirements that actuators must meet, in contrast to constraints that are enforced by nature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import sympy as sp

from dalembert.common.levels import LEVELS
from dalembert.errors import ModelError
from dalembert.model import graph
from dalembert.model.constraint import Constraint
from dalembert.model.expressions import as_expression, as_matrix
from dalembert.model.ordering import name_of, quoted
from dalembert.model.representation import representation
from dalembert.numerics.tolerances import SAME_VALUE

METRICS = ("mass", "euclidean")


@dataclass(frozen=True)
class Actuator:
    """An actuator, whose input u acts as the generalised force B u.

    Parameters
    ----------
    name     its name in messages and results
    along    the direction B(q, q̇, t): a coordinate, a mapping from coordinates to factors, or n expressions; in a
             ``da.Mechanism`` a joint
    limit    the largest |u|, a positive number or an expression of parameters, of time or of the state; where an
             expression is negative, u is zero. None for no limit

    Raises
    ------
    ModelError    if the name is empty, or the limit is not positive

    Examples
    --------
    >>> import dalembert as da
    >>> x, theta = da.coordinates("x theta")
    >>> da.Actuator("trolley", x, limit=20).name
    'trolley'
    """

    name: str
    along: Any
    limit: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ModelError([f"`name` of an actuator must be a text; got {self.name!r}."])
        if isinstance(self.along, Mapping):  # hashable, as every part of a system
            object.__setattr__(self, "along", tuple((key, value) for key, value in self.along.items()))
        elif isinstance(self.along, (list, np.ndarray, sp.MatrixBase)):
            object.__setattr__(self, "along", tuple(np.asarray(self.along, object).ravel()))
        if self.limit is not None:
            limit = as_expression(self.limit, f"`limit` of actuator `{self.name}`")
            if limit.is_number and not limit > 0:
                raise ModelError([f"`limit` of actuator `{self.name}` must be positive; got {limit}."])
            object.__setattr__(self, "limit", limit)

    def __repr__(self) -> str:
        return representation(self)

    def direction(self, coordinates: Sequence[Any]) -> tuple[Any, ...]:
        """Return the n components of B, in the order of the coordinates."""
        names = [name_of(q) for q in coordinates]
        found = self.components(names)
        return tuple(found.get(name, sp.S.Zero) for name in names)

    def components(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the components of B by the names of coordinates, of which all are given; others are zero."""
        where, along = f"`along` of actuator `{self.name}`", self.along
        if not isinstance(along, tuple):
            along = ((along, 1),)
        elif not all(isinstance(entry, tuple) and len(entry) == 2 for entry in along):
            if len(along) != len(names):
                raise ModelError([f"{where} must have one component per coordinate ({len(names)}); got {len(along)}."])
            given = zip(names, (as_expression(entry, where) for entry in along), strict=True)
            return {name: entry for name, entry in given if entry != 0}
        factors, known = {name_of(key): factor for key, factor in along}, frozenset(names)
        unknown = [name for name in factors if name not in known]
        if unknown:
            raise ModelError(
                [
                    f"{where} must be a coordinate of the system ({quoted(names)}), a mapping from coordinates to "
                    f"factors, or {len(names)} expressions; got {quoted(unknown)}. Joints are known in a "
                    f"`da.Mechanism`."
                ]
            )
        return {name: as_expression(factor, where) for name, factor in factors.items()}


@dataclass(frozen=True)
class Servo:
    """A servo constraint: a requirement on the motion that actuators meet.

    The inputs u of the actuators are those of least cost uᵀN u with which the error β of the requirement settles:
    β̇ + P β = 0 for a requirement at velocity level, β̈ + D β̇ + K β = 0 at position level. If the inputs do not act on
    these derivatives, higher ones are used, and the settling polynomial has their order.

    Parameters
    ----------
    name           its name in messages and results
    requirement    an expression that must vanish or ``sympy.Eq(left, right)``, or several, as a sequence or a vector
                   such as ``body.at(0.5, 0).position - path``; the level (position, velocity or acceleration) is
                   inferred as for ``da.Constraint``
    by             an actuator or several; left out, a force acts on every coordinate
    settle         how errors decay. One number is a rate ω: all poles of the error are at −ω. A sequence gives one
                   rate per row. A matrix is P itself, a tuple of matrices the coefficients of the settling polynomial
                   from the highest derivative to the error, (D, K) at position level. None: errors do not settle
    cost           N, positive definite: a matrix of numbers or expressions, or its diagonal. Left out: the identity
                   or, without ``by``, M⁻¹, with which the force is that of the constraint enforced by nature
    metric         only without ``by``: the metric in which the acceleration that settles errors is shortest, "mass"
                   or "euclidean"; the latter is the tracking law of Udwadia and Kalaba's review

    Raises
    ------
    ModelError     if a shape does not fit, or a rate is negative, or there are no actuators

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> motor = da.Actuator("motor", x)
    >>> da.Servo("follow", x - da.t**2, by=motor, settle=5.0).level
    'position'
    """

    name: str
    requirement: Any
    by: Any = None
    settle: Any = None
    cost: Any = None
    metric: Literal["mass", "euclidean"] = "mass"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ModelError([f"`name` of a servo must be a text; got {self.name!r}."])
        several = isinstance(self.requirement, (tuple, list, sp.Tuple, sp.MatrixBase, np.ndarray))
        given = tuple(self.requirement) if several else (self.requirement,)
        if not given:
            raise ModelError([f"servo `{self.name}` must have at least one requirement; got none."])
        names = [f"{self.name}[{i}]" for i in range(len(given))] if len(given) > 1 else [self.name]
        rows = tuple(
            e if isinstance(e, Constraint) else Constraint(e, name) for e, name in zip(given, names, strict=True)
        )
        with_laws = [str(row.name) for row in rows if row.nonideal]
        if with_laws:
            raise ModelError(
                [f"a requirement of servo `{self.name}` must have no nonideal law; {quoted(with_laws)} has one."]
            )
        by = _actuators(self.name, self.by)
        fields = {"requirement": rows, "by": by, "settle": _settling(self.name, self.settle, rows)}
        fields["cost"] = _cost(self.name, self.cost, by)
        for field, value in fields.items():
            object.__setattr__(self, field, value)
        if self.metric not in METRICS:
            raise ModelError([f'`metric` of servo `{self.name}` must be "mass" or "euclidean"; got {self.metric!r}.'])
        if self.metric == "euclidean" and self.by is not None:
            raise ModelError(
                [f'`metric="euclidean"` of servo `{self.name}` needs a force on every coordinate; leave out `by`.']
            )
        levels = {row.level for row in rows}
        if len(levels) > 1:
            raise ModelError(
                [
                    f"the requirements of servo `{self.name}` must be at one level; got "
                    f"{' and '.join(sorted(levels))}. Make one servo of each."
                ]
            )

    def __repr__(self) -> str:
        return representation(self)

    @property
    def level(self) -> str:
        """The level of the requirements: position, velocity or acceleration."""
        return self.requirement[0].level

    def expressions(self) -> tuple[Any, ...]:
        """Return every expression except the directions of the actuators."""
        limits = [actuator.limit for actuator in self.by or () if actuator.limit is not None]
        rows = [row.expression for row in self.requirement]
        return (*rows, *limits, *self.gains())

    def gains(self) -> tuple[Any, ...]:
        """Return the expressions of the settling law and of the cost."""
        return (*_entries(self.settle), *(() if self.cost is None else self.cost))


def _actuators(name: str, given: Any) -> tuple[Actuator, ...] | None:
    if given is None:
        return None
    by = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    wrong = [entry for entry in by if not isinstance(entry, Actuator)]
    if wrong:
        raise ModelError([f"`by` of servo `{name}` must hold `da.Actuator` objects; got {wrong[0]!r}."])
    repeated = sorted({actuator.name for actuator in by if by.count(actuator) > 1})
    if repeated:
        raise ModelError([f"`by` of servo `{name}` must hold each actuator once; given twice: {quoted(repeated)}."])
    if not by:
        raise ModelError(
            [
                f"servo `{name}` must have at least one actuator in `by`; got none. Leave out `by` for a force on "
                f"every coordinate."
            ]
        )
    return by


def _settling(name: str, given: Any, rows: tuple[Constraint, ...]) -> Any:
    """Return None, a tuple of rates, one per row, or a tuple of matrices."""
    where, k, level = f"`settle` of servo `{name}`", len(rows), rows[0].level
    if given is None:
        return None
    depth = _depth(given)
    if depth == 0:
        return (_rate(given, where),) * k
    if depth == 1:
        if len(given) != k:
            raise ModelError([f"{where} must have one rate per requirement ({k}); got {len(given)}."])
        return tuple(_rate(entry, where) for entry in given)
    matrices = tuple(as_matrix(m, where) for m in (given if depth == 3 else (given,)))
    for matrix in matrices:
        if matrix.shape != (k, k):
            raise ModelError([f"{where} must hold matrices of shape ({k}, {k}); got {matrix.shape}."])
    if len(matrices) < LEVELS[::-1].index(level) or level == "acceleration":
        raise ModelError(
            [
                f"{where} must hold one matrix per derivative of the error, the coefficient of the highest first "
                f"({LEVELS[::-1].index(level)} at {level} level); got {len(matrices)}."
            ]
        )
    _require_decay(matrices, where)
    return matrices


def _require_decay(matrices: tuple[sp.ImmutableMatrix, ...], where: str) -> None:
    """Raise if the settling polynomial of matrices of numbers, (D, K, …), has a pole in the right half of the plane."""
    if graph.free_symbols(*(entry for matrix in matrices for entry in matrix)):
        return
    numbers = [np.array(matrix, float) for matrix in matrices]
    k = len(numbers[0])
    companion = np.eye(k * len(numbers), k=-k)
    companion[:k] = -np.hstack(numbers)
    poles = np.linalg.eigvals(companion)
    if poles.real.max() > SAME_VALUE * np.abs(poles).max():
        raise ModelError(
            [f"{where} must make errors decay; with these matrices they grow as exp({poles.real.max():.3g} t)."]
        )


def _depth(given: Any) -> int:
    """Return 0 for a scalar, 1 for a vector, 2 for a matrix, 3 for several matrices."""
    if isinstance(given, sp.MatrixBase):
        return 2
    if isinstance(given, np.ndarray):
        return given.ndim
    return 1 + _depth(given[0]) if isinstance(given, (tuple, list)) and given else 0


def _rate(given: Any, where: str) -> Any:
    rate = as_expression(given, where)
    if rate.is_number and rate < 0:
        raise ModelError([f"{where} must not be negative, or errors grow; got {rate}."])
    return rate


def _cost(name: str, given: Any, by: tuple[Actuator, ...] | None) -> Any:
    """Return the (r, r) matrix N, or None for the default."""
    if given is None:
        return None
    where = f"`cost` of servo `{name}`"
    matrix = as_matrix(given, where)
    if matrix.cols == 1 and matrix.rows != 1:
        matrix = sp.ImmutableMatrix(sp.diag(*matrix))
    if matrix.rows != matrix.cols or (by is not None and matrix.rows != len(by)):
        wanted = "square" if by is None else f"of shape ({len(by)}, {len(by)}), one row per actuator"
        raise ModelError([f"{where} must be {wanted}; got {matrix.shape}."])
    if matrix != matrix.T:
        raise ModelError([f"{where} must be symmetric; got {matrix}."])
    if not graph.free_symbols(*matrix):
        smallest = np.linalg.eigvalsh(np.array(matrix, float)).min()
        if not smallest > 0:
            raise ModelError([f"{where} must be positive definite; its smallest eigenvalue is {smallest:.3g}."])
    return matrix


def _entries(settle: Any) -> list[Any]:
    """Return all expressions of a settling law."""
    found: list[Any] = []
    for entry in settle or ():
        found += entry.flat() if isinstance(entry, sp.MatrixBase) else [entry]
    return found
