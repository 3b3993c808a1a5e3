# SPDX-License-Identifier: BSD-3-Clause
"""Mean, variance and quantiles over the members of an ensemble, in memory that does not grow with their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats

SAMPLE = 10_000
"""Number of members from which quantiles are computed; all members if they are fewer."""


@dataclass
class Summary:
    """Mean, variance and quantiles of an output (T, …) over members that arrive in parts; failed ones are left out.

    Mean and variance are accumulated by the formulas of Welford and Chan, which are numerically stable. Quantiles are
    exact for up to 10 000 members and those of a random sample of about this size otherwise. Which members are in the
    sample depends on their numbers alone, so that it is the same however they are divided.

    total    the number of all members
    """

    quantiles: Sequence[float]
    total: int
    count: int = 0
    mean: Any = 0.0
    squares: Any = 0.0
    sample: Any = None

    def add(self, numbers: NDArray[np.int64], values: Floats) -> None:
        """Add the values (N, T, …) of members with these numbers."""
        finite = np.isfinite(values).all(axis=tuple(range(1, values.ndim)))
        numbers, values = numbers[finite], values[finite]
        if not len(values):
            return
        mean = values.mean(axis=0)
        # deviations from the mean: a difference of sums of squares would cancel when the spread is small
        squares = ((values - mean) ** 2).sum(axis=0)
        sample = values[in_sample(numbers, self.total)] if self.quantiles else None
        self.merge(Summary(self.quantiles, self.total, len(values), mean, squares, sample))

    def merge(self, other: Summary) -> None:
        """Add the members of another summary."""
        if not other.count:
            return
        total = self.count + other.count
        difference = other.mean - self.mean
        self.squares = self.squares + other.squares + difference**2 * (self.count * other.count / total)
        self.mean = self.mean + difference * (other.count / total)
        if other.sample is not None:
            self.sample = other.sample if self.sample is None else np.concatenate([self.sample, other.sample])
        self.count = total

    @property
    def variance(self) -> Any:
        """The variance of the population from which the members are drawn."""
        return self.squares / (self.count - 1) if self.count > 1 else np.full_like(self.mean, np.nan)

    def quantile_values(self) -> Floats:
        """The quantiles (k, T, …)."""
        if self.sample is None or not len(self.sample):
            return np.full((len(self.quantiles), *np.shape(self.mean)), np.nan)
        return np.quantile(self.sample, list(self.quantiles), axis=0)


def in_sample(numbers: NDArray[np.int64], total: int) -> NDArray[np.bool_]:
    """Return which members are in the random sample, by pseudo-random numbers that are hashes of their numbers."""
    if total <= SAMPLE:
        return np.ones(len(numbers), bool)
    # the generator splitmix64, whose output number k is a function of k
    x = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(factor)
    x ^= x >> np.uint64(31)
    return (x >> np.uint64(11)) * 2.0**-53 < SAMPLE / total


def summaries_of(
    values: Mapping[str, Floats], first: int, failed: Any, quantiles: Sequence[float], total: int
) -> dict[str, Summary]:
    """Return the summaries of outputs (N, T, …) of members, which are numbered from ``first``, by name."""
    # a failed member has no states after its failure, which would bias the later means
    numbers, found = first + np.flatnonzero(~failed), dict[str, Summary]()
    for name, own in values.items():
        found[name] = Summary(quantiles, total)
        found[name].add(numbers, own[~failed])
    return found
