# SPDX-License-Identifier: BSD-3-Clause
"""Compiled outputs at times within steps: together as one at a time, and marked where they are not valid."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.integration.native_steps import NativeSteps, native_steps
from dalembert.native.engine import Sample
from dalembert.settings import method_of, prepared

x, y = da.coordinates("x y")


def steps_of(system: da.System, **options: Any) -> NativeSteps:
    dynamics, q, qd, p = prepared(system, (1, 0), (0, 0.2), None, ("q", "qd"))
    method = method_of(None, da.Projection(), options.get("solver"), 1e-9, 1e-11, options.get("step"), 1000)
    native = native_steps(dynamics, method, p)
    assert native is not None
    native.begin(np.concatenate([q, qd]), 0.0)
    return native


def sampled(native: NativeSteps, t0: Any, y0: Any, times: Any) -> Sample:
    settings = native.settings(0.0, 0.0, y0.shape[1])
    return native.engine.sample(np.array(t0, float), np.array(y0, float), np.array(times, float), native.p, settings)


@pytest.mark.parametrize("options", [{}, {"solver": da.Implicit()}, {"step": 0.1}])
def test_outputs_are_the_same_together_and_one_at_a_time(options: Any) -> None:
    """From one start, from two at the same time, from an output at the start itself, and back to an earlier start."""
    rod = da.Constraint(x**2 + y**2 - 1, name="rod")
    native = steps_of(da.System((x, y), [[1, 0], [0, 2]], (0, -9.81 - x), rod), **options)
    here, there = np.array([1.0, 0.0, 0.0, 0.2]), np.array([0.6, 0.8, -0.4, 0.3])
    starts = np.stack([here, here, here, there, there, here, here])
    t0, times = [0.0, 0, 0, 0, 0, 0, 0.5], [0.0, 0.001, 0.002, 0.002, 0.001, 0.001, 0.5]
    together = sampled(native, t0, starts, times)
    assert together.is_complete
    assert (together.validity == 1).all()
    for k in range(len(times)):
        alone = sampled(native, t0[k : k + 1], starts[k : k + 1], times[k : k + 1])
        assert np.array_equal(alone.y[0], together.y[k])
        for name, values in alone.outputs.items():
            assert np.array_equal(values[0], together.outputs[name][k])


def test_outputs_that_are_not_finite_or_not_well_conditioned_are_marked() -> None:
    root = da.System((x, y), [[1, 0], [0, 1]], (sp.Abs(x) ** 0.5 / x, 0), da.Constraint(x * y, name="cross"))
    native = steps_of(root)
    fine, infinite, singular = [1.0, 0, 0, 0], [0.0, 1, 0, 0], [0.0, 0, 0, 0]
    assert sampled(native, [0.0, 0.0], np.array([fine, fine]), [0.0, 0.0]).is_complete
    for other in (infinite, singular):
        found = sampled(native, [0.0, 0.0], np.array([fine, other]), [0.0, 0.0])
        assert not found.is_complete
        assert found.validity[0] == 1
    assert found.validity[1] == 0
