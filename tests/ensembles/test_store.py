"""Ensembles in Zarr stores: the same results as in memory, and studies that continue after an interruption."""

import json

import numpy as np
import pytest
import xarray as xr

import dalembert as da
from dalembert.ensembles import runner
from dalembert.ensembles.ensemble_layout import EnsembleLayout
from dalembert.ensembles.study import StudyRunner
from helpers import pendulum

pytest.importorskip("zarr", reason="zarr is an optional dependency")
TIMES = [0, 0.5, 1]
DESIGN = {"x": [1.0, 0.9, 0.0], "y": np.linspace(-0.5, 0.0, 5), "g": 9.81}


def study(store=None, keep="times", **more):
    given = {"parameters": da.grid(DESIGN), "outputs": ("q", "multipliers"), "keep": keep}
    return da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES, store=store, **given | more)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(runner, "CHUNK", 2)


class Interruption(Exception):  # noqa: N818  (stands for Ctrl-C or a loss of power)
    pass


def interrupted_after(blocks, monkeypatch):
    """Let a study stop after some blocks; return the list of those that are computed."""
    original, computed = StudyRunner.__call__, []

    def counting(self, first, members):
        if len(computed) == blocks:
            raise Interruption
        computed.append(first)
        return original(self, first, members)

    monkeypatch.setattr(StudyRunner, "__call__", counting)
    return computed


@pytest.mark.parametrize("keep", ["times", "end", "summary"])
def test_a_store_holds_what_memory_would(keep, tmp_path):
    stored, expected = study(tmp_path / "study.zarr", keep), study(None, keep)
    for found in (stored, xr.open_zarr(tmp_path / "study.zarr", chunks=None)):
        xr.testing.assert_equal(found.load(), expected)
        assert found.attrs["notes"] == expected.attrs["notes"] != ""


@pytest.mark.parametrize("keep", ["end", "summary"])
def test_an_interrupted_study_continues(keep, tmp_path, monkeypatch):
    expected = study(None, keep)
    with monkeypatch.context() as patch:
        first = interrupted_after(4, patch)
        with pytest.raises(Interruption):
            study(tmp_path / "study.zarr", keep)
    # a line of the journal that was cut off does not count
    journal = tmp_path / "study.zarr.progress" / "journal.jsonl"
    lines = journal.read_text().splitlines()
    assert len(lines) == 5
    journal.write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:20] + "\n")
    rest = interrupted_after(100, monkeypatch)
    found = study(tmp_path / "study.zarr", keep)
    assert not journal.exists()
    assert len(first) == 4 and len(rest) == 9 - 3 and first[-1] == rest[0]
    xr.testing.assert_equal(found.load(), expected)
    assert found.attrs["notes"] == expected.attrs["notes"]
    rest.clear()
    xr.testing.assert_equal(study(tmp_path / "study.zarr", keep).load(), expected)
    assert rest == []


def test_a_store_of_another_study_is_refused(tmp_path):
    study(tmp_path / "study.zarr", "end")
    with pytest.raises(da.InputError, match=r"holds another one\. Pass another path"):
        study(tmp_path / "study.zarr", "end", rtol=1e-8)
    assert not (tmp_path / "study.zarr.progress").exists()


def test_a_store_under_another_controller_is_another_study(tmp_path):
    """What a controller computes is part of the study, although it prints alike."""
    x = da.coordinates("x")
    go = [da.Servo("go", x, by=da.Actuator("motor", x), settle=settle) for settle in (3, 5)]
    plants = [da.System((x,), [[da.parameters("m")]], (-x,), servos=servo) for servo in go]
    given = {"parameters": {"m": [1.0, 2.0]}, "store": tmp_path / "study.zarr"}
    for plant in plants:
        control = da.controller(plant, parameters={"m": 1.0})
        if plant is plants[0]:
            da.simulate_ensemble(plants[0], (1,), (0,), TIMES, control=control, **given)
        else:
            with pytest.raises(da.InputError, match="holds another one"):
                da.simulate_ensemble(plants[0], (1,), (0,), TIMES, control=control, **given)


def test_a_store_is_free_after_a_call_that_wrote_nothing(tmp_path):
    """An error in the first block, or a kill before the first line of the journal, leave the path usable."""
    path = tmp_path / "study.zarr"
    with pytest.raises(da.InputError, match="must have a name without `/`"):
        study(path, outputs={"x/y": da.coordinates("x")})
    assert (tmp_path / "study.zarr.progress").is_dir() and not path.exists()
    (tmp_path / "study.zarr.progress" / "journal.jsonl").unlink()
    xr.testing.assert_equal(study(path).load(), study())


def test_paths_that_cannot_be_stores(tmp_path):
    for path, message in (
        (tmp_path / "study.nc", "`store` must end in .zarr"),
        (tmp_path / "none" / "study.zarr", "a folder that exists"),
    ):
        with pytest.raises(da.InputError, match=message):
            study(path)
    (tmp_path / "other.zarr").mkdir()
    with pytest.raises(da.InputError, match="holds another one"):
        study(tmp_path / "other.zarr")
    x = da.coordinates("x")
    with pytest.raises(da.InputError, match=r"a name without `/`; got `x/2`"):
        study(tmp_path / "study.zarr", outputs=(x / 2,))


def test_a_full_disk_loses_nothing_that_was_written(tmp_path, monkeypatch):
    """Writing fails in the middle; what the journal counts is complete."""
    from dalembert.ensembles.store import Store

    original, written = Store._write, []

    def failing(self, number, values):
        if len(written) == 3:
            raise OSError(28, "No space left on device")
        written.append(number)
        original(self, number, values)

    with monkeypatch.context() as patch:
        patch.setattr(Store, "_write", failing)
        with pytest.raises(OSError, match="No space left on device"):
            study(tmp_path / "study.zarr")
    lines = (tmp_path / "study.zarr.progress" / "journal.jsonl").read_text().splitlines()
    assert [json.loads(line)["block"] for line in lines[1:]] == [0, 1, 2]
    xr.testing.assert_equal(study(tmp_path / "study.zarr").load(), study())


@pytest.mark.parametrize(
    ("shape", "most"), [((7,), 3), ((3, 5), 2), ((3, 5), 5), ((3, 5), 11), ((2, 3, 4), 8), ((4,), 9)]
)
def test_blocks_cover_all_members_once_and_in_order(shape, most):
    layout = EnsembleLayout({f"d{k}": size for k, size in enumerate(shape)}, {})
    numbers, blocks = np.arange(np.prod(shape)), layout.blocks(most)
    np.testing.assert_array_equal(np.concatenate([numbers[block.members] for block in blocks]), numbers)
    for block in blocks:
        own = numbers.reshape(shape)[block.place]
        assert own.size <= max(most, 1)
        np.testing.assert_array_equal(own.ravel(), numbers[block.members])
