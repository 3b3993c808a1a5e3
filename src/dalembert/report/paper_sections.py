# SPDX-License-Identifier: BSD-3-Clause
"""Sections of gallery pages that write the papers' equations in their own letters, computed from the models."""

from __future__ import annotations

from collections.abc import Callable
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
from dalembert.report.derivation import derive
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


def review_steps() -> list[Step]:
    """Return equations 66 to 72 of the review in its letters: D for the mass matrix, and C, G and K."""
    q = coordinates("q2 q4")
    system, *matrices, requirement = review_terms(q)
    plain, names = system.symbols.plain, PartNames((*system.coordinate_names, *system.parameter_names))
    # the review names the entries d₁₁, c₁₁ and so on
    D, C, G = (
        names.entries(plain(sp.ImmutableMatrix(matrix)), letter) for matrix, letter in zip(matrices, "dcG", strict=True)
    )
    letters = {name: sp.MatrixSymbol(name, 2, 2) for name in "DCK"}
    G_symbol, q1, qd1, qdd1 = (sp.MatrixSymbol(name, 2, 1) for name in ("G", "q_1", "qd.q_1", "qdd.q_1"))
    A, b, beta = sp.MatrixSymbol("A", 1, 2), sp.MatrixSymbol("b", 1, 1), sp.MatrixSymbol("beta", 1, 1)
    Fc, u, P = sp.MatrixSymbol("F^c", 2, 1), sp.MatrixSymbol("u", 2, 1), sp.MatrixSymbol("P", 1, 1)
    D_, C_, K_ = (letters[name] for name in "DCK")
    rest = sp.MatAdd(sp.MatMul(C_, qd1), G_symbol, sp.MatMul(K_, q1))
    force = sp.MatMul(
        sp.MatPow(D_, sp.S.Half),
        PrintedPseudoInverse(sp.MatMul(A, sp.MatPow(D_, -sp.S.Half))),
        sp.MatAdd(b, sp.MatMul(A, sp.Inverse(D_), rest)),
    )
    settled = sp.MatMul(-1, D_, A.T, sp.Inverse(sp.MatMul(A, A.T)), sp.Inverse(P), beta)
    motion = sp.MatAdd(sp.MatMul(D_, qdd1), sp.MatMul(C_, qd1), G_symbol, sp.MatMul(K_, q1))
    defined = names.new_definitions(D, C, G)
    return [
        Step(
            "The links",
            (
                ("With the link angles q₁ = (q₂, q₄), and the torque u of the springs as the control,",),
                [Equation(motion, u, "(66)")],
                ("with",),
                [Equation(D_, D, "(67)"), Equation(C_, C), Equation(G_symbol, G)],
                ("where",),
                [Equation(*definition, "(68)" if i == 0 else "") for i, definition in enumerate(defined)],
            ),
        ),
        Step(
            "The servo constraint",
            (
                ("The speeds of the links must satisfy",),
                [Equation(plain(requirement), sp.S.Zero, "(69)")],
                ("so that",),
                [Equation(A, sp.ImmutableMatrix([[1, 1]]), "(70)"), Equation(b, sp.S.Zero)],
            ),
        ),
        Step(
            "The control",
            (
                ("The constraint force, and the control that also makes the error β decay:",),
                [Equation(Fc, force, "(71)"), Equation(u, sp.MatAdd(Fc, settled), "(72)")],
                ("The review prints q₁ for K q₁, and c₁₁ with m₁; skew symmetry of Ḋ − 2C needs m₂.",),
            ),
        ),
    ]


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
