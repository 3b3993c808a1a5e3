"""Ensembles on a Dask cluster: the same results as on one machine, also if a worker dies."""

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

import dalembert as da
from dalembert.cli import app
from dalembert.common import dask_client
from dalembert.ensembles import cluster, runner, study_results
from helpers import pendulum

distributed = pytest.importorskip("distributed", reason="distributed is an optional dependency")
zarr = pytest.importorskip("zarr", reason="zarr is an optional dependency")
from local_cluster import client_of, two_workers  # noqa: E402  (needs distributed)

TIMES = np.linspace(0, 5, 6)
DESIGN = {"parameters": da.scatter(600, g=(9, 10)), "outputs": ("q", "multipliers")}


def test_a_client_is_required():
    with pytest.raises(da.InputError, match=r"`client` must be a `dask.distributed.Client`; got str"):
        da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES, client="tcp://host", **DESIGN)


class Future:
    """A future that fails."""

    def __init__(self, error):
        self.error = error

    def result(self):
        raise self.error


def test_failures_of_a_cluster_are_explained():
    killed = distributed.KilledWorker("task", None, 3)
    with pytest.raises(da.DeviceError, match=r"4 workers died one after another.*the same call continues"):
        dask_client.result_of(Future(killed), *cluster.TASK, cluster.CONTINUE)
    with pytest.raises(da.DeviceError, match=r"must stay connected to the scheduler"):
        dask_client.result_of(Future(distributed.CancelledError("task")), *cluster.TASK)


@pytest.fixture(scope="module")
def local_cluster():
    with two_workers() as found:
        yield found


@pytest.fixture
def client(local_cluster, monkeypatch):
    monkeypatch.setattr(runner, "CHUNK", 16)  # many blocks; workers do not choose their size
    with client_of(local_cluster) as found:
        yield found


@pytest.mark.slow
@pytest.mark.parametrize("keep", ["times", "end", "summary"])
def test_results_are_those_of_one_machine(client, keep, tmp_path):
    """Bit for bit, in memory and in a store."""
    expected = da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES, keep=keep, **DESIGN)
    found = da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES, keep=keep, client=client, **DESIGN)
    xr.testing.assert_identical(found.drop_attrs(), expected.drop_attrs())
    store = tmp_path / "study.zarr"
    stored = da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES, keep=keep, client=client, store=store, **DESIGN)
    xr.testing.assert_equal(stored.load(), expected)


@pytest.mark.slow
def test_ensembles_inside_with_client_use_it(client, monkeypatch):
    expected = da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES, **DESIGN)
    given, original = [], study_results.results_on_cluster

    def watched(used, *arguments):
        given.append(used)
        return original(used, *arguments)

    monkeypatch.setattr(study_results, "results_on_cluster", watched)
    with client.as_current():  # as ``with client:``, which also closes the client
        found = da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES, **DESIGN)
    assert given == [client]
    xr.testing.assert_identical(found.drop_attrs(), expected.drop_attrs())
    with distributed.Client(client.scheduler.address) as other:
        assert dask_client.client_in_use(None) is other
    assert dask_client.client_in_use(None) is None


@pytest.mark.slow
@pytest.mark.parametrize("keep", ["times", "summary"])
def test_ledgers_are_those_of_one_machine(client, keep):
    given = {"parameters": da.scatter(64, g=(9, 10)), "outputs": "ledger", "keep": keep}
    expected = da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES, **given)
    found = da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES, client=client, **given)
    xr.testing.assert_identical(found.drop_attrs(), expected.drop_attrs())


@pytest.mark.slow
def test_a_worker_that_dies_costs_its_blocks_only(client, tmp_path):
    """A worker is killed in the middle; the others, and the one that replaces it, do its blocks."""
    expected = da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES * 40, **DESIGN)
    store, killed = tmp_path / "study.zarr", []
    pids = client.run(os.getpid)

    def kill_one():
        journal = tmp_path / "study.zarr.progress" / "journal.jsonl"
        while not (journal.is_file() and len(journal.read_text().splitlines()) > 3):
            time.sleep(0.01)
        killed.append(next(iter(pids.values())))
        os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=kill_one)
    thread.start()
    found = da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES * 40, client=client, store=store, **DESIGN)
    thread.join()
    assert killed
    xr.testing.assert_equal(found.load(), expected)
    client.wait_for_workers(2)
    assert killed[0] not in client.run(os.getpid).values()


@pytest.mark.slow
def test_a_study_continues_after_its_client_was_lost(local_cluster, client, tmp_path):
    expected = da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES * 40, **DESIGN)
    store, lost = tmp_path / "study.zarr", distributed.Client(local_cluster)
    journal = Path(f"{store}.progress") / "journal.jsonl"

    def lose():
        while not (journal.is_file() and len(journal.read_text().splitlines()) > 3):
            time.sleep(0.01)
        lost.close()

    thread = threading.Thread(target=lose)
    thread.start()
    with pytest.raises(da.DeviceError, match="must stay connected to the scheduler"):
        da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES * 40, client=lost, store=store, **DESIGN)
    thread.join()
    done = len(journal.read_text().splitlines()) - 1
    assert 0 < done < 38
    found = da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES * 40, client=client, store=store, **DESIGN)
    xr.testing.assert_equal(found.load(), expected)


@pytest.mark.parametrize("error", [distributed.CancelledError, distributed.comm.CommClosedError])
def test_a_client_that_is_lost_before_or_while_a_result_is_sent(error):
    class Future:
        def result(self):
            raise error

    with pytest.raises(da.DeviceError, match="must stay connected to the scheduler"):
        dask_client.result_of(Future(), *cluster.TASK)


class ClosingClient(distributed.Client):
    """A client that loses its connection before it submits a block."""

    def submit(self, *arguments, **options):
        if arguments[0] is cluster.simulated_block:
            self.close()
        return distributed.Client.submit(self, *arguments, **options)


@pytest.mark.slow
def test_a_client_that_is_lost_while_blocks_are_submitted(local_cluster):
    with pytest.raises(da.DeviceError, match="must stay connected to the scheduler"):
        da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES, client=ClosingClient(local_cluster), **DESIGN)


@pytest.mark.slow
def test_functions_that_workers_cannot_import_are_sent(client):
    v = da.coordinates("v")
    factor = 2.0
    system = da.System((v,), [[1]], (da.parameters("k") * da.function("pull", lambda x: -factor * x)(v),))
    given = {"parameters": {"k": [1.0, 2.0]}}
    expected = da.simulate_ensemble(system, (1,), (0,), TIMES, **given)
    found = da.simulate_ensemble(system, (1,), (0,), TIMES, client=client, **given)
    np.testing.assert_allclose(found["q"], expected["q"], rtol=1e-12)


@pytest.mark.slow
def test_a_worker_compiles_once(client):
    da.simulate_ensemble(pendulum(), (1, 0), (0, 0), TIMES, client=client, **DESIGN)

    def compiled():
        from dalembert.lowering.build import build
        from helpers import pendulum

        return build(pendulum()).native.motions.cache_info()

    found = client.run(compiled).values()
    assert max(info.misses for info in found) == 1
    assert sum(info.hits for info in found) > 3 * len(found)  # a worker that others disturb simulates fewer blocks


@pytest.mark.slow
def test_the_command_line_uses_a_cluster(client, tmp_path):
    path = tmp_path / "study.zarr"
    swept = ["sweep", "pendulum", "--grid", "g=9:10:40", "--times", "0,1", "-o", str(path)]
    done = CliRunner().invoke(app, [*swept, "--cluster", client.scheduler.address], catch_exceptions=False)
    assert done.exit_code == 0 and "40 members, 0 failed." in done.output
    with pytest.raises(da.InputError, match=r"must be the address of a Dask scheduler; `tcp://127.0.0.1:9` is not one"):
        CliRunner().invoke(app, [*swept, "--cluster", "tcp://127.0.0.1:9"], catch_exceptions=False)
