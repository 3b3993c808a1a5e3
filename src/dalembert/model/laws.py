# SPDX-License-Identifier: BSD-3-Clause
"""Nonideal laws: the vector C with which constraint forces do the virtual work vᵀQᶜ = vᵀC."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import sympy as sp

from dalembert.errors import ModelError
from dalembert.model.differentiation import gradient
from dalembert.model.expressions import as_expression, as_expressions
from dalembert.model.ordering import in_order, name_of
from dalembert.model.representation import representation
from dalembert.model.sliding_expressions import as_velocity, length
from dalembert.model.symbols import ideal_force, t


class Coefficient(NamedTuple):
    """A coefficient by its name: it must not be negative, or must be ``positive``, and what happens otherwise.

    One that ``may_supply_energy`` may become negative along a motion, as the damping of a self-excited oscillator does.
    """

    name: str
    value: Any
    positive: bool = False
    otherwise: str = "the law adds energy"
    may_supply_energy: bool = False


class Law(ABC):
    """A nonideal force law, which gives the virtual work of constraint forces.

    A law maps coordinates to n expressions of coordinates, velocities, time, parameters, ``da.ideal_force`` and
    ``da.multiplier``. They are C itself or, if ``scaled`` is true, z = M^(-1/2) C with the symmetric square root.
    """

    scaled: bool = False

    def __repr__(self) -> str:
        return representation(self)

    @property
    def kind(self) -> str:
        """The name of the law in reports."""
        return type(self).__name__

    @property
    def coefficients(self) -> tuple[Coefficient, ...]:
        """The coefficients that must not be negative, because they would add energy."""
        return ()

    @abstractmethod
    def components(self, coordinates: Sequence[Any]) -> tuple[Any, ...]:
        """Return the n components, in the order of the coordinates."""


class SlidingLaw(Law):
    """A law that depends on the velocity v at which surfaces slide, with components linear in q̇.

    Its force acts along v, which in generalised coordinates is (∂v/∂q̇)ᵀ. If ``velocity`` is None, v is q̇ for a law of
    the whole system, and the velocity of the particle on which the constraint acts for a law of a constraint.
    """

    velocity: Any

    def generalised(self, force: Sequence[Any], coordinates: Sequence[Any]) -> tuple[Any, ...]:
        """Return (∂v/∂q̇)ᵀ times a force with components like those of v: the generalised force."""
        rates = [q.diff(t) for q in coordinates]
        pairs = zip(self.sliding_velocity(coordinates), force, strict=True)
        # zero times a force is left out: SymPy asks first whether the force is finite, which takes it seconds
        shares = [[slope * component if slope != 0 else 0 for slope in gradient(v, rates)] for v, component in pairs]
        return tuple(sp.Add(*entries) for entries in zip(*shares, strict=True))

    def sliding_velocity(self, coordinates: Sequence[Any]) -> tuple[Any, ...]:
        """Return the components of v."""
        return tuple(q.diff(t) for q in coordinates) if self.velocity is None else self.velocity


@dataclass(frozen=True, repr=False)
class Damping(SlidingLaw):
    """C = −f(v) (∂v/∂q̇)ᵀ v with a factor f that contains one coefficient, which must not be negative."""

    coefficient: Any
    velocity: Any = None

    def __post_init__(self) -> None:
        as_expression(self.coefficient, "`coefficient`")
        object.__setattr__(self, "velocity", as_velocity(self.velocity))
        require_nonnegative(self)

    @property
    def coefficients(self) -> tuple[Coefficient, ...]:
        value = as_expression(self.coefficient, "`coefficient`")
        return (Coefficient("coefficient", value, may_supply_energy=True),)

    @abstractmethod
    def factor(self, v: Sequence[Any]) -> Any:
        """Return f(v)."""

    def components(self, coordinates: Sequence[Any]) -> tuple[Any, ...]:
        v = self.sliding_velocity(coordinates)
        return self.generalised([-self.factor(v) * component for component in v], coordinates)


@dataclass(frozen=True, repr=False)
class Viscous(Damping):
    """C = −a₀ (∂v/∂q̇)ᵀ v: C = −a₀ q̇ for the whole system.

    ``coefficient`` is a₀, not negative; ``velocity``, v, is explained under ``da.Coulomb``.

    >>> import dalembert as da
    >>> da.Viscous(da.parameters("a0")).components((da.coordinates("x"),))
    (-a0*Derivative(x(t), t),)
    """

    def factor(self, v: Sequence[Any]) -> Any:
        return as_expression(self.coefficient, "`coefficient`")


@dataclass(frozen=True, repr=False)
class Quadratic(Damping):
    """C = −a₀ |v| (∂v/∂q̇)ᵀ v, with |v| the Euclidean length: C = −a₀ |q̇| q̇ for the whole system.

    ``coefficient`` is a₀, not negative; ``velocity``, v, is explained under ``da.Coulomb``.
    """

    def factor(self, v: Sequence[Any]) -> Any:
        return as_expression(self.coefficient, "`coefficient`") * length(v)


@dataclass(frozen=True, repr=False)
class SlidingForce(SlidingLaw):
    """C = (∂v/∂q̇)ᵀ f with any force f: of coordinates, velocities, time, ``da.multiplier`` or ``da.reaction``.

    Parameters
    ----------
    force       f: one expression, or as many as v has components. It acts along v, and a negative one opposes it
    velocity    v, as explained under ``da.Coulomb``; that of a joint is its rate

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> f, v0 = da.parameters("f v0")
    >>> v = x.diff(da.t)
    >>> creep = da.SlidingForce(-f * abs(da.reaction("rail")) ** sp.Rational(2, 3) * sp.tanh(v / v0), velocity=v)
    >>> rail = da.Constraint(y, name="rail", nonideal=creep)
    >>> wheel = da.System((x, y), [[1, 0], [0, 1]], (0, -8), rail)
    >>> print(da.motion(wheel, (0, 0), (9, 0), parameters={"f": 0.5, "v0": 0.1}).nonideal_force)
    [-2.  0.]
    """

    force: Any
    velocity: Any = None

    def __post_init__(self) -> None:
        several = isinstance(self.force, (tuple, list, sp.MatrixBase))
        force = as_expressions(self.force if several else (self.force,), "`force`")
        object.__setattr__(self, "force", force)
        object.__setattr__(self, "velocity", as_velocity(self.velocity))

    def components(self, coordinates: Sequence[Any]) -> tuple[Any, ...]:
        count = len(self.sliding_velocity(coordinates))
        if len(self.force) != count:
            raise ModelError(
                [f"`force` of SlidingForce must have as many components as `velocity`, {count}; got {len(self.force)}."]
            )
        return self.generalised(self.force, coordinates)


@dataclass(frozen=True, repr=False)
class Proportional(Law):
    """C = −a₀ Qᶜᵢ, proportional to the ideal force of the system, or of its constraint.

    This law has no effect on the motion: the ideal force does no virtual work, so neither does a multiple of it, and
    the nonideal force is zero. A friction law depends on the *magnitude* of the ideal force: use ``da.Coulomb``, or
    expressions of ``da.ideal_force`` and ``da.multiplier``.
    """

    coefficient: Any

    def __post_init__(self) -> None:
        as_expression(self.coefficient, "`coefficient`")

    def components(self, coordinates: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(-as_expression(self.coefficient, "`coefficient`") * ideal_force(q) for q in coordinates)


@dataclass(frozen=True, repr=False)
class Prescribed(Law):
    """C as given expressions, one per coordinate (a plain sequence given as ``nonideal`` means this).

    With ``scaled=True`` the expressions are z = M^(-1/2) C instead, where M^(1/2) is the symmetric square root.
    """

    expressions: Any
    scaled: bool = False

    def __post_init__(self) -> None:
        # A tuple of pairs, not a dict, so that a law can be hashed like the rest of the model.
        by_name = isinstance(self.expressions, Mapping)
        pairs = [(name_of(k), e) for k, e in self.expressions.items()] if by_name else enumerate(_entries(self))
        stated = tuple((key, as_expression(value, "`nonideal`")) for key, value in pairs)
        object.__setattr__(self, "expressions", stated)

    def components(self, coordinates: Sequence[Any]) -> tuple[Any, ...]:
        given = dict(self.expressions)
        by_name = all(isinstance(key, str) for key in given)
        values, problems = in_order(
            [name_of(q) for q in coordinates], given if by_name else given.values(), "nonideal", "coordinate"
        )
        if problems:
            raise ModelError(problems)
        return tuple(values)


def _entries(law: Prescribed) -> list[Any]:
    """Return the expressions of a law that are given in the order of the coordinates."""
    given = law.expressions
    try:
        if not isinstance(given, (str, bytes, Set)):
            return list(given)
    except TypeError:
        pass
    raise ModelError([f"`nonideal` must be a law, several laws, or one expression per coordinate; got {given!r}."])


def as_laws(given: Any, problems: list[str]) -> tuple[Law, ...]:
    """Return laws unchanged; convert n expressions, or a mapping by coordinate, to one prescribed law."""
    if given is None:
        return ()
    if isinstance(given, Law):
        return (given,)
    if isinstance(given, (tuple, list)) and any(isinstance(law, Law) for law in given):
        return tuple(law for part in given for law in as_laws(part, problems))
    if isinstance(given, (tuple, list)) and not given:
        return ()
    try:
        return (Prescribed(given),)
    except ModelError as error:
        problems += error.problems
        return ()


class HasCoefficients(Protocol):
    @property
    def coefficients(self) -> tuple[Coefficient, ...]: ...


def require_nonnegative(given: HasCoefficients) -> None:
    """Raise if a coefficient is given as a negative number: a law or a damper would add energy."""
    problems = [
        f"`{name}` of {type(given).__name__} must not be negative, or it adds energy; got {value}."
        for name, value, positive, *_ in given.coefficients
        if value.is_negative and not positive
    ]
    if problems:
        raise ModelError(problems)
