# SPDX-License-Identifier: BSD-3-Clause
"""Sections of gallery pages that work out other forms of the equation of motion on an example, step by step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import sympy as sp

from dalembert.errors import DalembertError
from dalembert.model.system import System
from dalembert.report.derivation import Derivation
from dalembert.report.derive import derive
from dalembert.report.equations import Equation, scalar
from dalembert.report.formula_symbols import MatrixSymbols, matrix_symbols
from dalembert.report.steps import Step
from dalembert.report.tidy import tidy_matrix


def extended_steps(system: System) -> list[Step]:
    """Return the extended d'Alembert principle and the stacked equations of Udwadia, Kalaba & Eun 1997."""
    example = _Example(derive(replace(system, nonideal=())))
    return [example.scaled(), example.extended(), example.stacked()]


def other_methods_steps(system: System) -> list[Step]:
    """Return Maggi's and Kane's equations of an ideal system beside the Udwadia–Kalaba equation."""
    example = _Example(derive(replace(system, nonideal=())))
    return [example.maggi(), example.kane(), example.ours()]


class _Example:
    """An ideal system with its matrices in plain symbols, and the letters of the papers."""

    def __init__(self, found: Derivation):
        plain = found.system.symbols.plain
        self.system, self.sym = found.system, matrix_symbols(len(found.system.coordinates), len(found.independent))
        sym: MatrixSymbols = self.sym
        self.M, self.Q, self.A, self.b = (plain(found.meaning[s]) for s in (sym.M, sym.Q, sym.A, sym.b))
        self.n, self.m = self.A.cols, self.A.rows
        self.free = self.n - self.m
        self.found, self.plain = found, plain
        self.acceleration = sp.ImmutableMatrix(plain(found.acceleration))

    def letter(self, name: str, rows: int, columns: int = 1) -> Any:
        return sp.MatrixSymbol(name, rows, columns)

    def value(self, attribute: str) -> Any:
        return scalar(self.plain(getattr(self.found, attribute)))

    def scaled(self) -> Step:
        B, V = self.letter("B", self.m, self.n), self.letter("V", self.n, self.free)
        shown = [
            Equation(B, sp.MatMul(self.sym.A, sp.MatPow(self.sym.M, -sp.S.Half))),
            Equation(B, self.value("B")),
            Equation(V, self.value("V")),
            Equation(self.letter("a_s", self.n), self.value("a_s")),
        ]
        text = "In scaled accelerations, with the columns of V a basis of the null space of B,"
        return Step("The scaled constraint and its null space", ((text,), shown))

    def extended(self) -> Step:
        n, m = self.n, self.m
        B, V, a = self.letter("B", m, n), self.letter("V", n, self.free), self.letter("a_s", n)
        D, E, J = (self.letter(name, n, n) for name in "DEJ")
        root, inverse_root = sp.MatPow(self.sym.M, sp.S.Half), sp.MatPow(self.sym.M, -sp.S.Half)
        matrices = [
            Equation(D, sp.MatMul(B.T, B)),
            Equation(D, self.value("D")),
            Equation(E, sp.MatMul(V, V.T)),
            Equation(E, self.value("E")),
            Equation(J, sp.Inverse(sp.MatAdd(D, E))),
            Equation(J, self.value("J")),
        ]
        motion = sp.MatMul(inverse_root, J, sp.MatAdd(sp.MatMul(B.T, self.sym.b), sp.MatMul(E, a)))
        force = sp.MatMul(root, J, sp.MatAdd(sp.MatMul(B.T, self.sym.b), sp.MatMul(-1, D, a)))
        results = [
            Equation(self.sym.qdd, motion),
            Equation(self.sym.qdd, self.acceleration),
            Equation(self.sym.ideal, force),
            Equation(self.sym.ideal, scalar(self.plain(self.found.ideal_force))),
        ]
        text = "One regular matrix takes the place of the pseudo-inverse, for any rank of B:"
        return Step("The extended d'Alembert principle", ((text,), matrices, ("Then",), results))

    def stacked(self) -> Step:
        n, m, free = self.n, self.m, self.free
        B, V = self.letter("B", m, n), self.letter("V", n, free)
        identity = sp.Identity(n)
        symbols = sp.BlockMatrix([[identity, -identity], [B, sp.ZeroMatrix(m, n)], [sp.ZeroMatrix(free, n), V.T]])
        r = sp.BlockMatrix([[self.letter("qdd.q_s", n)], [self.letter("F^c_s", n)]])
        s = sp.BlockMatrix([[self.letter("a_s", n)], [self.sym.b], [sp.ZeroMatrix(free, 1)]])
        numbers = [self.plain(getattr(self.found, name)) for name in ("B", "V", "a_s")]
        L = sp.Matrix(sp.eye(n)).row_join(-sp.eye(n)).col_join(sp.Matrix(numbers[0]).row_join(sp.zeros(m, n)))
        L = L.col_join(sp.zeros(free, n).row_join(sp.Matrix(numbers[1]).T))
        right = sp.Matrix(numbers[2]).col_join(sp.Matrix(self.b)).col_join(sp.zeros(free, 1))
        solution = tidy_matrix(sp.Matrix(L.LUsolve(right)))
        L_letter, r_letter = self.letter("L", L.rows, 2 * n), self.letter("r", 2 * n)
        blocks = (
            ("Motion, constraints and d'Alembert's principle as one linear system L r = s:",),
            [Equation(sp.MatMul(symbols, r), s)],
            ("Here",),
            [Equation(L_letter, sp.ImmutableMatrix(L)), Equation(r_letter, sp.ImmutableMatrix(solution))],
            ("whose upper half is the scaled acceleration, and whose lower half is the scaled constraint force.",),
        )
        return Step("The stacked equations", blocks)

    def basis(self) -> tuple[Any, Any]:
        """Return a basis of the virtual displacements, and its derivative along the motion."""
        V = tidy_matrix(sp.Matrix.hstack(*sp.Matrix(self.A).nullspace()))
        symbols = self.system.symbols
        rate = V.applyfunc(lambda e: sum(e.diff(q) * qd for q, qd in zip(symbols.q, symbols.qd, strict=True)))
        return sp.ImmutableMatrix(V), sp.ImmutableMatrix(tidy_matrix(rate))

    def maggi(self) -> Step:
        V, _ = self.basis()
        V_letter = self.letter("V", self.n, self.free)
        sym, qdd = self.sym, sp.Matrix(self.system.symbols.qdd)
        virtual = sp.MatMul(V_letter.T, sp.MatAdd(sp.MatMul(sym.M, sym.qdd), sp.MatMul(-1, sym.Q)))
        rows = tidy_matrix(V.T * (self.M * qdd - self.Q))
        rows = [*rows, *(sp.Matrix(self.A) * qdd - sp.Matrix(self.b))]
        system = sp.Matrix(V.T * self.M).col_join(sp.Matrix(self.A))
        right = sp.Matrix(V.T * self.Q).col_join(sp.Matrix(self.b))
        same = self.same(system.LUsolve(right))
        blocks = (
            ("Columns of V are independent virtual displacements. The equations of motion are projected onto them,",),
            [Equation(V_letter, V), Equation(virtual, sp.ZeroMatrix(self.free, 1))],
            (f"That makes {self.free} equations; with the {self.m} constraints they determine the accelerations:",),
            [Equation(row, sp.S.Zero) for row in rows],
            (f"They give {same} as the Udwadia–Kalaba equation, but no constraint force.",),
        )
        return Step("Maggi's equations", blocks)

    def kane(self) -> Step:
        V, rate = self.basis()
        speeds = sp.ImmutableMatrix(sp.symbols([f"u_{k + 1}" for k in range(self.free)], real=True))
        allowed = dict(zip(self.system.symbols.qd, V * speeds, strict=True))
        turned = sp.Matrix(rate * speeds).xreplace(allowed)  # V̇ u
        mass = tidy_matrix(sp.Matrix(V.T * self.M * V))
        force = tidy_matrix(V.T * (sp.Matrix(self.Q).xreplace(allowed) - self.M * turned))
        same = self.same(V * mass.LUsolve(sp.Matrix(force)) + turned, allowed)
        V_letter, u, sym = self.letter("V", self.n, self.free), self.letter("u", self.free), self.sym
        left = sp.MatMul(V_letter.T, sym.M, V_letter, self.letter("qd.u", self.free))
        inertia = sp.MatMul(-1, sym.M, self.letter("qd.V", self.n, self.free), u)
        right = sp.MatMul(V_letter.T, sp.MatAdd(sym.Q, inertia))
        values = sp.MatMul(sp.ImmutableMatrix(mass), self.letter("qd.u", self.free))
        blocks = (
            ("Generalised speeds u describe all velocities that the constraints allow,",),
            [Equation(self.letter("qd.q", self.n), sp.MatMul(V_letter, u))],
            (f"and {self.free} equations in these speeds remain,",),
            [Equation(left, right), Equation(values, sp.ImmutableMatrix(force))],
            (f"They give {same}. Speeds and a basis must be chosen, and no constraint force is obtained.",),
        )
        return Step("Kane's equations", blocks)

    def same(self, accelerations: Any, allowed: dict[Any, Any] | None = None) -> str:
        """Return "the same accelerations" if those of another method are; raise an error if they are not."""
        off = sp.Matrix(accelerations) - sp.Matrix(self.acceleration).xreplace(allowed or {})
        if not all(sp.simplify(entry) == 0 for entry in off):
            raise DalembertError("another formulation gives other accelerations.")
        return "the same accelerations"

    def ours(self) -> Step:
        sym = self.sym
        blocks = (
            ("No basis, no new variables and no multipliers; the constraint force is part of the result:",),
            [
                Equation(sym.qdd, self.acceleration),
                Equation(sym.ideal, scalar(self.plain(self.found.ideal_force))),
            ],
        )
        return Step("The Udwadia–Kalaba equation", blocks)


COMPARISONS: dict[str, tuple[tuple[str, Callable[[System], list[Step]]], ...]] = {
    "particle": (("Two equivalent forms", extended_steps),),
    "rolling-coin": (("Maggi's and Kane's equations beside ours", other_methods_steps),),
}
"""Titles and steps of the sections, by the name of the case, computed from its system."""
