"""Normal forces that friction changes: sᵢ = |u₀ᵢ + Σⱼ Gᵢⱼ sⱼ|, on a tape and in JAX, against plain iteration."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dalembert.equation.reaction import UNKNOWN_COUNT, one_length, solve_lengths
from dalembert.lowering.normal_forces import normal_forces
from dalembert.native.derivatives import differentiated
from dalembert.native.tape import Program, Tape

SHAPES = [(1, (1,)), (1, (3,)), (2, (1, 1)), (2, (2, 1)), (3, (2, 2, 2)), (4, (3, 1, 2, 1)), (12, (1,) * 12)]


def problem(rng: np.random.Generator, sizes: tuple[int, ...], radius: float) -> tuple[np.ndarray, np.ndarray]:
    """G (k, c, k) and u₀ (k, c), padded with zeros, with a given spectral radius of |Gᵢⱼ|."""
    k, c = len(sizes), max(sizes)
    there = np.arange(c) < np.array(sizes)[:, None]
    G, u0 = rng.normal(size=(k, c, k)) * there[..., None], rng.normal(size=(k, c)) * there
    return G * (radius / np.abs(np.linalg.eigvals(np.linalg.norm(G, axis=1))).max()), u0


def iterated(G: np.ndarray, u0: np.ndarray) -> np.ndarray:
    s = np.zeros(len(u0))
    for _ in range(1000):  # the errors go down by 0.9, the largest spectral radius here, each time
        s = np.linalg.norm(u0 + G @ s, axis=1)
    return s


def on_tape(
    G: np.ndarray, u0: np.ndarray, sizes: tuple[int, ...], pressing: tuple[bool, ...] = ()
) -> tuple[np.ndarray, bool]:
    """The sizes by machine code's arithmetic, walked in Python, and whether it answers for them."""
    tape, k = Tape(), len(u0)
    numbers = [x for i in range(k) for x in (*u0[i, : sizes[i]], *G[i, : sizes[i]].T.ravel())]
    values = iter([tape.input("y", i) for i in range(len(numbers))])
    offsets, coupling = [], []
    for i in range(k):
        offsets.append([next(values) for _ in range(sizes[i])])
        coupling.append([[next(values) for _ in range(sizes[i])] for _ in range(k)])
    found, conditions = normal_forces(tape, coupling, offsets, pressing)
    pairs = [x for pair in conditions for x in pair]
    out, _ = differentiated(Program(tape, [*found, *pairs]), np.array(numbers), 0.0, np.empty(0))
    return out[:k], bool((out[k::2] > out[k + 1 :: 2]).all())


@pytest.mark.parametrize(("k", "sizes"), SHAPES)
def test_both_ways_find_the_solution_of_plain_iteration(k: int, sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(k)
    solve = jax.jit(solve_lengths)
    answered = 0
    for radius in (0.0, 0.05, 0.3, 0.6, 0.9):
        G, u0 = problem(rng, sizes, radius)
        expected = iterated(G, u0)
        found, solutions = solve(jnp.asarray(G), jnp.asarray(u0))
        assert solutions == 1
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14 * expected.max())
        recorded, sure = on_tape(G, u0, sizes)
        answered += sure
        if sure:
            np.testing.assert_allclose(recorded, expected, rtol=1e-12, atol=1e-12 * expected.max())
    assert answered >= 4  # near the limit machine code may hand over


def test_beyond_the_bound_nothing_is_promised() -> None:
    rng = np.random.default_rng(8)
    for _, sizes in SHAPES[1:4]:
        G, u0 = problem(rng, sizes, 1.001)
        found, solutions = jax.jit(solve_lengths)(jnp.asarray(G), jnp.asarray(u0))
        assert solutions == UNKNOWN_COUNT and np.isnan(found).all()
        assert not on_tape(G, u0, sizes)[1]


def test_contacts_that_press_are_found_beyond_the_bound() -> None:
    """Forces of contacts have one sign, so that only a determinant must not vanish."""
    rng, pressing = np.random.default_rng(9), (True,) * 3
    G, u0 = -np.abs(problem(rng, (1, 1, 1), 3.0)[0]), rng.normal(size=(3, 1))
    expected = np.linalg.solve(np.eye(3) - G[:, 0], u0[:, 0])
    found, sure = on_tape(G, u0, (1, 1, 1), pressing)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert sure == bool(_pivots(np.eye(3) - G[:, 0]).min() > 1e-3)
    assert not on_tape(np.full((1, 1, 1), 1.5), np.ones((1, 1)), (1,), (True,))[1]


def _pivots(matrix: np.ndarray) -> np.ndarray:
    """The pivots of elimination without exchange of rows: ratios of leading minors."""
    minors = [np.linalg.det(matrix[:k, :k]) for k in range(len(matrix) + 1)]
    return np.divide(minors[1:], minors[:-1])


def test_one_vector_without_cancellation() -> None:
    """s² (1 − |G|²) − 2 s u₀·G = |u₀|², also where u₀ is opposed to G, tiny, or nothing at all."""
    G = np.array([0.6, -0.7])
    for scale in (1.0, 1e-140):
        s = float(one_length(jnp.asarray(G), jnp.asarray(-scale * G)))
        size = np.linalg.norm(G)
        assert s == pytest.approx(scale * size / (1 + size), rel=1e-15)  # u₀ = −G: s = |G| (1 − s)
    assert float(one_length(jnp.asarray(G), jnp.zeros(2))) == 0
    assert on_tape(np.stack([G[None, :].T])[:, :, :1], np.zeros((1, 2)), (2,)) == (0, True)


def test_derivatives_are_those_of_the_implicit_equation() -> None:
    G, u0 = problem(np.random.default_rng(3), (2, 1, 3), 0.7)

    def total(G: jax.Array) -> jax.Array:
        return jnp.sum(solve_lengths(G, jnp.asarray(u0))[0] ** 2)

    step = np.random.default_rng(4).normal(size=G.shape) * (G != 0)
    both = jax.jit(lambda G: (jax.grad(total)(G), jax.jvp(total, (G,), (jnp.asarray(step),))[1]))
    slope, forward = both(jnp.asarray(G))
    sides = [np.sum(iterated(G + h * step, u0) ** 2) for h in (1e-6, -1e-6)]
    np.testing.assert_allclose(np.sum(np.asarray(slope) * step), (sides[0] - sides[1]) / 2e-6, rtol=1e-7)
    np.testing.assert_allclose(forward, np.sum(np.asarray(slope) * step), rtol=1e-12)
