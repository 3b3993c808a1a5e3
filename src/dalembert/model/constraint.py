# SPDX-License-Identifier: BSD-3-Clause
"""Constraints: one scalar equation or inequality each, at position, velocity or acceleration level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
import sympy as sp
from sympy.logic.boolalg import BooleanAtom

from dalembert.common.levels import LEVELS, Level
from dalembert.errors import ModelError
from dalembert.model import graph
from dalembert.model.deep_stack import with_deep_stack
from dalembert.model.expressions import as_expression, as_matrix
from dalembert.model.latex import equation
from dalembert.model.laws import as_laws
from dalembert.model.ordering import name_of
from dalembert.model.representation import representation
from dalembert.model.symbols import StateSymbols, functions_of_time, reaction, t

Impact = Literal["newton", "poisson", "moreau"]


@dataclass(frozen=True)
class Constraint:
    """One equation that the motion must satisfy, ``expression = 0``, or one inequality, ``expression >= 0``.

    Its level (position, velocity or acceleration) is that of the highest time derivative in it. A velocity-level
    constraint may be nonlinear in the velocities; an acceleration-level one must be linear in the accelerations. An
    inequality is a one-sided constraint, at position level: a contact that opens where its reaction vanishes and closes
    by an impact. ``da.simulate`` and ``da.simulate_ensemble`` alone follow such contacts.

    Parameters
    ----------
    expression     a SymPy expression that vanishes on the motion, ``sympy.Eq(left, right)``, or for a one-sided
                   constraint ``sympy.Ge(left, right)`` or ``sympy.Le(left, right)``
    name           its name in messages and results; by default a readable one is generated
    nonideal       nonideal force law, such as ``da.Coulomb(mu)``, several, or n expressions for C; none
                   for an ideal constraint
    restitution    of a one-sided constraint: a number from 0 to 1, or an expression of parameters
    impact         the law of that coefficient: "newton", for velocities, "poisson", for impulses, or "moreau": that of
                   Newton, with friction against the slip after the impact
    releases       whether an equation ceases to hold, for good, when its force changes its sign
    active         whether it holds from the start; otherwise an event switches it on
    one_sided      whether ``expression >= 0`` is meant; an inequality sets it
    pressing       whether it is the equation of a closed contact, whose force is not negative; simulations set it

    Raises
    ------
    ModelError    if there is no coordinate in it, a derivative higher than the second, or something else for a law; for
                  a one-sided constraint that is not at position level, or whose restitution is not between 0 and 1

    Examples
    --------
    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> da.Constraint(x**2 + y**2 - 1, name="rod").level
    'position'
    """

    expression: Any
    name: str | None = None
    nonideal: Any = ()
    restitution: Any = None
    impact: Impact = "newton"
    releases: bool = False
    active: bool = True
    one_sided: bool = False
    pressing: bool = field(default=False, repr=False)

    def __repr__(self) -> str:
        return representation(self)

    def _repr_latex_(self) -> str | None:
        return equation(self.expression, self.name, one_sided=self.one_sided)

    def __post_init__(self) -> None:
        with_deep_stack(self._convert, self._label)
        problems: list[str] = []
        object.__setattr__(self, "nonideal", as_laws(self.nonideal, problems))
        problems += self._contact_problems()
        if problems:
            raise ModelError([f"{self._label}: {problem}" for problem in problems])

    def _convert(self) -> None:
        """Convert the expression to a residual, or raise an error."""
        if isinstance(self.expression, (sp.Ge, sp.Le)):
            object.__setattr__(self, "one_sided", True)
        object.__setattr__(self, "expression", _as_residual(self.expression, self._label))
        _require_valid(self.expression, self._label)

    @property
    def _label(self) -> str:
        return "an unnamed constraint" if self.name is None else f"constraint `{self.name}`"

    @classmethod
    def over(
        cls,
        expression: Any,
        over: Any,
        *,
        name: str,
        nonideal: Any = (),
        restitution: Any = None,
        impact: Impact = "newton",
    ) -> Any:
        """Return constraints ``name[0]``, ``name[1]``, … that differ only in their coordinates and numbers.

        They are stated, compiled and evaluated as one expression; a system may have 10⁵ of them. See docs/large.md.

        Parameters
        ----------
        expression    as for one constraint, of placeholder coordinates, which need not belong to the system
        over          a mapping from placeholders to arrays of one length: coordinates to coordinates, symbols to
                      numbers or to an array of parameters; a single coordinate or number is the same for all
        name          of the group; in laws, ``da.multiplier(name)`` is that of each constraint of the group
        nonideal      laws of each constraint, with their `velocity` and `normal_force` in placeholder coordinates
        restitution, impact    of each contact, if the expression is an inequality; such a system is simulated by
                      ``solver=da.MoreauJean(step)``

        Raises
        ------
        ModelError    if arrays differ in length, or the expression is not one of a constraint

        Examples
        --------
        >>> import dalembert as da
        >>> x, y = da.coordinates("x", 4), da.coordinates("y", 4)
        >>> u, v, w, z = da.coordinates("u v w z")
        >>> ends = {u: x[:-1], v: y[:-1], w: x[1:], z: y[1:]}
        >>> rods = da.Constraint.over((u - w)**2 + (v - z)**2 - 1, ends, name="rod")
        >>> rods
        <ConstraintGroup of 3: rod[0] … rod[2]>
        """
        from dalembert.model.term_groups import constraint_group

        return constraint_group(expression, over, name, nonideal, restitution, impact)

    @property
    def reaction(self) -> Any:
        """``da.reaction`` of the constraint, which must have a name: its actual reaction, for use in a law."""
        if self.name is None:
            raise ModelError(["a constraint must have a name for its reaction to be used; pass `name=`."])
        return reaction(self.name)

    @property
    def level(self) -> Level:
        return LEVELS[_highest_derivative(self.expression)]

    @property
    def is_permanent(self) -> bool:
        """Whether it is an equation that holds all the time, unless an event switches it off."""
        return self.active and not (self.one_sided or self.releases)

    def _contact_problems(self) -> list[str]:
        """Return the problems of the arguments for contacts that open and close, and convert the restitution."""
        problems: list[str] = []
        if self.one_sided and self.level != "position":
            problems.append(
                f"an inequality must be at position level; this one is at {self.level} level. Contacts open and close "
                f"in positions: state the gap between the bodies, `sympy.Ge(gap, 0)`."
            )
        for name in ("releases", "active"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                problems.append(f"`{name}` must be True or False; got {getattr(self, name)!r}.")
        if self.one_sided and self.releases:
            problems.append("an inequality opens by itself; leave out `releases`, which is for equations.")
        if self.impact not in get_args(Impact):
            problems.append(f'`impact` must be "newton", "poisson" or "moreau"; got {self.impact!r}.')
        if self.one_sided == (self.restitution is not None):
            return problems + (self._restitution_problems() if self.one_sided else [])
        problems.append(
            "an inequality needs a `restitution`, from 0 for no rebound to 1 for no loss; got none."
            if self.one_sided
            else "`restitution` belongs to a one-sided constraint; this is an equation. Write `sympy.Ge(gap, 0)`."
        )
        return problems

    def _restitution_problems(self) -> list[str]:
        value = as_expression(self.restitution, "`restitution`")
        object.__setattr__(self, "restitution", value)
        if functions_of_time(value):
            return [f"`restitution` must be a number or an expression of parameters; got `{graph.shown(value)}`."]
        return [] if not value.is_number or 0 <= value <= 1 else [RESTITUTION_RANGE.format(float(value))]


RESTITUTION_RANGE = "`restitution` must be from 0 for no rebound to 1 for no loss of energy; got {:g}."
"""The message for a coefficient that would create energy or push a body through the surface."""


def pfaffian(
    coordinates: Sequence[Any], matrix: Any, vector: Any = None, *, names: Sequence[str] | None = None
) -> tuple[Constraint, ...]:
    """A set of constraints linear in the velocities: matrix · q̇ = vector.

    Parameters
    ----------
    coordinates    the n coordinates, in the order of the columns
    matrix         (m, n) expressions of coordinates and time
    vector         m expressions; zero by default
    names          m names; by default readable ones are generated

    Raises
    ------
    ModelError     if the shapes do not fit

    Examples
    --------
    >>> import dalembert as da
    >>> x, y, z = da.coordinates("x y z")
    >>> [c.level for c in da.pfaffian((x, y, z), [[1, 2 * y, 1]], [1], names=["leaf"])]
    ['velocity']
    """
    rows = as_matrix(matrix, "`matrix`")
    right = sp.zeros(rows.rows, 1) if vector is None else as_matrix(list(vector), "`vector`")
    problems: list[str] = []
    if any(isinstance(q, str) for q in coordinates):
        problems.append(f"`coordinates` must be coordinates, as `da.coordinates` returns them; got {coordinates!r}.")
    if rows.cols != len(coordinates):
        problems.append(f"`matrix` must have one column per coordinate ({len(coordinates)}); got {rows.cols}.")
    if right.rows != rows.rows:
        problems.append(f"`vector` must have one entry per row of `matrix` ({rows.rows}); got {right.rows}.")
    if names is not None and len(names) != rows.rows:
        problems.append(f"`names` must have one entry per row of `matrix` ({rows.rows}); got {len(names)}.")
    if problems:
        raise ModelError(problems)
    residuals = rows * sp.Matrix([q.diff(t) for q in coordinates]) - right
    given = [None] * rows.rows if names is None else names
    return tuple(Constraint(residual, name=name) for residual, name in zip(residuals, given, strict=True))


def named_constraints(constraints: tuple[Constraint, ...], coordinates: tuple[Any, ...]) -> tuple[Constraint, ...]:
    """Return constraints with names: an unnamed one is named by its equation, with a number if that name is taken."""
    taken = {name_of(q) for q in coordinates} | {str(c.name) for c in constraints if isinstance(c, Constraint)}
    symbols, named = StateSymbols(coordinates), list[Constraint]()
    for number, constraint in enumerate(constraints, start=1):
        if isinstance(constraint, Constraint) and constraint.name is None:
            spelled = symbols.readable(constraint.expression)
            base = spelled if len(spelled) <= 40 else f"{constraint.level} constraint {number}"
            name = next(n for n in (base, *(f"{base} ({k})" for k in range(2, len(constraints) + 2))) if n not in taken)
            taken.add(name)
            constraint = replace(constraint, name=name)
        named.append(constraint)
    return tuple(named)


def _as_residual(expression: Any, label: str) -> Any:
    if isinstance(expression, sp.Equality):
        left, right = expression.args
        return graph.evaluated(as_expression(left, label) - as_expression(right, label))
    if isinstance(expression, (sp.Ge, sp.Le)):
        more, less = expression.gts, expression.lts
        return graph.evaluated(as_expression(more, label) - as_expression(less, label))
    reason = rejection_reason(expression)
    if reason:
        raise ModelError([f"{label} must be {reason}"])
    return graph.evaluated(as_expression(expression, label))


def rejection_reason(given: Any) -> str:
    """Return the reason why an object is not an equation; empty if it may be one."""
    if isinstance(given, (bool, np.bool_)):
        sign = "!=" if given else "=="
        return (
            f"an equation in the coordinates; got the Python value {bool(given)}, which `{sign}` between two "
            f"expressions gives. Write `sympy.Eq(left, right)`, or `left - right`."
        )
    if isinstance(given, BooleanAtom):
        return f"an equation in the coordinates; got one that is always {bool(given)}. Check both sides of `Eq`."
    if isinstance(given, (sp.Ge, sp.Le)):
        return (
            f"an equation; got the inequality `{given}`. One-sided constraints are `da.Constraint({given}, "
            f"restitution=...)`."
        )
    if isinstance(given, (sp.Gt, sp.Lt)):
        return (
            f"an equation or an inequality that allows contact; got `{given}`. Write `sympy.Ge(left, right)` or "
            f"`sympy.Le(left, right)`."
        )
    if isinstance(given, sp.Ne):
        return f"an equation; got `{given}`. Write `sympy.Eq(left, right)`."
    if isinstance(given, (tuple, list, set, np.ndarray, sp.MatrixBase)):
        kind = type(given).__name__
        return f"one SymPy expression or `sympy.Eq`; got {kind}. Give one `Constraint` per equation."
    return ""


def _require_valid(expression: Any, label: str) -> None:
    if not functions_of_time(expression):
        raise ModelError(
            [f"{label} must contain a coordinate made by `da.coordinates`; got `{graph.shown(expression)}`."]
        )
    if _highest_derivative(expression) > 2:
        raise ModelError([f"{label} must not contain derivatives beyond the second; got `{graph.shown(expression)}`."])


def _highest_derivative(expression: Any) -> int:
    return max((d.derivative_count for d in graph.atoms(expression, sp.Derivative)), default=0)
