# SPDX-License-Identifier: BSD-3-Clause
"""The computation for every member of an ensemble, block by block: integration, outputs, summaries and findings."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dalembert.analysis.conservation import refuse_changing_members
from dalembert.analysis.ledger_entries import Entry
from dalembert.common.array_types import Floats
from dalembert.common.names import listed
from dalembert.control.controller import Controller
from dalembert.ensembles.coarse_members import CoarseFindings, coarse_members
from dalembert.ensembles.design_members import members_with
from dalembert.ensembles.ensemble_bifurcations import BifurcationFindings, Bifurcations
from dalembert.ensembles.ensemble_control import EnsembleControl
from dalembert.ensembles.ensemble_outputs import EnsembleOutputs, OutputChoice
from dalembert.ensembles.ledger_outputs import LedgerFindings, member_entries
from dalembert.ensembles.member_events import EventTable
from dalembert.ensembles.members import Members
from dalembert.ensembles.projected_starts import ProjectedStarts, StartFindings
from dalembert.ensembles.repeated_notes import note_of_all
from dalembert.ensembles.runner import EnsembleRunner
from dalembert.ensembles.single_precision import SingleComparison, SingleFindings
from dalembert.ensembles.summary import Summary, summaries_of
from dalembert.ensembles.switching_runner import SwitchingRunner
from dalembert.ensembles.unfinished_members import UnfinishedFindings, unfinished_members
from dalembert.integration.method import Method
from dalembert.lowering.build import build
from dalembert.model.active_system import active_system, all_permanent, starting_system
from dalembert.model.event import Event, further_parameters
from dalembert.model.system import System

if TYPE_CHECKING:
    from dalembert.ensembles.member_ledgers import MemberLedgers


@dataclass(frozen=True)
class Study:
    """An ensemble without its members: the system, the method, and what is kept. It can be sent to other processes.

    reference    a member that selects the constraint rows of the compiled integrator, so that results do not depend on
                 how the members are divided
    total        the number of members
    threads      the number of threads for a block; None for all cores
    events       that are located in the motion of every member
    single       whether members are integrated in single precision
    """

    system: System
    method: Method
    times: Floats
    keep: Literal["times", "end", "summary"]
    outputs: OutputChoice
    quantiles: tuple[float, ...]
    on_gpu: bool
    control: Controller | None
    reference: Members
    total: int
    threads: int | None = None
    events: tuple[Event, ...] = ()
    single: bool = False

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        return self.system.coordinate_names

    @property
    def constraint_names(self) -> tuple[str, ...]:
        return self.system.constraint_names

    @property
    def switches(self) -> bool:
        """Whether the motion has events, or contacts that open and close."""
        return bool(self.events) or not all_permanent(self.system)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The names of the parameters of members: those of the system, then those that only events have."""
        return (*self.system.parameter_names, *further_parameters(self.system, self.events))

    @property
    def ledger_entries(self) -> tuple[Entry, ...]:
        """The entries of the ledgers of members; none unless they are kept."""
        if not self.outputs.ledger:
            return ()
        whole = active_system(self.system) if self.switches else self.system
        return member_entries(self.system, build(whole), self.events)

    @property
    def identity(self) -> tuple[Any, ...]:
        """Everything but the times and the members that determines the results."""
        stated = self.system, self.method, self.control, self.events
        return *stated, self.keep, self.outputs, self.quantiles, self.single

    def runner(self) -> StudyRunner:
        """Return what simulates blocks of members."""
        return StudyRunner(self)

    @property
    def kept_times(self) -> Floats:
        return self.times[-1:] if self.keep == "end" else self.times


@dataclass
class Findings:
    """Findings about members: numbers for the attributes of the result, and the sources of its notes.

    handed_over    the members that the compiled integrator handed over to the general one
    """

    seconds: float = 0.0
    handed_over: list[int] = field(default_factory=list[int])
    failed: int = 0
    starts: StartFindings = field(default_factory=StartFindings)
    bifurcations: BifurcationFindings = field(default_factory=BifurcationFindings)
    limited: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    member_notes: dict[int, tuple[str, ...]] = field(default_factory=dict[int, tuple[str, ...]])
    single: SingleFindings = field(default_factory=SingleFindings)
    ledger: LedgerFindings = field(default_factory=LedgerFindings)
    coarse: CoarseFindings = field(default_factory=CoarseFindings)
    unfinished: UnfinishedFindings = field(default_factory=UnfinishedFindings)

    def add(self, other: Findings) -> None:
        """Add the findings of further members."""
        self.seconds, self.failed = self.seconds + other.seconds, self.failed + other.failed
        self.handed_over = [*self.handed_over, *other.handed_over]
        self.starts.add(other.starts)
        self.bifurcations.add(other.bifurcations)
        self.member_notes |= other.member_notes
        self.single.add(other.single)
        self.ledger.add(other.ledger)
        self.coarse.add(other.coarse)
        self.unfinished.add(other.unfinished)
        for name, members in other.limited.items():
            self.limited[name] = [*self.limited.get(name, []), *members]


class BlockResult(NamedTuple):
    """The results of a block of N members.

    values       outputs (N, T, …) by name; none for a summary
    summaries    summaries by name; none otherwise
    reasons      (N,), empty where a member did not fail
    events       the events of members, if there can be any
    """

    values: dict[str, Floats]
    summaries: dict[str, Summary]
    reasons: NDArray[np.str_]
    findings: Findings
    events: EventTable | None = None


class StudyRunner:
    """Simulates blocks of members of a study."""

    def __init__(self, study: Study):
        whole = active_system(study.system) if study.switches else study.system
        self.study, self.dynamics, self.start = study, build(whole), build(starting_system(study.system))
        method, times = study.method, study.times
        self.runner = self._runner()
        # a member under dry friction cannot be integrated again without its transitions between sticking and sliding
        native = None
        if isinstance(self.runner, EnsembleRunner) and not self.runner.contacts:
            native = self.runner.native
        self.bifurcations = Bifurcations(self.dynamics, method, times, study.total, native)
        self.starts = ProjectedStarts(self.start, method, float(times[0]))
        self.control = EnsembleControl(whole, study.control, times)
        self.comparison = self._comparison()
        names = study.parameter_names if study.switches else self.dynamics.parameters
        self.outputs = EnsembleOutputs(study.system, self.dynamics, method, study.outputs, study.reference, names)
        self.outputs.require_expressions(float(times[0]))
        self.ledgers = self._ledgers()

    def _runner(self) -> EnsembleRunner | SwitchingRunner:
        study = self.study
        given: dict[str, Any] = {"every": study.keep != "end", "threads": study.threads}
        given["forces"] = study.outputs.needs_forces
        if study.switches:
            return SwitchingRunner(study.system, study.events, study.method, study.times, **given)
        given["reference"] = study.reference
        return EnsembleRunner(
            study.system, study.method, study.times, **given, on_gpu=study.on_gpu, single=study.single
        )

    def _ledgers(self) -> MemberLedgers | None:
        study = self.study
        if not study.outputs.ledger:
            return None
        from dalembert.ensembles.member_ledgers import MemberLedgers  # imported here: needs JAX

        given: dict[str, Any] = {"keep": study.keep, "reference": study.reference, "threads": study.threads}
        stated = study.system, self.dynamics, study.events, study.method, study.times, study.ledger_entries
        return MemberLedgers(*stated, **given)

    def _comparison(self) -> SingleComparison | None:
        study = self.study
        if not study.single:
            return None
        given: dict[str, Any] = {"every": study.keep != "end", "threads": study.threads}
        return SingleComparison(study.system, study.method, study.times, study.total, study.reference, **given)

    @property
    def block_size(self) -> int:
        """The largest number of members of a block."""
        return self.runner.chunk_size

    def prepare(self) -> None:
        """Compile what blocks need, unless it has been compiled before."""
        self.runner.compile_for(self.study.reference)

    def __call__(self, first: int, members: Members) -> BlockResult:
        """Return the results of members, which are numbered from ``first``."""
        study, seconds = self.study, self.runner.seconds
        if self.comparison is not None:
            self.comparison.begin(first, members)
        y, reasons, failed, exact, phases, events = self.runner(members)
        if self.dynamics.integrals:
            after = y[:, 1:] if study.keep != "end" else y
            refuse_changing_members(self.dynamics, study.times[-after.shape[1] :], after, members.p, first)
        inputs, limited = self.control.examine(first, members, y)
        findings = Findings(
            self.runner.seconds - seconds,
            [first + k for k in self.runner.handed_over],
            int(np.count_nonzero(failed)),
            self.starts.examine(self._at_start(members), failed, exact),
            self.bifurcations.examine(first, members, y, failed),
            limited,
            {first + k: notes for k, notes in self.runner.member_notes.items()},
            SingleFindings() if self.comparison is None else self.comparison.finish(y, failed),
        )
        findings.coarse = coarse_members(study.method, members.y.T, y, failed)
        if not (study.switches or study.single):  # open contacts and rounded coordinates miss their constraints
            own_times = study.times[-y.shape[1] :]
            findings.unfinished = unfinished_members(self.dynamics, study.method, own_times, y, members.p, failed)
        values = self.outputs(members, study.kept_times, y, phases)
        if self.ledgers is not None:
            of_ledgers, findings.ledger = self.ledgers(first, members, failed)
            values |= of_ledgers
        if study.keep != "summary":
            return BlockResult(values | inputs, {}, reasons, findings, events)
        summaries = summaries_of(values, first, failed, study.quantiles, study.total)
        return BlockResult({}, summaries, reasons, findings)

    def _at_start(self, members: Members) -> Members:
        """Return the members with the parameters of the equations at the start."""
        if not self.study.switches:
            return members
        return members_with(members, self.study.parameter_names, self.start.parameters)

    def notes(self, findings: Findings) -> str:
        """Return the notes on an ensemble as one text."""
        notes = (
            findings.starts.note,
            _note_on_handed_over(findings.handed_over, self.study.total),
            note_of_all(findings.member_notes),
            findings.bifurcations.note,
            findings.ledger.note,
            findings.coarse.note(self.study.total),
            findings.unfinished.note(self.study.method),
            findings.single.note(self.study.system.coordinate_names),
            *self.control.notes(findings.limited),
        )
        return " ".join(note for note in notes if note)


def _note_on_handed_over(members: list[int], total: int) -> str:
    """Return a note that names the members of the general integrator; empty if there are none."""
    if not members:
        return ""
    return (
        f"The compiled integrator handed {len(members)} of {total} members over to the general one, which is slower: "
        f"{listed(_ranges(members), 'member' if len(members) == 1 else 'members')}."
    )


def _ranges(numbers: list[int]) -> list[str]:
    """Return increasing numbers as ranges such as 3 to 5."""
    ends = [k for k in range(1, len(numbers)) if numbers[k] != numbers[k - 1] + 1]
    parts = [numbers[a:b] for a, b in pairwise([0, *ends, len(numbers)])]
    return [str(part[0]) if len(part) == 1 else f"{part[0]} to {part[-1]}" for part in parts]
