"""JAX follows each function of a ``da.FunctionSystem`` a few times only, however many programs a run is made of."""

from __future__ import annotations

from collections import Counter

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import dalembert as da
from dalembert.equation.array_engine import ArrayProgram
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


def test_row_selection_is_traced_twice_at_most_and_programs_of_fixed_steps_are_kept(monkeypatch):
    """For six places in two programs; JAX would not keep on disk what calls back, as checks of diffrax's own do."""
    events, traces, select_rows = Counter(), [], ArrayProgram.select_rows
    monkeypatch.setattr(ArrayProgram, "select_rows", lambda *given: traces.append(1) or select_rows(*given))
    jax.monitoring.register_event_listener(lambda name, **_: events.update([name.rpartition("/")[2]]))
    x, y = da.coordinates("x y")
    system = da.System((x, y), np.eye(2), (0.5, -9.5), da.Constraint(x**2 + y**2 - 1, name="rod"))
    run = da.simulate(system, (1, 0), (0, 0), (0, 0.1), solver=diffrax.Midpoint(), step=0.01)
    assert run.statistics["program"] == "JAX" and len(traces) <= 2
    assert events["compile_requests_use_cache"] == events["cache_hits"] + events["cache_misses"] > 0
