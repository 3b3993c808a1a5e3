# SPDX-License-Identifier: BSD-3-Clause
"""Trajectories in files: NetCDF and Zarr, which can be read back, and tables as CSV and Parquet."""

from __future__ import annotations

import csv
import importlib
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.common.extras import require
from dalembert.common.names import column_unit, name_of
from dalembert.common.target_path import target_path
from dalembert.errors import InputError

if TYPE_CHECKING:
    import xarray as xr

    from dalembert.integration.trajectory import Trajectory


def write(run: Trajectory, path: str | Path, units: Mapping[Any, str] | None) -> None:
    """Write a trajectory in the format given by the file ending; no incomplete file is ever left behind."""
    target = target_path(path, {ending: format_.about for ending, format_ in FORMATS.items()})
    if target.is_dir() and not _is_zarr(target):
        raise InputError(f"`path` must name a file to write; `{target}` is a folder of something else.")
    # in the same folder, since a file can be replaced atomically only within one file system
    beside, former = (target.with_name(f".{target.name}.{os.getpid()}.{kind}") for kind in ("part", "old"))
    try:
        FORMATS[target.suffix.lower()].write(run, beside, checked_units(run, units))
        if target.is_dir():
            os.replace(target, former)  # a folder cannot be replaced, and removing it takes many steps
        os.replace(beside, target)
    finally:
        _remove_folder(former)
        _remove_folder(beside)
        beside.unlink(missing_ok=True)


def _is_zarr(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("zarr.json", ".zgroup"))


def _remove_folder(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)


def read(path: str | Path, from_xarray: Callable[[xr.Dataset], Trajectory]) -> Trajectory:
    """Read a trajectory from a NetCDF file or a Zarr folder that ``write`` wrote."""
    if not Path(path).exists():
        raise InputError(f"`path` must name a file that `save` wrote; there is no {path}.")
    if Path(path).suffix.lower() in (".csv", ".parquet"):
        raise InputError(f"`path` must name a NetCDF file that `save` wrote; {path} is a table. Save the run as .nc.")
    is_zarr = Path(path).is_dir() and _is_zarr(Path(path))
    if is_zarr:
        require("zarr")
    try:
        with _opened(Path(path), is_zarr=is_zarr) as data:
            run = from_xarray(data.load())
    except PermissionError:
        raise
    except Exception:  # a damaged file can raise any error in the reader
        run = None
    if run is None or not _is_complete(run):
        raise InputError(f"`path` must name a file that `save` wrote; {path} holds something else, or is damaged.")
    return run


def _opened(path: Path, *, is_zarr: bool) -> xr.Dataset:
    import xarray as xr

    if is_zarr:
        return xr.open_zarr(path, decode_times=False)
    # without a memory map, which would keep the file open as long as the arrays are used; times stay numbers,
    # also where their unit is "days"
    return xr.open_dataset(path, engine="scipy", backend_kwargs={"mmap": False}, decode_times=False)


def table(run: Trajectory) -> tuple[list[str], Any]:
    """Return the names of the columns of a trajectory and its values, one row per time.

    The columns are t; every coordinate, x; its velocity, x'; its acceleration, x''; the constraint forces on it; for
    every constraint its multiplier, reaction and violation; the inputs of actuators and the errors of servo
    constraints; the energy, if it is known.
    """
    columns: dict[str, Any] = {"t": run.t}
    for k, name in enumerate(run.coordinates):
        columns |= {name: run.q[:, k], f"{name}'": run.qd[:, k], f"{name}''": run.acceleration[:, k]}
    for k, name in enumerate(run.coordinates):
        columns |= {f"ideal_force({name})": run.ideal_force[:, k], f"nonideal_force({name})": run.nonideal_force[:, k]}
    for k, name in enumerate(run.constraints):
        columns |= {f"multiplier({name})": run.multipliers[:, k], f"reaction({name})": run.reactions[:, k]}
        columns[f"violation({name})"] = run.violation[:, k]
    columns |= {f"input({name})": values for name, values in run.inputs.items()}
    for name, values in run.servo_error.items():
        parts = (
            {f"error({name})": values}
            if values.ndim == 1
            else {f"error({name}[{i}])": v for i, v in enumerate(values.T)}
        )
        columns |= parts
    if run.energy is not None:
        columns["energy"] = run.energy
    return list(columns), np.column_stack(list(columns.values()))


def checked_units(run: Trajectory, units: Mapping[Any, str] | None) -> dict[str, str]:
    """Return units by name, or raise an error for a name that the run does not have."""
    if units is None:
        return {}
    from dalembert.figures.trajectory_figures import unit_table  # imported here: it imports Matplotlib

    unit_table(run, units)
    return {name_of(key): str(unit) for key, unit in units.items()}


def _with_units(run: Trajectory, units: Mapping[str, str]) -> xr.Dataset:
    """Return the dataset of a run with the attribute ``units``, in the order of coordinates or constraints."""
    data = run.to_xarray()
    patterns = {"q": "{}", "qd": "{}'", "acceleration": "{}''", "violation": "violation({})"}
    patterns |= {name: f"{name}({{}})" for name in ("ideal_force", "nonideal_force", "input_force")}
    for variable in map(str, data.variables):
        pattern, labels = patterns.get(variable, variable), data[variable].dims[-1]
        names = data[labels].values if variable in patterns and labels in ("coordinate", "constraint") else ["t"]
        own = [column_unit("t" if variable == "time" else pattern.format(name), units) for name in names]
        if any(own):
            data[variable].attrs["units"] = own[0] if len({*own}) == 1 else ", ".join(unit or "1" for unit in own)
    return data


def _write_netcdf(run: Trajectory, path: Path, units: Mapping[str, str]) -> None:
    _with_units(run, units).to_netcdf(path, engine="scipy")


def _write_table(run: Trajectory, path: Path, units: Mapping[str, str]) -> None:
    names, rows = table(run)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows([repr(float(value)) for value in row] for row in rows)


def _write_parquet(run: Trajectory, path: Path, units: Mapping[str, str]) -> None:
    require("pyarrow")
    # by name: type checkers need not find a package that is optional
    arrow, parquet = (importlib.import_module(name) for name in ("pyarrow", "pyarrow.parquet"))
    names, rows = table(run)
    known = {name: column_unit(name, units) for name in names}
    fields = [
        arrow.field(name, arrow.float64(), metadata={"unit": unit} if (unit := known[name]) else None) for name in names
    ]
    parquet.write_table(arrow.table(list(rows.T), schema=arrow.schema(fields)), path)


def _write_zarr(run: Trajectory, path: Path, units: Mapping[str, str]) -> None:
    require("zarr")
    # format 2: names of coordinates are text, for which format 3 has no stable specification yet
    _with_units(run, units).to_zarr(path, zarr_format=2)


class FileFormat(NamedTuple):
    """A format of files: what it is, in a few words, and the function that writes a trajectory to a path."""

    about: str
    write: Callable[[Any, Path, Mapping[str, str]], None]


FORMATS = {
    ".nc": FileFormat("NetCDF, which `da.Trajectory.load` reads", _write_netcdf),
    ".csv": FileFormat("a table", _write_table),
    ".parquet": FileFormat("the same table in binary form", _write_parquet),
    ".zarr": FileFormat("a folder of arrays, which `da.Trajectory.load` reads as well", _write_zarr),
}
"""The formats of ``da.Trajectory.save`` and of the command line, by the ending of the file."""


def _is_complete(run: Trajectory) -> bool:
    """Return whether all arrays of a trajectory have matching shapes, and numbers everywhere.

    Zarr reads a chunk whose file is missing as NaN.
    """
    times, n, m = len(run.t), len(run.coordinates), len(run.constraints)
    per_coordinate = (run.q, run.qd, run.acceleration, run.ideal_force, run.nonideal_force)
    per_constraint = (run.multipliers, run.reactions, run.violation, run.velocity_violation)
    expected = [(a, (times, n)) for a in per_coordinate] + [(a, (times, m)) for a in per_constraint]
    expected += [(run.t, (times,)), (run.rank, (times,)), (run.inconsistency, (times,))]
    return all(np.shape(a) == shape and not np.isnan(a).any() for a, shape in expected)
