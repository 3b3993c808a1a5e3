# SPDX-License-Identifier: BSD-3-Clause
"""The structure of a control problem: which requirements must be differentiated until inputs act on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Differentiation(NamedTuple):
    """A combination ψ of rows that contains no inputs, of which the derivative becomes a row.

    row        the row to which it belongs; without ``basis`` the derivative takes the place of the row, else it is a
               new row at the end
    basis      other rows in the combination
    columns    choices of as many inputs, by whose effects the factors of the combination are computed: at each state
               those with the largest effects, because some inputs may have none there
    """

    row: int
    basis: tuple[int, ...]
    columns: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class ControlStructure:
    """The way in which inputs act on the requirements.

    differentiations    in their order
    redundant           rows that follow from others
    owners, orders      for each row the number of its requirement, and the order of its derivative of that requirement
    """

    differentiations: tuple[Differentiation, ...] = ()
    redundant: tuple[int, ...] = ()
    owners: tuple[int, ...] = ()
    orders: tuple[int, ...] = ()

    def relative_degree(self, requirement: int) -> int:
        """Return the order of the highest derivative of a requirement that determines inputs."""
        return max(order for order, owner in zip(self.orders, self.owners, strict=True) if owner == requirement)
