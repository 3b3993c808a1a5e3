# SPDX-License-Identifier: BSD-3-Clause
"""The entry of the applied forces of a ledger, split by the named parts of the applied force."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalembert.analysis.ledger import Ledger
from dalembert.analysis.ledger_entries import Entry
from dalembert.analysis.quadrature import IntegratedSegment, Nodes, Quadrature
from dalembert.common.array_types import Floats
from dalembert.model.expression_values import expression_values
from dalembert.model.force_parts import ForcePart
from dalembert.model.system import System


def working_parts(parts: Sequence[ForcePart]) -> list[ForcePart]:
    """Return the parts with expressions that do work; others, such as gyroscopic forces, have no entry."""
    return [part for part in parts if part.force is not None and part.does_work]


def part_names(parts: Sequence[ForcePart]) -> list[str]:
    """Return the names of the entries of parts; the last one is the rest, if there is any."""
    return [*(part.name for part in working_parts(parts)), *(part.name for part in parts if part.force is None)]


class AppliedParts:
    """Work, power and potential energy of the parts of the applied force, collected along a run of T times.

    ``p`` are the values of all parameters: a phase in which a constraint is open has no parameters of its laws, on
    which no part of the applied force depends.

    ``add_powers`` takes the powers at the nodes of each segment of a run, ``add_outputs`` its outputs; ``split`` then
    returns the ledger with an entry for each part.
    """

    def __init__(self, system: System, times: int, p: Mapping[str, float]) -> None:
        self._parts = parts = tuple(system.force_parts)
        self.working = working_parts(parts)
        # the remaining part has no expression: it is all applied forces less the others
        self.rest = [part.name for part in parts if part.force is None]
        stored = [part for part in parts if part.potential != 0]
        self.stored = [part.name for part in stored]
        self._powers = expression_values(system, tuple(part.power(system.velocities) for part in self.working))
        self._forces = expression_values(system, tuple(e for part in self.working for e in part.force))
        self._energies = expression_values(system, tuple(part.potential for part in stored))
        self._increments = np.zeros((times, len(self.working)))
        self._outputs: list[tuple[Floats, Floats, Floats]] = []
        self._n = len(system.coordinates)
        self._p = dict(p)

    @property
    def names(self) -> list[str]:
        """The names of the entries."""
        return part_names(self._parts)

    def powers_of_many(self, t: Floats, y: Floats, p: Mapping[str, Floats]) -> Floats:
        """Return the power (k, parts) of each part at k states y (k, 2n), with parameters (k,) of each by name."""
        return self._powers(t, y, p)

    def powers(self, segment: IntegratedSegment, nodes: Nodes) -> Floats:
        """Return the power (k, parts) of each part at nodes."""
        return self._powers(nodes.t, np.concatenate([nodes.q, nodes.qd], axis=1), self._values(segment))

    def add_powers(self, found: Quadrature, powers: Floats) -> None:
        """Add the work between the outputs."""
        found.add(self._increments, powers)

    def add_outputs(self, segment: IntegratedSegment, t: Floats, q: Floats, qd: Floats) -> None:
        """Add forces, powers and energies at outputs."""
        y, p = np.concatenate([q, qd], axis=1), self._values(segment)
        forces = self._forces(t, y, p).reshape(len(t), -1, self._n)
        self._outputs.append((forces, self._powers(t, y, p), self._energies(t, y, p)))

    def split(self, ledger: Ledger) -> Ledger:
        """Return a ledger with the entries of the parts in the place of that of all applied forces."""
        forces, powers, energies = (np.concatenate(parts) for parts in zip(*self._outputs, strict=True))
        work = np.cumsum(self._increments, axis=0)
        own = {"force": forces, "power": powers, "work": work, "split_power": powers, "split_work": work}
        found = {name: with_parts(getattr(ledger, name), parts, 1, rest=bool(self.rest)) for name, parts in own.items()}
        entries = (*(Entry(name, "applied", "") for name in self.names), *ledger.entries[1:])
        potentials = dict(zip(self.stored, energies.T, strict=True)) if ledger.potential is not None else {}
        return replace(ledger, entries=entries, potentials=potentials, **found)

    def _values(self, segment: IntegratedSegment) -> dict[str, float]:
        """Return the parameters of a segment by name."""
        # the values of the segment last: events may change parameters during a run
        return self._p | dict(zip(segment.dynamics.parameters, map(float, segment.p), strict=True))


def with_parts(values: Any, parts: Any, axis: int, *, rest: bool) -> Any:
    """Return values of entries along an axis with those of parts, and the rest, in the place of the first one."""
    first, others = np.split(values, [1], axis=axis)
    remaining = [first - parts.sum(axis=axis, keepdims=True)] if rest else []
    return np.concatenate([parts, *remaining, others], axis=axis)
