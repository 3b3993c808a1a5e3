# SPDX-License-Identifier: BSD-3-Clause
"""Ensembles in single precision: what they can be asked for, and how far they are from double precision."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.common.array_types import Floats
from dalembert.ensembles.members import Members
from dalembert.ensembles.runner import EnsembleRunner, EnsembleStates
from dalembert.errors import InputError
from dalembert.integration.method import Method
from dalembert.model.friction_contacts import contacts
from dalembert.model.system import System

MOST_COMPARED_MEMBERS = 64
"""Largest number of members that are simulated in double precision as well, evenly spaced."""

SINGLE_ROUNDING = float(np.finfo(np.float32).eps)

LEAST_SINGLE_RTOL = 10 * SINGLE_ROUNDING
"""Least relative tolerance: the estimated error of a step is a difference of stages, which are rounded."""


def refuse_single(system: System, method: Method, device: str, reference: Members) -> None:
    """Raise an error for what single precision cannot do."""
    with_it = 'with `precision="single"`'
    if device != "gpu":
        raise InputError(f'`device` must be "gpu" {with_it}, since CPUs gain little from it; got {device!r}.')
    if contacts(system):
        raise InputError(
            f"a system whose contacts can stick cannot be simulated {with_it}: sticking and sliding differ by less "
            f'than its rounding error. Use `precision="double"`.'
        )
    if method.drift.integrals:
        raise InputError(
            f"`drift` cannot conserve first integrals to within rounding error {with_it}. Use `da.Projection()`, or "
            f'`precision="double"`.'
        )
    if method.step is not None:
        return
    if method.rtol < LEAST_SINGLE_RTOL:
        raise InputError(
            f"`rtol` must be at least {LEAST_SINGLE_RTOL:.1e} {with_it}, whose rounding is {SINGLE_ROUNDING:.1e}; got "
            f'{method.rtol:g}. Choose a larger `rtol`, a fixed `step`, or `precision="double"`.'
        )
    least = SINGLE_ROUNDING * float(np.abs(reference.q).max(initial=0.0))
    if method.atol is not None and np.min(method.atol) < least:
        raise InputError(
            f"`atol` must be at least {least:.1e} {with_it}, the rounding error of the initial coordinates; got "
            f'{np.min(method.atol):g}. Choose a larger `atol`, leave it out, or use `precision="double"`.'
        )


@dataclass
class SingleFindings:
    """The number of members that were compared with double precision, and by component of the state (2n) the largest
    difference and the largest absolute value."""

    examined: int = 0
    differences: list[float] = field(default_factory=list[float])
    sizes: list[float] = field(default_factory=list[float])

    def add(self, other: SingleFindings) -> None:
        """Add the findings of further members."""
        self.examined += other.examined
        self.differences = _largest(self.differences, other.differences)
        self.sizes = _largest(self.sizes, other.sizes)

    @property
    def relative(self) -> float:
        """The largest difference, relative to the largest value of the positions or of the velocities."""
        n = len(self.sizes) // 2
        parts = [(max(self.differences[own], default=0.0), max(self.sizes[own], default=0.0)) for own in _halves(n)]
        return max((difference / size for difference, size in parts if size > 0), default=0.0)

    def note(self, names: Sequence[str]) -> str:
        """Return a note on the differences; empty if no member was compared."""
        if not self.examined:
            return ""
        n = len(names)
        largest = [max(zip(self.differences[own], names, strict=True)) for own in _halves(n)]
        (of_q, q), (of_qd, qd) = largest
        return (
            f"Single precision: {self.examined} members, simulated in double precision as well, differ by up to "
            f"{of_q:.1e} in `{q}` and {of_qd:.1e} in `{qd}'`."
        )


def _largest(a: list[float], b: list[float]) -> list[float]:
    return [max(pair) for pair in zip(a, b, strict=True)] if a and b else a or b


def _halves(n: int) -> tuple[slice, slice]:
    return slice(n), slice(n, 2 * n)


class SingleComparison:
    """Simulates some members of an ensemble in double precision as well, on this processor, while the GPU works."""

    def __init__(self, system: System, method: Method, times: Floats, count: int, reference: Members, **given: Any):
        self.runner = EnsembleRunner(system, method, times, on_gpu=False, reference=reference, **given)
        self.reference = reference
        self.selected = np.unique(np.linspace(0, count - 1, MOST_COMPARED_MEMBERS).astype(int))
        self._begun: tuple[NDArray[np.intp], Future[EnsembleStates]] | None = None

    def begin(self, first: int, members: Members) -> None:
        """Begin with those of some members that are selected; the members are numbered from ``first``."""
        own = self.selected[(self.selected >= first) & (self.selected < first + len(members))] - first
        self._begun = None
        if len(own):
            self.runner.compile_for(self.reference)
            pool = ThreadPoolExecutor(1)
            self._begun = own, pool.submit(self.runner, members.subset(own))
            pool.shutdown(wait=False)

    def finish(self, states: Floats, failed: NDArray[np.bool_]) -> SingleFindings:
        """Return the findings of these members, with states (N, T, 2n) in single precision."""
        if self._begun is None:
            return SingleFindings()
        own, future = self._begun
        found = future.result()
        known = ~(found.failed | failed[own])
        exact, rounded = found.y[known], states[own][known]
        if not len(exact):
            return SingleFindings()
        differences, sizes = (np.abs(x).max(axis=(0, 1)).tolist() for x in (rounded - exact, exact))
        return SingleFindings(len(exact), differences, sizes)
