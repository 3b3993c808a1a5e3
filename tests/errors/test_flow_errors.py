"""Inside of JAX's transformations a flow raises JAX's own error, whose text ends with the sentence of `da.simulate`."""

import re

import diffrax
import jax
import jax.numpy as jnp
import pytest
import sympy as sp

import dalembert as da

x, y = da.coordinates("x y")
mu = da.parameters("mu")
ROD = da.System((x, y), sp.eye(2), (0, -10), da.Constraint(x**2 + y**2 - 1, name="rod"))


def sentence(raised: pytest.ExceptionInfo) -> str:
    """Return the last line: class and message."""
    return str(raised.value).strip().splitlines()[-1]


def test_a_start_off_the_constraints_and_too_few_steps() -> None:
    motion = da.flow(ROD, (0, 1), max_steps=5, solver=diffrax.Tsit5())
    both = jax.jit(jax.vmap(lambda q: motion(q, [0.0, 0.0], {})[0]))
    with pytest.raises(da.StateError) as plain:
        motion([1.2, 0.0], [0.0, 0.0], {})
    assert "`rod` is violated by 4.4e-01 at `q0`" in str(plain.value)
    with pytest.raises(jax.errors.JaxRuntimeError) as off:
        jax.block_until_ready(both(jnp.array([[1.0, 0.0], [1.2, 0.0]])))
    assert sentence(off) == f"StateError: {plain.value}"
    with pytest.raises(jax.errors.JaxRuntimeError) as short:
        jax.block_until_ready(both(jnp.array([[1.0, 0.0], [0.0, 1.0]])))
    assert sentence(short).startswith("SimulationError: the motion must be continued to t = 1; it ended at t = 0.0")
    assert sentence(short).endswith(
        "after 5 steps: the limit of 5 steps was reached. Raise `max_steps` or loosen `rtol` and `atol`."
    )


@pytest.mark.slow
def test_friction_that_comes_to_rest() -> None:
    """The block stops at t = v/(μg) = 2/3."""
    floor = da.Constraint(y, name="floor", nonideal=da.Coulomb(mu))
    motion = da.flow(da.System((x, y), sp.eye(2), (0, -10), floor), (0, 1), solver=diffrax.Tsit5(), rtol=1e-6)
    with pytest.raises(jax.errors.JaxRuntimeError) as compiled:
        jax.block_until_ready(jax.jit(lambda mu: motion((0.0, 0.0), (2.0, 0.0), {"mu": mu}))(0.3))
    assert sentence(compiled) == (
        "SimulationError: a flow must be one smooth motion; friction of `floor` comes to rest or reverses at about "
        "t = 0.666667. Use `da.simulate`, or a law with `smoothing`."
    )


@pytest.mark.slow
def test_a_system_of_functions_says_what_is_known() -> None:
    """Its terms are known to JAX only, which must not be called from a running program."""
    rod = da.FunctionConstraint(lambda q, t, p: q @ q - 1, "position", name="rod")
    system = da.FunctionSystem(
        mass_matrix=lambda q, qd, t, p: jnp.eye(2),
        applied_force=lambda q, qd, t, p: jnp.array([0.0, -10.0]),
        constraints=(rod,),
        coordinates=("x", "y"),
        parameters=(),
    )
    flow = da.flow(system, (0, 1), max_steps=5, solver=diffrax.Tsit5())
    motion = jax.jit(lambda q: flow(q, [0.0, 0.0], {})[0])
    with pytest.raises(jax.errors.JaxRuntimeError) as off:
        jax.block_until_ready(motion(jnp.array([1.2, 0.0])))
    assert sentence(off).startswith(
        "StateError: the initial state must satisfy the constraints; it does not. Start from"
    )
    with pytest.raises(jax.errors.JaxRuntimeError) as short:
        jax.block_until_ready(motion(jnp.array([1.0, 0.0])))
    assert "continued to t = 1; it ended at t = 0." in sentence(short)
    assert "after 5 steps. Raise `max_steps`, or call the flow" in sentence(short)


def test_names_and_symbols_together_are_refused_by_name() -> None:
    x, k = da.coordinates("x"), da.parameters("k")
    motion = da.flow(da.System((x,), [[1]], (-k * x,)), [0, 1])
    with pytest.raises(da.InputError, match="`parameters` must give each parameter once; given twice: `k`"):
        motion([1.0], [0.0], {"k": 1.0, k: 1.0})


def test_batches_are_mapped_and_not_given_as_arrays() -> None:
    k = da.parameters("k")
    motion = da.flow(da.System((x,), [[1]], (-k * x,)), (0, 1))
    with pytest.raises(da.InputError, match=r"`parameters` must hold one number per name; got shape \(2,\)\. .*vmap"):
        jax.jit(lambda k: motion([1.0], [0.0], {"k": k})[0])(jnp.array([1.0, 4.0]))
    with pytest.raises(da.InputError, match=r"`q0` must hold one number per name; got shape \(2,\)"):
        jax.jit(lambda q: motion(q, [0.0], {"k": 1.0})[0])(jnp.array([[1.0, 2.0]]))


WRONG_SIGNS = {
    "number": (da.Coulomb(mu), -0.1, r"`mu` of .* must not be negative, .*; got -0\.1 from `mu` = -0\.1\."),
    "in time": (da.Coulomb(0.1 - mu * da.t), 0.2, r"`mu` of .*; at t = 0\.\d* it is -0\.\d*\. End the flow"),
    "in the state": (da.Coulomb(0.1 - mu * x), 0.2, r"`mu` of .*; at t = 0\.3 it is -0\.\d*\. End the flow"),
}


@pytest.mark.parametrize("law", WRONG_SIGNS)
def test_coefficients_of_the_wrong_sign(law: str) -> None:
    """Such a law adds energy: refused also where only the compiled program knows the value."""
    friction, wrong, message = WRONG_SIGNS[law]
    floor = da.Constraint(y, name="floor", nonideal=friction)
    motion = da.flow(da.System((x, y), sp.eye(2), (0, -10), floor), (0, 0.3, 1), solver=diffrax.Tsit5(), rtol=1e-6)
    end = jax.jit(jax.vmap(lambda mu: motion((0.0, 0.0), (2.0, 0.0), {"mu": mu})[0][-1, 0]))
    assert jnp.isfinite(end(jnp.array([0.01, 0.02]))).all()
    with pytest.raises((jax.errors.JaxRuntimeError, ValueError)) as compiled:
        jax.block_until_ready(end(jnp.array([0.01, wrong])))
    assert re.match(f"InputError: {message}", sentence(compiled)), sentence(compiled)
