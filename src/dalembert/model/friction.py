# SPDX-License-Identifier: BSD-3-Clause
"""Dry friction: laws whose magnitude is proportional to the normal force of a constraint."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sympy as sp

from dalembert.errors import ModelError
from dalembert.model.expressions import as_expression, as_expressions
from dalembert.model.laws import Coefficient, SlidingLaw, require_nonnegative
from dalembert.model.sliding_expressions import as_velocity, at_rest, length, squared

Normal = Literal["ideal", "actual"]


class Friction(SlidingLaw):
    """Dry friction C = −μ |N| (∂v/∂q̇)ᵀ v/|v|: opposes the sliding velocity v, proportional to the normal force N.

    This is the law of sliding surfaces; where v is exactly zero, its expressions are zero. The package ``stick_slip``
    decides about surfaces at rest.
    """

    normal_force: Any
    normal: Normal
    smoothing: Any
    mu_static: Any

    @property
    def can_stick(self) -> bool:
        """True if the law holds surfaces at rest, up to a force of μₛ |N|; only smoothed laws do not."""
        return self.smoothing is None and not isinstance(self, Continued)

    @property
    def static_coefficient(self) -> Any:
        """μₛ; by default the coefficient of sliding at zero speed."""
        return (
            self.friction_coefficient(sp.S.Zero)
            if self.mu_static is None
            else as_expression(self.mu_static, "`mu_static`")
        )

    @property
    def normal_components(self) -> tuple[Any, ...]:
        """The components of the normal force, whose length is |N|."""
        return self.normal_force if isinstance(self.normal_force, tuple) else (self.normal_force,)

    @property
    def normal_size(self) -> Any:
        """|N|."""
        parts = self.normal_components
        return sp.Abs(parts[0]) if len(parts) == 1 else sp.sqrt(squared(parts))

    @property
    def speed_scale(self) -> Any:
        """The sliding speed on which μ changes, None if it is constant."""
        return None

    @abstractmethod
    def friction_coefficient(self, speed_squared: Any) -> Any:
        """Return μ as a function of the squared sliding speed."""

    @abstractmethod
    def direction(self, v: Sequence[Any]) -> tuple[Any, ...]:
        """Return v/|v|, or its replacement at small speeds."""

    def components(self, coordinates: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(self.normal_size * component for component in self.per_normal_force(coordinates))

    def per_normal_force(self, coordinates: Sequence[Any]) -> tuple[Any, ...]:
        """Return the force C for |N| = 1."""
        mu, v = self.coefficient(coordinates), self.sliding_velocity(coordinates)
        return self.generalised([-mu * component for component in self.direction(v)], coordinates)

    def coefficient(self, coordinates: Sequence[Any]) -> Any:
        """Return μ at the current sliding speed."""
        return self.friction_coefficient(squared(self.sliding_velocity(coordinates)))


@dataclass(frozen=True, repr=False)
class Coulomb(Friction):
    """Coulomb's friction: C = −μ |N| (∂v/∂q̇)ᵀ v/|v|.

    Parameters
    ----------
    mu              coefficient of sliding friction
    velocity        v: one expression or several, linear in the velocities q̇. By default, the velocity of the
                    particle on which the constraint acts, if its coordinates are Cartesian
    normal_force    N: an expression of q, q̇, t and ``da.multiplier("name")``, or a tuple of such components, where |N|
                    is the length of that vector. The multiplier stands for the reaction that ``normal`` selects;
                    ``da.reaction("name")`` may be written for the actual one. By default λ |∂φ/∂q|, if the
                    constraint acts on one particle in Cartesian coordinates
    normal          "actual": λ is the reaction with friction, which friction itself changes; the components of N must
                    then be linear in multipliers. "ideal": λ is that of the problem without nonideal forces, as in
                    Udwadia and Kalaba's papers, so that the law is explicit
    smoothing       w in v/√(|v|² + w²), which replaces v/|v|. By default, friction is not smoothed
    mu_static       μₛ: surfaces at rest stick, as by an additional ideal constraint, until the holding force
                    exceeds μₛ |N|. By default equal to ``mu``; a smoothed law never sticks

    Raises
    ------
    ModelError      if a coefficient is a negative number, or if an argument is missing that cannot be derived
                    from the system

    Examples
    --------
    >>> import dalembert as da
    >>> x, z = da.coordinates("x z")
    >>> wire = da.Constraint(z - x**2, name="wire", nonideal=da.Coulomb(0.2))
    >>> bead = da.System((x, z), [[1, 0], [0, 1]], (0, -10), wire)
    >>> point = da.motion(bead, q=(0, 0), qd=(3, 0))  # where friction does not change N
    >>> print(point.ideal_force, point.nonideal_force.round(9))
    [ 0. 28.] [-5.6  0. ]
    """

    mu: Any
    velocity: Any = None
    normal_force: Any = None
    normal: Normal = "actual"
    smoothing: Any = None
    mu_static: Any = None

    def __post_init__(self) -> None:
        _check(self)
        if self.mu_static is not None and self.smoothing is not None:
            raise ModelError(["friction must either be smoothed or stick; leave out `smoothing` or `mu_static`."])

    @property
    def coefficients(self) -> tuple[Coefficient, ...]:
        return _coefficients(self)

    def friction_coefficient(self, speed_squared: Any) -> Any:
        return as_expression(self.mu, "`mu`")

    def direction(self, v: Sequence[Any]) -> tuple[Any, ...]:
        return _along(v, self.smoothing)


@dataclass(frozen=True, repr=False)
class Stribeck(Friction):
    """Friction that falls from μₛ at rest to μ at high speed: ``da.Coulomb`` with μ + (μₛ − μ) e^(−|v|²/vₛ²).

    Parameters
    ----------
    mu, mu_static    μ and μₛ; surfaces at rest stick, as under ``da.Coulomb``, unless smoothed
    speed            vₛ, the speed scale of the decrease
    velocity, normal_force, normal, smoothing    as for ``da.Coulomb``
    """

    mu: Any
    mu_static: Any
    speed: Any
    velocity: Any = None
    normal_force: Any = None
    normal: Normal = "actual"
    smoothing: Any = None

    def __post_init__(self) -> None:
        _check(self)
        if as_expression(self.speed, "`speed`").is_positive is False:
            raise ModelError([f"`speed` must be positive, the speed scale on which friction falls; got {self.speed}."])

    @property
    def coefficients(self) -> tuple[Coefficient, ...]:
        return (*_coefficients(self), Coefficient("speed", as_expression(self.speed, "`speed`"), positive=True))

    @property
    def speed_scale(self) -> Any:
        return as_expression(self.speed, "`speed`")

    def friction_coefficient(self, speed_squared: Any) -> Any:
        mu, mu_static, speed = as_expressions((self.mu, self.mu_static, self.speed), "`mu`, `mu_static` and `speed`")
        return mu + (mu_static - mu) * sp.exp(-speed_squared / speed**2)

    def direction(self, v: Sequence[Any]) -> tuple[Any, ...]:
        return _along(v, self.smoothing)


@dataclass(frozen=True, repr=False)
class Continued(Friction):
    """A law of sliding in one direction, continued smoothly through v = 0.

    The direction is d, of unit length. With one component of v, d replaces v/|v|. With several components, v/|v| is
    replaced by ±v/|v|, with the sign that makes it point along d, so it stays smooth where v comes to rest along a
    smooth path. At v = 0 it is d itself.

    law                     the law that is continued
    velocity                v
    along                   d, as symbols
    normal_force, normal    as those of the law
    """

    law: Friction
    velocity: Any
    along: tuple[Any, ...]
    normal_force: Any
    normal: Normal
    smoothing = None
    mu_static = None

    @property
    def kind(self) -> str:
        return self.law.kind

    @property
    def coefficients(self) -> tuple[Coefficient, ...]:
        return self.law.coefficients

    @property
    def speed_scale(self) -> Any:
        return self.law.speed_scale

    def friction_coefficient(self, speed_squared: Any) -> Any:
        return self.law.friction_coefficient(speed_squared)

    def direction(self, v: Sequence[Any]) -> tuple[Any, ...]:
        if len(v) == 1:
            return self.along
        side = sp.sign(sp.Add(*(a * b for a, b in zip(self.along, v, strict=True))))
        rest = at_rest(squared(v))
        return tuple(side * component / length(v) + rest * d for component, d in zip(v, self.along, strict=True))


def _check(law: Coulomb | Stribeck) -> None:
    """Convert the arguments to expressions, or raise an error."""
    as_expression(law.mu, "`mu`")
    if law.mu_static is not None:
        as_expression(law.mu_static, "`mu_static`")
    object.__setattr__(law, "velocity", as_velocity(law.velocity))
    if law.normal not in ("ideal", "actual"):
        raise ModelError([f'`normal` must be "ideal" or "actual"; got {law.normal!r}.'])
    width = None if law.smoothing is None else as_expression(law.smoothing, "`smoothing`")
    if width is not None and width.is_positive is False:
        raise ModelError([f"`smoothing` must be a positive width, or None for no smoothing; got {width}."])
    object.__setattr__(law, "smoothing", width)
    if law.normal_force is not None:
        object.__setattr__(law, "normal_force", _as_normal_force(law.normal_force))
    require_nonnegative(law)
    if law.mu_static is not None and sp.Lt(as_expression(law.mu_static, "`mu_static`"), law.mu) is sp.true:
        raise ModelError([f"`mu_static` must not be less than `mu`; got {law.mu_static} and {law.mu}."])


def as_normal_force(components: Sequence[Any]) -> Any:
    """Return a tuple of components, or the component if there is only one."""
    return tuple(components) if len(components) > 1 else components[0]


def _as_normal_force(given: Any) -> Any:
    """Return an expression, or a tuple of components."""
    if not isinstance(given, (tuple, list)):
        return as_expression(given, "`normal_force`")
    if not given:
        raise ModelError([f"`normal_force` must be an expression, or a sequence of components; got {given!r}."])
    return as_normal_force(as_expressions(given, "`normal_force`"))


def _coefficients(law: Any) -> tuple[Coefficient, ...]:
    given = {"mu": law.mu, "mu_static": law.mu_static, "smoothing": law.smoothing}
    return tuple(
        Coefficient(name, as_expression(value, f"`{name}`"), positive=name == "smoothing")
        for name, value in given.items()
        if value is not None
    )


def _along(v: Sequence[Any], width: Any) -> tuple[Any, ...]:
    """Return v/|v|, smoothed if a width is given; zero, with finite derivatives, where v vanishes."""
    if width is not None:
        return tuple(component / sp.sqrt(squared(v) + width**2) for component in v)
    return (sp.sign(v[0]),) if len(v) == 1 else tuple(component / length(v) for component in v)
