# SPDX-License-Identifier: BSD-3-Clause
"""Piecewise polynomials of one variable, by which signals are interpolated, on NumPy or JAX arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, Literal

import numpy as np

from dalembert.common.array_types import Floats

Outside = Literal["undefined", "continued", "periodic"]
"""The values of a polynomial outside of its pieces: NaN, the continued end pieces, or a repetition of all pieces."""

SLACK = 1e-9
"""Distance from the first and the last breakpoint, relative to the distance between them, that still is inside:
rounding of a time at the end of a run must not count as outside."""

CONTINUOUS = 1e-9
"""Change at a breakpoint, relative to the largest value beside the breakpoints, that is no jump."""


@dataclass(frozen=True, eq=False, repr=False)
class PiecewisePolynomial:
    """p(x) = Σⱼ cⱼₖ (x − xₖ)ʲ for xₖ ≤ x < xₖ₊₁.

    name            of the signal, for messages
    breakpoints     (K + 1,), increasing
    coefficients    (degree + 1, K), the lowest power first
    outside         see ``Outside``
    smoothness      the number of continuous derivatives; −1 if values jump, −2 if they were impulses at the breakpoints

    Two polynomials are equal if all of this is.
    """

    name: str
    breakpoints: Floats
    coefficients: Floats
    outside: Outside
    smoothness: int

    @cached_property
    def digest(self) -> str:
        """A text that identifies the polynomial."""
        # not Python's hash of a text, which differs between processes: exported code has names made of the digest
        found = blake2b(repr((self.name, self.outside, self.smoothness, self.coefficients.shape)).encode())
        for array in (self.breakpoints, self.coefficients):
            found.update(np.ascontiguousarray(array, float).tobytes())
        return found.hexdigest()[:24]

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, PiecewisePolynomial) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return f"PiecewisePolynomial({self.name!r}, {len(self.breakpoints) - 1} pieces)"

    @property
    def is_zero(self) -> bool:
        return not self.coefficients.any()

    @cached_property
    def derivative(self) -> PiecewisePolynomial:
        """The derivative of every piece; with a smoothness below −1 the impulses at the breakpoints are missing."""
        powers = np.arange(1, max(len(self.coefficients), 2))[:, None]
        higher = self.coefficients[1:] if len(self.coefficients) > 1 else np.zeros_like(self.coefficients)
        return PiecewisePolynomial(self.name, self.breakpoints, powers * higher, self.outside, self.smoothness - 1)

    @cached_property
    def continued(self) -> PiecewisePolynomial:
        """The same polynomial with its end pieces continued, if it is undefined outside of them."""
        return replace(self, outside="continued") if self.outside == "undefined" else self

    @property
    def limits(self) -> tuple[float, float]:
        """The ends of the range in which an undefined polynomial has values."""
        first, last = float(self.breakpoints[0]), float(self.breakpoints[-1])
        return first - SLACK * (last - first), last + SLACK * (last - first)

    def __call__(self, x: Any, xp: Any = np) -> Any:
        """Return values at an array of places, computed by NumPy or JAX."""
        first, last = self.breakpoints[0], self.breakpoints[-1]
        place = xp.asarray(x, float)
        if self.outside == "periodic":
            place = first + (place - first - xp.floor((place - first) / (last - first)) * (last - first))
        breakpoints, coefficients = xp.asarray(self.breakpoints), xp.asarray(self.coefficients)
        # the last breakpoint belongs to the last piece, and places outside to the pieces at the ends
        k = xp.clip(xp.searchsorted(breakpoints, place, side="right") - 1, 0, len(self.breakpoints) - 2)
        s = place - breakpoints[k]
        # Horner's rule
        value = coefficients[-1][k]
        for row in coefficients[-2::-1]:
            value = value * s + row[k]
        if self.outside != "undefined":
            return value
        low, high = self.limits
        return xp.where((place >= low) & (place <= high), value, xp.nan)

    def piece(self, x: float) -> tuple[float, Floats]:
        """Return the place from which the piece at x is measured, and its coefficients, the lowest power first."""
        first, last = self.breakpoints[0], self.breakpoints[-1]
        turns = np.floor((x - first) / (last - first)) * (last - first) if self.outside == "periodic" else 0.0
        k = np.clip(np.searchsorted(self.breakpoints, x - turns, side="right") - 1, 0, len(self.breakpoints) - 2)
        return float(self.breakpoints[k] + turns), self.coefficients[:, k]

    def changes_between(self, start: float, end: float) -> list[tuple[float, float]]:
        """Return pairs of times: at a jump, the last before it and the first after it; at other breakpoints, twice it.

        The argument is taken to be the time; pairs at or before ``start`` and beyond ``end`` are left out.
        """
        places = self.breakpoints
        if self.outside == "periodic":
            period = places[-1] - places[0]
            # the breakpoints of all periods that the span overlaps
            rounds = np.arange(np.floor((start - places[0]) / period), np.ceil((end - places[0]) / period) + 1)
            places = np.unique(places[None, :-1] + rounds[:, None] * period)
        places = places[(places > start) & (places <= end)]
        if self.smoothness > -1:
            return [(float(x), float(x)) for x in places if x < end]
        before = np.nextafter(places, -np.inf)
        jumped = self._jumped(before, places)
        return [(float(a), float(b)) for a, b in zip(before[jumped], places[jumped], strict=True)]

    def _jumped(self, before: Floats, after: Floats) -> Any:
        left, right = self(before), self(after)
        return np.abs(right - left) > CONTINUOUS * np.maximum(np.abs(left), np.abs(right)).max(initial=0.0)
