# SPDX-License-Identifier: BSD-3-Clause
"""The dataset of an ensemble."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, Any

from dalembert.common.array_types import Floats
from dalembert.ensembles.ensemble_layout import EnsembleLayout
from dalembert.ensembles.member_events import EventTable
from dalembert.ensembles.separate_members import AnyStudy
from dalembert.ensembles.summary import Summary
from dalembert.errors import InputError

if TYPE_CHECKING:
    import xarray as xr


def labels_of(study: AnyStudy, layout: EnsembleLayout) -> dict[str, Any]:
    """Return the labels of all dimensions."""
    names: dict[str, Any] = {"time": study.kept_times, "coordinate": list(study.coordinate_names)}
    if study.constraint_names:
        names["constraint"] = list(study.constraint_names)
    if entries := study.ledger_entries:
        names["entry"] = [entry.name for entry in entries]
        names["kind"] = (("entry",), [entry.kind for entry in entries])
    return names | dict(layout.labels)


def dataset_of_members(study: AnyStudy, layout: EnsembleLayout, values: dict[str, Floats], reasons: Any) -> xr.Dataset:
    """Return outputs (N, T, …) and reasons (N,) with the dimensions of an ensemble."""
    variables: dict[str, Any] = {
        name: ((*layout.dims, *study.outputs.dims(name, own.ndim - 1)), own.reshape(*layout.shape, *own.shape[1:]))
        for name, own in values.items()
    }
    variables["reason"] = (layout.dims, reasons.reshape(layout.shape))
    return _labelled(variables, labels_of(study, layout))


def with_events(found: xr.Dataset, layout: EnsembleLayout, parts: Sequence[EventTable]) -> xr.Dataset:
    """Return a dataset with the events of members, from the tables of all blocks."""
    whole = EventTable.joined(parts)
    variables = {f"event_{name}": getattr(whole, name) for name in ("time", "name", "kind")}
    listed = {
        name: ((*layout.dims, "event"), own.reshape(*layout.shape, own.shape[1])) for name, own in variables.items()
    }
    counted = {"event_count": whole.count, "end_time": whole.end}
    listed |= {name: (layout.dims, own.reshape(layout.shape)) for name, own in counted.items()}
    return found.assign(listed)


def dataset_of_summaries(study: AnyStudy, summaries: dict[str, Summary], reason: str, failed: int) -> xr.Dataset:
    """Return mean, variance and quantiles of every output; ``reason`` is why the first member failed that did."""
    # means over no members would be NaN without a reason
    if not any(summary.count for summary in summaries.values()):
        raise InputError(f"no member could be simulated, so there is no summary; the first failed because {reason}")
    parts: dict[str, Any] = {}
    for name, summary in summaries.items():
        dims = study.outputs.dims(name, summary.mean.ndim)
        parts[f"mean_{name}"], parts[f"variance_{name}"] = (dims, summary.mean), (dims, summary.variance)
        if study.quantiles:
            parts[f"quantile_{name}"] = (("quantile", *dims), summary.quantile_values())
    labels = {**labels_of(study, EnsembleLayout({}, {})), "quantile": list(study.quantiles)}
    return _labelled(parts, labels).assign_attrs(members=study.total, failed=failed)


def _labelled(variables: dict[str, Any], labels: dict[str, Any]) -> xr.Dataset:
    """Return a dataset of variables, with those labels whose dimensions they have."""
    import xarray as xr

    dims = {name for own, _ in variables.values() for name in ((own,) if isinstance(own, str) else own)}
    # labels that were added to a dataset later would be aligned once more
    return xr.Dataset(variables, used_labels(labels, dims))


def used_labels(labels: Mapping[str, Any], dims: Set[str]) -> dict[str, Any]:
    """Return those labels whose dimensions are among some."""
    return {
        name: given for name, given in labels.items() if (set(given[0]) if isinstance(given, tuple) else {name}) <= dims
    }
