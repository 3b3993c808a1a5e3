# SPDX-License-Identifier: BSD-3-Clause
"""Results that are kept of an ensemble: all states, the final states, or mean, variance and quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalembert.array_types import Floats

SAMPLE = 10_000
"""Largest number of members from which quantiles are computed; a random sample of this size otherwise."""


@dataclass
class Summary:
    """Mean, variance and quantiles of states (N, T, 2n) that arrive in chunks; failed members are left out.

    Mean and variance are accumulated by the formulas of Welford and Chan, which are numerically stable. Quantiles are
    exact for up to 10 000 members and those of a random sample of this size otherwise.
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
        # deviations from the mean: a difference of sums of squares would cancel when the spread is small
        squares = ((y - mean) ** 2).sum(axis=0)
        total = self.count + len(y)
        difference = mean - self.mean
        self.squares = self.squares + squares + difference**2 * (self.count * len(y) / total)
        self.mean = self.mean + difference * (len(y) / total)
        if self.quantiles:
            self._update_sample(y)
        self.count = total

    @property
    def variance(self) -> Any:
        """The variance of the population from which the members are drawn."""
        return self.squares / (self.count - 1) if self.count > 1 else np.full_like(self.mean, np.nan)

    def quantile_values(self) -> Floats:
        """The quantiles (k, T, 2n)."""
        return np.quantile(self._sample, list(self.quantiles), axis=0) if self._sample is not None else np.empty(0)

    def _update_sample(self, y: Floats) -> None:
        """Update the random sample, which contains every member so far with equal probability."""
        room = SAMPLE if self._sample is None else SAMPLE - len(self._sample)
        first = y[: max(room, 0)]
        self._sample = first.copy() if self._sample is None else np.concatenate([self._sample, first])
        for k in range(len(first), len(y)):
            # reservoir sampling: member number N replaces one in the sample with probability SAMPLE/N
            place = int(self._rng.integers(0, self.count + k + 1))
            if place < SAMPLE:
                self._sample[place] = y[k]
