"""The coefficients of Radau IIA of order 5 and what is derived from them."""

import numpy as np

from dalembert.native.radau import RADAU

A, C = np.array(RADAU.matrix), np.array(RADAU.fractions)


def stability(z: complex) -> complex:
    """The factor by which a step multiplies the solution of ẏ = λ y, z = h λ."""
    return 1 + z * A[-1] @ np.linalg.solve(np.eye(3) - z * A, np.ones(3))


def test_stages_integrate_parabolas_and_the_step_polynomials_of_degree_four() -> None:
    for k in range(1, 4):
        np.testing.assert_allclose(A @ C ** (k - 1), C**k / k, atol=1e-15)
    for k in range(1, 6):
        assert abs(A[-1] @ C ** (k - 1) - 1 / k) < 1e-15


def test_it_is_l_stable() -> None:
    """The stability function is (1 + 2z/5 + z²/20) / (1 − 3z/5 + 3z²/20 − z³/60)."""
    sizes = 10.0 ** np.arange(-3, 9)
    for z in [1j * w for w in sizes] + [-v + 1j * w for v in sizes for w in sizes]:
        exact = (1 + 2 * z / 5 + z**2 / 20) / (1 - 3 * z / 5 + 3 * z**2 / 20 - z**3 / 60)
        assert abs(exact) <= 1
        if abs(z) < 1e4:
            assert abs(stability(z) - exact) < 1e-10
    assert abs(stability(-1e12)) < 1e-3


def test_transformation() -> None:
    forward, backward = RADAU.transformation
    gamma, pair = RADAU.eigenvalues
    blocks = np.array([[gamma, 0, 0], [0, pair.real, pair.imag], [0, -pair.imag, pair.real]])
    np.testing.assert_allclose(forward @ blocks @ backward, np.linalg.inv(A), atol=1e-13)


def test_error_weights_are_those_of_radau5() -> None:
    """Hairer and Wanner, equation IV.8.20."""
    expected = np.array([-13 - 7 * np.sqrt(6), -13 + 7 * np.sqrt(6), -1]) / 3
    np.testing.assert_allclose(RADAU.error_weights, expected, rtol=1e-13)
