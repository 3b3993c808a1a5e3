# SPDX-License-Identifier: BSD-3-Clause
"""What is kept of many motions while they come: all of them, their ends, or mean, variance and quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.array_types import Floats

SAMPLE = 10_000
"""Members that quantiles are taken from; of more than that, so many chosen at random."""


@dataclass
class Summary:
    """Mean, variance and quantiles of states (N, T, 2n) that come in parts; those that failed are left out.

    Mean and variance are added up by Welford's and Chan's formulas, which lose no digits; quantiles are exact up to
    10 000 members and those of a random sample of so many beyond.
    """

    quantiles: Sequence[float]
    count: int = 0
    mean: Any = 0.0
    squares: Any = 0.0
    _sample: Floats | None = None
    _rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def add(self, y: Floats) -> None:
        y = y[np.isfinite(y).all(axis=(1, 2))]
        if not len(y):
            return
        mean = y.mean(axis=0)
        squares = ((y - mean) ** 2).sum(axis=0)
        total = self.count + len(y)
        apart = mean - self.mean
        self.squares = self.squares + squares + apart**2 * (self.count * len(y) / total)
        self.mean = self.mean + apart * (len(y) / total)
        if self.quantiles:
            self._draw(y)
        self.count = total

    @property
    def variance(self) -> Any:
        """Of the population that the members are drawn from."""
        return self.squares / (self.count - 1) if self.count > 1 else np.full_like(self.mean, np.nan)

    def of_quantiles(self) -> Floats:
        """(k, T, 2n)."""
        return np.quantile(self._sample, list(self.quantiles), axis=0) if self._sample is not None else np.empty(0)

    def _draw(self, y: Floats) -> None:
        """Keep a sample in which every member so far is equally likely to be."""
        room = SAMPLE if self._sample is None else SAMPLE - len(self._sample)
        first = y[: max(room, 0)]
        self._sample = first.copy() if self._sample is None else np.concatenate([self._sample, first])
        for k in range(len(first), len(y)):
            place = int(self._rng.integers(0, self.count + k + 1))
            if place < SAMPLE:
                self._sample[place] = y[k]
