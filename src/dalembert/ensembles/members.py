# SPDX-License-Identifier: BSD-3-Clause
"""Initial states and parameters of ensemble members: one value for all of them, or one for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats, labels_of
from dalembert.common.parallel import in_parallel
from dalembert.errors import InputError
from dalembert.model.input_values import as_numbers, require_same_labels
from dalembert.model.ordering import by_name, name_problems, quoted


@dataclass(frozen=True)
class Members:
    """The positions (n, N), velocities (n, N) and parameters (k, N) of N ensemble members, one row per quantity.

    In memory the numbers of a member are neighbours, as the compiled integrator reads them; arrays of the caller are
    not copied. Parameters that all members share are stored once.
    """

    q: Floats
    qd: Floats
    p: Floats

    def __len__(self) -> int:
        return self.p.shape[1]

    @classmethod
    def at_states(cls, y: Floats, p: Floats) -> Members:
        """Return members at states (2n, N)."""
        n = len(y) // 2
        return cls(y[:n], y[n:], p)

    @property
    def y(self) -> Floats:
        """The states (2n, N), a copy."""
        return rows_by_member([*self.q, *self.qd], len(self))

    def state(self, k: int | np.intp) -> Floats:
        """Return the state (2n,) of a member."""
        return np.concatenate([self.q[:, k], self.qd[:, k]])

    def subset(self, selection: Any) -> Members:
        return Members(self.q[:, selection], self.qd[:, selection], self.p[:, selection])

    @property
    def finite(self) -> NDArray[np.bool_]:
        """A mask of the members with finite values only."""
        states = np.isfinite(self.q).all(axis=0) & np.isfinite(self.qd).all(axis=0)
        return np.asarray(states & self.finite_parameters)

    @property
    def finite_parameters(self) -> NDArray[np.bool_]:
        """A mask of the members with finite parameters."""
        if self.p.strides[1] == 0:  # all members share them
            return np.full(len(self), bool(np.isfinite(self.p[:, :1]).all()))
        return np.asarray(np.isfinite(self.p).all(axis=0))


def members_of(coordinates: Sequence[str], parameters: Sequence[str], q0: Any, qd0: Any, given: Any) -> Members:
    """Return the members described by values with or without a leading axis of members."""
    q, qd = columns_of(coordinates, q0, "q0", "coordinate"), columns_of(coordinates, qd0, "qd0", "coordinate")
    given = {} if given is None else given
    if by_name(given, "parameters", "parameter")[0] is None:
        raise InputError(f"`parameters` must be a mapping from names to numbers or arrays; got {given!r}.")
    p = columns_of(parameters, given, "parameters", "parameter")
    require_same_labels(_columns(q0, qd0, given))
    counts = {len(column) for column in (*q, *qd, *p) if column.ndim}
    if len(counts) > 1:
        raise InputError(f"all arrays of members must have one length; got {', '.join(map(str, sorted(counts)))}.")
    if not counts:
        raise InputError(
            "an ensemble must have members: give `q0`, `qd0` or a parameter with a leading axis of members. For a "
            "single motion use `da.simulate`."
        )
    (count,) = counts
    if not count:
        raise InputError("an ensemble must have at least one member; the arrays are empty.")
    shared = all(column.ndim == 0 for column in p)
    values = np.broadcast_to(np.reshape(p, (-1, 1)), (len(p), count)) if shared else rows_by_member(p, count)
    return Members(rows_by_member(q, count), rows_by_member(qd, count), values)


def member_labels(q0: Any, qd0: Any, given: Any) -> Any | None:
    """Return the labels of the rows of tables, which are those of members; None if they only count from zero."""
    found = (labels_of(column) for column in _columns(q0, qd0, given).values())
    return next((labels for labels in found if labels is not None), None)


def _columns(q0: Any, qd0: Any, given: Any) -> dict[str, Any]:
    """Return what has one row per member, by name: tables, and the entries of mappings."""
    found: dict[str, Any] = {}
    for argument, values in (("q0", q0), ("qd0", qd0), ("parameters", given)):
        inner = values if isinstance(values, Mapping) else {}
        found |= {argument: values} if _is_table(values) else {f"{argument}[{name}]": x for name, x in inner.items()}
    return found


def _is_table(given: Any) -> bool:
    """Return whether rows of a pandas object are members; the labels of one column alone are names."""
    return getattr(given, "ndim", 0) == 2


COPIED_AT_ONCE = 4096
"""Members that are copied at once, so that their memory is in the cache for all columns."""


def rows_by_member(columns: Sequence[Floats] | Floats, count: int) -> Floats:
    """Return columns of numbers, one for all members () or one for each (N,), as rows of an array (columns, N).

    In its memory the numbers of a member are neighbours. An array (columns, N) is returned as it is: for a million
    members a copy takes longer than their motion on a GPU.
    """
    if isinstance(columns, np.ndarray) and columns.ndim == 2:
        return columns
    whole = np.empty((count, len(columns)))

    def fill(numbers: NDArray[np.intp]) -> None:
        for first in range(numbers[0], numbers[-1] + 1, COPIED_AT_ONCE):
            own = slice(first, min(first + COPIED_AT_ONCE, numbers[-1] + 1))
            for k, column in enumerate(columns):
                whole[own, k] = column[own] if column.ndim else column

    if count:
        in_parallel(fill, np.arange(count))
    return whole.T


def columns_of(names: Sequence[str], given: Any, argument: str, noun: str) -> Sequence[Floats] | Floats:
    """Return for each name its values, one for all members () or one for each (N,)."""
    named, problems = by_name(given, argument, noun)
    if named is not None:
        problems += name_problems(names, named, argument, noun)
        if problems:
            raise InputError(" ".join(problems))
        columns = [as_numbers(named[name], argument) for name in names]
    else:
        array = as_numbers(given, argument)
        if array.ndim not in (1, 2) or array.shape[-1] != len(names):
            raise InputError(
                f"`{argument}` must have shape ({len(names)},) or (members, {len(names)}), one column per {noun} "
                f"({quoted(names)}); got {array.shape}."
            )
        # the last axis is that of names in both shapes, (names,) and (members, names)
        columns = np.moveaxis(array, -1, 0)
    odd = [name for name, column in zip(names, columns, strict=True) if column.ndim > 1]
    if odd:
        raise InputError(f"`{argument}` must hold one number per member; {quoted(odd)} has more than one axis.")
    return columns
