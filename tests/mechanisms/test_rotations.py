"""Rotations against SciPy: matrices, all sequences of Euler angles, products and inverses; and what is refused."""

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation as Reference

import dalembert as da
from dalembert.mechanisms.rotations import SEQUENCES

BOTH = [*SEQUENCES, *(sequence.upper() for sequence in SEQUENCES)]
RNG = np.random.default_rng(7)


def reference(rotation):
    return Reference.from_quat(rotation.quaternion, scalar_first=True)


def test_there_are_twelve_sequences():
    assert len(SEQUENCES) == len(set(SEQUENCES)) == 12


@pytest.mark.parametrize("sequence", BOTH)
def test_euler_angles_are_those_of_scipy(sequence):
    for angles in RNG.uniform(-4, 4, (20, 3)):
        ours, theirs = da.Rotation.from_euler(sequence, angles), Reference.from_euler(sequence, angles)
        np.testing.assert_allclose(ours.matrix, theirs.as_matrix(), atol=1e-15)
        np.testing.assert_allclose(ours.euler(sequence), theirs.as_euler(sequence), atol=1e-13)


@pytest.mark.parametrize("sequence", BOTH)
def test_at_gimbal_lock_the_third_angle_is_zero_and_the_rotation_is_the_same(sequence):
    ends = (0, np.pi) if sequence[0] == sequence[2] else (-np.pi / 2, np.pi / 2)
    for middle, (first, third) in itertools.product(ends, RNG.uniform(-3, 3, (5, 2))):
        rotation = da.Rotation.from_euler(sequence, (first, middle, third))
        found = rotation.euler(sequence)
        assert found[2] == 0
        np.testing.assert_allclose(da.Rotation.from_euler(sequence, found).matrix, rotation.matrix, atol=2e-8)


def test_products_inverses_matrices_and_vectors_are_those_of_scipy():
    for a, b in RNG.normal(size=(50, 2, 4)):
        first, second = da.Rotation(a), da.Rotation(b)
        expected = reference(first) * reference(second)
        np.testing.assert_allclose((first * second).matrix, expected.as_matrix(), atol=1e-15)
        np.testing.assert_allclose(first.inverse.matrix, reference(first).inv().as_matrix(), atol=1e-15)
        np.testing.assert_allclose(da.Rotation.from_matrix(first.matrix).matrix, first.matrix, atol=1e-15)
        np.testing.assert_allclose(first.apply((1, 2, 3)), reference(first).apply([1, 2, 3]), atol=1e-14)
        assert first.angle == pytest.approx(reference(first).magnitude(), abs=1e-14)


def test_matrices_of_half_turns():
    """The scalar part of their quaternions vanishes, and each of the other three is the largest once."""
    for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 2, 3), (-3, 1, 1)):
        turn = da.Rotation.from_axis_angle(axis, np.pi)
        np.testing.assert_allclose(da.Rotation.from_matrix(turn.matrix).matrix, turn.matrix, atol=1e-15)


def test_roll_pitch_and_yaw_are_about_fixed_axes():
    found = da.Rotation.from_rpy(0.3, -0.4, 2.0)
    np.testing.assert_allclose(found.matrix, Reference.from_euler("xyz", (0.3, -0.4, 2.0)).as_matrix(), atol=1e-15)
    assert found.rpy == pytest.approx((0.3, -0.4, 2.0), abs=1e-15)


def test_the_orientation_of_a_body():
    turn = da.Rotation.from_euler("ZXZ", (0.1, 0.2, 0.3))
    body = da.Body("b", 1, (1, 1, 1), orientation=turn)
    assert body.orientation == pytest.approx(turn.quaternion, abs=1e-16)
    assert repr(da.Rotation((2, 0, 0, 0))) == "Rotation((1, 0, 0, 0))"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: da.Rotation((0, 0, 0, 0)), "`quaternion` must be of some length; got zero"),
        (lambda: da.Rotation((1, 0, 0)), "`quaternion` must be 4 finite numbers"),
        (lambda: da.Rotation.from_matrix(np.eye(2)), "`matrix` must be 3 × 3 finite numbers"),
        (lambda: da.Rotation.from_matrix("turn"), "`matrix` must be 3 × 3 finite numbers"),
        (lambda: da.Rotation.from_matrix(2 * np.eye(3)), "must be orthogonal with determinant 1; products of its"),
        (lambda: da.Rotation.from_matrix(-np.eye(3)), "must be orthogonal with determinant 1; it is a reflection"),
        (lambda: da.Rotation.from_euler("xyX", (0, 0, 0)), "`sequence` must be three axes, no two neighbours the same"),
        (lambda: da.Rotation.from_euler("xxz", (0, 0, 0)), "`sequence` must be three axes"),
        (lambda: da.Rotation.from_euler("xyz", (0, 0)), "`angles` must be 3 finite numbers"),
        (lambda: da.Rotation((1, 0, 0, 0)).euler("abc"), "`sequence` must be three axes"),
        (lambda: da.Rotation((1, 0, 0, 0)) * (1, 2, 3), "must be multiplied by another one; got"),
    ],
)
def test_refused(make, message):
    with pytest.raises(da.ModelError) as refusal:
        make()
    assert message in str(refusal.value)
