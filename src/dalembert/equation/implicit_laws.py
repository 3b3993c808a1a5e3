# SPDX-License-Identifier: BSD-3-Clause
"""Nonideal laws of the actual reaction: equations for the reactions that the laws themselves change.

Notation: r are the k reactions in the laws, some of the multipliers λ; C(r) is the nonideal force of all laws, and λ₀
are the multipliers of the ideal problem. The reactions follow from C by linear equations, r = λ₀ + W C(r), which
Newton's method solves with the matrix J = I − W ∂C/∂r. The determinant of J is one if the laws change no reaction.
Where it vanishes, solutions meet and cease to exist. Friction proportional to normal forces is the special case that
``equation/reaction.py`` solves exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dalembert.common.lazy_jax import lax
from dalembert.equation.reaction import IdealReaction, ReactionSolution
from dalembert.numerics.arrays import namespace_of, solve_matrix

if TYPE_CHECKING:
    from jax import Array

MOST_NEWTON_STEPS = 100
"""Largest number of steps of Newton's method, steps that were shortened included."""

REACTION_ROUNDING = 1e-15
"""Residual of the reactions, relative to their terms, at which the iteration ends."""

LARGEST_REACTION_RESIDUAL = 1e-11
"""Largest residual of a solution, relative to its terms."""

LEAST_PART = 1e-6
"""Smallest part of a Newton step that is tried: if no such step reduces the residual, it is rounding or there is no
solution."""

LEAST_DETERMINANT = 1e-6
"""Smallest determinant of J at which reactions count as unique."""

LEAST_TERMS = 1e-290
"""Added to the terms, so that reactions that are all zero count as solved; far below any force."""


class ReactionEquations(NamedTuple):
    """The equations r = λ₀ + W C(r) at one state.

    start (k,)         λ₀
    response (k, c)    W, for the c coordinates on which the laws act
    law                r -> C (c,) and ∂C/∂r (c, k)
    """

    start: Array
    response: Array
    law: Callable[[Array], tuple[Array, Array]]

    def misses(self, r: Array) -> tuple[Array, Array, Array]:
        """Return the residuals (k,), J (k, k) and the size of the terms at some reactions."""
        xp = namespace_of(self.start, self.response)
        C, slopes = self.law(r)
        size = xp.max(xp.abs(self.start) + xp.abs(self.response) @ xp.abs(C) + xp.abs(r)) + LEAST_TERMS
        return r - self.start - self.response @ C, xp.eye(len(r)) - self.response @ slopes, size


def reaction_equations(
    reaction: IdealReaction, used: Sequence[int], acts_on: Sequence[int], law: Callable[[Array], tuple[Array, Array]]
) -> ReactionEquations:
    """Return the equations of the reactions of some constraints for laws that act on some coordinates."""
    xp, rows = namespace_of(reaction.force, reaction.multipliers), np.array(used)
    units = np.eye(len(reaction.force))[list(acts_on)]
    columns = [-reaction.multipliers_of(xp.asarray(unit))[rows] for unit in units]
    return ReactionEquations(reaction.multipliers[rows], xp.stack(columns, axis=-1), law)


def solve_reactions(equations: ReactionEquations) -> ReactionSolution:
    """Solve by Newton's method from the ideal reactions; a step that does not reduce the residual is halved."""
    xp = namespace_of(equations.start, equations.response)
    fixed = (lambda x: x) if xp is np else lax.stop_gradient
    r = fixed(_iterate(equations, xp))
    for _ in range(2):  # Newton steps give the last digits, and the derivatives, since the iteration has none
        miss, J, _ = equations.misses(r)
        r = r - solve_matrix(J, miss)
    miss, J, size = equations.misses(r)
    residual = xp.max(xp.abs(miss)) / size
    solved = residual <= LARGEST_REACTION_RESIDUAL  # false for NaN
    return ReactionSolution(xp.where(solved, r, xp.nan), residual, xp.linalg.det(J))


def is_unique(found: ReactionSolution) -> Any:
    """Return whether there is a solution that is the only one close by."""
    # a determinant that has changed its sign belongs to another branch of solutions
    return (found.residual <= LARGEST_REACTION_RESIDUAL) & (found.determinant > LEAST_DETERMINANT)


class _Progress(NamedTuple):
    """Reactions, residuals, J, their relative size, the part of the next step to take, and the number of steps."""

    r: Any
    miss: Any
    J: Any
    residual: Any
    part: Any
    count: Any


def _iterate(equations: ReactionEquations, xp: Any) -> Array:
    def at(r: Array, part: Any, count: Any) -> _Progress:
        miss, J, size = equations.misses(r)
        return _Progress(r, miss, J, xp.max(xp.abs(miss)) / size, part, count)

    def is_unfinished(now: _Progress) -> Any:
        return ~(now.residual <= REACTION_ROUNDING) & (now.count < MOST_NEWTON_STEPS) & (now.part > LEAST_PART)

    def step(now: _Progress) -> _Progress:
        change = solve_matrix(now.J, now.miss)
        # a part that was shortened grows again after each success, up to the whole Newton step
        tried = at(now.r - now.part * change, xp.minimum(2 * now.part, 1.0), now.count + 1)
        better = tried.residual < now.residual
        rejected = now._replace(part=now.part / 2, count=now.count + 1)
        return _Progress(*(xp.where(better, new, old) for new, old in zip(tried, rejected, strict=True)))

    state = at(equations.start, xp.asarray(1.0), xp.asarray(0))
    if xp is not np:
        return lax.while_loop(is_unfinished, step, state).r
    with np.errstate(all="ignore"):  # a step may leave the domain of a law, and is then halved
        while is_unfinished(state):
            state = step(state)
    return state.r
