# SPDX-License-Identifier: BSD-3-Clause
"""Contact with a profile in the plane: wheels that roll on one, cams and their followers."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

from dalembert.errors import ModelError
from dalembert.mechanisms.extra_coordinates import ExtraCoordinates
from dalembert.mechanisms.frames import MovingBody
from dalembert.mechanisms.implicit_shapes import Region
from dalembert.mechanisms.joint import Joint, Outline, Rows
from dalembert.mechanisms.joint_geometry import direction
from dalembert.mechanisms.outlines import curve, profile_guide, wheel
from dalembert.mechanisms.rolling_contact import RollingContact, slip
from dalembert.mechanisms.vectors import constant, dot, evaluate, number, numbers, positive_number, quarter_turn, vector
from dalembert.model import graph
from dalembert.model.symbols import coordinates


@dataclass(frozen=True, repr=False)
class ProfileContact(Joint):
    """A contact of the second body with a profile of the first, in the plane; either may move.

    The parameter of the point of contact is a coordinate of the mechanism, ``s_name`` with the name of the joint. The
    equation ``foot`` determines it and carries no force. The reaction of the equation ``contact`` is the normal
    force, positive if the bodies press on each other. The contact never opens.

    Parameters
    ----------
    profile    a function of a parameter, with SymPy's functions
    start      the parameter where the bodies touch at the start, at least approximately
    """

    profile: Any = None
    start: float = 0.0

    def __post_init__(self) -> None:
        Joint.__post_init__(self)
        if self.dimension != 2:
            raise ModelError([f"joint `{self.name}` exists in the plane only; got points of space."])
        object.__setattr__(self, "start", numbers([self.start], f"start of joint {self.name}", (1,))[0])
        self._check_shape()
        s = sp.Dummy("s", real=True)
        constant(self.place_at(s), f"profile of joint {self.name}")

    @abstractmethod
    def _check_shape(self) -> None:
        """Check the arguments that describe the shape of the second body."""

    @abstractmethod
    def place_at(self, s: Any) -> Any:
        """Return the point of the profile at a value of its parameter, in the axes of the first body."""

    @property
    @abstractmethod
    def foot(self) -> Any:
        """The expression that vanishes at the point of contact and determines its parameter."""

    @property
    def parameter(self) -> Any:
        """The parameter of the point of contact, a coordinate of the mechanism."""
        return coordinates("s_" + re.sub(r"\W", "_", self.name))

    @property
    def contact_point(self) -> Any:
        """The position of the point of contact, in world axes."""
        return self.first.position + self.first.body.turn(self._at_contact(lambda place, s: place))

    @property
    def slope(self) -> Any:
        """The derivative of the profile by its parameter at the point of contact, in world axes."""
        return self.first.body.turn(self._at_contact(lambda place, s: place.diff(s)))

    @property
    def tangent(self) -> Any:
        """The unit tangent of the profile at the point of contact, in world axes."""
        slope = self._at_contact(lambda place, s: place.diff(s))
        return self.first.body.turn(slope / sp.sqrt(dot(slope, slope)))

    def _at_contact(self, of: Callable[[Any, Any], Any]) -> Any:
        """Return an expression of the profile, which is derived as a function of a symbol, at the point of contact."""
        s = sp.Dummy("s", real=True)
        found = of(self.place_at(s), s)
        return sp.ImmutableMatrix([graph.replace(entry, {s: self.parameter}) for entry in found])

    @property
    def along_profile(self) -> Any:
        """The vector from the point of contact to the second point times the derivative of the profile."""
        return dot(self.slope, self.second.position - self.contact_point)

    @property
    def contact_parameter(self) -> ExtraCoordinates:
        bodies = [marker.body for marker in self.markers if isinstance(marker.body, MovingBody)]
        # weighted by a mass, so that the mass matrix is well conditioned
        weighted = sp.sqrt(bodies[-1].mass) * self.foot
        return ExtraCoordinates(
            f"contact of {self.name}", (self.parameter,), determined_by=weighted, start=(self.start,)
        )

    def called(self, s: Any, example: str) -> Any:
        """Return the value of the profile; a message shows an example of one."""
        if not callable(self.profile):
            raise ModelError(
                [f"joint `{self.name}` must be given its `profile`, such as `{example}`; got {self.profile!r}."]
            )
        try:
            return self.profile(s)
        except TypeError as error:
            raise ModelError(
                [
                    f"`profile of joint {self.name}` must be a function of one parameter, with SymPy's functions; it "
                    f"fails: {error}."
                ]
            ) from error


@dataclass(frozen=True, repr=False)
class RollingOnProfile(RollingContact, ProfileContact):
    """A wheel that rolls on a profile, in the plane.

    The parameter of the point of contact is a coordinate of the mechanism, ``s_name`` with the name of the joint. The
    reaction of the equation ``contact`` is the normal force, positive if the bodies press on each other. The contact
    never opens.

    Parameters
    ----------
    first      the origin of the profile
    second     the centre of the wheel
    radius     of the wheel; smaller than the radius of curvature wherever the profile curves towards the wheel
    profile    a function of a parameter that returns a point of the profile in the axes of the first body, counted
               from the first point: ``lambda s: (s, s**2)``. The wheel is on its left as the parameter grows
    start      the parameter where the wheel touches at the start, at least approximately
    span       the range of the parameter that drawings show; by default the part near the motion
    nonideal   friction such as ``da.Coulomb(mu)``, by which the wheel rolls or slips, as in ``da.RollingOnLine``
    """

    radius: Any = None
    span: Any = None

    def _check_shape(self) -> None:
        argument = f"radius of joint {self.name}"
        object.__setattr__(self, "radius", constant(positive_number(self.radius, argument), argument))
        if self.span is not None:
            object.__setattr__(self, "span", numbers(self.span, f"span of joint {self.name}", (2,)))

    def place_at(self, s: Any) -> Any:
        return vector(self.called(s, "lambda s: (s, s**2)"), f"profile of joint {self.name}", (2,))

    @property
    def foot(self) -> Any:
        return self.along_profile

    @property
    def normal(self) -> Any:
        """The unit vector from the profile to the wheel at the point of contact, in world axes."""
        return quarter_turn(self.tangent)

    @property
    def contact_rows(self) -> Rows:
        apart = dot(self.normal, self.second.position - self.contact_point)
        return [("contact", apart - self.radius), ("foot", self.foot)]

    @property
    def slip_components(self) -> Rows:
        return [("rolling", dot(self.tangent, slip(self, -self.radius * self.normal)))]

    def guides(self, region: Region) -> Sequence[Outline]:
        if self.span is not None:
            return (curve(self.first, self.place_at, self.span),)
        beside = float(evaluate([self.radius], region.parameters)[0])
        return (profile_guide(self.first, self.place_at, self.start, beside, region),)

    @property
    def outlines(self) -> Sequence[Outline]:
        return (wheel(self.second, self.radius * sp.Matrix([1, 0]), self.radius * sp.Matrix([0, 1])),)


@dataclass(frozen=True, repr=False)
class Cam(ProfileContact):
    """A cam and its follower, which stay in contact and slide, in the plane.

    The parameter of the point of contact is a coordinate of the mechanism, ``s_name`` with the name of the joint. The
    reaction of the equation ``contact`` is the normal force, positive if the bodies press on each other. The contact
    never opens.

    Parameters
    ----------
    first       the point of the cam from which its profile is counted
    second      the tip of the follower, the centre of its roller, or a point of its flat face
    profile     a function of an angle that returns the radius of the cam in that direction, in the axes of the cam:
                ``lambda s: 1 + sp.cos(s) / 10``; periodic in 2π
    start       the angle where they touch at the start, at least approximately
    radius      of the roller; zero for a follower with a pointed tip
    face        the direction of a flat face, in the axes of the follower; the cam is on its right
    nonideal    laws of the joint, for a follower without a roller: the velocity is that of sliding, and the normal
                force is that of the contact
    """

    radius: Any = 0
    face: Any = None

    def _check_shape(self) -> None:
        argument = f"radius of joint {self.name}"
        object.__setattr__(self, "radius", constant(number(self.radius, argument), argument))
        if self.radius.is_negative:
            raise ModelError([f"`{argument}` must not be negative; got {self.radius}."])
        if self.face is not None:
            object.__setattr__(self, "face", direction(self.face, self))
        if self.face is not None and self.radius != 0:
            raise ModelError([f"joint `{self.name}` must have the `radius` of a roller or a flat `face`, not both."])

    def place_at(self, s: Any) -> Any:
        found = number(self.called(s, "lambda s: 1 + sp.cos(s) / 10"), f"profile of joint {self.name}")
        return found * sp.ImmutableMatrix([sp.cos(s), sp.sin(s)])

    @property
    def foot(self) -> Any:
        return self.along_profile if self.face is None else dot(self.normal, self.slope)

    @property
    def normal(self) -> Any:
        """The unit vector from the cam to the follower at the point of contact, in world axes."""
        if self.face is None:
            return -quarter_turn(self.tangent)
        return self.second.body.turn(quarter_turn(self.face))

    def rows(self) -> Rows:
        apart = dot(self.normal, self.second.position - self.contact_point)
        return [("contact", apart - self.radius), ("foot", self.foot)]

    @property
    def rate(self) -> Any:
        if self.radius != 0:
            return None
        return dot(quarter_turn(self.normal), slip(self, self.contact_point - self.second.position))

    @property
    def normal_force(self) -> Any:
        return self.force_of("contact")

    @property
    def advice(self) -> str:
        return "The roller turns freely; only a tip or a flat face slides on the cam."

    @property
    def outlines(self) -> Sequence[Outline]:
        rim = curve(self.first, self.place_at, (0.0, 2 * np.pi))
        if self.face is not None:
            half = self.place_at(sp.S.Zero)[0] * sp.Matrix(self.face)
            return rim, Outline(self.second, [sp.Matrix(self.second.point) + sign * half for sign in (-1, 1)])
        if self.radius == 0:
            return (rim,)
        return rim, wheel(self.second, self.radius * sp.Matrix([1, 0]), self.radius * sp.Matrix([0, 1]))
