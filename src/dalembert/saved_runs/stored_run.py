# SPDX-License-Identifier: BSD-3-Clause
"""Runs whose outputs go to a Zarr folder while the motion is computed, so that any number of them fits.

The output times are divided into blocks. Each block is a run of its own, from the last state of the block before it,
and is appended to the folder before the next one begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dalembert.common.array_types import Floats
from dalembert.common.extras import require
from dalembert.common.keywords import require_keywords
from dalembert.common.target_path import target_path
from dalembert.errors import InputError, SimulationError
from dalembert.hybrid.moreau_jean import MoreauJean
from dalembert.integration.progress import Progress
from dalembert.integration.trajectory import Trajectory
from dalembert.model.active_system import all_permanent
from dalembert.model.input_values import time_values
from dalembert.settings import AnySystem
from dalembert.verbs import simulate

if TYPE_CHECKING:
    import xarray as xr

BLOCK_BYTES = 2**25
"""Memory for the outputs of one block."""

SUMMED_STATISTICS = ("steps", "rejected", "seconds", "sweeps")
"""Entries of the statistics that add up over blocks."""

MAX_STEPS = 1_000_000
"""Largest number of steps of all blocks if none is given, as of ``da.simulate``."""

LEAST_TIMES = 16
"""Output times in a block at least, whatever their size: each block begins with checks of its initial state."""

ON_STEP = 1e-6
"""Fraction of a fixed step by which the end of a block may miss the end of a step."""


def simulate_to_store(
    path: str | Path, system: AnySystem, q0: Any, qd0: Any, times: Any, *, progress: bool | None = None, **options: Any
) -> xr.Dataset:
    """Simulate a motion as ``da.simulate`` does, and write its outputs to a Zarr folder while it is computed.

    The outputs, of any number, do not have to fit into memory. The result is the dataset of the folder, which reads
    them when they are needed and has the variables of ``run.to_xarray()``; ``da.Trajectory.load(path)`` reads all of
    them. ``pip install 'dalembert[files]'`` installs the packages that are needed.

    Parameters
    ----------
    path       of a folder that does not exist yet and ends in ``.zarr``
    options    those of ``da.simulate``

    Raises
    ------
    InputError         as of ``da.simulate``; a path that cannot be that of a new folder; events, contacts, and
                       controllers with a memory, because a motion must be determined by its state at any time
    SimulationError    as of ``da.simulate``; the outputs so far are in the folder. Also if a block cannot be written,
                       such as on a full disk; ``error.trajectory`` is that block

    Examples
    --------
    >>> import tempfile, numpy as np, dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> rod = da.Constraint(x**2 + y**2 - 1, name="rod")
    >>> pendulum = da.System((x, y), [[1, 0], [0, 1]], (0, -10), rod)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = da.simulate_to_store(f"{folder}/run.zarr", pendulum, (1, 0), (0, 0), np.linspace(0, 10, 1001))
    ...     print(dict(data["q"].sizes), bool((abs(data["violation"]) < 1e-12).all()))
    {'time': 1001, 'coordinate': 2} True
    """
    require_keywords(options, simulate, "da.simulate")
    times, folder = time_values(times, "times", increasing=True), _new_folder(path)
    _refuse_memory_of_the_past(system, options)
    most, so_far = options.pop("max_steps", MAX_STEPS), list[Trajectory]()
    left = most
    with Progress(float(times[0]), float(times[-1]), progress) as bar:
        for block in _blocks(times, options.get("solver"), so_far):
            try:
                found, end = simulate(system, q0, qd0, times[block], max_steps=left, progress=False, **options), None
            except SimulationError as error:
                found, end = error.trajectory, error
            so_far[:] = [_joined(so_far, found)]
            try:
                _append(folder, so_far[0], first=block.start == 0)
            except OSError as error:
                raise _not_written(folder, times[block], found, error) from error
            if end is not None:
                whole = f" All blocks together were to take at most {most} steps." if left < most else ""
                text = f"{end}{whole} The outputs until then are in `{folder}`; `error.trajectory` is the last block."
                raise SimulationError(text, end.time, found) from None
            if isinstance(options.get("solver"), MoreauJean):
                options["allow_violation"] = True  # bodies penetrate one another by up to a step's motion
            if isinstance(found.statistics.get("atol"), float):  # left out, it would follow the scales of each block
                options.setdefault("atol", found.statistics["atol"])
            q0, qd0, left = found.q[-1], found.qd[-1], left - int(found.statistics["steps"])
            bar.show(float(times[block][-1]))
    return _opened(folder)


def _new_folder(path: Any) -> Path:
    require("zarr")
    folder = target_path(path, (".zarr",))
    if folder.exists():
        raise InputError(f"`path` must be new; `{folder}` exists. Pass another path, or remove it.")
    return folder


def _refuse_memory_of_the_past(system: AnySystem, options: dict[str, Any]) -> None:
    """Raise an error for what a block would have to know of the blocks before it, beside the state."""
    control, solver = options.get("control"), options.get("solver")
    switches = not isinstance(solver, MoreauJean) and not all_permanent(system)
    if options.get("events") not in (None, (), []) or switches:
        what = "with events or contacts it is not"
    elif control is not None and (control.period is not None or control.adaptive is not None):
        what = "with a sampled or adaptive controller it is not"
    else:
        return
    raise InputError(
        f"a motion that is stored in blocks must be determined by its state at any time; {what}. Use `da.simulate` and "
        f"`run.save(path)`."
    )


def _blocks(times: Floats, solver: Any, so_far: list[Trajectory]) -> Iterator[slice]:
    """Yield the places of the times of each block; the first time of a block is the last of the one before it.

    The first block is short: its arrays show how many outputs a block of the chosen size, a chunk of the folder, has.
    """
    start, stop = 0, min(LEAST_TIMES, len(times))
    while True:
        stop = _to_step(times, start, stop, solver)
        yield slice(start, stop)
        if stop == len(times):
            return
        chunk = _times_of_chunk(so_far[0])
        start, stop = stop - 1, min((stop // chunk + 1) * chunk, len(times))


def _times_of_chunk(run: Trajectory) -> int:
    """Return the number of outputs in a block, and in a chunk of the folder."""
    per_time = [value for value in vars(run).values() if isinstance(value, np.ndarray) and len(value) == len(run.t)]
    return max(LEAST_TIMES, BLOCK_BYTES * len(run.t) // max(1, sum(value.nbytes for value in per_time)))


def _to_step(times: Floats, start: int, stop: int, solver: Any) -> int:
    """Return the end of a block, moved to the end of a step of a method with fixed steps."""
    if not isinstance(solver, MoreauJean):
        return stop
    while stop < len(times):
        steps = (times[stop - 1] - times[start]) / solver.step
        if abs(steps - round(steps)) < ON_STEP:
            break
        stop += 1
    return stop


def _joined(so_far: list[Trajectory], block: Trajectory) -> Trajectory:
    """Return a block without its first time, with notes, events and statistics of all blocks so far."""
    if not so_far:
        return block
    (before,), statistics = so_far, dict(block.statistics)
    statistics |= {name: before.statistics[name] + statistics[name] for name in SUMMED_STATISTICS if name in statistics}
    return replace(
        block.taken(slice(1, None)),
        statistics=statistics,
        notes=tuple(dict.fromkeys((*before.notes, *block.notes))),
        events=(*before.events, *block.events),
        saturation=(*before.saturation, *block.saturation),
    )


def _not_written(folder: Path, times: Floats, block: Trajectory, error: OSError) -> SimulationError:
    first, last = (f"{t:.6g}" for t in times[[0, -1]])
    return SimulationError(
        f"the outputs must be written to `{folder}`; those from t = {first} to {last} were not: "
        f"{error.strerror or error}. Those before are in the folder, in which these read as NaN; `error.trajectory` is "
        f"the block that was not written. Make room, or pass fewer times.",
        float(times[0]),
        block,
    )


def _append(path: Path, run: Trajectory, *, first: bool) -> None:
    data = run.to_xarray()
    if first:
        chunk = _times_of_chunk(run)
        sizes = {
            name: [chunk if dim == "time" else data.sizes[dim] for dim in data[name].dims] for name in data.variables
        }
        chunks = {name: {"chunks": size} for name, size in sizes.items() if "time" in data[name].dims}
        # format 2: names of coordinates are text, for which format 3 has no stable specification yet
        data.to_zarr(path, zarr_format=2, encoding=chunks)
    elif len(run.t):
        data.to_zarr(path, append_dim="time")


def _opened(path: Path) -> xr.Dataset:
    import xarray as xr

    return xr.open_zarr(path, decode_times=False)
