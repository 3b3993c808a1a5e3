"""Fixed steps that are too long for their projection are refused: the states would not be on the constraints."""

import re
from typing import Any

import diffrax
import numpy as np
import pytest
import sympy as sp

import dalembert as da
from helpers import CHAIN_NUMBERS, chain, chain_state

x, y = da.coordinates("x y")
PENDULUM = da.System((x, y), sp.eye(2), (0, -9.81), da.Constraint(x**2 + y**2 - 1, name="rod"))
MESSAGE = (
    r"it ended at t = 1: projection does not converge there: `rod` is violated by 1\.3e\+01\. The `step` is too long; "
    r"choose a shorter one, or leave it out for adaptive steps\."
)


def test_a_step_that_projection_does_not_lead_back() -> None:
    """The pendulum falls for 1 s in one step, to about five times its length."""
    with pytest.raises(da.SimulationError, match=MESSAGE) as failed:
        da.simulate(PENDULUM, (1, 0), (0, 0), [0, 1], step=1)
    assert failed.value.time == 1


def test_steps_by_diffrax() -> None:
    with pytest.raises(da.SimulationError, match=r"it ended at t = 1: projection does not converge there: `rod` is"):
        da.simulate(PENDULUM, (1, 0), (0, 0), [0, 1], step=1, solver=diffrax.Dopri5())


def test_the_first_output_that_is_off_is_named() -> None:
    with pytest.raises(da.SimulationError, match=MESSAGE) as failed:
        da.simulate(PENDULUM, (1, 0), (0, 0), [0, 1, 2, 3], step=1)
    assert failed.value.time == 1
    assert len(failed.value.trajectory) == 2


def test_members_of_an_ensemble() -> None:
    """A short and a long pendulum: one step is too long for the first of them only."""
    length = da.parameters("length")
    system = da.System((x, y), sp.eye(2), (0, -9.81), da.Constraint(x**2 + y**2 - length**2, name="rod"))
    lengths = np.array([1.0, 100.0])
    found = da.simulate_ensemble(
        system, np.stack([lengths, 0 * lengths], axis=1), (0, 0), [0, 1], parameters={"length": lengths}, step=1
    )
    reasons = found["reason"].values
    assert "projection does not converge there: `rod` is violated" in reasons[0] and reasons[1] == ""
    assert np.isnan(found["q"].values[0, -1]).all()
    np.testing.assert_allclose(np.linalg.norm(found["q"].values[1, -1]), 100, rtol=1e-9)


UNFINISHED = (
    r"Steps of 0\.02 are so long that projection leaves `rod \d+` violated by up to \d\.\de-0[45]; choose a shorter"
)


def test_projection_that_ends_far_from_rounding_has_a_note() -> None:
    q, qd = chain_state(20, 0)
    given: dict[str, Any] = {"times": np.linspace(0, 2, 21), "parameters": CHAIN_NUMBERS}
    run = da.simulate(chain(20), q, qd, **given, step=0.02)
    (note,) = run.notes
    assert re.match(UNFINISHED, note) and np.abs(run.violation).max() > 1e-6
    members = da.simulate_ensemble(chain(20), np.tile(q, (3, 1)), qd, **given, step=0.02)
    assert members.attrs["notes"] == note
    for finer in ({"step": 0.02, "drift": da.Projection(iterations=6)}, {"step": 0.005}):
        finer_run = da.simulate(chain(20), q, qd, **given, **finer)
        assert finer_run.notes == () and np.abs(finer_run.violation).max() < 1e-9
        finer_members = da.simulate_ensemble(chain(20), np.tile(q, (3, 1)), qd, **given, **finer)
        assert finer_members.attrs["notes"] == ""


def test_other_constraints_and_cures_are_not_concerned() -> None:
    """A velocity constraint is met after one iteration, and without a projection `run.violation` shows the drift."""
    skate = da.System((x, y), sp.eye(2), (1, 0), da.Constraint(y.diff(da.t) - x * x.diff(da.t), name="skate"))
    assert np.abs(da.simulate(skate, (0, 0), (1, 0), [0, 2], step=1).violation).max() < 1e-12
    run = da.simulate(PENDULUM, (1, 0), (0, 0), [0, 1], step=1, drift=None)
    assert np.abs(run.violation).max() > 1
