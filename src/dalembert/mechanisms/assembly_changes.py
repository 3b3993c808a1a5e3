# SPDX-License-Identifier: BSD-3-Clause
"""The result of assembly: a state, and the given quantities that it changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.common.notebook_html import block, paragraph, table
from dalembert.integration.start_states import State
from dalembert.mechanisms.given_quantities import Quantity, given_quantities
from dalembert.mechanisms.part_copies import coordinate_names
from dalembert.numerics.tolerances import ROUNDING

UNREPORTED_CHANGE = 1e-9
"""Largest change that is not reported: for angles in radians, for other quantities relative to the largest one of their
kind in the mechanism. The solution of the equations leaves less."""

MOST_CHANGES_PRINTED = 10
"""Largest number of changes that are printed."""


@dataclass(frozen=True)
class AssemblyChange:
    """A given quantity that assembly changed.

    quantity        such as "spin of rod"
    given, found    its values before and after; an orientation is a quaternion
    amount          the length of the difference; for an orientation the angle between both, in radians
    """

    quantity: str
    given: tuple[float, ...]
    found: tuple[float, ...]
    amount: float

    def __str__(self) -> str:
        return f"{self.quantity} from {_shown(self.given)} to {_shown(self.found)}"


@dataclass(frozen=True, eq=False, repr=False)
class Assembly:
    """The state found by assembly, and the given quantities that differ from it.

    It unpacks as a state, ``q, qd = mechanism.assemble()``.

    q, qd      coordinates (n,) and velocities (n,)
    changes    given positions, angles, orientations, velocities and spins of bodies that were changed, in the
               order of the bodies
    kept       names of the quantities that were kept on request
    """

    q: Floats
    qd: Floats
    changes: tuple[AssemblyChange, ...]
    kept: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Floats]:
        yield self.q
        yield self.qd

    def __repr__(self) -> str:
        width = max((len(change.quantity) for change in self.changes), default=0)
        lines = [
            f"  {change.quantity:{width}}  {_shown(change.given)} → {_shown(change.found)}, by {change.amount:.4g}"
            for change in self.changes[:MOST_CHANGES_PRINTED]
        ]
        more = len(self.changes) - len(lines)
        return "\n".join([self._heading, *lines, *([f"  and {more} more, in `changes`"] if more else [])])

    def _repr_html_(self) -> str:
        rows = [
            (change.quantity, _shown(change.given), _shown(change.found), f"{change.amount:.4g}")
            for change in self.changes
        ]
        changed = table(("changed", "given", "found", "by"), rows) if rows else ""
        return block(paragraph(self._heading, strong=True), changed)

    @property
    def _heading(self) -> str:
        kept = f"; kept: {', '.join(self.kept)}" if self.kept else ""
        if not self.changes:
            return f"Assembly without changes: the given state satisfies all joints{kept}"
        count = len(self.changes)
        return f"Assembly with {count} given quantit{'y' if count == 1 else 'ies'} changed{kept}"


def changes_of(known: Sequence[Quantity], bodies: Sequence[Any], given: State, found: State) -> list[AssemblyChange]:
    """Return the changes of known quantities from a given state to the one that was found."""
    sizes = _sizes(bodies, given, found)
    return [change for quantity in known if (change := _change(quantity, found, sizes)) is not None]


def changes_one_by_one(bodies: Sequence[Any], given: State, state: State) -> Iterator[AssemblyChange]:
    """Yield the changes of a given state, body by body; for a body that has not moved there are none."""
    counts = np.array([len(body.letters) for body in bodies])
    ends = np.cumsum(counts)
    sizes = _sizes(bodies, given, state)
    moved = np.maximum(np.abs(state.q - given.q), np.abs(state.qd - given.qd))
    largest = np.maximum.reduceat(moved, ends - counts)
    for i in np.flatnonzero(largest > UNREPORTED_CHANGE / 100 * min(sizes.values())).tolist():
        names = coordinate_names(bodies[i])
        own = slice(ends[i] - len(names), ends[i])
        for quantity in given_quantities((bodies[i],), names):
            if (change := _change(quantity, State(state.q[own], state.qd[own]), sizes)) is not None:
                yield change


def _sizes(bodies: Sequence[Any], given: State, found: State) -> dict[str, float]:
    """Return the sizes of quantities by kind: the largest one of all bodies, one for angles and where all are zero."""
    places = np.concatenate([np.arange(len(body.letters)) < body.dimension for body in bodies])

    def largest(states: Sequence[Floats], columns: NDArray[np.bool_]) -> float:
        size = max(float(np.abs(x[: len(places)][columns]).max(initial=0.0)) for x in states)
        return size if size > ROUNDING else 1.0

    rates = (given.qd, found.qd)
    sizes = {"position": largest((given.q, found.q), places), "velocity": largest(rates, places)}
    return sizes | {"angle": 1.0, "orientation": 1.0, "spin": largest(rates, ~places)}


def _change(quantity: Quantity, state: State, sizes: Mapping[str, float]) -> AssemblyChange | None:
    """Return the change of a quantity, None if there is none beyond rounding."""
    found = quantity.values(state.q, state.qd)
    amount = quantity.change(found)
    if amount <= UNREPORTED_CHANGE * sizes[quantity.name.partition(" of ")[0]]:
        return None
    return AssemblyChange(quantity.name, quantity.given, found, amount)


def _shown(values: Sequence[float]) -> str:
    shown = [f"{value:.4g}" if abs(value) > UNREPORTED_CHANGE else "0" for value in values]
    return shown[0] if len(shown) == 1 else f"({', '.join(shown)})"
