"""Runge–Kutta methods given as data: order and accuracy of what machine code makes of them."""

import numpy as np
import pytest

import dalembert as da
from dalembert.native.tableau import Tableau
from helpers import angle_pendulum, pendulum

HEUN = Tableau("Heun", 2, nodes=(0.0, 1.0), stages=({}, {0: 1.0}), result={0: 0.5, 1: 0.5})
THREE_EIGHTHS = Tableau(  # not a chain: the last stages depend on several before them
    "ThreeEighths",
    4,
    nodes=(0.0, 1 / 3, 2 / 3, 1.0),
    stages=({}, {0: 1 / 3}, {0: -1 / 3, 1: 1.0}, {0: 1.0, 1: -1.0, 2: 1.0}),
    result={0: 1 / 8, 1: 3 / 8, 2: 3 / 8, 3: 1 / 8},
)
BOGACKI_SHAMPINE = Tableau(  # of order 3, which is not a power of two
    "BogackiShampine",
    3,
    nodes=(0.0, 1 / 2, 3 / 4, 1.0),
    stages=({}, {0: 1 / 2}, {1: 3 / 4}, {0: 2 / 9, 1: 1 / 3, 2: 4 / 9}),
    result={0: 2 / 9, 1: 1 / 3, 2: 4 / 9},
    errors=({0: 2 / 9 - 7 / 24, 1: 1 / 3 - 1 / 4, 2: 4 / 9 - 1 / 3, 3: -1 / 8},),
)
START = (1, 0), (0, 0), [0, 1, 2]
GRAVITY = {"parameters": {"g": 9.81}}


@pytest.fixture(scope="module")
def exact():
    return da.simulate(pendulum(), *START, **GRAVITY, rtol=1e-13, atol=1e-14)


def error(run, exact):
    return max(np.abs(run.q - exact.q).max(), np.abs(run.qd - exact.qd).max())


@pytest.mark.parametrize("method", [HEUN, THREE_EIGHTHS, BOGACKI_SHAMPINE], ids=lambda method: method.name)
def test_fixed_steps_have_the_order_of_their_method(method, exact):
    runs = [da.simulate(pendulum(), *START, **GRAVITY, solver=method, step=h) for h in (0.005, 0.0025)]
    assert {(run.statistics["program"], run.statistics["solver"]) for run in runs} == {("machine code", method.name)}
    coarse, fine = (error(run, exact) for run in runs)
    assert np.log2(coarse / fine) == pytest.approx(method.order, abs=0.1)


def test_adaptive_steps_follow_the_tolerance(exact):
    found = {}
    for rtol in (1e-5, 1e-8):
        run = da.simulate(pendulum(), *START, **GRAVITY, solver=BOGACKI_SHAMPINE, rtol=rtol, atol=rtol)
        assert run.statistics["program"] == "machine code"
        assert error(run, exact) < 50 * rtol
        found[rtol] = run.statistics["steps"]
    # errors per step go with h³: a thousandth of the tolerance is ten times the steps
    assert found[1e-8] / found[1e-5] == pytest.approx(10, rel=0.3)


def test_the_general_integrator_takes_the_same_steps():
    """Where another formulation rules machine code out, diffrax gets the same coefficients."""
    start = (1.0,), (0.0,), [0, 1, 2]
    compiled, general = (
        da.simulate(angle_pendulum(), *start, **GRAVITY, solver=THREE_EIGHTHS, step=0.01, formulation=formulation)
        for formulation in (da.Factored(), da.PseudoInverse())
    )
    assert general.statistics["program"] != "machine code" and general.statistics["solver"] == "ThreeEighths"
    np.testing.assert_allclose(general.q, compiled.q, rtol=0, atol=1e-13)


def test_a_method_without_an_error_estimate_needs_a_step():
    with pytest.raises(da.InputError, match=r"`solver` must estimate its error; Heun does not\. Pass a fixed `step`\."):
        da.simulate(pendulum(), *START, **GRAVITY, solver=HEUN)
