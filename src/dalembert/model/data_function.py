# SPDX-License-Identifier: BSD-3-Clause
"""Functions that SymPy does not know: those of recorded numbers, and those written in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp


class DataAtom(sp.AtomicExpr):
    """The data of a function as a part of an expression, which prints as the name of the function."""

    is_commutative = True
    data: Any

    def __new__(cls, data: Any) -> Any:
        made = sp.AtomicExpr.__new__(cls)
        made.data = data
        return made

    def __getnewargs__(self) -> Any:
        return (self.data,)

    def __getstate__(self) -> Any:
        return None

    @property
    def orders(self) -> tuple[int, ...]:
        """The order of the derivative with respect to each argument."""
        raise NotImplementedError

    def _sympystr(self, printer: Any) -> str:
        return self.data.name + self._order("({})")

    def _latex(self, printer: Any) -> str:
        return rf"\mathrm{{{self.data.name.replace('_', chr(92) + '_')}}}" + self._order("^{{({})}}")

    def _order(self, several: str) -> str:
        if not any(self.orders) or len(self.orders) == 1:
            return "'" * sum(self.orders)
        return several.format(",".join(map(str, self.orders)))


class DataFunction(sp.Function):
    """A real function whose first argument holds the data that it is computed from; the others are expressions.

    SymPy's printers for numerical code do not know it: ``numeric_function`` calls ``numerical`` instead.
    """

    is_real = True
    is_commutative = True

    @property
    def places(self) -> tuple[Any, ...]:
        """The arguments without the data."""
        return self.args[1:]

    @property
    def numerical(self) -> Callable[..., Any]:
        """The function of its places, for floats, arrays, or numbers of mpmath."""
        raise NotImplementedError

    def _eval_evalf(self, prec: Any) -> Any:
        places: list[Any] = [sp.N(place) for place in self.places]
        if not all(place.is_Number for place in places):
            return None
        return sp.Float(float(self.numerical(*map(float, places))))

    def _sympystr(self, printer: Any) -> str:
        return f"{printer._print(self.args[0])}({', '.join(map(printer._print, self.places))})"

    def _latex(self, printer: Any, exp: Any = None) -> str:
        places = ", ".join(map(printer._print, self.places))
        text = rf"{printer._print(self.args[0])}\left({places}\right)"
        return text if exp is None else rf"{text}^{{{exp}}}"
