# SPDX-License-Identifier: BSD-3-Clause
"""The dimensions of an ensemble, their labels, and its division into blocks of members that follow one another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.errors import InputError
from dalembert.model.ordering import quoted

EVENT_VARIABLES = ("event", "event_count", "event_time", "event_name", "event_kind", "end_time")
"""Names in the dataset of an ensemble that describe the events of members."""

RESERVED = ("time", "coordinate", "constraint", "quantile", "q", "qd", "reason", *EVENT_VARIABLES)
"""Names in the dataset of an ensemble that a swept quantity cannot have."""


class Block(NamedTuple):
    """A part of an ensemble: its place along each dimension, and the numbers of its members."""

    place: tuple[slice, ...]
    members: slice


@dataclass(frozen=True)
class EnsembleLayout:
    """The dimensions of an ensemble with their lengths, and its labels: for each name its dimensions and values."""

    sizes: Mapping[str, int]
    labels: Mapping[str, tuple[tuple[str, ...], Any]]

    @property
    def dims(self) -> tuple[str, ...]:
        return tuple(self.sizes)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.sizes.values())

    def block_shape(self, most: int) -> tuple[int, ...]:
        """Return the lengths of a block of at most ``most`` members: all of the last dimensions, one of the first."""
        size = 1
        for k in reversed(range(len(self.shape))):
            if size * self.shape[k] > most:
                return (*(1,) * k, max(most // size, 1), *self.shape[k + 1 :])
            size *= self.shape[k]
        return self.shape

    def blocks(self, most: int) -> list[Block]:
        """Return all blocks of at most ``most`` members, in the order of their members."""
        lengths = self.block_shape(most)
        found: list[Block] = []
        for corner in product(*(range(0, size, step) for size, step in zip(self.shape, lengths, strict=True))):
            ends = [min(a + step, size) for a, step, size in zip(corner, lengths, self.shape, strict=True)]
            first = int(np.ravel_multi_index(corner, self.shape))
            count = prod(b - a for a, b in zip(corner, ends, strict=True))
            found.append(Block(tuple(map(slice, corner, ends)), slice(first, first + count)))
        return found


def refuse_taken_names(outputs: Iterable[str], layout: EnsembleLayout) -> None:
    """Raise an error if an output has the name of a dimension or of a swept quantity."""
    taken = [name for name in outputs if name in layout.sizes or name in layout.labels]
    if taken:
        raise InputError(
            f"`outputs` must have other names than the dimensions and the values that vary between members; "
            f"{quoted(taken)} is one of these. Name an expression by a mapping: `outputs={{'name': expression}}`."
        )


def label_of(name: str) -> str:
    """Return the name of a swept quantity in the dataset of an ensemble."""
    return f"parameter({name})" if name in RESERVED else name


def numbered(count: int, swept: Mapping[str, Floats], labels: Any = None) -> EnsembleLayout:
    """Return the layout of members and the values that differ between them; members without labels are numbered."""
    import pandas as pd

    # a range is not stored as numbers, of which a million would take longer than some motions on a GPU
    own = pd.RangeIndex(count) if labels is None else labels
    names = {name: "parameter(member)" if name == "member" else label_of(name) for name in swept}
    found = {names[name]: (("member",), values) for name, values in swept.items()}
    return EnsembleLayout({"member": count}, {"member": (("member",), own), **found})
