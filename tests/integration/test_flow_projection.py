"""Outputs of ``da.flow`` are the states after projection, inside of JAX's transformations too, or there is an error."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import dalembert as da

x, y = da.coordinates("x y")
PENDULUM = da.System((x, y), sp.eye(2), (0, -10), da.Constraint(x**2 + y**2 - 1, name="rod"))
TOO_LONG = (
    r"continued to t = 2; it ended at t = 1: projection does not converge there: `rod` is violated by \d.*\. The "
    r"`step` is too long; choose a shorter one, or leave it out for adaptive steps\."
)


def from_angle(angle):
    return jnp.stack([jnp.cos(angle), jnp.sin(angle)]), (0.0, 0.0), {}


def test_compiled_outputs_are_on_the_constraints_and_so_are_their_derivatives() -> None:
    """They were the states before projection, 1.6e-4 away with these steps, and their derivatives 6e-4."""
    flow = da.flow(PENDULUM, [0, 1], step=0.1)
    by_steps = np.array(flow(*from_angle(0.3))[0])
    compiled, rates = jax.jvp(lambda a: flow(*from_angle(a))[0], (0.3,), (1.0,))
    np.testing.assert_allclose(compiled, by_steps, rtol=0, atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(compiled, axis=1), 1, rtol=1e-14)
    np.testing.assert_allclose(np.sum(compiled * rates, axis=1), 0, atol=1e-13)
    near = [np.array(flow(*from_angle(0.3 + d))[0]) for d in (1e-5, -1e-5)]
    np.testing.assert_allclose(rates, (near[0] - near[1]) / 2e-5, rtol=0, atol=1e-8)


def test_steps_that_are_too_long_for_their_projection_are_refused() -> None:
    flow = da.flow(PENDULUM, [0, 1, 2], step=1)
    with pytest.raises(da.SimulationError, match=TOO_LONG) as known:
        flow(*from_angle(0.0))
    assert known.value.time == 1
    with pytest.raises(jax.errors.JaxRuntimeError, match=TOO_LONG):
        jax.block_until_ready(jax.jit(lambda a: flow(*from_angle(a))[0])(0.0))
