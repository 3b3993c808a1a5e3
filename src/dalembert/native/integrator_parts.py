# SPDX-License-Identifier: BSD-3-Clause
"""The straight-line functions of a compiled integrator, and the code that calls them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from llvmlite import ir

from dalembert.native.assembly import element, load, store, write_program
from dalembert.native.collocation import Collocation
from dalembert.native.tableau import Tableau
from dalembert.native.tape import HotPrograms, Program
from dalembert.native.writer import LONG, Writer, whole


@dataclass(frozen=True)
class Parts:
    """The functions of a compiled integrator and its Runge–Kutta method, explicit or implicit.

    The functions are those of ``HotPrograms``.
    """

    n: int
    tableau: Tableau | Collocation
    accelerate: ir.Function
    project: ir.Function | None
    agree: ir.Function | None
    resolve: ir.Function | None

    @property
    def explicit(self) -> Tableau:
        """The method, which must be explicit."""
        assert isinstance(self.tableau, Tableau)
        return self.tableau

    @property
    def size(self) -> int:
        return 2 * self.n

    @property
    def stride(self) -> int:
        """Doubles per stage: (q̇, q̈), and whether they are well conditioned."""
        return self.size + 1

    @property
    def stages(self) -> int:
        return len(self.tableau.nodes)

    @property
    def workspace(self) -> int:
        """Doubles of working memory: the stages, the state of a stage, the new state, and one more state or flag.

        An implicit method needs ``Memory`` as well.
        """
        own = (self.stages + 3) * self.stride
        return own + Memory.size_for(self.n) if isinstance(self.tableau, Collocation) else own


class Memory:
    """Working memory of an implicit step, after that of an explicit one.

    slopes                       the derivatives of the n accelerations by the 2n components of the state, by columns
    matrix, pivots               the matrix for the real eigenvalue of the method, or its factors
    pair_matrix, pair_pivots     the same for the complex eigenvalue, as real numbers
    stages                       z of all stages, and w
    right                        right sides of the equations for w, and their solutions
    solution                     velocities of such a solution
    directed                     a state and a direction
    slowness                     the error that stands for the rate of convergence of the stages
    """

    def __init__(self, w: Writer, parts: Parts, k: Any):
        self.w, self.n = w, parts.n
        sizes, start = self._sizes(parts.n), (parts.stages + 3) * parts.stride
        places = accumulate(sizes.values(), initial=start)
        found = {name: element(w.b, k, place) for name, place in zip(sizes, places, strict=False)}
        self.slopes, self.matrix, self.pivots = found["slopes"], found["matrix"], found["pivots"]
        self.pair_matrix, self.pair_pivots = found["pair_matrix"], found["pair_pivots"]
        self.stages, self.right = found["stages"], found["right"]
        self.solution, self.directed, self.slowness = found["solution"], found["directed"], found["slowness"]

    @staticmethod
    def _sizes(n: int) -> dict[str, int]:
        matrices = {"slopes": 2 * n * n, "matrix": n * n, "pivots": n, "pair_matrix": 4 * n * n, "pair_pivots": 2 * n}
        vectors = {"stages": 12 * n, "right": 6 * n, "solution": 2 * n, "directed": 4 * n, "slowness": 1}
        return matrices | vectors

    @staticmethod
    def size_for(n: int) -> int:
        """Return the number of doubles."""
        return sum(Memory._sizes(n).values())

    def slope(self, i: Any, j: Any) -> Any:
        """Return the derivative of acceleration i by component j."""
        return load(self.w.b, self.slopes, self.w.b.add(self.w.b.mul(j, whole(self.n)), i))


def write_parts(
    module: ir.Module,
    n: int,
    tableau: Tableau | Collocation,
    programs: HotPrograms,
) -> Parts:
    """Add the programs to a module as functions."""

    def written(name: str, program: Program | None) -> ir.Function | None:
        return None if program is None else write_program(module, name, program, hot=True)

    return Parts(
        n,
        tableau,
        write_program(module, "accelerate", programs.accelerate, hot=True),
        written("project", programs.project),
        written("agree", programs.agree),
        written("resolve", programs.resolve),
    )


def evaluate(w: Writer, parts: Parts, y: Any, t: Any, p: Any, k: Any) -> None:
    """Store k = (q̇, q̈, whether they are well conditioned) at a state."""
    for i in w.each(parts.n):
        store(w.b, load(w.b, y, w.b.add(i, ir.Constant(LONG, parts.n))), k, i)
    # the program stores its validity after the accelerations, so that a step can test all of its stages at its end
    w.b.call(parts.accelerate, [y, t, p, element(w.b, k, parts.n)])


def arrive(w: Writer, parts: Parts, y: Any, y1: Any, t: Any, p: Any) -> None:
    """Store y1 in y, projected onto the constraints if there is a projection."""
    # into another array: the arguments of a program must not overlap
    if parts.project is not None:
        w.b.call(parts.project, [y1, t, p, y])
        return
    for i in w.each(parts.size):
        store(w.b, load(w.b, y1, i), y, i)


def resolves(w: Writer, parts: Parts, y: Any, t: Any, y1: Any, t1: Any, p: Any) -> Any:
    """Return whether a step from (t, y) to (t1, y1) resolves friction near rest."""
    if parts.resolve is None:
        return w.number(True)
    ends, flag = w.array(2 * parts.size + 1), w.array(1)
    for place, state in enumerate((y, y1)):
        for i in w.each(parts.size):
            store(w.b, load(w.b, state, i), ends, w.b.add(i, whole(place * parts.size)))
    store(w.b, t1, ends, 2 * parts.size)
    w.b.call(parts.resolve, [ends, t, p, flag])
    return w.b.fcmp_ordered(">", load(w.b, flag, 0), w.number(0.5))
