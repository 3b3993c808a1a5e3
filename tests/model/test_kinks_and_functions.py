"""Kinks piece by piece, elementary functions against mpmath, and expressions nested deeply."""

import sys

import mpmath
import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.lowering.jax_functions import compiled
from dalembert.lowering.recording import Recorder
from dalembert.lowering.tape_functions import function_of_tape
from dalembert.model.deep_stack import with_deep_stack
from dalembert.model.differentiation import derivative
from dalembert.native.derivatives import differentiated
from dalembert.native.tape import Program, Tape

u, v = sp.symbols("u v", real=True)
x, y = da.coordinates("x y")

ELEMENTARY = {
    "sech": (-3, 3),
    "csch": (0.1, 3),
    "coth": (0.1, 3),
    "acot": (-3, 3),
    "asec": (1.1, 5),
    "acsc": (-5, -1.1),
    "asech": (0.05, 0.95),
    "acsch": (-4, -0.1),
    "acoth": (1.1, 5),
    "sec": (-1.5, 1.5),
    "csc": (0.1, 3),
    "cot": (0.1, 3),
    "frac": (-3, 3),
}


def by_mpmath(e, at):
    return float(e.evalf(30, subs={u: at}))


@pytest.mark.parametrize("name", ELEMENTARY)
def test_elementary_functions_agree_with_mpmath(name: str):
    """In machine code (with derivatives) and under JAX, to rounding."""
    e = getattr(sp, name)(u)
    points = np.random.default_rng(18).uniform(*ELEMENTARY[name], 25)
    expected = [by_mpmath(e, mpmath.mpf(point)) for point in points]
    slopes = [by_mpmath(derivative(e, u), mpmath.mpf(point)) for point in points]
    tape = Tape()
    program = Program(tape, [Recorder(tape, {u: tape.input("y", 0)})(e)])
    found = [differentiated(program, np.array([point]), 0.0, np.empty(0)) for point in points]
    np.testing.assert_allclose([float(value[0]) for value, _ in found], expected, rtol=4e-15)
    np.testing.assert_allclose([float(slope[0, 0]) for _, slope in found], slopes, rtol=2e-13)
    np.testing.assert_allclose(compiled((u,), e)(points), expected, rtol=4e-15)
    np.testing.assert_allclose(function_of_tape((u,), e, {})(points), expected, rtol=4e-15)


def test_the_arc_cotangent_of_zero():
    system = da.System((x,), [[1]], (sp.acot(x),))
    assert da.motion(system, (0,), (0,)).acceleration == pytest.approx(np.pi / 2)
    assert da.simulate(system, (0,), (0,), [0, 1e-3]).qd[-1, 0] == pytest.approx(np.pi / 2 * 1e-3, rel=1e-6)


KINKED = {
    "Abs": (sp.Abs(u), np.abs),
    "Abs of log": (sp.Abs(sp.log(u**2 + sp.Rational(1, 2))), lambda a: np.abs(np.log(a**2 + 0.5))),
    "sign": (u**2 * sp.sign(u), lambda a: a**2 * np.sign(a)),
    "Max": (sp.Max(u, u**2, sp.Rational(1, 2)), lambda a: np.maximum(np.maximum(a, a**2), 0.5)),
    "Min": (sp.Min(u, u**2), lambda a: np.minimum(a, a**2)),
    "Heaviside": (u**3 * sp.Heaviside(u), lambda a: a**3 * np.heaviside(a, 0.5)),
    "floor": (u * sp.floor(u), lambda a: a * np.floor(a)),
    "ceiling": (u * sp.ceiling(u), lambda a: a * np.ceil(a)),
    "Mod": (sp.Mod(u, sp.Rational(7, 10)) ** 2, lambda a: np.mod(a, 0.7) ** 2),
    "Piecewise": (sp.Piecewise((sp.Abs(u), u < 0), (u**2, True)), lambda a: np.where(a < 0, np.abs(a), a**2)),
}


@pytest.mark.parametrize("name", KINKED)
def test_kinks_are_differentiated_piece_by_piece(name: str):
    e, by_numpy = KINKED[name]
    points = np.array([-1.23, -0.31, 0.17, 0.83, 1.57])
    first = derivative(e, u)
    assert not first.has(sp.DiracDelta, sp.Derivative, sp.Subs)
    h = 1e-6
    slope = (by_numpy(points + h) - by_numpy(points - h)) / (2 * h)
    found = [float(first.xreplace({u: sp.Float(point)})) for point in points]
    np.testing.assert_allclose(found, slope, atol=1e-9)
    second = derivative(first, u)
    between = [
        float((first.xreplace({u: sp.Float(p + h)}) - first.xreplace({u: sp.Float(p - h)})) / (2 * h)) for p in points
    ]
    np.testing.assert_allclose([float(second.xreplace({u: sp.Float(p)})) for p in points], between, atol=1e-7)


CORNERS = {
    "at rest on a bent wire": (y - sp.Abs(x), (0.3, -1), (0, 0), (0, 0)),
    "through a bent wire": (y - sp.Abs(x), (0, -1), (0, 0), (1, 0)),
    "onto the other piece": (sp.Max(x, y), (0, 1), (0, 0), (0, 0)),
    "across a step": (y - 0.25 * sp.floor(x), (1, 0), (np.nextafter(2, 0), 0.25), (1, 0)),
    "by half of a step": (y + sp.Heaviside(x) * x, (1, 0), (0, 0), (0, 0)),
}


@pytest.mark.parametrize("name", CORNERS)
def test_the_motion_at_a_kink_is_refused(name: str) -> None:
    """There the gradient is that of another piece, or of none: the wire y = |x| would be level at its bend."""
    equation, force, q, qd = CORNERS[name]
    system = da.System((x, y), sp.eye(2), force, da.Constraint(equation, name="wire"))
    with pytest.raises(da.ConstraintError, match="smooth just ahead of this state; `wire` has a jump or a kink there"):
        da.motion(system, q, qd)
    assert da.motion(system, q, qd, throw=False).rank == 1


@pytest.mark.parametrize(("force", "speed"), [(1, 0), (1, 1), (-1, 1)])
def test_the_motion_from_the_border_of_a_piece_into_it(force: float, speed: float) -> None:
    """Conditions say on which side the border is: at x = 1 the slope is two."""
    bent = sp.Piecewise((x, x < 1), (2 * x - 1, True))
    system = da.System((x, y), sp.eye(2), (force, 0), da.Constraint(y - bent, name="wire"))
    assert da.motion(system, (1, 1), (speed, 2 * speed)).acceleration == pytest.approx([force / 5, 2 * force / 5])
    smooth = sp.Piecewise((0, x < 0), (x**3, True))
    system = da.System((x, y), sp.eye(2), (-force, 1), da.Constraint(y - smooth, name="wire"))
    assert da.motion(system, (0, 0), (-speed, 0)).acceleration == pytest.approx([-force, 0])


@pytest.mark.parametrize("function", [sp.Abs, lambda e: sp.Max(e, -2 * e), lambda e: e * sp.sign(e)])
def test_a_bead_on_a_bent_wire_moves_as_on_a_straight_one(function):
    """On y = |x|, away from the bend, a bead in gravity is accelerated by −g/2 along x and along y."""
    wire = da.Constraint(y - function(x), name="wire")
    bead = da.System((x, y), sp.eye(2), (0, -10), wire)
    assert da.motion(bead, (2, 2), (1, 1)).acceleration == pytest.approx([-5, -5])
    run = da.simulate(bead, (2, 2), (0, 0), [0, 0.2, 0.5])
    np.testing.assert_allclose(run.q[:, 0], 2 - 2.5 * run.t**2, atol=1e-10)
    assert np.abs(run.violation).max() < 1e-12


def test_what_cannot_be_computed_is_named_with_its_place():
    c = da.Constraint(y - sp.zeta(x), name="c")
    with pytest.raises(da.ModelError, match="constraint `c` must use functions that can be computed; `zeta` has no"):
        da.build(da.System((x, y), sp.eye(2), (0, 0), c))
    with pytest.raises(da.ModelError, match="`mass_matrix` must use functions that can be computed; `zeta`"):
        da.build(da.System((x,), [[sp.zeta(x)]], (0,)))
    with pytest.raises(da.ModelError, match=r"the nonideal law Prescribed must use functions.*`DiracDelta`"):
        da.build(da.System((x,), [[1]], (0,), nonideal=[sp.DiracDelta(x)]))


DEPTH = 200


def nested():
    """x/2 (1 + x/2 (1 + x/2 (1 + …))), unexpanded."""
    e = x
    for _ in range(DEPTH):
        e = x / 2 * (e + 1)
    return e


def test_expressions_nested_200_deep():
    """The nest is a geometric series: its motion must be that of the closed form, by machine code and by JAX."""
    r = x / 2
    closed = r**DEPTH * x + r * (1 - r**DEPTH) / (1 - r)
    deep, plain = (
        da.System((x, y), sp.eye(2), (-e, -10), da.Constraint(y - e, name="hill")) for e in (nested(), closed)
    )
    limit = sys.getrecursionlimit()
    q, qd = da.consistent_state(plain, (0.3, 0.2), (1, 0.4))
    runs = [da.simulate(system, q, qd, [0, 0.1, 0.2]) for system in (deep, plain)]
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=1e-10)
    assert runs[0].statistics["program"] == "machine code"
    terms = [da.build(system).terms(q, qd, 0.0, ()) for system in (deep, plain)]
    np.testing.assert_allclose(terms[0].A, terms[1].A, rtol=1e-12)
    np.testing.assert_allclose(terms[0].b, terms[1].b, rtol=1e-12)
    assert sys.getrecursionlimit() == limit


def test_what_no_stack_is_large_enough_for():
    def endless() -> None:
        endless()

    with pytest.raises(da.ModelError, match="constraint `c` must not be nested deeper than"):
        with_deep_stack(endless, "constraint `c`")
