# SPDX-License-Identifier: BSD-3-Clause
"""The results of blocks of members, put together in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.ensembles.dataset import dataset_of_members, dataset_of_summaries, with_events
from dalembert.ensembles.ensemble_layout import EnsembleLayout
from dalembert.ensembles.member_events import EventTable
from dalembert.ensembles.separate_members import AnyStudy
from dalembert.ensembles.study import BlockResult, Findings
from dalembert.ensembles.summary import Summary

if TYPE_CHECKING:
    import xarray as xr


class Totals:
    """Findings and summaries of all blocks, added in the order of the blocks, so that rounding is the same each time.

    Blocks may arrive in any order; those that arrive early wait for the ones before them.
    """

    def __init__(self) -> None:
        self.findings, self.summaries = Findings(), dict[str, Summary]()
        self.first_reason = ""
        self._waiting: dict[int, tuple[Findings, dict[str, Summary], str]] = {}
        self._next = 0

    def put(self, number: int, findings: Findings, summaries: dict[str, Summary], reason: str) -> None:
        """Add a block; ``reason`` is why its first member failed that did."""
        self._waiting[number] = findings, summaries, reason
        while self._next in self._waiting:
            own, parts, text = self._waiting.pop(self._next)
            self.findings.add(own)
            self.first_reason = self.first_reason or text
            for name, part in parts.items():
                self.summaries.setdefault(name, Summary(part.quantiles, part.total)).merge(part)
            self._next += 1


def first_reason(reasons: Any) -> str:
    """Return why the first member failed that did; empty if none did."""
    return next((str(reason) for reason in reasons if reason), "")


class InMemory:
    """Collects the results of all blocks in memory."""

    def __init__(self, study: AnyStudy, layout: EnsembleLayout):
        self.study, self.layout, self.totals = study, layout, Totals()
        self.done: set[int] = set()
        self._values: dict[int, dict[str, Any]] = {}
        self._reasons: dict[int, Any] = {}
        self._events: dict[int, EventTable] = {}

    def put(self, number: int, result: BlockResult) -> None:
        """Add a block."""
        # the loop over a million empty texts would take a tenth of a second
        reason = first_reason(result.reasons) if result.findings.failed else ""
        self.totals.put(number, result.findings, result.summaries, reason)
        if self.study.keep != "summary":
            self._values[number], self._reasons[number] = result.values, result.reasons
            if result.events is not None:
                self._events[number] = result.events
        self.done.add(number)

    def dataset(self, attributes: dict[str, Any]) -> xr.Dataset:
        """Return the results of all blocks, with attributes."""
        found = self._results()
        found.attrs |= attributes  # in place of a copy
        return found

    def _results(self) -> xr.Dataset:
        if self.study.keep == "summary":
            totals = self.totals
            return dataset_of_summaries(self.study, totals.summaries, totals.first_reason, totals.findings.failed)
        parts = [self._values[number] for number in sorted(self._values)]
        values = {name: _joined([part[name] for part in parts]) for name in parts[0]}
        reasons = _joined([self._reasons[number] for number in sorted(self._reasons)])
        found = dataset_of_members(self.study, self.layout, values, reasons)
        if not self._events:
            return found
        return with_events(found, self.layout, [self._events[number] for number in sorted(self._events)])


def _joined(parts: list[Any]) -> Any:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
