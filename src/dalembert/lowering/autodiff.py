# SPDX-License-Identifier: BSD-3-Clause
"""The terms of a ``FunctionSystem``, by automatic differentiation of its JAX functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dalembert.common.lazy_jax import jax, jnp
from dalembert.equation.dynamics import Terms
from dalembert.errors import InputError
from dalembert.model.function_system import FunctionConstraint, FunctionSystem

if TYPE_CHECKING:
    from jax import Array


def real_values(found: Any, name: str, shape: tuple[int, ...] | None = None) -> Array:
    """Return what a function of the user returned, as an array of float64; raise an error if it does not fit."""
    what = name if "`" in name else f"`{name}`"
    if jnp.iscomplexobj(found):
        raise InputError(f"{what} must return real numbers; it returns complex ones. Return their real parts, `.real`.")
    array = jnp.asarray(found, float)
    if shape is not None and array.shape != shape:
        wanted = f"shape {shape}" if shape else "one number"
        raise InputError(f"{what} must return {wanted}; got shape {array.shape}.")
    return array


def function_terms(system: FunctionSystem) -> Callable[..., Terms]:
    """Return M, Q, A, b and the residuals of a ``FunctionSystem`` as a function of arrays."""
    names = system.parameter_names
    dynamics = _from_lagrangian(system) if system.lagrangian is not None else _from_newton(system)
    rows = [_rows(constraint) for constraint in system.constraints]

    @jax.jit  # so that it is traced only once, although an integrator calls it in many places
    def terms(q: Array, qd: Array, t: Any, p: Any) -> Terms:
        t = jnp.asarray(t, float)
        named = dict(zip(names, p, strict=True))
        M, Q = dynamics(q, qd, t, named)
        parts = [row(q, qd, t, named) for row in rows]
        empty = (jnp.zeros((0, len(q))), jnp.zeros(0), jnp.zeros(0), jnp.zeros(0))
        A, b, position, velocity = (jnp.concatenate(column) for column in zip(*parts, strict=True)) if parts else empty
        return Terms(M, Q, A, b, position, velocity)

    return terms


def _from_newton(system: FunctionSystem) -> Callable[..., tuple[Array, Array]]:
    """Return M and Q of a system given by its mass matrix and applied force."""
    mass_matrix, applied_force = system.mass_matrix, system.applied_force
    assert mass_matrix is not None and applied_force is not None  # checked by FunctionSystem

    def dynamics(q: Array, qd: Array, t: Array, p: dict[str, Any]) -> tuple[Array, Array]:
        M, Q = mass_matrix(q, qd, t, p), applied_force(q, qd, t, p)
        return real_values(M, "mass_matrix"), real_values(Q, "applied_force")

    return dynamics


def _from_lagrangian(system: FunctionSystem) -> Callable[..., tuple[Array, Array]]:
    """Return M and Q of a system given by its Lagrangian and, optionally, an applied force."""
    assert system.lagrangian is not None
    given = system.lagrangian

    @jax.jit  # traced once for all of its derivatives
    def lagrangian(q: Array, qd: Array, t: Array, p: dict[str, Any]) -> Array:
        return real_values(given(q, qd, t, p), "lagrangian", ())

    momentum = jax.grad(lagrangian, argnums=1)

    def dynamics(q: Array, qd: Array, t: Array, p: dict[str, Any]) -> tuple[Array, Array]:
        M = jax.jacfwd(momentum, argnums=1)(q, qd, t, p)
        # the part of d/dt ∂L/∂q̇ without accelerations, in one directional derivative
        _, transport = jax.jvp(lambda q, t: momentum(q, qd, t, p), (q, t), (qd, jnp.ones_like(t)))
        Q = jax.grad(lagrangian)(q, qd, t, p) - transport
        if system.applied_force is None:
            return M, Q
        return M, Q + real_values(system.applied_force(q, qd, t, p), "applied_force", Q.shape)

    return dynamics


def _rows(constraint: FunctionConstraint) -> Callable[..., tuple[Array, Array, Array, Array]]:
    """Return (A, b, position residual, velocity residual) of one function constraint, as a function of arrays."""

    @jax.jit  # traced once for all of its derivatives
    def value(*arguments: Any) -> Array:
        return jnp.atleast_1d(real_values(constraint.function(*arguments), f"constraint `{constraint.name}`"))

    def position(q: Array, qd: Array, t: Array, p: Any) -> tuple[Array, Array, Array, Array]:
        def along(s: Array) -> Array:
            return value(q + s * qd, t + s, p)

        # the second derivative along the straight path q + s q̇, t + s is φ̈ without A q̈, and thus −b
        zero, one = jnp.array(0.0), jnp.array(1.0)
        (phi, rate), (_, curvature) = jax.jvp(lambda s: jax.jvp(along, (s,), (one,)), (zero,), (one,))
        return jax.jacfwd(value)(q, t, p), -curvature, phi, rate

    def velocity(q: Array, qd: Array, t: Array, p: Any) -> tuple[Array, Array, Array, Array]:
        psi, rate = jax.jvp(lambda q, t: value(q, qd, t, p), (q, t), (qd, jnp.ones_like(t)))
        return jax.jacfwd(value, argnums=1)(q, qd, t, p), -rate, jnp.zeros_like(psi), psi

    def acceleration(q: Array, qd: Array, t: Array, p: Any) -> tuple[Array, Array, Array, Array]:
        # affine in the accelerations: the value at zero is −b
        at_rest = value(q, qd, jnp.zeros_like(q), t, p)
        none = jnp.zeros_like(at_rest)
        return jax.jacfwd(value, argnums=2)(q, qd, jnp.zeros_like(q), t, p), -at_rest, none, none

    return {"position": position, "velocity": velocity, "acceleration": acceleration}[constraint.level]
