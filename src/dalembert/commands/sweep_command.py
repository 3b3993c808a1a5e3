# SPDX-License-Identifier: BSD-3-Clause
"""The command ``dalembert sweep``: its arguments as a design, the study, and what it prints."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from dalembert.commands.command_arguments import sequence_of
from dalembert.common.extras import require
from dalembert.common.names import shortened
from dalembert.ensembles.designs import grid, latin, scatter, sobol
from dalembert.ensembles.ensemble import simulate_ensemble
from dalembert.errors import ExpressionError, InputError
from dalembert.model.expression_parser import parse_number

if TYPE_CHECKING:
    import xarray as xr

    from dalembert.gallery.definition import Case

FILES = (".zarr", ".nc")
"""The endings of the files that a sweep can write."""


class Kept(StrEnum):
    """The part of every motion that is kept."""

    times = "times"
    end = "end"
    summary = "summary"


class Sampling(StrEnum):
    """The distribution of the members."""

    random = "random"
    latin = "latin"
    sobol = "sobol"


DRAWS = {Sampling.random: scatter, Sampling.latin: latin, Sampling.sobol: sobol}

_DISTRIBUTION = re.compile(r"\s*(normal|uniform)\s*\(([^,()]*),([^,()]*)\)\s*")


@dataclass(frozen=True)
class SweepArguments:
    """The arguments of ``dalembert sweep``."""

    grid: Sequence[str]
    scatter: Sequence[str]
    members: float | None
    sampling: Sampling
    seed: int
    parameters: Mapping[str, float]
    start: Mapping[str, Any]
    times: Any
    outputs: Sequence[str]
    keep: Kept
    output: Path | None
    cluster: str | None
    device: str


def design_of(case: Case, given: SweepArguments) -> xr.Dataset:
    """Return the design of a sweep: a grid, members drawn at random, or both combined."""
    axes = dict(_grid_axis(text) for text in given.grid)
    drawn = dict(_distribution(text) for text in given.scatter)
    if not axes and not drawn:
        raise InputError("a sweep must vary something; pass `--grid g=9:10:101` or `--scatter l=normal(1,0.01)`.")
    if bool(drawn) != (given.members is not None):
        raise InputError("`--members` must be given with `--scatter`, and only with it: how many members are drawn.")
    twice = sorted(set(axes) & set(drawn))
    if twice:
        raise InputError(f"`{twice[0]}` must be swept by `--grid` or by `--scatter`; got both.")
    fixed = {name: value for name, value in {**case.parameters, **given.parameters}.items() if name not in drawn}
    if not axes:
        return DRAWS[given.sampling](given.members or 0, {**fixed, **drawn}, seed=given.seed)
    design = grid({**fixed, **axes})
    return design.merge(DRAWS[given.sampling](given.members or 0, drawn, seed=given.seed)) if drawn else design


def _assigned(text: str, option: str, example: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (equals and name.strip()):
        raise InputError(f"`{option}` must look like {example}; got `{shortened(text)}`.")
    return name.strip(), value


def _grid_axis(text: str) -> tuple[str, Any]:
    """Return name and values of a text such as ``g=9:10:101`` or ``g=9,9.5,10``."""
    example = "g=9:10:101 or g=9,9.5,10"
    name, value = _assigned(text, "--grid", example)
    try:
        return name, np.atleast_1d(sequence_of(value))
    except ValueError:
        raise InputError(f"`--grid` must look like {example}; got `{shortened(text)}`.") from None


def _distribution(text: str) -> tuple[str, Any]:
    """Return name and distribution of a text such as ``l=normal(1,0.01)`` or ``l=uniform(0.9,1.1)``."""
    from scipy import stats

    example = "l=normal(1,0.01) or l=uniform(0.9,1.1)"
    name, value = _assigned(text, "--scatter", example)
    found = _DISTRIBUTION.fullmatch(value)
    try:
        if found is None:
            raise ValueError
        first, second = parse_number(found[2]), parse_number(found[3])
    except ValueError as error:
        reason = f" {error}" if isinstance(error, ExpressionError) else ""
        raise InputError(f"`--scatter` must look like {example}; got `{shortened(text)}`.{reason}") from None
    if found[1] == "uniform":
        return name, (first, second)
    if not second > 0:
        raise InputError(
            f"the second number of `normal` is its standard deviation and must be positive; got `{shortened(text)}`."
        )
    return name, stats.norm(first, second)


def swept(case: Case, given: SweepArguments) -> xr.Dataset:
    """Simulate the members of a sweep, here or on a cluster, and write them if asked to."""
    design = design_of(case, given)
    q0, qd0 = given.start.get("q0", case.q0), given.start.get("qd0", case.qd0)
    times = case.times if given.times is None else given.times
    if not len(q0) or not len(qd0) or not len(times):
        raise InputError(
            "a sweep must have an initial state and times; the file has none. Pass `--q0`, `--qd0` and `--times`."
        )
    is_store = given.output is not None and given.output.suffix.lower() == ".zarr"
    with _client(given.cluster) as client:
        found = simulate_ensemble(
            case.system,
            q0,
            qd0,
            times,
            parameters=design,
            rtol=case.rtol,
            atol=case.atol,
            drift=case.drift,
            formulation=case.formulation,
            allow_violation=case.allow_violation,
            control=case.control,
            outputs=given.outputs or ("q", "qd"),
            keep=given.keep.value,
            device=given.device,  # pyright: ignore[reportArgumentType]  (checked there)
            store=given.output if is_store else None,
            client=client,
            **case.settings,
        )
    if given.output is not None and not is_store:
        found.to_netcdf(given.output, engine="scipy")
    return found


def _client(address: str | None) -> Any:
    """Return the client of a cluster; none without an address."""
    if address is None:
        return nullcontext()
    require("distributed")
    from distributed import Client

    try:
        return Client(address, timeout=10)
    except (OSError, TimeoutError, ValueError) as error:
        raise InputError(
            f"`--cluster` must be the address of a Dask scheduler; `{address}` is not one: {error}"
        ) from None


def outcome_text(found: xr.Dataset) -> str:
    """Return how many members there are and why some failed, and the notes of an ensemble."""
    if "reason" in found:
        reasons = [str(reason) for reason in found["reason"].values.ravel() if reason]
        count, failed = found["reason"].size, len(reasons)
        why = f" The first of them: {reasons[0]}" if reasons else ""
    else:
        count, failed, why = found.attrs["members"], found.attrs["failed"], ""
    notes = f"\n{found.attrs['notes']}" if found.attrs["notes"] else ""
    return f"{count} members, {failed} failed.{why}{notes}"


def outcome_table(found: xr.Dataset) -> Table:
    """Return a table of all outputs at the last time: mean, standard deviation, and extremes over the members."""
    table = Table("at the end", "mean", "standard deviation", "least", "greatest")
    for name in found.data_vars:
        values = found[name]
        if "time" not in values.dims or str(name).startswith(("variance_", "quantile_")):
            continue
        last = values.isel(time=-1)
        rows = [dim for dim in last.dims if dim in ("coordinate", "constraint", "entry")]
        for label in last[rows[0]].values if rows else [""]:
            own = last.sel({rows[0]: label}) if rows else last
            shown = str(name).removeprefix("mean_")
            table.add_row(f"{shown}({label})" if label else shown, *_statistics(found, str(name), label, own))
    return table


def _statistics(found: xr.Dataset, name: str, label: str, values: Any) -> list[str]:
    numbers = np.asarray(values, float)
    if name.startswith("mean_"):
        variance = found[f"variance_{name.removeprefix('mean_')}"].isel(time=-1)
        own = variance.sel(dict.fromkeys(variance.dims, label))
        return [f"{float(numbers):.6g}", f"{float(own) ** 0.5:.3g}", "", ""]
    finite = numbers[np.isfinite(numbers)]
    if not finite.size:
        return ["", "", "", ""]
    spread = f"{finite.std(ddof=1):.3g}" if finite.size > 1 else ""
    return [f"{finite.mean():.6g}", spread, f"{finite.min():.6g}", f"{finite.max():.6g}"]
