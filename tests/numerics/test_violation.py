"""When a state counts as violating a constraint."""

import numpy as np
import pytest

from dalembert.numerics.violation import own_size, violated


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_scale_of_a_constraint_and_other_coordinates_do_not_matter(scale: float) -> None:
    """x − L = 0 beside y = 1e9: relative to x and L alone."""
    length = 0.3
    for off, expected in ((1e-9, False), (1e-7, True)):
        state = np.array([length * (1 + off), 1e9])
        residual = scale * np.array([state[0] - length])
        assert violated(residual, scale * np.array([[1.0, 0.0]]), state)[0] == expected


def test_rounding_next_to_zero_is_no_violation() -> None:
    assert not violated(np.array([1e-11]), np.array([[1.0]]), np.array([1e-11]))[0]
    assert violated(np.array([1e-9]), np.array([[1.0]]), np.array([1e-9]))[0]


def test_no_gradient_is_no_excuse() -> None:
    assert violated(np.array([1.0]), np.zeros((1, 2)), np.zeros(2))[0]


def test_own_size_is_that_of_the_terms() -> None:
    """x² + y² − 1 at (0.6, 0.8): to first order 2·0.6 x + 2·0.8 y − 2."""
    q = np.array([0.6, 0.8])
    assert own_size(np.zeros(1), 2 * q[None, :], q)[0] == pytest.approx(4)


def test_velocities_of_large_coordinates_have_their_rounding() -> None:
    residual, A, at_rest = np.array([1e-10]), np.array([[1.0]]), np.array([1e-10])
    assert not violated(residual, A, at_rest, np.array([1e6]))[0]
    assert violated(10 * residual, A, 10 * at_rest, np.array([1.0]))[0]
