# SPDX-License-Identifier: BSD-3-Clause
"""The hot functions as straight-line scalar programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from dalembert.equation import straight_line as sl
from dalembert.equation.dynamics import Engine, Watch
from dalembert.lazy_jax import jnp
from dalembert.stabilisation import Gains, damping
from dalembert.tolerances import RANK_TOLERANCE, ROUNDING

if TYPE_CHECKING:
    from jax import Array


class ScalarTerms(NamedTuple):
    """The terms of a system entry by entry, as nested tuples of numbers and arrays; see ``dynamics.Terms``."""

    M: sl.Matrix
    Q: sl.Vector
    A: sl.Matrix
    b: sl.Vector
    position: sl.Vector
    velocity: sl.Vector


class ScalarProgram:
    """The scalar acceleration of one system, on separate numbers or on a struct of arrays."""

    def __init__(
        self,
        terms: Callable[..., ScalarTerms],
        law: Callable[..., sl.Vector] | None,
        levels: tuple[str, ...],
        *,
        law_needs_ideal: bool,
    ):
        self.terms = terms
        self.law = law
        self.levels = levels
        self.law_needs_ideal = law_needs_ideal
        # Low levels first: then the rows kept among the first ones span all of that level.
        self.order = sorted(range(len(levels)), key=lambda k: ("position", "velocity", "acceleration").index(levels[k]))

    def rows(self, mass: sl.Mass, A: sl.Matrix, use: sl.Use, order: list[int]) -> sl.Rows:
        return sl.orthonormal_rows(mass, [A[k] for k in order], lambda j, size, whole: use(order[j], size, whole))

    def acceleration(
        self, q: sl.Vector, qd: sl.Vector, t: Any, p: Any, use: sl.Use, gains: Gains | None = None
    ) -> sl.Vector:
        at = self.terms(q, qd, t, p)
        Q, b = at.Q, self._stabilised(at, gains)
        if self.law is not None and not self.law_needs_ideal:
            Q = sl.plus(Q, self.law(q, qd, t, p, None, None))
        mass = sl.factor(at.M)
        rows = self.rows(mass, at.A, use, self.order)
        f = mass.forward(Q)
        w = rows.meet(f, [b[k] for k in self.order])
        if self.law is not None and self.law_needs_ideal:
            pull = sl.minus(w, f)
            C = self.law(q, qd, t, p, mass.force(pull), self._in_order(rows.multipliers(pull)))
            w = sl.plus(w, rows.remove(mass.forward(C)))
        return mass.backward(w)

    def correction(self, residual: str, up_to: tuple[str, ...]) -> Callable[..., sl.Vector]:
        """The shortest change that meets the residuals of the constraints of some levels."""
        order = [k for k in self.order if self.levels[k] in up_to]

        def step(q: sl.Vector, qd: sl.Vector, t: Any, p: Any, use: sl.Use) -> sl.Vector:
            at = self.terms(q, qd, t, p)
            mass = sl.factor(at.M)
            rows = self.rows(mass, at.A, use, order)
            off = getattr(at, residual)
            return mass.backward(rows.meet([0] * len(q), [sl.sub(0, off[k]) for k in order]))

        return step

    def _in_order(self, sorted_by_level: sl.Vector) -> sl.Vector:
        return [sorted_by_level[self.order.index(k)] for k in range(len(self.order))]

    def _stabilised(self, at: ScalarTerms, gains: Gains | None) -> sl.Vector:
        if gains is None:
            return at.b
        rates = [damping(level, gains) for level in self.levels]
        taken = [
            sl.add(sl.mul(of_velocity, v), sl.mul(of_position, x))
            for (of_velocity, of_position), v, x in zip(rates, at.velocity, at.position, strict=True)
        ]
        return sl.minus(at.b, taken)


def straight_line_engine(program: ScalarProgram, select: Callable[..., Watch]) -> Engine:
    """The hot functions from a scalar program, taking and giving arrays.

    ``select`` is the array engine's watch: the search for independent rows needs pivoting, which a straight line cannot
    do, and it is only done once per step.
    """
    m = len(program.levels)

    def watch(q: Array, qd: Array, t: Any, p: Any) -> Watch:
        found = select(q, qd, t, p)
        return found._replace(rows=jnp.zeros(m).at[found.rows.order].set(found.rows.active) > 0)

    def acceleration(q: Array, qd: Array, t: Any, p: Any, rows: Array, gains: Gains | None) -> Array:
        return _stack(program.acceleration(tuple(q), tuple(qd), t, p, if_kept(rows), gains))

    def lifted(step: Callable[..., sl.Vector]) -> Callable[..., Array]:
        return lambda q, qd, t, p, rows: _stack(step(tuple(q), tuple(qd), t, p, if_kept(rows)))

    return Engine(
        watch,
        acceleration,
        lifted(program.correction("position", ("position",))),
        lifted(program.correction("velocity", ("position", "velocity"))),
        lambda q, qd, t, p: tuple(program.acceleration(q, qd, t, p, if_independent())),
    )


def _stack(entries: sl.Vector) -> Array:
    return jnp.stack([jnp.asarray(entry, float) for entry in entries])


def if_independent() -> sl.Use:
    """Use a row if it stands out of the earlier ones by more than the rank tolerance, and than rounding can fake.

    A row of which only a fraction s was left has a direction good to ε/s, and what is left of later rows is no better.
    """
    least: Any = 1.0

    def use(k: int, size: Any, whole: Any) -> Any:
        nonlocal least
        limit = jnp.maximum(RANK_TOLERANCE, ROUNDING / least)
        used = size > limit**2 * whole
        fraction = jnp.sqrt(jnp.where(used, size / jnp.where(used, whole, 1.0), 1.0))
        least = jnp.minimum(least, fraction)
        return _length(size, used)

    return use


def if_kept(keep: Any) -> sl.Use:
    """Use the rows that were found independent before: ``keep`` has one flag per row."""
    return lambda k, size, whole: _length(size, keep[k])


def _length(size: Any, used: Any) -> Any:
    # A row that was independent may vanish on the way; the inner `where` keeps derivatives finite for it.
    used = used & (size > 0)
    return jnp.where(used, jnp.sqrt(jnp.where(used, size, 1.0)), jnp.inf)
