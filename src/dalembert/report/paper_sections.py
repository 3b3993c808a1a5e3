# SPDX-License-Identifier: BSD-3-Clause
"""Sections of gallery pages that write the papers' equations in their own letters, computed from the models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy as sp

from dalembert.analysis.classification import classify
from dalembert.gallery.manipulator import review_terms
from dalembert.model.constraint import Constraint
from dalembert.model.laws import Quadratic
from dalembert.model.symbols import coordinates, parameters, t
from dalembert.model.system import System
from dalembert.report.common_factor import with_common_factor
from dalembert.report.control_symbols import PrintedPseudoInverse
from dalembert.report.derive import derive
from dalembert.report.equations import Equation, scalar
from dalembert.report.formula_symbols import matrix_symbols
from dalembert.report.part_names import PartNames
from dalembert.report.steps import Step


def particle_steps() -> list[Step]:
    """Return equations 13 to 17 of Udwadia & Kalaba 2001, with a given force of any components."""
    x, y, z = coordinates("x y z")
    skate = Constraint(y.diff(t) - z**2 * x.diff(t), name="skate")
    system = System((x, y, z), sp.eye(3), parameters("f_x f_y f_z"), skate, Quadratic(parameters("a0")))
    found = derive(system)
    plain, sym = system.symbols.plain, matrix_symbols(3, 1)
    column = sp.ImmutableMatrix(system.symbols.qdd)
    forces = [with_common_factor(plain(force)) for force in (found.ideal_force, found.nonideal_force)]
    standard = [
        Equation(sym.A, plain(found.constraint_matrix), "(13)"),
        Equation(sym.b, scalar(plain(found.constraint_rhs)), "(14)"),
    ]
    total = sp.MatAdd(plain(found.applied_force), *forces)
    return [
        Step("The constraint in standard form", (("With a given force f in place of gravity,",), standard)),
        Step(
            "The two parts of the constraint force",
            (
                ("The ideal part, and the part that does the work of C = −a₀|u|u:",),
                [Equation(sym.ideal, forces[0], "(15)"), Equation(sym.nonideal, forces[1], "(16)")],
            ),
        ),
        Step("The equation of motion", (("The three forces together:",), [Equation(column, total, "(17)")])),
    ]


class _ReviewSymbols:
    """The matrix symbols of the review's section 8.3."""

    D, C, K = (sp.MatrixSymbol(name, 2, 2) for name in "DCK")
    G, u, Fc = (sp.MatrixSymbol(name, 2, 1) for name in ("G", "u", "F^c"))
    q, qd, qdd = (sp.MatrixSymbol(name, 2, 1) for name in ("q_1", "qd.q_1", "qdd.q_1"))
    A, b, c = sp.MatrixSymbol("A", 1, 2), sp.MatrixSymbol("b", 1, 1), sp.MatrixSymbol("c", 1, 1)
    beta, P = sp.MatrixSymbol("beta", 1, 1), sp.MatrixSymbol("P", 1, 1)


def review_steps() -> list[Step]:
    """Return equations 66 to 72 of the review in its letters: D for the mass matrix, and C, G and K."""
    system, *matrices, requirement = review_terms(coordinates("q2 q4"))
    return [_review_links(system, matrices), _review_constraint(system, requirement), _review_control()]


def _review_links(system: System, matrices: Sequence[Any]) -> Step:
    sym, names = _ReviewSymbols, PartNames((*system.coordinate_names, *system.parameter_names))
    # the review names the entries d₁₁, c₁₁ and so on
    D, C, G = (
        names.entries(system.symbols.plain(sp.ImmutableMatrix(matrix)), letter)
        for matrix, letter in zip(matrices, "dcG", strict=True)
    )
    motion = sp.MatAdd(sp.MatMul(sym.D, sym.qdd), sp.MatMul(sym.C, sym.qd), sym.G, sp.MatMul(sym.K, sym.q))
    defined = names.new_definitions(D, C, G)
    blocks = (
        ("With the link angles q₁ = (q₂, q₄), and the torque u of the springs as the control,",),
        [Equation(motion, sym.u, "(66)")],
        ("with",),
        [Equation(sym.D, D, "(67)"), Equation(sym.C, C), Equation(sym.G, G)],
        ("where",),
        [Equation(*definition, "(68)" if i == 0 else "") for i, definition in enumerate(defined)],
    )
    return Step("The links", blocks)


def _review_constraint(system: System, requirement: Any) -> Step:
    sym, symbols = _ReviewSymbols, system.symbols
    speed = symbols.plain(requirement)
    A = sp.ImmutableMatrix([[speed.diff(v) for v in symbols.qd]])
    c = -speed.xreplace(dict.fromkeys(symbols.qd, sp.S.Zero))
    b = -sp.Add(*(speed.diff(x) * v for x, v in zip(symbols.q, symbols.qd, strict=True)))
    blocks = (
        ("The speeds of the links must satisfy",),
        [Equation(speed, sp.S.Zero, "(69)")],
        ("so that",),
        [Equation(sym.A, A, "(70)"), Equation(sym.c, c), Equation(sym.b, b)],
    )
    return Step("The servo constraint", blocks)


def _review_control() -> Step:
    sym = _ReviewSymbols
    rest = sp.MatAdd(sp.MatMul(sym.C, sym.qd), sym.G, sp.MatMul(sym.K, sym.q))
    force = sp.MatMul(
        sp.MatPow(sym.D, sp.S.Half),
        PrintedPseudoInverse(sp.MatMul(sym.A, sp.MatPow(sym.D, -sp.S.Half))),
        sp.MatAdd(sym.b, sp.MatMul(sym.A, sp.Inverse(sym.D), rest)),
    )
    settled = sp.MatMul(-1, sym.D, sym.A.T, sp.Inverse(sp.MatMul(sym.A, sym.A.T)), sp.Inverse(sym.P), sym.beta)
    blocks = (
        ("The constraint force, and the control that also makes the error β decay:",),
        [Equation(sym.Fc, force, "(71)"), Equation(sym.u, sp.MatAdd(sym.Fc, settled), "(72)")],
        ("The review prints q₁ for K q₁, and c₁₁ with m₁; skew symmetry of Ḋ − 2C needs m₂.",),
    )
    return Step("The control", blocks)


def classification_steps() -> list[Step]:
    """Return the examples of section 3 of the review: is a constraint holonomic, and what does it integrate to?"""
    x, y, z = coordinates("x y z")
    xd, yd, zd = (c.diff(t) for c in (x, y, z))
    examples = {
        "Equation 12": xd + 2 * y * yd + zd,
        "Equation 14": xd + 2 * y * yd + zd - 1,
        "Equation 16": xd + 2 * z * yd + zd,
    }
    return [_classified(title, expression, (x, y, z)) for title, expression in examples.items()]


def _classified(title: str, expression: Any, q: tuple[Any, ...]) -> Step:
    system = System(q, sp.eye(3), (0, 0, 0), Constraint(expression))
    kind = classify(system).constraints[0]
    found, plain = derive(system), system.symbols.plain
    a, b, c = plain(found.constraint_matrix)
    x, y, z = system.symbols.q
    curl = (b.diff(z) - c.diff(y), c.diff(x) - a.diff(z), a.diff(y) - b.diff(x))
    test = sp.expand(a * curl[0] + b * curl[1] + c * curl[2])
    letters = sp.symbols("alpha beta gamma")
    named = [Equation(letter, value) for letter, value in zip(letters, (a, b, c), strict=True)]
    words = ["holonomic" if kind.holonomic else "nonholonomic", "scleronomic" if kind.scleronomic else "rheonomic"]
    words.append("catastatic" if kind.catastatic else "acatastatic")
    verdict: list[Any] = [(f"It is {', '.join(words)}.",)]
    if kind.integral is not None:
        verdict += [("Its integral, with a constant L:",), [Equation(plain(kind.integral) + sp.Symbol("L"), sp.S.Zero)]]
    sym = matrix_symbols(3, 1)
    standard = [Equation(sym.A, plain(found.constraint_matrix)), Equation(sym.b, scalar(plain(found.constraint_rhs)))]
    blocks = [
        ("The constraint, with its coefficients α, β and γ of the three velocities,",),
        [Equation(plain(expression), sp.S.Zero), *named],
        ("The test of equation 11, α(∂β/∂z − ∂γ/∂y) + β(∂γ/∂x − ∂α/∂z) + γ(∂α/∂y − ∂β/∂x), gives ", test, "."),
        *verdict,
        ("In standard form,",),
        standard,
    ]
    return Step(title, tuple(blocks))


PAPER_SECTIONS: dict[str, tuple[tuple[str, Callable[[], list[Step]]], ...]] = {
    "particle": (("Equations 13 to 17 of the paper", particle_steps),),
    "manipulator": (("Equations 66 to 72 of the review", review_steps),),
    "rolling-coin": (("What kind of constraint is it? Section 3 of the review", classification_steps),),
}
"""Titles and steps of the sections, by the name of the case; each is computed when its page is written."""
