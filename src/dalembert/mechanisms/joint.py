# SPDX-License-Identifier: BSD-3-Clause
"""The base class of joints: a named group of constraints between two bodies, or a body and the ground."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from dalembert.common.names import quoted
from dalembert.errors import ModelError
from dalembert.mechanisms.extra_coordinates import ExtraCoordinates
from dalembert.mechanisms.frames import Frame, Marker
from dalembert.mechanisms.implicit_shapes import Region
from dalembert.mechanisms.vectors import rotation
from dalembert.model.constraint import Constraint
from dalembert.model.friction import Friction
from dalembert.model.laws import SlidingLaw, as_laws
from dalembert.model.representation import representation
from dalembert.model.symbols import multiplier, reaction
from dalembert.numerics.tolerances import EXACT

Rows = list[tuple[str, Any]]
"""Label and residual of each equation of a joint."""


class Outline(NamedTuple):
    """A line that a drawing shows, fixed in the body of a marker: points in its axes; a spoke joins it to the joint."""

    marker: Marker
    points: Sequence[Any]
    spoke: bool = False


@dataclass(frozen=True, repr=False)
class Joint(ABC):
    """A named group of constraints between a point of one body and a point of another, or of the ground.

    A body given instead of a point denotes its reference point.
    """

    name: str
    first: Any
    second: Any
    nonideal: Any = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ModelError([f"a joint's name must be a text that is not empty; got {self.name!r}."])
        for place, other in (("first", self.second), ("second", self.first)):
            object.__setattr__(self, place, as_marker(getattr(self, place), self.name, beside=other))
        first, second = self.first, self.second
        if first.body == second.body:
            raise ModelError(
                [f"joint `{self.name}` must join two bodies; both of its points are of `{first.body.name}`."]
            )
        if first.dimension != second.dimension:
            raise ModelError(
                [f"joint `{self.name}` must join points of the plane or points of space, not one of each."]
            )

    def __repr__(self) -> str:
        return representation(self)

    @property
    def dimension(self) -> int:
        return self.first.dimension

    @property
    def markers(self) -> tuple[Marker, ...]:
        return self.first, self.second

    @abstractmethod
    def rows(self) -> Rows:
        """Return the equations of the joint."""

    @property
    def rate(self) -> Any:
        """The velocity on which laws of the joint depend; None if it must be given."""
        return None

    @property
    def motion_rate(self) -> Any:
        """The rate of the angle or displacement of a joint with one motion; None for joints with several or none."""
        return None

    @property
    def sliding(self) -> Any:
        """The sliding velocity of its surfaces; None if it must be given."""
        return self.rate

    @property
    def normal_force(self) -> Any:
        """The force between its surfaces; None if it must be given."""
        return None

    @property
    def contact_parameter(self) -> ExtraCoordinates | None:
        """The coordinate that says where the bodies touch; None for joints without one."""
        return None

    @property
    def outlines(self) -> Sequence[Outline]:
        """Lines that show the joint in drawings, such as the rim of a wheel."""
        return ()

    def guides(self, region: Region) -> Sequence[Outline]:
        """Return lines of the curve or surface on which the second point moves, in a region of the first body.

        Points of the region are counted from the first point.
        """
        return ()

    @property
    def has_guides(self) -> bool:
        """Whether drawings show lines that depend on where the bodies move."""
        return type(self).guides is not Joint.guides

    def driven(self, motion: Any) -> Rows:
        """Return the equations that prescribe the motion of the joint as a function of time."""
        raise ModelError(
            [f"joint `{self.name}` must be revolute, prismatic or a screw to be driven; it is a {type(self).__name__}."]
        )

    @property
    def contact(self) -> dict[str, Any]:
        """Further arguments of its inequalities, for a joint that opens and closes."""
        return {}

    def row_name(self, about: str) -> str:
        return f"{self.name}: {about}"

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """The constraints of the joint; its laws belong to the first of them."""
        laws, rows = self.laws, self.rows()
        return tuple(
            Constraint(
                expression,
                name=self.row_name(about),
                nonideal=laws if k == 0 else (),
                **(self.contact if isinstance(expression, sp.Ge) else {}),
            )
            for k, (about, expression) in enumerate(rows)
        )

    def force_of(self, *about: str) -> tuple[Any, ...]:
        """Return the force whose components are these multipliers."""
        return tuple(multiplier(self.row_name(part)) for part in about)

    def reaction(self, about: str) -> Any:
        """Return ``da.reaction`` of one of the equations of the joint, such as "x", for use in a law or a force."""
        labels = [label for label, _ in self.rows()]
        if about not in labels:
            raise ModelError([f"joint `{self.name}` must have an equation `{about}`; it has {quoted(labels)}."])
        return reaction(self.row_name(about))

    @property
    def laws(self) -> list[SlidingLaw]:
        """The laws of the joint, with their velocities and normal forces."""
        return [self._with_velocity_and_force(law) for law in self._laws()]

    def _laws(self) -> Sequence[SlidingLaw]:
        problems: list[str] = []
        laws = as_laws(self.nonideal, problems)
        problems += [
            f"laws of a joint must be `da.Viscous`, `da.Quadratic`, `da.Coulomb`, `da.Stribeck` or `da.SlidingForce`; "
            f"got {law!r}."
            for law in laws
            if not isinstance(law, SlidingLaw)
        ]
        if problems:
            raise ModelError([f"joint `{self.name}`: {problem}" for problem in problems])
        return [law for law in laws if isinstance(law, SlidingLaw)]

    def _with_velocity_and_force(self, law: SlidingLaw) -> SlidingLaw:
        """Return a law with its velocity and its normal force."""
        velocity = self.sliding if isinstance(law, Friction) else self.rate
        known = {"velocity": velocity} if law.velocity is None else {}
        if isinstance(law, Friction) and law.normal_force is None:
            known["normal_force"] = self.normal_force
        missing = [name for name, value in known.items() if value is None]
        if missing:
            names = " and ".join(f"`{name}`" for name in missing)
            raise ModelError([f"{type(law).__name__} of joint `{self.name}` must be given its {names}. {self.advice}"])
        return replace(law, **known)  # pyright: ignore  (all sliding laws are dataclasses)

    @property
    def advice(self) -> str:
        """The advice for a law that needs an argument."""
        return "They cannot be derived for this kind of joint."


def joints_with_parameters(joints: Sequence[Any]) -> list[Joint]:
    """Return the joints that have a contact parameter; drives have none."""
    return [joint for joint in joints if isinstance(joint, Joint) and joint.contact_parameter is not None]


def as_marker(given: Any, name: str, beside: Any = None) -> Marker:
    """Return a point; for a body its reference point, for the ground the origin in the dimension of the other point."""
    if isinstance(given, Marker):
        return given
    dimension = getattr(given, "dimension", None) or getattr(beside, "dimension", None)
    if isinstance(given, Frame) and dimension:
        return given.at(*[0] * dimension)
    raise ModelError(
        [
            f"`{name}` must be attached to points such as `body.at(...)` or `da.ground.at(...)`, or to bodies; "
            f"got {given!r}."
        ]
    )


def relative_rotation(first: Marker, second: Marker) -> Any:
    """Return the rotation from the second body's axes to the first's, in the given poses."""
    one, other = (np.asarray(rotation(marker.body.orientation)) for marker in (first, second))
    turned = one.T @ other
    nearly = np.round(turned)
    # bodies with aligned axes are meant to be exactly aligned
    return sp.ImmutableMatrix(nearly.astype(int) if np.abs(turned - nearly).max() < EXACT else turned)
