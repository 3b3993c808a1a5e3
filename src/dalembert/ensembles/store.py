# SPDX-License-Identifier: BSD-3-Clause
"""The results of an ensemble in a Zarr store, block by block, so that a study that was cut off can be resumed.

While a study runs, a folder beside the store holds its journal. A block counts as done when its line is in the journal,
which is written after its data. A study that is resumed computes the blocks that are not in it. When all are done the
folder is removed, and an attribute of the store tells which study it holds.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.common.extras import require
from dalembert.common.target_path import target_path
from dalembert.ensembles.coarse_members import CoarseFindings
from dalembert.ensembles.collection import Totals, first_reason
from dalembert.ensembles.dataset import dataset_of_summaries, labels_of, used_labels, with_events
from dalembert.ensembles.ensemble_bifurcations import BifurcationFindings
from dalembert.ensembles.ensemble_layout import EnsembleLayout
from dalembert.ensembles.ledger_outputs import LedgerFindings
from dalembert.ensembles.member_events import EventTable
from dalembert.ensembles.members import Members
from dalembert.ensembles.projected_starts import StartFindings
from dalembert.ensembles.separate_members import AnyStudy
from dalembert.ensembles.single_precision import SingleFindings
from dalembert.ensembles.study import BlockResult, Findings
from dalembert.ensembles.summary import Summary
from dalembert.ensembles.unfinished_members import UnfinishedFindings
from dalembert.errors import InputError
from dalembert.model.digest import digest

if TYPE_CHECKING:
    import xarray as xr

PROGRESS, JOURNAL = ".progress", "journal.jsonl"
"""Suffix of the folder of an unfinished study after the name of its store, and the journal in this folder."""

EVENTS = "events{}.npz"
"""The file in this folder with the events of a block."""

TEXT_FORMAT = 2
"""The format of Zarr: names of coordinates are text, for which format 3 has no stable specification yet."""


def checked_store(path: Any) -> Path:
    """Return the path of a store, or raise an error if it cannot be one."""
    require("zarr")
    return target_path(path, (".zarr",), "store")


def fingerprint(study: AnyStudy, members: Members, size: int) -> str:
    """Return a hash of everything that determines the results and their division into blocks of a size."""
    found = hashlib.sha256(digest((study.identity, size)).encode())
    for array in (study.times, members.y, members.p):
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


class Store:
    """Writes blocks to a Zarr store; one process writes."""

    def __init__(self, path: Path, study: AnyStudy, layout: EnsembleLayout, members: Members, size: int):
        self.path, self.study, self.layout, self.size = path, study, layout, size
        self.blocks, self.totals = layout.blocks(size), Totals()
        self.done: set[int] = set()
        self._reasons: dict[int, str] = {}
        self._folder, self._mark = path.with_name(path.name + PROGRESS), fingerprint(study, members, size)
        self._finished = path.exists() and not (self._folder / JOURNAL).is_file()
        if self._finished:
            self._require_same(_stored_mark(path))
            self.done = set(range(len(self.blocks)))
        elif self._folder.exists():
            self._resume()
        else:
            self._folder.mkdir()
            self._note({"study": self._mark})

    def _require_same(self, mark: Any) -> None:
        if mark != self._mark:
            raise InputError(
                f"`store` must be new, or that of the same study; `{self.path}` holds another one. Pass another path, "
                f"or remove it."
            )

    def _note(self, line: dict[str, Any]) -> None:
        """Append a line to the journal, and wait until it is on the disk."""
        with (self._folder / JOURNAL).open("a", encoding="utf-8") as journal:
            journal.write(json.dumps(line) + "\n")
            journal.flush()
            os.fsync(journal.fileno())

    def _resume(self) -> None:
        journal = self._folder / JOURNAL
        lines = journal.read_text(encoding="utf-8").splitlines() if journal.is_file() else []
        known = [line for line in map(_parsed, lines) if line is not None]
        if len(known) <= 1 and not self.path.exists():  # nothing has been written yet, as after an error in the call
            journal.unlink(missing_ok=True)
            self._note({"study": self._mark})
            return
        self._require_same(known[0].get("study") if known else None)
        for line in known[1:]:
            number = line["block"]
            reasons = {int(member): text for member, text in line["reasons"].items()}
            self._count(number, _findings(line["findings"]), self._saved_summaries(number), reasons)

    def _count(self, number: int, findings: Findings, summaries: dict[str, Summary], reasons: dict[int, str]) -> None:
        if number not in self.done:
            self.totals.put(number, findings, summaries, first_reason(reasons.values()))
            self._reasons |= reasons
            self.done.add(number)

    def put(self, number: int, result: BlockResult) -> None:
        """Write a block, then its line in the journal."""
        first = self.blocks[number].members.start
        failed = np.flatnonzero(result.reasons != "")
        reasons = {first + int(k): str(result.reasons[k]) for k in failed}
        if self.study.keep == "summary":
            self._save_summaries(number, result.summaries)
        else:
            self._write(number, result.values)
        if result.events is not None:
            np.savez(self._folder / EVENTS.format(number), **asdict(result.events))
        texts = {str(member): text for member, text in reasons.items()}
        self._note({"block": number, "findings": _plain(result.findings), "reasons": texts})
        self._count(number, result.findings, result.summaries, reasons)

    def _write(self, number: int, values: dict[str, Any]) -> None:
        import zarr

        if unfit := [name for name in values if "/" in name]:
            raise InputError(
                f"an output in a `store` must have a name without `/`; got `{unfit[0]}`. Name the expression: "
                f'`outputs={{"name": expression}}`.'
            )
        group: Any = zarr.open_group(self.path, mode="a", zarr_format=TEXT_FORMAT)
        block, lengths = self.blocks[number], self.layout.block_shape(self.size)
        for name, own in values.items():
            if name not in group:
                shape, chunks = (*self.layout.shape, *own.shape[1:]), (*lengths, *own.shape[1:])
                array = group.create_array(name, shape=shape, chunks=chunks, dtype="float64", fill_value=np.nan)
                dims = (*self.layout.dims, *self.study.outputs.dims(name, own.ndim - 1))
                array.attrs["_ARRAY_DIMENSIONS"] = list(dims)
            place = [part.stop - part.start for part in block.place]
            group[name][block.place] = own.reshape(*place, *own.shape[1:])

    def _save_summaries(self, number: int, summaries: dict[str, Summary]) -> None:
        arrays: dict[str, Any] = {}
        for k, (name, own) in enumerate(summaries.items()):
            parts = {"count": own.count, "mean": own.mean, "squares": own.squares, "sample": own.sample}
            arrays[f"name{k}"] = name
            arrays |= {f"{part}{k}": value for part, value in parts.items() if value is not None}
        np.savez(self._folder / f"{number}.npz", **arrays)

    def _saved_summaries(self, number: int) -> dict[str, Summary]:
        path = self._folder / f"{number}.npz"
        if not path.is_file():
            return {}
        found: dict[str, Summary] = {}
        with np.load(path, allow_pickle=False) as data:
            for k in range(sum(key.startswith("name") for key in data)):
                sample = data.get(f"sample{k}")
                numbers = int(data[f"count{k}"]), data[f"mean{k}"], data[f"squares{k}"], sample
                found[str(data[f"name{k}"])] = Summary(self.study.quantiles, self.study.total, *numbers)
        return found

    def dataset(self, attributes: dict[str, Any]) -> xr.Dataset:
        """Write labels, reasons and summaries, and return the dataset of the store; arrays are read when used."""
        import xarray as xr

        if not self._finished:
            known = self._known().assign_attrs(attributes, study=self._mark)
            known.to_zarr(self.path, mode="a", zarr_format=TEXT_FORMAT, consolidated=True)
            shutil.rmtree(self._folder)
        return xr.open_zarr(self.path, chunks=None)

    def _known(self) -> xr.Dataset:
        """Return everything but the outputs of members, which are in the store already."""
        import xarray as xr

        if self.study.keep == "summary":
            totals = self.totals
            return dataset_of_summaries(self.study, totals.summaries, totals.first_reason, totals.findings.failed)
        labels = used_labels(labels_of(self.study, self.layout), {*self.layout.dims, *self.study.outputs.all_dims})
        found = xr.Dataset({"reason": (self.layout.dims, self._all_reasons())}, labels)
        files = [self._folder / EVENTS.format(number) for number in range(len(self.blocks))]
        tables = [_events(file) for file in files if file.is_file()]
        return with_events(found, self.layout, tables) if tables else found

    def _all_reasons(self) -> Any:
        reasons = np.full(self.study.total, "", object)
        for member, text in self._reasons.items():
            reasons[member] = text
        return reasons.astype(str).reshape(self.layout.shape)


def _events(path: Path) -> EventTable:
    with np.load(path, allow_pickle=False) as data:
        return EventTable(**data)


def _stored_mark(path: Path) -> Any:
    """Return which study a finished store holds; None if it is no store of a study."""
    import xarray as xr

    try:
        return xr.open_zarr(path, chunks=None).attrs.get("study")
    except (OSError, ValueError, KeyError):
        return None


def _parsed(line: str) -> Any:
    """Return a line of the journal; None if it was cut off, as by a crash in the middle of writing."""
    try:
        return json.loads(line)
    except ValueError:
        return None


def _plain(findings: Findings) -> dict[str, Any]:
    plain = asdict(findings)
    plain["bifurcations"]["times"] = [[member, times] for member, times in findings.bifurcations.times.items()]
    return plain


def _findings(plain: dict[str, Any]) -> Findings:
    starts, bifurcations = plain.pop("starts"), plain.pop("bifurcations")
    largest = {level: tuple(found) for level, found in starts.pop("largest").items()}
    times = {int(member): found for member, found in bifurcations["times"]}
    noted, single = plain.pop("member_notes", {}), plain.pop("single", {})
    ledger, coarse, unfinished = (plain.pop(key, {}) for key in ("ledger", "coarse", "unfinished"))
    ledger |= {"open": {int(member): note for member, note in ledger.get("open", {}).items()}}
    return Findings(
        **plain,
        member_notes={int(member): tuple(notes) for member, notes in noted.items()},
        starts=StartFindings(**starts, largest=largest),
        bifurcations=BifurcationFindings(bifurcations["examined"], times),
        single=SingleFindings(**single),
        ledger=LedgerFindings(**ledger),
        coarse=CoarseFindings(**coarse),
        unfinished=UnfinishedFindings(**unfinished),
    )
