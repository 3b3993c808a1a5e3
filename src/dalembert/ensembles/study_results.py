# SPDX-License-Identifier: BSD-3-Clause
"""The dataset of an ensemble, from its blocks of members: simulated here or on a cluster, in memory or in a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dalembert.ensembles.cluster import results_on_cluster
from dalembert.ensembles.collection import InMemory
from dalembert.ensembles.design_members import Ensemble
from dalembert.ensembles.separate_members import AnyStudy
from dalembert.ensembles.store import Store
from dalembert.integration.progress import Progress


def study_results(
    study: AnyStudy, ensemble: Ensemble, target: Path | None, client: Any, progress: Any, device: str
) -> Any:
    """Simulate all blocks of an ensemble, here or on a cluster, and return the dataset."""
    runner, members, layout = study.runner(), ensemble.members, ensemble.layout
    size = runner.block_size
    blocks = layout.blocks(size)
    found = InMemory(study, layout) if target is None else Store(target, study, layout, members, size)
    missing = [k for k in range(len(blocks)) if k not in found.done]
    finished = len(members) - sum(len(range(len(members))[blocks[k].members]) for k in missing)
    if client is None:
        parts = ((k, runner(blocks[k].members.start, members.subset(blocks[k].members))) for k in missing)
    else:
        parts = results_on_cluster(client, study, members, blocks, missing)
    with Progress(0, len(members), progress, "members") as bar:
        for k, result in parts:
            found.put(k, result)
            finished += len(result.reasons)
            bar.show(finished)
    totals = found.totals.findings
    notes = " ".join(note for note in (ensemble.note, runner.notes(totals)) if note)
    attributes = {"device": device, "seconds": totals.seconds, "handed_over": len(totals.handed_over), "notes": notes}
    if study.single:
        attributes |= {"precision": "single", "single_precision_error": totals.single.relative}
    return found.dataset(attributes)
