"""Steps by diffrax: programs per system, and the first step."""

from __future__ import annotations

import diffrax
import numpy as np
import pytest

import dalembert as da
from dalembert.lowering.build import build

x = da.coordinates("x")
w = da.parameters("w")
OSCILLATOR = da.System((x,), [[1]], (-(w**2) * x,))


def _run(frequency: float) -> da.Trajectory:
    times = np.array([0, 0.3, 1, 2]) / frequency
    return da.simulate(OSCILLATOR, (1,), (0,), times, parameters={"w": frequency}, atol=1e-9, solver=diffrax.Tsit5())


def test_steps_and_outputs_share_one_program_whatever_the_numbers() -> None:
    run = _run(1.0)
    assert run.q[:, 0] == pytest.approx(np.cos([0, 0.3, 1, 2]), abs=1e-8)
    # in another unit of time the first step is another one as well, so that as many steps follow
    fast = _run(1e4)
    assert fast.q[:, 0] == pytest.approx(np.cos([0, 0.3, 1, 2]), abs=1e-8)
    assert fast.statistics["rejected"] == run.statistics["rejected"] == 0
    assert len(build(OSCILLATOR).programs) == 1
