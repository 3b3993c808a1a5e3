"""Runs that are written to a folder in blocks: the same motion, in bounded memory, and what was written survives."""

from __future__ import annotations

import errno
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.saved_runs import stored_run

x, y, u, w = da.coordinates("x y u w")
ROD = da.Constraint(x**2 + y**2 - 1, name="rod")
PENDULUM = da.System((x, y), sp.eye(2), (0, -10), ROD)

pytest.importorskip("zarr", reason="zarr is not installed")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_run, "BLOCK_BYTES", 2**14)


def test_the_motion_is_that_of_a_single_run(tmp_path: Path) -> None:
    times = np.linspace(0, 5, 301)
    data = da.simulate_to_store(tmp_path / "run.zarr", PENDULUM, (1, 0), (0, 0), times, rtol=1e-11)
    run = da.simulate(PENDULUM, (1, 0), (0, 0), times, rtol=1e-11)
    expected = run.to_xarray()
    assert dict(data.sizes) == dict(expected.sizes) and set(data.data_vars) == set(expected.data_vars)
    for name in expected.data_vars:
        np.testing.assert_allclose(data[name], expected[name], atol=1e-8, err_msg=str(name))
    back = da.Trajectory.load(tmp_path / "run.zarr")
    assert (back.t == times).all() and back.statistics["steps"] >= run.statistics["steps"]
    for name in ("rtol", "atol"):
        assert back.statistics[name] == run.statistics[name]
    np.testing.assert_allclose(da.reproduce(PENDULUM, back).ledger()["rod"], 0, atol=1e-9)


def test_a_belt_that_sticks_and_slips(tmp_path: Path) -> None:
    """Phases are chosen anew at the beginning of each block."""
    case = da.gallery.case("belt")
    times = np.linspace(case.times[0], case.times[-1], 150)
    given = {"parameters": case.parameters}
    data = da.simulate_to_store(tmp_path / "belt.zarr", case.system, case.q0, case.qd0, times, **given)
    run = da.simulate(case.system, case.q0, case.qd0, times, **given)
    np.testing.assert_allclose(data["q"], run.q, atol=1e-7)
    stored = da.Trajectory.load(tmp_path / "belt.zarr").events
    np.testing.assert_allclose([event.t for event in stored], [event.t for event in run.events], atol=1e-7)


def test_time_steps_end_blocks_at_their_ends(tmp_path: Path) -> None:
    floor = da.Constraint(sp.Ge(y, 0), name="floor", restitution=0.5)
    ball = da.System((x, y), sp.eye(2), (0, -10), floor)
    times = np.linspace(0, 2, 81)  # every other output is in the middle of a step
    data = da.simulate_to_store(tmp_path / "ball.zarr", ball, (0, 1), (1, 0), times, solver=da.MoreauJean(step=0.05))
    run = da.simulate(ball, (0, 1), (1, 0), times, solver=da.MoreauJean(step=0.05))
    np.testing.assert_allclose(data["q"], run.q, atol=1e-12)


def test_large_systems(tmp_path: Path) -> None:
    n = 300
    q = da.coordinates("q", n)
    springs = da.AppliedForce.from_potential((u - w) ** 2 / 2, {u: q[:-1], w: q[1:]})
    chain = da.System((q,), 1, springs)
    start, times = np.linspace(0, 1, n) ** 2, np.linspace(0, 1, 60)
    data = da.simulate_to_store(tmp_path / "chain.zarr", chain, start, np.zeros(n), times)
    np.testing.assert_allclose(data["q"], da.simulate(chain, start, np.zeros(n), times).q, atol=1e-8)


def test_memory_does_not_grow_with_the_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An output of 40 coordinates takes 1600 bytes; copies of its time alone remain in memory."""
    monkeypatch.setattr(stored_run, "BLOCK_BYTES", 2**18)
    q = da.coordinates([f"q{i}" for i in range(40)])
    free = da.System(q, sp.eye(40), [-one for one in q])
    counts, peaks = (1_000, 4_000), list[int]()
    for count in counts:
        tracemalloc.start()
        da.simulate_to_store(tmp_path / f"{count}.zarr", free, np.ones(40), np.zeros(40), np.linspace(0, 1, count))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert (peaks[1] - peaks[0]) / (counts[1] - counts[0]) < 300


def test_what_was_written_survives_the_end_of_the_motion(tmp_path: Path) -> None:
    """ẍ = x² has a pole: x = 6/(1 − t)² from x = 6, ẋ = 12."""
    pole = da.System((x,), [[1]], (x**2,))
    times = np.linspace(0, 2, 201)
    with pytest.raises(da.SimulationError, match=r"The outputs until then are in `.*pole\.zarr`"):
        da.simulate_to_store(tmp_path / "pole.zarr", pole, (6,), (12,), times)
    back = da.Trajectory.load(tmp_path / "pole.zarr")
    assert 0.8 < back.t[-1] < 1 + 1e-6
    np.testing.assert_allclose(back.q[:80, 0], 6 / (1 - back.t[:80]) ** 2, rtol=1e-6)


@pytest.mark.parametrize("path", ["run.nc", 3, None])
def test_other_paths_are_refused(path: object) -> None:
    with pytest.raises(da.InputError, match=r"`path` must (end in \.zarr|be text or a `Path`); got"):
        da.simulate_to_store(path, PENDULUM, (1, 0), (0, 0), [0, 1])  # type: ignore[arg-type]


def test_the_limit_of_steps_is_that_of_all_blocks(tmp_path: Path) -> None:
    with pytest.raises(da.SimulationError, match="All blocks together were to take at most 100 steps"):
        da.simulate_to_store(tmp_path / "a.zarr", PENDULUM, (1, 0), (0, 0), np.linspace(0, 30, 900), max_steps=100)
    with pytest.raises(da.InputError, match="max_steps"):
        da.simulate_to_store(tmp_path / "b.zarr", PENDULUM, (1, 0), (0, 0), [0, 1], max_steps="a")


def test_folders_are_new_and_have_a_place(tmp_path: Path) -> None:
    (tmp_path / "old.zarr").mkdir()
    with pytest.raises(da.InputError, match="`path` must be new"):
        da.simulate_to_store(tmp_path / "old.zarr", PENDULUM, (1, 0), (0, 0), [0, 1])
    with pytest.raises(da.InputError, match="`path` must name a file in a folder that exists"):
        da.simulate_to_store(tmp_path / "none" / "run.zarr", PENDULUM, (1, 0), (0, 0), [0, 1])


def test_motions_with_a_memory_are_refused(tmp_path: Path) -> None:
    path, start = tmp_path / "run.zarr", ((1, 0), (0, 0), [0, 1])
    with pytest.raises(da.InputError, match="with events or contacts it is not"):
        da.simulate_to_store(path, PENDULUM, *start, events=[da.Event(x)])
    rope = da.System((x, y), sp.eye(2), (0, -10), da.Constraint(x**2 + y**2 - 1, name="rope", releases=True))
    with pytest.raises(da.InputError, match="with events or contacts it is not"):
        da.simulate_to_store(path, rope, *start)
    servo = da.Servo("go", x - 1, by=da.Actuator("push", x), settle=3)
    cart = da.System((x,), [[1]], (0,), servos=servo)
    control = da.controller(cart, period=0.1)
    with pytest.raises(da.InputError, match="with a sampled or adaptive controller it is not"):
        da.simulate_to_store(path, cart, (0,), (0,), [0, 1], control=control)
    assert not path.exists()


def test_a_full_disk_says_which_outputs_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks before it can be read; the error holds the one that was not written."""
    write = stored_run._append

    def append(path: Path, run: da.Trajectory, *, first: bool) -> None:
        if not first:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(path, run, first=first)

    monkeypatch.setattr(stored_run, "_append", append)
    times = np.linspace(0, 1, 40)
    with pytest.raises(da.SimulationError, match=r"to 1 were not: No space left on device\. Those before") as caught:
        da.simulate_to_store(tmp_path / "run.zarr", PENDULUM, (1, 0), (0, 0), times)
    assert caught.value.trajectory is not None
    assert caught.value.trajectory.t[-1] == 1
    written = da.Trajectory.load(tmp_path / "run.zarr")
    np.testing.assert_array_equal(np.union1d(written.t, caught.value.trajectory.t), times)
