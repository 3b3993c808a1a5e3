# SPDX-License-Identifier: BSD-3-Clause
"""Round bodies that roll on a plane in space."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import sympy as sp

from dalembert.mechanisms.joint import Outline, Rows
from dalembert.mechanisms.outlines import rim_about, wheel
from dalembert.mechanisms.rolling_contact import RollingContact, slip
from dalembert.mechanisms.spatial_joints import SpatialJoint
from dalembert.mechanisms.vectors import across, dot, positive_number, unit, vector


@dataclass(frozen=True, repr=False)
class Rolling(RollingContact, SpatialJoint):
    """A round body that rolls on a plane; the plane may belong to a moving body.

    One equation keeps the body in contact, and two exclude slipping. A point and the normal define the plane.

    Parameters
    ----------
    first       a point of the plane, ``da.ground.at(0, 0, 0)`` or of a body that carries it
    second      the centre of the round body
    normal      out of the plane, in the axes of the first body
    nonideal    friction at the point of contact, instead of the two equations
    """

    in_the_plane: ClassVar[str] = "da.RollingOnLine"
    normal: Any = (0, 0, 1)

    def __post_init__(self) -> None:
        SpatialJoint.__post_init__(self)
        object.__setattr__(self, "normal", unit(self.normal, f"normal of joint {self.name}"))
        self._check_shape()

    @abstractmethod
    def _check_shape(self) -> None:
        """Check the arguments that describe the shape."""

    @abstractmethod
    def offset(self, up: Any) -> Any:
        """Return the vector from the centre to the lowest point, in world axes; ``up`` is the normal."""

    @abstractmethod
    def height(self, up: Any) -> Any:
        """Return the height of the centre above the plane."""

    @property
    def contact_point(self) -> Any:
        """The position of the point of contact, in world axes."""
        return self.second.position + self.offset(self.first.body.turn(self.normal))

    @property
    def contact_rows(self) -> Rows:
        up = self.first.body.turn(self.normal)
        return [("contact", dot(up, self.second.position - self.first.position) - self.height(up))]

    @property
    def slip_components(self) -> Rows:
        plane = self.first.body
        sliding = slip(self, self.offset(plane.turn(self.normal)))
        return [(f"rolling {k}", dot(plane.turn(side), sliding)) for k, side in enumerate(across(self.normal), start=1)]


@dataclass(frozen=True, repr=False)
class RollingBall(Rolling):
    """A ball that rolls on a plane; the plane may belong to a moving body.

    One equation keeps the ball in contact, and two exclude slipping. A point and the normal define the plane.

    Parameters
    ----------
    first       a point of the plane, ``da.ground.at(0, 0, 0)`` or of a body that carries it
    second      the centre of the ball
    normal      out of the plane, in the axes of the first body
    radius      of the ball
    nonideal    friction such as ``da.Coulomb(mu)``, by which the ball rolls or slips, as in ``da.RollingDisc``
    """

    radius: Any = None

    def _check_shape(self) -> None:
        object.__setattr__(self, "radius", positive_number(self.radius, f"radius of joint {self.name}"))

    def offset(self, up: Any) -> Any:
        return -self.radius * up

    def height(self, up: Any) -> Any:
        return self.radius

    @property
    def outlines(self) -> Sequence[Outline]:
        return (rim_about(self.second, self.normal, self.radius),)


@dataclass(frozen=True, repr=False)
class RollingDisc(Rolling):
    """A thin disc that rolls on a plane on its edge; the plane may belong to a moving body.

    One equation keeps the disc in contact, and two exclude slipping. A point and the normal define the plane. A disc
    that may leave the plane or rebound is a ``da.PlaneContact`` with ``radius``, ``axle`` and ``da.Coulomb(mu)``.

    Parameters
    ----------
    first       a point of the plane, ``da.ground.at(0, 0, 0)`` or of a body that carries it
    second      the centre of the disc
    normal      out of the plane, in the axes of the first body
    radius      of the disc
    axle        the direction of its axle, in the axes of the second body
    nonideal    friction such as ``da.Coulomb(mu)``. It takes the place of the two equations: the disc rolls while the
                force that this needs is within the limit of friction, and slips otherwise. A law with a ``velocity`` of
                its own, such as rolling resistance, leaves the equations as they are

    Examples
    --------
    A disc that slides without spin ends up rolling at two thirds of its speed:

    >>> import dalembert as da
    >>> disc = da.Body("disc", mass=1, inertia=(0.25, 0.5, 0.25), position=(0, 0, 1), velocity=(6, 0, 0))
    >>> edge = da.RollingDisc("edge", da.ground.at(0, 0, 0), disc, radius=1, nonideal=da.Coulomb(0.2))
    >>> thrown = da.Mechanism(disc, edge, da.Gravity((0, 0, -10)))
    >>> run = da.simulate(thrown.system, *thrown.assemble(), [0, 2])
    >>> print([(event.kind, round(event.t, 9)) for event in run.events], run.qd[-1, :3].round(9))
    [('sticks', 1.0)] [4. 0. 0.]
    """

    radius: Any = None
    axle: Any = (0, 1, 0)

    def _check_shape(self) -> None:
        object.__setattr__(self, "radius", positive_number(self.radius, f"radius of joint {self.name}"))
        object.__setattr__(self, "axle", unit(self.axle, f"axle of joint {self.name}"))

    def offset(self, up: Any) -> Any:
        return disc_support(self.second, self.axle, self.radius, up)[0]

    def height(self, up: Any) -> Any:
        return disc_support(self.second, self.axle, self.radius, up)[1]

    @property
    def outlines(self) -> Sequence[Outline]:
        return (rim_about(self.second, self.axle, self.radius),)


@dataclass(frozen=True, repr=False)
class RollingEllipsoid(Rolling):
    """An ellipsoid that rolls on a plane; the plane may belong to a moving body.

    One equation keeps the ellipsoid in contact, and two exclude slipping. A point and the normal define the plane.

    Parameters
    ----------
    first       a point of the plane, ``da.ground.at(0, 0, 0)`` or of a body that carries it
    second      the centre of the ellipsoid
    normal      out of the plane, in the axes of the first body
    axes        its three half axes, along the axes of the second body
    nonideal    friction such as ``da.Coulomb(mu)``, by which the ellipsoid rolls or slips, as in ``da.RollingDisc``
    """

    axes: Any = None

    def _check_shape(self) -> None:
        argument = f"axes of joint {self.name}"
        axes = vector(self.axes, argument, (3,))
        object.__setattr__(self, "axes", sp.ImmutableMatrix([positive_number(axis, argument) for axis in axes]))

    def offset(self, up: Any) -> Any:
        return ellipsoid_support(self.second, self.axes, up)[0]

    def height(self, up: Any) -> Any:
        return ellipsoid_support(self.second, self.axes, up)[1]

    @property
    def outlines(self) -> Sequence[Outline]:
        return ellipses(self.second, self.axes)


def disc_support(center: Any, axle: Any, radius: Any, up: Any) -> tuple[Any, Any]:
    """Return the vector from the centre of a thin disc to its lowest point, in world axes, and the centre's height."""
    turned = center.body.turn(axle)
    along = dot(up, turned)
    length = sp.sqrt(1 - along**2)
    return -radius * (up - along * turned) / length, radius * length


def ellipsoid_support(center: Any, axes: Any, up: Any) -> tuple[Any, Any]:
    """Return the same of an ellipsoid, or of an ellipse in the plane, from its half axes along those of its body."""
    basis = sp.eye(len(axes))
    own = [dot(center.body.turn(basis[:, k]), up) for k in range(len(axes))]
    scaled = sp.ImmutableMatrix([a**2 * n for a, n in zip(axes, own, strict=True)])
    height = sp.sqrt(dot(scaled, own))
    return -center.body.turn(scaled) / height, height


def ellipses(center: Any, axes: Any) -> tuple[Outline, ...]:
    """Return the sections of an ellipsoid along its half axes; the ellipse itself in the plane."""
    sides = [axis * sp.eye(len(axes))[:, k] for k, axis in enumerate(axes)]
    return tuple(wheel(center, u, v) for u, v in combinations(sides, 2))
