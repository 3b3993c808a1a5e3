"""JAX follows each function of a ``da.FunctionSystem`` a few times only, however many programs a run is made of."""

from __future__ import annotations

from collections import Counter

import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from helpers import quick_first

MOST = 3


def counted(traces, name, function):
    def follow(*given):
        traces[name] += 1
        return function(*given)

    return follow


def rod(q, t, p):
    return q[0] ** 2 + q[1] ** 2 - 1


def drag(q, qd, t, p, ideal_force):
    return -0.1 * qd


@pytest.mark.parametrize("given", quick_first(["newton", "lagrangian"], ["newton"]))
def test_each_function_is_traced_at_most_three_times(given):
    traces = Counter()
    functions = {
        "newton": {
            "mass_matrix": lambda q, qd, t, p: jnp.eye(2),
            "applied_force": lambda q, qd, t, p: jnp.array([0.0, -p["g"]]),
        },
        "lagrangian": {"lagrangian": lambda q, qd, t, p: (qd @ qd) / 2 - p["g"] * q[1]},
    }[given]
    system = da.FunctionSystem(
        **{name: counted(traces, name, function) for name, function in functions.items()},
        constraints=[da.FunctionConstraint(counted(traces, "rod", rod), "position")],
        nonideal=counted(traces, "drag", drag),
    )
    times = np.linspace(0, 1, 5)
    run = da.simulate(system, (1.0, 0.0), (0.0, 0.0), times, parameters={"g": 9.81})
    assert set(traces) == {*functions, "rod", "drag"}
    assert max(traces.values()) <= MOST, traces

    x, y = da.coordinates("x y")
    written = da.System(
        (x, y), np.eye(2), (0, -9.81), da.Constraint(x**2 + y**2 - 1, name="rod"), nonideal=da.Viscous(0.1)
    )
    np.testing.assert_allclose(run.q, da.simulate(written, (1, 0), (0, 0), times).q, rtol=1e-7, atol=1e-8)
