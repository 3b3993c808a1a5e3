# SPDX-License-Identifier: BSD-3-Clause
"""Many double pendulums on an accelerator: the straight-line program over a struct of arrays, and the textbook's way.

Run where JAX finds one: ``python -m benchmarks.gpu``. Fixed steps of Runge and Kutta's method of order 4, float64.
"""

from __future__ import annotations

import time

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.chains import NUMBERS, chain, numpy_acceleration
from dalembert.lowering.build import build

LINKS, STEPS, H = 2, 200, 1e-3


def members(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Chains that start stretched out at angles of their own, at rest: q and qd of shape (n, count)."""
    angles = np.linspace(0.1, 2.8, count)
    links = np.stack([np.sin(angles), -np.cos(angles)])
    return np.concatenate([links * (k + 1) for k in range(LINKS)]), np.zeros((2 * LINKS, count))


def runge_kutta(acceleration, q, qd):
    """One step; q and qd are trees of arrays."""

    def move(x, v, h):
        return jax.tree.map(lambda a, b: a + h * b, x, v)

    a1 = acceleration(q, qd)
    q2, qd2 = move(q, qd, H / 2), move(qd, a1, H / 2)
    a2 = acceleration(q2, qd2)
    q3, qd3 = move(q, qd2, H / 2), move(qd, a2, H / 2)
    a3 = acceleration(q3, qd3)
    q4, qd4 = move(q, qd3, H), move(qd, a3, H)
    a4 = acceleration(q4, qd4)
    mean = [
        jax.tree.map(lambda a, b, c, d: (a + 2 * b + 2 * c + d) / 6, *four)
        for four in ((qd, qd2, qd3, qd4), (a1, a2, a3, a4))
    ]
    return move(q, mean[0], H), move(qd, mean[1], H)


def ours():
    dynamics = build(chain(LINKS), "straight-line")
    p = tuple(jnp.asarray(NUMBERS[name]) for name in dynamics.parameters)

    @jax.jit
    def run(q, qd):
        def step(_, state):
            return runge_kutta(lambda q, qd: dynamics.engine.columns(q, qd, 0.0, p), *state)

        return jax.lax.fori_loop(0, STEPS, step, (tuple(q), tuple(qd)))

    return lambda q, qd: jnp.stack(run(q, qd)[0])


def textbook():
    """The papers' formula for one state, mapped over all."""
    dynamics = build(chain(LINKS), "array")
    p = tuple(jnp.asarray(NUMBERS[name]) for name in dynamics.parameters)

    def acceleration(q, qd):
        terms = dynamics.terms(q, qd, 0.0, p)
        a = jnp.linalg.solve(terms.M, terms.Q)
        S = terms.A @ jnp.linalg.solve(terms.M, terms.A.T)
        return a + jnp.linalg.solve(terms.M, terms.A.T @ jnp.linalg.solve(S, terms.b - terms.A @ a))

    @jax.jit
    def run(q, qd):
        def step(_, state):
            return runge_kutta(jax.vmap(acceleration), *state)

        return jax.lax.fori_loop(0, STEPS, step, (q.T, qd.T))

    return lambda q, qd: run(q, qd)[0].T


def reference(q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """The same steps for one member, by NumPy's pseudo-inverse."""
    for _ in range(STEPS):
        q, qd = (np.asarray(x) for x in runge_kutta(numpy_acceleration, q, qd))
    return q


def rate(run, count: int) -> tuple[float, np.ndarray]:
    q, qd = (jnp.asarray(x) for x in members(count))
    found = jax.block_until_ready(run(q, qd))
    times = []
    for _ in range(3):
        began = time.perf_counter()
        jax.block_until_ready(run(q, qd))
        times.append(time.perf_counter() - began)
    return STEPS * count / min(times), np.asarray(found)


def main() -> None:
    print(jax.devices()[0].device_kind, jax.__version__)
    for name, run, counts in (
        ("straight-line", ours(), (2**14, 2**17, 2**20)),
        ("textbook", textbook(), (2**14, 2**17)),
    ):
        for count in counts:
            steps, found = rate(run, count)
            q, qd = members(count)
            some = (0, count // 3, count - 1)
            error = max(np.abs(found[:, i] - reference(q[:, i], qd[:, i])).max() for i in some)
            print(f"{name:14s} {count:8d} members  {steps:.2e} steps/s  largest difference {error:.0e}", flush=True)


if __name__ == "__main__":
    main()
