# SPDX-License-Identifier: BSD-3-Clause
"""Vectors of two and three expressions, and rotations by unit quaternions.

Vectors are columns in world or body axes. Expressions are neither expanded nor simplified, so they stay as small as
they are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from sympy.core.function import AppliedUndef

from dalembert.errors import InputError, ModelError
from dalembert.model.expressions import as_expression
from dalembert.model.input_values import PLAIN_TYPES, as_numbers
from dalembert.model.symbols import t as time

MOST_KEPT = 1000
"""Most numbers, columns and tensors that are kept: a mechanism built in a loop has the same ones again and again."""


def are_plain(given: Iterable[Any]) -> bool:
    """Return whether all are finite numbers of the usual types, small enough for exact whole numbers."""
    return all(type(x) in PLAIN_TYPES and abs(x) < 2**53 for x in given)


@lru_cache(MOST_KEPT)
def _plain_number(value: float) -> Any:
    return sp.Integer(int(value)) if float(value).is_integer() else sp.Float(value)


@lru_cache(MOST_KEPT)
def _plain_column(values: tuple[float, ...]) -> Any:
    return sp.ImmutableMatrix(len(values), 1, [_plain_number(x) for x in values])


def number(given: Any, argument: str) -> Any:
    """Return an expression; whole floats become integers, so that zeros and ones drop out of products."""
    if are_plain((given,)):
        return _plain_number(given)
    try:
        value = None if isinstance(given, str) else as_expression(given, f"`{argument}`")
    except ModelError:
        if isinstance(given, sp.Expr):
            raise  # its message describes the problem
        value = None
    if value is None:
        raise ModelError([f"`{argument}` must be a finite number or an expression; got {given!r}."])
    whole = value.is_Float and float(value).is_integer() and abs(value) < 2**53
    return sp.Integer(int(value)) if whole else value


def vector(given: Any, argument: str, sizes: Sequence[int] = (2, 3)) -> Any:
    """Return a column of expressions."""
    if _is_plain_column(given, sizes):
        return _plain_column(tuple(given))
    ordered = isinstance(given, (tuple, list, np.ndarray, sp.MatrixBase, sp.Tuple))
    try:
        entries = [number(entry, argument) for entry in given] if ordered else []
    except ModelError:
        entries = []
    if len(entries) not in sizes:
        counts = " or ".join(map(str, sizes))
        plural = "s" * (sizes[-1] > 1)
        raise ModelError([f"`{argument}` must be {counts} finite number{plural} or expression{plural}; got {given!r}."])
    return sp.ImmutableMatrix(entries)


def _is_plain_column(given: Any, sizes: Sequence[int]) -> bool:
    return type(given) in (tuple, list) and len(given) in sizes and are_plain(given)


def constant_vector(given: Any, argument: str, sizes: Sequence[int] = (2, 3)) -> Any:
    """Return a column of expressions of parameters only."""
    column = vector(given, argument, sizes)
    return column if _is_plain_column(given, sizes) else constant(column, argument)


def constant(given: Any, argument: str) -> Any:
    """Return expressions of parameters only, which depend neither on time nor on the motion."""
    if time in given.free_symbols or given.atoms(AppliedUndef):
        raise ModelError([f"`{argument}` must be of numbers and parameters, the same at all times; got {given}."])
    return given


def positive_number(given: Any, argument: str) -> Any:
    """Return an expression that is positive, or may be."""
    if given is None:
        raise ModelError([f"`{argument}` must be given; it is missing. Pass `{argument.split()[0]}=...`."])
    value = number(given, argument)
    if value.is_positive is False:
        raise ModelError([f"`{argument}` must be positive; got {given!r}."])
    return value


def numbers(given: Any, argument: str, sizes: Sequence[int]) -> tuple[float, ...]:
    """Return finite numbers."""
    if _is_plain_column(given, sizes):
        return tuple(map(float, given))
    try:
        values = np.atleast_1d(as_numbers(given, argument))
    except InputError:
        values = np.empty(0)
    if values.ndim > 1 or len(values) not in sizes or not np.isfinite(values).all():
        counts = " or ".join(map(str, sizes))
        raise ModelError([f"`{argument}` must be {counts} finite number{'s' * (sizes[-1] > 1)}; got {given!r}."])
    return tuple(map(float, values))


def evaluate(expressions: Any, parameters: Mapping[str, float]) -> NDArray[np.float64]:
    """Return the values of expressions of parameters."""
    values = [as_expression(e, "a point") for e in expressions]
    return np.array([float(e.subs({s: parameters[str(s)] for s in e.free_symbols})) for e in values])


def times(x: Any, y: Any) -> Any:
    """Return a product; for a factor of zero, SymPy would first find out whether the other one is finite."""
    return sp.S.Zero if x is sp.S.Zero or y is sp.S.Zero else x * y


def dot(a: Any, b: Any) -> Any:
    return sp.Add(*(times(x, y) for x, y in zip(a, b, strict=True)))


def cross(a: Any, b: Any) -> Any:
    """Return a × b in space."""
    return sp.ImmutableMatrix(
        [times(a[i], b[j]) - times(a[j], b[i]) for i, j in ((1, 2), (2, 0), (0, 1))],
    )


def quarter_turn(a: Any) -> Any:
    """Return a vector of the plane rotated counterclockwise by a right angle."""
    return sp.ImmutableMatrix([-a[1], a[0]])


def skew(a: Any) -> Any:
    """Return the matrix [a]× of the cross product with a from the left."""
    return sp.ImmutableMatrix([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def rotation(e: Sequence[Any]) -> Any:
    """Return the rotation from body to world axes by a unit quaternion, scalar part first; also for arrays."""
    a, b, c, d = e
    return [
        [a * a + b * b - c * c - d * d, 2 * (b * c - a * d), 2 * (b * d + a * c)],
        [2 * (b * c + a * d), a * a - b * b + c * c - d * d, 2 * (c * d - a * b)],
        [2 * (b * d - a * c), 2 * (c * d + a * b), a * a - b * b - c * c + d * d],
    ]


def half_turning(e: Sequence[Any]) -> Any:
    """Return H with ω = 2 H ė, the angular velocity in body axes; also for arrays."""
    a, b, c, d = e
    return [[-b, a, d, -c], [-c, -d, a, b], [-d, c, -b, a]]


def conjugate(e: Sequence[Any]) -> tuple[Any, ...]:
    """Return the inverse rotation."""
    return e[0], -e[1], -e[2], -e[3]


def product(e: Sequence[Any], f: Sequence[Any]) -> tuple[Any, ...]:
    """Return the quaternion product e f: the rotation f followed by e."""
    (a, *v), (b, *w) = e, f
    return (a * b - dot(v, w), *(a * y + b * x + z for x, y, z in zip(v, w, cross(v, w), strict=True)))


def quaternion_product(e: Any, f: Any) -> NDArray[np.float64]:
    """Return the product (4, ...) of quaternions (4, ...) of numbers: the rotation f followed by e."""
    (a, b, c, d), (p, q, r, s) = np.asarray(e, float), np.asarray(f, float)
    return np.array(
        [
            a * p - (b * q + c * r + d * s),
            a * q + p * b + (c * s - d * r),
            a * r + p * c + (d * q - b * s),
            a * s + p * d + (b * r - c * q),
        ]
    )


UNIT = 1e-15
"""Difference from one up to which a length is one: a direction that was normalised stays as it is, to the last bit."""


def unit(given: Any, argument: str) -> Any:
    """Return a unit vector in space."""
    direction = vector(given, argument, (3,))
    length = sp.sqrt(dot(direction, direction))
    if length == 0:
        raise ModelError([f"`{argument}` must not be zero; got a vector of length zero."])
    if length.is_Float and abs(length - 1) < UNIT:
        return direction
    return direction / number(length, argument)


def across(direction: Any) -> tuple[Any, Any]:
    """Return two directions u and v such that (u, v, direction) is right-handed."""
    axes = [sp.ImmutableMatrix([int(i == k) for i in range(3)]) for k in range(3)]
    candidates = [cross(axis, direction) for axis in axes]
    sizes = [dot(c, c) for c in candidates]
    known = [float(size) if size.is_number else float(size != 0) for size in sizes]
    k = max(range(3), key=lambda i: round(known[i], 6))
    u = candidates[k] / number(sp.sqrt(sizes[k]), "axis")
    return u, cross(direction, u)


def quaternion(axis: Any, angle: float) -> tuple[float, float, float, float]:
    """Return the unit quaternion of a rotation by an angle about an axis, scalar part first.

    >>> import dalembert as da
    >>> da.quaternion((0, 0, 2), 0.0)
    (1.0, 0.0, 0.0, 0.0)
    """
    direction = np.asarray(numbers(axis, "axis", (3,)))
    (angle,) = numbers([angle], "angle", (1,))
    if not np.linalg.norm(direction) > 0:
        raise ModelError([f"`axis` must be a direction in space; got {axis!r}."])
    a, b, c = direction / np.linalg.norm(direction) * np.sin(angle / 2)
    return float(np.cos(angle / 2)), float(a), float(b), float(c)
