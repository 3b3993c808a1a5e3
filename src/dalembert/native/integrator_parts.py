# SPDX-License-Identifier: BSD-3-Clause
"""The straight-line functions of a compiled integrator, and the code that calls them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from dalembert.native.assembly import element, load, store, write_program
from dalembert.native.tableau import Tableau
from dalembert.native.tape import Program
from dalembert.native.writer import LONG, Writer


@dataclass(frozen=True)
class Parts:
    """The functions of a compiled integrator and its Runge–Kutta method.

    accelerate    the acceleration, and whether it is well conditioned
    project       the projection onto the constraints, or None
    agree         whether the rows left out follow from those in use, or None if all rows are in use
    """

    n: int
    tableau: Tableau
    accelerate: ir.Function
    project: ir.Function | None
    agree: ir.Function | None

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
        """Doubles of working memory: the stages, the state of a stage, the new state, and one more state or flag."""
        return (self.stages + 3) * self.stride


def write_parts(
    module: ir.Module, n: int, tableau: Tableau, accelerate: Program, project: Program | None, agree: Program | None
) -> Parts:
    """Add the programs to a module as functions."""

    def written(name: str, program: Program | None) -> ir.Function | None:
        return None if program is None else write_program(module, name, program, hot=True)

    return Parts(
        n,
        tableau,
        write_program(module, "accelerate", accelerate, hot=True),
        written("project", project),
        written("agree", agree),
    )


def evaluate(w: Writer, parts: Parts, y: Any, t: Any, p: Any, k: Any) -> None:
    """Store k = (q̇, q̈, whether they are well conditioned) at a state."""
    for i in w.each(parts.n):
        store(w.b, load(w.b, y, w.b.add(i, ir.Constant(LONG, parts.n))), k, i)
    # the program stores its validity after the accelerations, so that a step can test all of its stages at its end
    w.b.call(parts.accelerate, [y, t, p, element(w.b, k, parts.n)])


def validity(w: Writer, parts: Parts, y: Any, t: Any, p: Any, work: Any) -> Any:
    """Return one if the equations are well conditioned at a state and the rows left out agree with them, else zero."""
    evaluate(w, parts, y, t, p, work)
    valid = load(w.b, work, parts.size)
    if parts.agree is not None:
        w.b.call(parts.agree, [y, t, p, work])
        # both are zero or one
        valid = w.b.fmul(valid, load(w.b, work, 0))
    return valid


def arrive(w: Writer, parts: Parts, y: Any, y1: Any, t: Any, p: Any) -> None:
    """Store y1 in y, projected onto the constraints if there is a projection."""
    # into another array: the arguments of a program must not overlap
    if parts.project is not None:
        w.b.call(parts.project, [y1, t, p, y])
        return
    for i in w.each(parts.size):
        store(w.b, load(w.b, y1, i), y, i)
