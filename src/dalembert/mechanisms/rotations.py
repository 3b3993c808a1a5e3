# SPDX-License-Identifier: BSD-3-Clause
"""Rotations in space by numbers: from axes and angles, matrices and Euler angles, with products and inverses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalembert.errors import ModelError
from dalembert.mechanisms.vectors import conjugate, numbers, quaternion, quaternion_product, rotation

ORTHOGONALITY_TOLERANCE = 1e-6
"""Largest error of the products of the columns of a matrix that is given as a rotation: tables and robot files hold
six digits or more."""

SEQUENCES = tuple(f"{a}{b}{c}" for a in "xyz" for b in "xyz" for c in "xyz" if b not in (a, c))
"""The twelve sequences of axes of Euler angles."""

GIMBAL_LOCK = 1e-7
"""Distance of the second Euler angle from its ends, in radians, below which the other two are not determined."""


@dataclass(frozen=True, repr=False)
class Rotation:
    """A rotation in space, such as the orientation of a body: from body axes to world axes.

    Parameters
    ----------
    quaternion    four numbers, scalar part first; they are scaled to unit length

    ``a * b`` is the rotation b followed by a, as for matrices. All angles are in radians.

    Raises
    ------
    ModelError    if the quaternion is zero, a matrix is not a rotation, a sequence of axes is not one of the twelve

    Examples
    --------
    >>> import numpy as np
    >>> import dalembert as da
    >>> tilt = da.Rotation.from_rpy(0, 0.5, np.pi / 2)
    >>> (tilt * tilt.inverse).angle
    0.0
    >>> print(tilt.apply((0, 1, 0)).round(6) + 0.0)
    [-1.  0.  0.]
    >>> body = da.Body("body", 1, (1, 1, 1), orientation=tilt)
    """

    quaternion: tuple[float, float, float, float]

    def __post_init__(self) -> None:
        given = np.asarray(numbers(self.quaternion, "quaternion", (4,)))
        size = float(np.linalg.norm(given))
        if not size > 0:
            raise ModelError(["`quaternion` must be of some length; got zero. Without a rotation it is (1, 0, 0, 0)."])
        object.__setattr__(self, "quaternion", tuple(map(float, given / size)))

    @classmethod
    def from_axis_angle(cls, axis: Any, angle: float) -> Rotation:
        """Return the rotation by an angle about an axis."""
        return cls(quaternion(axis, angle))

    @classmethod
    def from_matrix(cls, matrix: Any) -> Rotation:
        """Return the rotation of a 3 × 3 matrix, which must be orthogonal with determinant 1 to six digits.

        The columns are the axes of the body in world axes.
        """
        return cls(_quaternion_of(_rotation_matrix(matrix)))

    @classmethod
    def from_euler(cls, sequence: str, angles: Any) -> Rotation:
        """Return the rotation of three successive rotations about the axes of a sequence, by three angles.

        Lower case such as ``"xyz"`` means fixed axes (extrinsic), upper case such as ``"ZXZ"`` the axes of the body
        as they have been turned (intrinsic); all twelve sequences in both cases are allowed.
        """
        axes, intrinsic = _axes_of(sequence)
        given = numbers(angles, "angles", (3,))
        first, second, third = (
            cls.from_axis_angle(np.eye(3)[axis], angle) for axis, angle in zip(axes, given, strict=True)
        )
        return first * second * third if intrinsic else third * second * first

    @classmethod
    def from_rpy(cls, roll: float, pitch: float, yaw: float) -> Rotation:
        """Return the rotation by roll about x, then pitch about y, then yaw about z, about fixed axes, as in URDF."""
        return cls.from_euler("xyz", (roll, pitch, yaw))

    def __repr__(self) -> str:
        return f"Rotation(({', '.join(f'{part:.6g}' for part in self.quaternion)}))"

    def __mul__(self, other: Any) -> Rotation:
        if not isinstance(other, Rotation):
            raise ModelError(
                [f"a `da.Rotation` must be multiplied by another one; got {other!r}. A vector is turned by `.apply`."]
            )
        return Rotation(tuple(map(float, quaternion_product(self.quaternion, other.quaternion))))  # pyright: ignore

    @property
    def inverse(self) -> Rotation:
        """The inverse rotation."""
        return Rotation(conjugate(self.quaternion))  # pyright: ignore

    @property
    def matrix(self) -> NDArray[np.float64]:
        """The rotation matrix (3, 3), whose columns are the axes of the body in world axes."""
        return np.asarray(rotation(self.quaternion), float)

    @property
    def angle(self) -> float:
        """The angle of the rotation, from 0 to π."""
        scalar, *along = self.quaternion
        return 2 * float(np.arctan2(np.linalg.norm(along), abs(scalar)))

    @property
    def rpy(self) -> tuple[float, float, float]:
        """Roll, pitch and yaw: see ``from_rpy``."""
        return self.euler("xyz")

    def euler(self, sequence: str) -> tuple[float, float, float]:
        """Return the three angles of a sequence: see ``from_euler``.

        The second is from 0 to π if the first and the third axis are the same, else from −π/2 to π/2; the others are
        from −π to π. At the ends of the second angle only the sum or the difference of the others is determined
        (gimbal lock), and the third is zero.

        Reference: Bernardes & Viollet 2022.
        """
        axes, intrinsic = _axes_of(sequence)
        first, second, third = _euler_angles(self.quaternion, axes[::-1] if intrinsic else axes, intrinsic)
        return (third, second, first) if intrinsic else (first, second, third)

    def apply(self, vector: Any) -> NDArray[np.float64]:
        """Return a vector of body axes in world axes."""
        return self.matrix @ np.asarray(numbers(vector, "vector", (3,)))


def _axes_of(sequence: Any) -> tuple[list[int], bool]:
    """Return the numbers of the axes of a sequence, and whether they are those of the body."""
    if not isinstance(sequence, str) or sequence not in (*SEQUENCES, *map(str.upper, SEQUENCES)):
        raise ModelError(
            [
                f"`sequence` must be three axes, no two neighbours the same, in lower case for fixed axes or in upper "
                f'case for those of the body, such as "xyz" or "ZXZ"; got {sequence!r}.'
            ]
        )
    return ["xyz".index(axis) for axis in sequence.lower()], sequence.isupper()


def _rotation_matrix(given: Any) -> NDArray[np.float64]:
    """Return the rotation matrix nearest to a given one, which must be close to it."""
    try:
        matrix = np.asarray(given, float)
    except (TypeError, ValueError):
        matrix = np.zeros(0)
    if matrix.shape != (3, 3) or not np.isfinite(matrix).all():
        raise ModelError([f"`matrix` must be 3 × 3 finite numbers; got {given!r}."])
    error = float(np.abs(matrix.T @ matrix - np.eye(3)).max())
    if error > ORTHOGONALITY_TOLERANCE or np.linalg.det(matrix) < 0:
        found = (
            f"products of its columns differ by {error:.1e}"
            if error > ORTHOGONALITY_TOLERANCE
            else "it is a reflection"
        )
        raise ModelError([f"`matrix` must be orthogonal with determinant 1; {found} from that of a rotation."])
    left, _, right = np.linalg.svd(matrix)
    return left @ right


def _quaternion_of(matrix: NDArray[np.float64]) -> Any:
    """Return the quaternion of a rotation matrix, from its largest component, which is at least one half."""
    trace = float(np.trace(matrix))
    sizes = [trace, *np.diag(matrix)]
    k = int(np.argmax(sizes))
    skew = np.array([matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]])
    if k == 0:
        return (1 + trace, *skew)
    i = k - 1
    along = matrix[i] + matrix[:, i]
    along[i] = 1 + 2 * matrix[i, i] - trace
    return (skew[i], *along)


def _euler_angles(e: Any, axes: list[int], intrinsic: bool) -> tuple[float, float, float]:
    """Return the angles about fixed axes; if ``intrinsic``, the first is zero at gimbal lock, else the third."""
    i, j, k = axes
    proper = i == k
    if proper:
        k = 3 - i - j
    sign = (i - j) * (j - k) * (k - i) // 2
    w, x, y, z = e[0], e[1 + i], e[1 + j], sign * e[1 + k]
    a, b, c, d = (w, x, y, z) if proper else (w - y, x + z, y + w, z - x)
    middle = 2 * np.arctan2(np.hypot(c, d), np.hypot(a, b))
    half_sum, half_difference = np.arctan2(b, a), np.arctan2(d, c)
    if min(middle, np.pi - middle) < GIMBAL_LOCK:
        # only the half that is not an angle of two vanishing numbers is determined
        whole = 2 * half_sum if middle < 1 else -2 * half_difference
        first, third = (0.0, whole if middle < 1 else -whole) if intrinsic else (whole, 0.0)
    else:
        first, third = half_sum - half_difference, half_sum + half_difference
    if not proper:
        middle, third = middle - np.pi / 2, sign * third
    return _wrapped(first), float(middle), _wrapped(third)


def _wrapped(angle: Any) -> float:
    """Return an angle from −π to π."""
    return float(np.arctan2(np.sin(angle), np.cos(angle)))
