# SPDX-License-Identifier: BSD-3-Clause
"""The positions of coordinates in a system stated by arrays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import ModelError
from dalembert.model.ordering import name_of, quoted
from dalembert.model.symbol_arrays import CoordinateArray

ELEMENT = re.compile(r"(\w+)\[(\d+)\]")
"""The name of an element of an array of symbols."""


class Positions:
    """The positions of coordinates in a system stated by arrays."""

    def __init__(self, pieces: Sequence[Any]):
        self._arrays: dict[str, NDArray[np.int64]] = {}
        self._single: dict[str, int] = {}
        self._count = 0
        # by identity: the terms of a group are stated over the same long tuples, which are kept along
        self._found: dict[int, tuple[Any, NDArray[np.int64]]] = {}
        repeated: list[str] = []
        for piece in pieces:
            if isinstance(piece, CoordinateArray):
                places = self._arrays.setdefault(piece.name, np.full(piece.size, -1))
                if (places[piece.indices] >= 0).any() or len(np.unique(piece.indices)) < len(piece):
                    repeated.append(piece.name)
                places[piece.indices] = self._count + np.arange(len(piece))
                self._count += len(piece)
            else:
                repeated += [name_of(piece)] if name_of(piece) in self._single else []
                self._single[name_of(piece)] = self._count
                self._count += 1
        if repeated:
            raise ModelError([f"`coordinates` must differ from one another; given twice: {quoted(repeated)}."])

    def __len__(self) -> int:
        return self._count

    def of(self, given: Any) -> NDArray[np.int64]:
        """Return the positions of an array or of a sequence of coordinates; raise an error for an unknown one."""
        if isinstance(given, tuple):
            if id(given) not in self._found:
                self._found[id(given)] = given, self._each(given)
            return self._found[id(given)][1]
        if not isinstance(given, CoordinateArray):
            return self._each(given)
        known = self._arrays.get(given.name, np.zeros(0, np.int64))
        inside = given.indices < len(known)
        if not inside.all() or (known[given.indices] < 0).any():
            raise ModelError(
                [f"terms must be stated over coordinates of the system; `{given.name}` is not among them."]
            )
        return known[given.indices]

    def _each(self, given: Sequence[Any]) -> NDArray[np.int64]:
        known = self._single
        return np.array([known[q] if q in known else self._one(q) for q in given], np.int64)

    def _one(self, coordinate: Any) -> int:
        name = name_of(coordinate)
        if name in self._single:
            return self._single[name]
        part = ELEMENT.fullmatch(name)
        known = self._arrays.get(part[1], np.zeros(0, np.int64)) if part else np.zeros(0, np.int64)
        if part is None or int(part[2]) >= len(known) or known[int(part[2])] < 0:
            raise ModelError([f"terms must be stated over coordinates of the system; `{name}` is not among them."])
        return int(known[int(part[2])])
