"""Trajectories in files: by the ending, complete, and read back where the format allows."""

import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import dalembert as da
from helpers import pendulum


@pytest.fixture(scope="module")
def run() -> da.Trajectory:
    return da.simulate(pendulum(), (1, 0), (0, 0), np.linspace(0, 1, 11), parameters={"g": 9.81})


def test_a_parquet_file_holds_the_table(run: da.Trajectory, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    run.save(tmp_path / "run.parquet")
    table = parquet.read_table(tmp_path / "run.parquet")
    assert (np.array(table["x"]) == run["x"]).all()
    assert (np.array(table["multiplier(rod)"]) == run.multipliers[:, 0]).all()
    run.save(tmp_path / "run.csv")
    assert table.column_names == (tmp_path / "run.csv").read_text().splitlines()[0].split(",")
    with pytest.raises(da.InputError, match=r"must name a NetCDF file that `save` wrote; .*run.parquet is a table"):
        da.Trajectory.load(tmp_path / "run.parquet")


def test_a_zarr_folder_is_read_back(run: da.Trajectory, tmp_path: Path) -> None:
    pytest.importorskip("zarr", reason="zarr is not installed")
    for _ in range(2):  # a folder that exists is replaced
        run.save(tmp_path / "run.zarr")
    back = da.Trajectory.load(tmp_path / "run.zarr")
    assert (back.q == run.q).all() and (back.energy == run.energy).all()
    assert back.parameters == run.parameters and back.coordinates == run.coordinates
    assert [file.name for file in tmp_path.iterdir()] == ["run.zarr"]
    next(tmp_path.glob("run.zarr/qd/0*")).unlink()  # which Zarr reads as NaN
    with pytest.raises(da.InputError, match="holds something else, or is damaged"):
        da.Trajectory.load(tmp_path / "run.zarr")


def test_a_zarr_folder_is_never_missing_for_long(
    run: da.Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever takes time, writing and removing, happens while a complete folder has the name."""
    pytest.importorskip("zarr", reason="zarr is not installed")
    run.save(tmp_path / "run.zarr")

    def remove(path: Path) -> None:
        assert (da.Trajectory.load(tmp_path / "run.zarr").q == run.q).all() and path.name != "run.zarr"

    monkeypatch.setattr("shutil.rmtree", remove)
    run.save(tmp_path / "run.zarr")


@pytest.mark.parametrize("path", [None, 3, b"run.csv"])
def test_a_path_must_be_text(run: da.Trajectory, path: object) -> None:
    with pytest.raises(da.InputError, match="`path` must be text or a `Path`"):
        run.save(path)  # type: ignore[arg-type]


UNITS = {"x": "m", "y": "m", "t": "days", "force": "N", "g": "m/s^2"}


def test_units_are_attributes_of_arrays(run: da.Trajectory, tmp_path: Path) -> None:
    run.save(tmp_path / "run.nc", units=UNITS)
    with xr.open_dataset(tmp_path / "run.nc", engine="scipy", decode_times=False) as data:
        found = {name: data[name].attrs.get("units") for name in ("time", "q", "qd", "acceleration", "ideal_force")}
        assert "units" not in data["multipliers"].attrs
    expected = {"time": "days", "q": "m", "qd": "m/days", "acceleration": "m/days^2", "ideal_force": "N"}
    assert found == expected
    assert (da.Trajectory.load(tmp_path / "run.nc").t == run.t).all()  # not converted to days
    run.save(tmp_path / "other.nc", units={"y": "m"})
    with xr.open_dataset(tmp_path / "other.nc", engine="scipy") as data:
        assert data["q"].attrs["units"] == "1, m"
    with pytest.raises(da.InputError, match=r"`units` must name coordinates, .*; `z` is unknown"):
        run.save(tmp_path / "run.nc", units={"z": "m"})


def test_units_are_metadata_of_columns(run: da.Trajectory, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    run.save(tmp_path / "run.parquet", units=UNITS)
    schema = parquet.read_schema(tmp_path / "run.parquet")
    assert schema.field("x'").metadata[b"unit"] == b"m/days"
    assert b"unit" not in (schema.field("multiplier(rod)").metadata or {})


def test_a_folder_of_something_else_is_not_replaced(run: da.Trajectory, tmp_path: Path) -> None:
    (tmp_path / "mine.zarr").mkdir()
    (tmp_path / "mine.zarr" / "thesis.tex").write_text("important")
    with pytest.raises(
        da.InputError, match=r"`path` must name a file to write; `.*mine.zarr` is a folder of something"
    ):
        run.save(tmp_path / "mine.zarr")
    assert (tmp_path / "mine.zarr" / "thesis.tex").read_text() == "important"


@pytest.mark.parametrize(("ending", "package"), [(".parquet", "pyarrow"), (".zarr", "zarr")])
def test_a_missing_package_is_named(
    ending: str, package: str, run: da.Trajectory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=rf"`{package}` must be installed for this; .*'dalembert\[files\]'"):
        run.save(tmp_path / f"run{ending}")
    assert list(tmp_path.iterdir()) == []
