# SPDX-License-Identifier: BSD-3-Clause
"""The formulas of control by constraints in matrix symbols."""

from __future__ import annotations

from typing import Any, NamedTuple

import sympy as sp

from dalembert.report.formula_symbols import MatrixSymbols, schur


class PrintedPseudoInverse(sp.MatrixExpr):
    """The Moore–Penrose inverse of a matrix, as it is printed."""

    def __new__(cls, matrix: Any) -> Any:
        return sp.Basic.__new__(cls, matrix)

    @property
    def shape(self) -> tuple[Any, Any]:
        rows, columns = self.args[0].shape  # pyright: ignore  (the argument is a matrix)
        return columns, rows


class ControlSymbols(NamedTuple):
    """Matrix symbols for n coordinates, r inputs and k requirements.

    M q̈ = Q + B u + Qᶜ and A q̈ = b − s, where s settles errors, lead to G u = e; inputs cost uᵀN u.
    """

    B: Any
    u: Any
    N: Any
    A: Any
    b: Any
    s: Any
    G: Any
    e: Any


def control_symbols(n: int, r: int, k: int, *, alone: bool = False) -> ControlSymbols:
    """Return the matrix symbols; ``alone`` if there are no other constraints, whose A and b must be distinguished."""
    A, b = ("A", "b") if alone else ("A_s", "b_s")
    shapes = {"B": (n, r), "u": (r, 1), "N": (r, r), A: (k, n), b: (k, 1), "s": (k, 1), "G": (k, r), "e": (k, 1)}
    return ControlSymbols(*(sp.MatrixSymbol(name, *shape) for name, shape in shapes.items()))


class LawKind(NamedTuple):
    """The form of the formula of a control law.

    constrained    whether there are physical constraints
    ideal          whether all of them are ideal, so that C is zero
    everywhere     whether a force acts on every coordinate, so that B is the identity
    by_mass        whether N is M⁻¹
    unit_cost      whether N is the identity
    euclidean      whether errors settle along the shortest acceleration in the Euclidean metric
    settled        whether errors settle, so that s is not zero
    """

    constrained: bool
    ideal: bool
    everywhere: bool
    by_mass: bool
    unit_cost: bool
    euclidean: bool
    settled: bool


def inverse_mass(sym: MatrixSymbols, *, constrained: bool) -> Any:
    """Return M⁻¹, or what is left of it inside the constraints: M⁻¹ − M⁻¹Aᵀ(A M⁻¹Aᵀ)⁻¹A M⁻¹."""
    M_inverse = sp.Inverse(sym.M)
    if not constrained:
        return M_inverse
    lost = sp.MatMul(-1, M_inverse, sym.A.T, sp.Inverse(schur(sym)), sym.A, M_inverse)
    return sp.MatAdd(M_inverse, lost)


def free_acceleration(sym: MatrixSymbols, kind: LawKind) -> Any:
    """Return the acceleration without inputs, inside the constraints."""
    force = sym.Q if kind.ideal else sp.MatAdd(sym.Q, sym.C)
    moved = sp.MatMul(inverse_mass(sym, constrained=kind.constrained), force)
    if not kind.constrained:
        return moved
    return sp.MatAdd(moved, sp.MatMul(sp.Inverse(sym.M), sym.A.T, sp.Inverse(schur(sym)), sym.b))


def effect(sym: MatrixSymbols, own: ControlSymbols, kind: LawKind) -> Any:
    """Return G, the effect of inputs on the requirements."""
    B = () if kind.everywhere else (own.B,)
    return sp.MatMul(own.A, inverse_mass(sym, constrained=kind.constrained), *B)


def missing(sym: MatrixSymbols, own: ControlSymbols, kind: LawKind, *, settling: bool) -> Any:
    """Return e, what the inputs must add to the motion without them to meet the requirements."""
    settled = (sp.MatMul(-1, own.s),) if settling and kind.settled else ()
    return sp.MatAdd(own.b, *settled, sp.MatMul(-1, own.A, free_acceleration(sym, kind)))


def inputs_formula(sym: MatrixSymbols, own: ControlSymbols, kind: LawKind) -> Any:
    """Return u = N⁻¹Gᵀ(G N⁻¹Gᵀ)⁻¹e; with the Euclidean metric, the settling term through M Aᵀ(A Aᵀ)⁻¹s."""
    G = effect(sym, own, kind)
    weight = () if kind.unit_cost else (sym.M,) if kind.by_mass else (sp.Inverse(own.N),)
    u = _least(G, weight, missing(sym, own, kind, settling=not kind.euclidean))
    if not (kind.euclidean and kind.settled):
        return u
    return sp.MatAdd(u, sp.MatMul(-1, *_least(G, _shortest(sym, constrained=kind.constrained), own.s).args))


def _shortest(sym: MatrixSymbols, *, constrained: bool) -> tuple[Any, ...]:
    """Return the factors of M P M, where P projects onto the accelerations that the constraints allow."""
    if not constrained:
        return sym.M, sym.M
    P = sp.MatAdd(sp.Identity(sym.A.cols), sp.MatMul(-1, sym.A.T, sp.Inverse(sp.MatMul(sym.A, sym.A.T)), sym.A))
    return sym.M, P, sym.M


def _least(G: Any, weight: tuple[Any, ...], target: Any) -> Any:
    return sp.MatMul(*weight, G.T, sp.Inverse(sp.MatMul(G, *weight, G.T)), target)


def printed_formula(sym: MatrixSymbols, own: ControlSymbols, kind: LawKind) -> Any:
    """Return the control law as it is printed: u = N^(-1/2)(G N^(-1/2))⁺e, or in terms of M, A and b if N is M⁻¹.

    The latter is that of Udwadia and Kalaba's review, equations 71 and 72.
    """
    if not kind.by_mass or kind.constrained:
        if kind.unit_cost:
            return sp.MatMul(PrintedPseudoInverse(own.G), own.e)
        weight = sp.MatPow(sym.M, sp.S.Half) if kind.by_mass else sp.MatPow(own.N, -sp.S.Half)
        return sp.MatMul(weight, PrintedPseudoInverse(sp.MatMul(own.G, weight)), own.e)
    half, inverse_half = sp.MatPow(sym.M, sp.S.Half), sp.MatPow(sym.M, -sp.S.Half)
    e = missing(sym, own, kind, settling=not kind.euclidean)
    u = sp.MatMul(half, PrintedPseudoInverse(sp.MatMul(own.A, inverse_half)), e)
    if not (kind.euclidean and kind.settled):
        return u
    return sp.MatAdd(u, sp.MatMul(-1, sym.M, own.A.T, sp.Inverse(sp.MatMul(own.A, own.A.T)), own.s))
