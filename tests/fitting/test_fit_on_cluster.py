"""Fits to many experiments on a Dask cluster: the same numbers as on one machine, also if a worker dies."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import dalembert as da
from dalembert.fitting import experiments

distributed = pytest.importorskip("distributed", reason="distributed is an optional dependency")
from local_cluster import client_of, two_workers  # noqa: E402  (needs distributed)

x, y = da.coordinates("x y")
MU, G = da.parameters("mu g")
BLOCK = da.System((x, y), [[1, 0], [0, 1]], (0, -G), da.Constraint(y, name="floor", nonideal=da.Coulomb(MU)))
TIMES = np.linspace(0, 1, 11)


def observed(count, free_start=False):
    """Blocks that slide to a stop from speeds of their own, with noise of a tenth of a millimetre."""
    rng, found = np.random.default_rng(1), []
    for speed in np.linspace(1, 2, count):
        run = da.simulate(BLOCK, (0, 0), (speed, 0), TIMES, parameters={"mu": 0.3, "g": 9.81})
        seen = {"x": run["x"] + 1e-4 * rng.normal(size=len(TIMES))}
        found.append(da.Observation(TIMES, seen, (0, 0), (speed, 0), free_start=free_start))
    return found


def fitted(seen, **more):
    return da.fit(BLOCK, seen, ["mu"], guess={"mu": 0.1}, known={"g": 9.81}, **more)


def test_a_client_is_required():
    with pytest.raises(da.InputError, match=r"`client` must be a `dask.distributed.Client`; got str"):
        fitted(observed(1), client="tcp://host")


def test_an_experiment_is_simulated_once_for_equal_unknowns(monkeypatch):
    """The start of one experiment does not move the others: each has central differences for its own unknowns."""
    simulated, original = [], experiments.simulate

    def counting(*arguments, **options):
        simulated.append(1)
        return original(*arguments, **options)

    monkeypatch.setattr(experiments, "simulate", counting)
    seen = observed(3, free_start=True)
    problem = experiments_of(seen)
    simulated.clear()
    problem.jacobian(problem.start(), problem.units())
    own = 1 + problem.starts[0].count
    assert len(problem.start()) == 1 + 3 * problem.starts[0].count
    # the common parameter and the own start, twice each, and once undisturbed
    assert len(simulated) == 3 * (2 * own + 1)


def experiments_of(seen):
    from dalembert.fitting.problem import Problem

    settings = {"rtol": 1e-9, "atol": None, "max_steps": 1000}
    return Problem.of(BLOCK, seen, ["mu"], {"mu": 0.1}, {"g": 9.81}, None, settings)


@pytest.fixture(scope="module")
def client():
    with two_workers() as cluster, client_of(cluster) as found:
        yield found


@pytest.mark.slow
@pytest.mark.parametrize("free_start", [False, True])
def test_a_fit_on_a_cluster_is_that_of_one_machine(client, free_start):
    seen = observed(6, free_start)
    expected, found = fitted(seen), fitted(seen, client=client)
    with client.as_current():
        inside = fitted(seen)
    for one in (found, inside):
        assert one.estimates == expected.estimates and one.standard_errors == expected.standard_errors
        np.testing.assert_array_equal(one.covariance, expected.covariance)
    fits = {
        "dry": found,
        "viscous": da.fit(
            da.System((x, y), [[1, 0], [0, 1]], (0, -G), da.Constraint(y, name="floor"), da.Viscous(MU)),
            seen,
            ["mu"],
            guess={"mu": 0.5},
            known={"g": 9.81},
            client=client,
        ),
    }
    assert da.compare(fits).best == "dry"


@pytest.mark.slow
def test_a_worker_that_dies_does_not_end_a_fit(client, monkeypatch):
    seen = observed(6)
    expected, began = fitted(seen), threading.Event()
    original = experiments.submitted

    def watched(*arguments, **options):
        began.set()
        return original(*arguments, **options)

    def kill_one():
        began.wait()
        time.sleep(0.2)
        os.kill(victim, signal.SIGKILL)

    monkeypatch.setattr(experiments, "submitted", watched)
    victim = next(iter(client.run(os.getpid).values()))
    thread = threading.Thread(target=kill_one)
    thread.start()
    found = fitted(seen, client=client)
    thread.join()
    assert found.estimates == expected.estimates
    client.wait_for_workers(2)
    assert victim not in client.run(os.getpid).values()


@pytest.mark.slow
def test_a_fit_whose_client_is_lost_raises_an_error(client):
    lost = distributed.Client(client.scheduler.address)
    problem = experiments_of(observed(1))
    lost.close()
    with pytest.raises(
        da.DeviceError, match="the client must stay connected to the scheduler; the connection was lost"
    ):
        experiments.outcomes_on_cluster(lost)(problem.experiments, [(0, problem.start())])
