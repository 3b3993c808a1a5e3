# SPDX-License-Identifier: BSD-3-Clause
"""Signals: recorded or programmed functions of time, or of another expression, given by numbers at certain places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any

import mpmath as mp
import numpy as np
import sympy as sp

from dalembert.common.array_types import Floats
from dalembert.common.names import quoted
from dalembert.errors import InputError
from dalembert.model.data_function import DataAtom, DataFunction
from dalembert.model.expressions import as_expression
from dalembert.model.input_values import as_numbers, require_labels_of_times
from dalembert.model.symbols import t
from dalembert.numerics.piecewise_polynomial import PiecewisePolynomial

INTERPOLATIONS = {"previous": 2, "linear": 2, "pchip": 2, "cubic": 2, "quintic": 6}
"""Kinds of interpolation, and the smallest number of values of each."""

EXTENSIONS = ("hold", "periodic")
"""The continuations of a signal outside of its range."""

_SMOOTHNESS = {"previous": -1, "linear": 0, "pchip": 1, "cubic": 2, "quintic": 4}
_SMOOTHNESS_OF_ENDS = {("pchip", "hold"): 0, ("pchip", "periodic"): 0, ("cubic", "hold"): 1, ("quintic", "hold"): 2}
"""Numbers of continuous derivatives: of the interpolation, and where it is continued, if that is less."""


@dataclass(frozen=True, eq=False)
class SignalData:
    """The numbers of a signal.

    name             for messages, formulas and files
    places, values   (K,), the places increasing
    kind             of interpolation
    extend           what follows outside of the range; None: nothing
    order            of the derivative that is meant
    """

    name: str
    places: Floats
    values: Floats
    kind: str
    extend: str | None
    order: int = 0

    @cached_property
    def polynomial(self) -> PiecewisePolynomial:
        """The signal, or its derivative, as a piecewise polynomial."""
        found = _interpolated(self)
        for _ in range(self.order):
            found = found.derivative
        return found

    @cached_property
    def key(self) -> tuple[str, str, str, int, str]:
        """All that distinguishes one signal from another, in the order in which SymPy sorts them."""
        numbers = np.stack([self.places, self.values]).tobytes()
        return self.name, self.kind, self.extend or "", self.order, blake2b(numbers).hexdigest()


class signal_data(DataAtom):  # noqa: N801  (no class for users: it prints as the name of the signal)
    """The numbers of a signal as a part of an expression."""

    data: SignalData

    def _hashable_content(self) -> Any:
        return self.data.key

    @property
    def orders(self) -> tuple[int, ...]:
        return (self.data.order,)


class Signal(DataFunction):
    """A signal at a place: one node of an expression, whose derivative is another one.

    Its arguments are the numbers and the place, usually ``da.t``; ``da.signal`` makes it.
    """

    nargs = (2,)

    @property
    def data(self) -> SignalData:
        return self.args[0].data  # pyright: ignore

    @property
    def numerical(self) -> Callable[..., Any]:
        # continued beyond its range: comparisons of expressions take any numbers for their symbols
        polynomial = self.data.polynomial.continued

        def value(x: Any) -> Any:
            if not isinstance(x, (mp.mpf, mp.mpc)):
                return polynomial(x)
            place, coefficients = polynomial.piece(float(x.real))
            shift = x.real - mp.mpf(place)
            return mp.polyval([mp.mpf(float(c)) for c in coefficients[::-1]], shift)

        return value

    def fdiff(self, argindex: Any = 2) -> Any:
        if argindex != 2:
            return sp.S.Zero
        return Signal(signal_data(replace(self.data, order=self.data.order + 1)), self.args[1])


def signal(
    times: Any,
    values: Any = None,
    kind: str = "cubic",
    *,
    name: str | Sequence[str] = "signal",
    extend: str | None = None,
    of: Any = t,
) -> Any:
    """Return a function of time that interpolates given values, for use in any expression of a model.

    Forces, constraints, drives, requirements of servos and coefficients may contain it. Its derivatives are exact.
    Integration ends a step at every one of the times, so that no jump or kink is missed.

    Parameters
    ----------
    times     (K,), increasing
    values    (K,), or (K, c) for c channels, which are returned as a tuple
    kind      "cubic": a spline with two continuous derivatives. "quintic": one with four, for six times or more.
              "pchip": cubic pieces that do not overshoot, with one. "linear": none. "previous": the value of the last
              time, which jumps
    name      for messages, formulas and files; that of several channels is followed by ``_0``, ``_1``, …, or is given
              as a sequence of names
    extend    what follows outside of the times: "hold", the first and the last value (a spline then begins and
              ends with slope zero), or "periodic". By default, there is no motion at such times
    of        the expression that takes the place of time, such as the speed in a table of torques. ``times`` are then
              values of this expression. The kind "previous" jumps and must be a function of time

    A constraint at position level needs accelerations, and therefore a signal with a continuous derivative: "cubic" or
    "pchip". At velocity level, "linear" is enough, and at a jump of "previous" the velocities follow by an impulse.

    Raises
    ------
    InputError    times that do not increase, values that are not finite, shapes that do not fit, an unknown ``kind``
                  or ``extend``, a periodic signal whose first and last value differ

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> gust = da.signal([0, 1, 2], [0, 3, 0], "linear", name="gust")
    >>> gust
    gust(t)
    >>> run = da.simulate(da.System((x,), [[1]], (gust,)), (0,), (0,), [0, 2])
    >>> print(run["x'"].round(9))
    [0. 3.]
    """
    if values is None:
        advice = " Of a SciPy spline `s`, pass `s.x` and `s(s.x)`." if callable(times) else ""
        raise InputError(f"`values` must hold the values of the signal at `times`; none were given.{advice}")
    places = _numbers(times, "times")
    table = _numbers(values, "values")
    require_labels_of_times(times, {"values": values})
    if places.ndim != 1 or table.ndim not in (1, 2) or len(table) != len(places):
        raise InputError(
            f"`times` must have shape (K,) and `values` (K,) or (K, channels); got {places.shape} and {table.shape}."
        )
    _require_kind(places, kind, extend)
    if not (np.diff(places) > 0).all():
        k = int(np.flatnonzero(np.diff(places) <= 0)[0])
        raise InputError(
            f"`times` must increase; entry {k + 1}, {places[k + 1]:.6g}, does not follow {places[k]:.6g}. Sort them "
            f"and leave out repeated ones."
        )
    if extend == "periodic" and not np.array_equal(table[0], table[-1]):
        raise InputError('the first and the last of `values` must agree for `extend="periodic"`; they differ.')
    argument = as_expression(of, "`of`")
    columns = table[:, None] if table.ndim == 1 else table
    names = _names(name, table)
    found = tuple(
        Signal(signal_data(SignalData(own, places, np.ascontiguousarray(column), kind, extend)), argument)
        for own, column in zip(names, columns.T, strict=True)
    )
    return found[0] if table.ndim == 1 else found


def _numbers(given: Any, argument: str) -> Floats:
    found = np.array(as_numbers(given, argument))
    if not np.isfinite(found).all():
        k = tuple(map(int, np.argwhere(~np.isfinite(found))[0]))
        raise InputError(
            f"`{argument}` must be finite; entry {k[0] if len(k) == 1 else k} is {found[k]}. Leave out gaps in a "
            f"record or fill them in."
        )
    return found


def _require_kind(places: Floats, kind: Any, extend: Any) -> None:
    if kind not in INTERPOLATIONS:
        raise InputError(f"`kind` must be one of {quoted(INTERPOLATIONS)}; got {kind!r}.")
    if extend is not None and extend not in EXTENSIONS:
        raise InputError(f'`extend` must be "hold" or "periodic", or be left out; got {extend!r}.')
    fewest = max(INTERPOLATIONS[kind], 3 if extend == "periodic" else 2)
    if len(places) < fewest:
        raise InputError(f"`times` must hold at least {fewest} times for this signal; got {len(places)}.")


def _names(name: Any, table: Floats) -> list[str]:
    channels = 1 if table.ndim == 1 else table.shape[1]
    if isinstance(name, str) and name:
        return [name] if table.ndim == 1 else [f"{name}_{k}" for k in range(channels)]
    given = [*name] if isinstance(name, (tuple, list)) else []
    if len(given) != channels or not all(isinstance(one, str) and one for one in given) or len({*given}) < len(given):
        raise InputError(f"`name` must be a text, or one text for each of the {channels} channels; got {name!r}.")
    return given


def _interpolated(data: SignalData) -> PiecewisePolynomial:
    """Return the piecewise polynomial of a signal; where it is held, constant pieces before and behind are added."""
    x, values, kind, extend = data.places, data.values, data.kind, data.extend
    x, coefficients = _pieces(x, values, kind, extend)
    smoothness = min(_SMOOTHNESS[kind], _SMOOTHNESS_OF_ENDS.get((kind, extend or ""), _SMOOTHNESS[kind]))
    outside: Any = {None: "undefined", "hold": "continued", "periodic": "periodic"}[extend]
    if extend == "hold":
        ends = np.zeros((len(coefficients), 2))
        ends[0] = values[[0, -1]]
        coefficients = np.concatenate([ends[:, :1], coefficients, ends[:, 1:]], axis=1)
        x = np.concatenate([[x[0] - (x[1] - x[0])], x, [x[-1] + (x[-1] - x[-2])]])
    return PiecewisePolynomial(data.name, x, coefficients, outside, smoothness)


def _pieces(x: Floats, values: Floats, kind: str, extend: str | None) -> tuple[Floats, Floats]:
    """Return the breakpoints and the coefficients of the pieces between them, the lowest power first."""
    if kind == "previous":
        return x, values[None, :-1]
    if kind == "linear":
        return x, np.stack([values[:-1], np.diff(values) / np.diff(x)])
    from scipy.interpolate import CubicSpline, PchipInterpolator, PPoly, make_interp_spline  # slow to import

    if kind == "pchip":
        found: Any = PchipInterpolator(x, values)
    elif kind == "cubic":
        ends: Any = {None: "not-a-knot", "hold": "clamped", "periodic": "periodic"}[extend]
        found = CubicSpline(x, values, bc_type=ends)
    else:
        still: Any = [(1, 0.0), (2, 0.0)]  # slope and curvature at an end that is held
        ends = {None: None, "hold": (still, still), "periodic": "periodic"}[extend]
        found = PPoly.from_spline(make_interp_spline(x, values, k=5, bc_type=ends))
    kept = (np.diff(found.x) > 0) & (found.x[:-1] >= x[0]) & (found.x[:-1] < x[-1])  # knots beyond and repeated ones
    return np.append(found.x[:-1][kept], x[-1]), np.ascontiguousarray(found.c[::-1, kept])
