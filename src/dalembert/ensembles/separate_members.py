# SPDX-License-Identifier: BSD-3-Clause
"""Ensembles whose members are simulated one after another by ``da.simulate``, for what only it can do."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, Literal, NamedTuple

import numpy as np

from dalembert.analysis.ledger_entries import Entry
from dalembert.common.array_types import Floats
from dalembert.ensembles.ensemble_outputs import OF_CONSTRAINTS, OF_COORDINATES, OF_STATES, OutputChoice
from dalembert.ensembles.ledger_outputs import OF_ENERGY, OF_ENTRIES
from dalembert.ensembles.member_events import EventTable, events_of_run
from dalembert.ensembles.members import Members
from dalembert.ensembles.repeated_notes import note_of_all, notes_to_repeat
from dalembert.ensembles.runner import for_ensemble_member
from dalembert.ensembles.study import BlockResult, Findings, Study
from dalembert.ensembles.summary import summaries_of
from dalembert.errors import DalembertError, ModelError, SimulationError
from dalembert.integration.trajectory import Trajectory
from dalembert.settings import AnySystem
from dalembert.verbs import simulate

MEMBERS_PER_BLOCK = 16
"""Members of a block: each of them takes as long as a single run."""

_one_at_a_time = Lock()
"""Large systems are compiled with room for the terms at one state, which the threads of a worker would share."""


@dataclass(frozen=True)
class SeparateStudy:
    """An ensemble whose members are simulated separately, without its members: see ``study.Study``.

    constraint_names   the names of its constraints
    arguments          of ``da.simulate``
    why                for what members are simulated separately
    fixed              parameters of all members that are arrays
    parameter_names    names of the other parameters
    ledger_entries     the entries of the ledgers of members; none unless they are kept
    switches           whether the motion has events, or contacts that open and close
    """

    system: AnySystem
    constraint_names: tuple[str, ...]
    arguments: Mapping[str, Any]
    why: str
    fixed: Mapping[str, Any]
    parameter_names: tuple[str, ...]
    times: Floats
    keep: Literal["times", "end", "summary"]
    outputs: OutputChoice
    quantiles: tuple[float, ...]
    total: int
    ledger_entries: tuple[Entry, ...]
    switches: bool
    threads: int | None = None
    single: bool = False

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        return self.system.coordinate_names

    @property
    def kept_times(self) -> Floats:
        return self.times[-1:] if self.keep == "end" else self.times

    @property
    def identity(self) -> tuple[Any, ...]:
        """Everything but the times and the members that determines the results."""
        return self.system, self.arguments, self.fixed, self.keep, self.outputs, self.quantiles

    def runner(self) -> SeparateRunner:
        """Return what simulates blocks of members."""
        return SeparateRunner(self)


AnyStudy = Study | SeparateStudy


class _Member(NamedTuple):
    """The run of a member, as far as it goes, and why it failed; empty if it did not."""

    run: Trajectory | None
    reason: str


class SeparateRunner:
    """Simulates blocks of members of a study, one member after another."""

    block_size = MEMBERS_PER_BLOCK

    def __init__(self, study: SeparateStudy):
        self.study = study

    def prepare(self) -> None:
        """Prepare nothing: the first run compiles."""

    def __call__(self, first: int, members: Members) -> BlockResult:
        """Return the results of members, which are numbered from ``first``."""
        study, began = self.study, time.perf_counter()
        with _one_at_a_time:
            found = [self._simulated(members, k) for k in range(len(members))]
            findings = Findings(time.perf_counter() - began, [*range(first, first + len(found))])
            values = self._outputs(found)
            if study.ledger_entries:
                values |= self._ledgers(first, found, findings)
        reasons = np.array([one.reason for one in found])
        failed = reasons != ""
        findings.failed = int(np.count_nonzero(failed))
        findings.member_notes = {
            first + k: notes for k, one in enumerate(found) if one.run and (notes := notes_to_repeat(one.run.notes))
        }
        if study.keep == "summary":
            summaries = summaries_of(values, first, failed, study.quantiles, study.total)
            return BlockResult({}, summaries, reasons, findings)
        return BlockResult(values | self._control(found), {}, reasons, findings, self._events(found))

    def _simulated(self, members: Members, k: int) -> _Member:
        study = self.study
        own = zip(study.parameter_names, map(float, members.p[:, k]), strict=True)
        given: dict[str, Any] = {"parameters": {**study.fixed, **dict(own)}, "progress": False, **study.arguments}
        try:
            return _Member(simulate(study.system, members.q[:, k], members.qd[:, k], study.times, **given), "")
        except ModelError:  # it is that of all members
            raise
        except SimulationError as end:
            return _Member(end.trajectory, for_ensemble_member(str(end)))
        except DalembertError as error:
            return _Member(None, for_ensemble_member(str(error)))

    def _outputs(self, found: list[_Member]) -> dict[str, Floats]:
        """Return the outputs (N, T, …) by name, NaN where a member did not get or failed."""
        choice, n, m = self.study.outputs, len(self.study.coordinate_names), len(self.study.constraint_names)
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys((*OF_STATES, *OF_COORDINATES), (n,))
        shapes |= dict.fromkeys(OF_CONSTRAINTS, (m,))
        values = {
            name: self._table(found, lambda run, name=name: getattr(run, name), shapes.get(name, ()))
            for name in choice.of_motion
        }
        for name, expression in choice.expressions.items():
            values[name] = self._table(found, lambda run, one=expression: run.evaluate(one), ())
        return values

    def _control(self, found: list[_Member]) -> dict[str, Floats]:
        """Return inputs and errors by their names in the dataset of a run."""
        runs = [one.run for one in found if one.run is not None]
        if not runs:
            return {}
        values = {
            f"input({name})": self._table(found, lambda run, name=name: run.inputs[name], ()) for name in runs[0].inputs
        }
        for name, own in runs[0].servo_error.items():
            errors = self._table(found, lambda run, name=name: run.servo_error[name], own.shape[1:])
            values[f"error({name})"] = errors
        return values

    def _table(self, found: list[_Member], values_of: Any, shape: tuple[int, ...]) -> Floats:
        """Return the values of all runs at the kept times, NaN where there are none."""
        times = self.study.times
        table = np.full((len(found), len(self.study.kept_times), *shape), np.nan)
        for row, (run, reason) in zip(table, found, strict=True):
            if run is None:
                continue
            own = np.asarray(values_of(run))
            if self.study.keep == "end":  # an event that stops a run is its end
                row[0] = np.nan if reason else own[-1]
                continue
            reached = times <= run.t[-1]
            row[reached] = own[np.searchsorted(run.t, times[reached])]
            if reason:
                row[-1] = np.nan  # even if reached: the failure is at this time
        return table

    def _events(self, found: list[_Member]) -> EventTable | None:
        if not self.study.switches:
            return None
        listed = [[] if run is None else events_of_run(run.events) for run, _ in found]
        return EventTable.of(listed, np.array([np.nan if run is None else float(run.t[-1]) for run, _ in found]))

    def _ledgers(self, first: int, found: list[_Member], findings: Findings) -> dict[str, Floats]:
        """Return the variables of the ledgers (N, T, …), NaN of members that failed."""
        from dalembert.ensembles.member_ledgers import findings_of, put_ledger  # imported here: needs JAX

        study = self.study
        shape = len(found), len(study.times)
        values = {name: np.full((*shape, len(study.ledger_entries)), np.nan) for name in OF_ENTRIES}
        values |= {name: np.full(shape, np.nan) for name in OF_ENERGY}
        last = np.full(len(found), len(study.times) - 1)
        for k, (run, reason) in enumerate(found):
            if run is None or reason:
                continue
            try:
                ledger = run.ledger()
            except DalembertError as error:
                findings.ledger.open[first + k] = for_ensemble_member(str(error))
                continue
            if ledger.potential is None:
                values.pop("potential", None)
            last[k] = put_ledger(values, k, ledger, study.times, at_end=study.keep == "end")
            findings.ledger.add(findings_of(first + k, ledger))
        if study.keep == "end":
            values = {name: own[np.arange(len(found)), last][:, None] for name, own in values.items()}
        return values

    def notes(self, findings: Findings) -> str:
        """Return the notes on an ensemble as one text."""
        separately = f"Members were simulated one after another, as by `da.simulate`, for {self.study.why}."
        return " ".join(note for note in (separately, note_of_all(findings.member_notes), findings.ledger.note) if note)
