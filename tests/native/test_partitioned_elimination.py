"""Elimination in independent coordinates beside the fundamental equation, and where it is used."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings

import dalembert as da
from dalembert import gallery
from dalembert.lowering.batch_program import BatchProgram
from dalembert.lowering.build import build
from dalembert.lowering.programs import Programs
from dalembert.lowering.recorded_terms import RecordedTerms
from dalembert.native.partitioned_elimination import PartitionedElimination
from dalembert.native.tape import Program, Tape
from dalembert.native.tape_polynomials import TapePolynomials

a, b, c, d, e = da.coordinates("a b c d e")
m, r = da.parameters("m r")
rate = [x.diff(da.t) for x in (a, b, c, d, e)]


def rolling() -> da.System:
    """Two rolling conditions, of which each gives a velocity, and a mass matrix that depends on angles."""
    about_axle = rate[4] + rate[2] * sp.sin(d)
    kinetic = m * (rate[0] ** 2 + rate[1] ** 2 + (r * rate[3]) ** 2 + r**2 * (rate[2] * sp.cos(d)) ** 2 / 4) / 2
    conditions = (
        da.Constraint(rate[0] - r * (about_axle * sp.cos(c) + rate[3] * sp.sin(c) * sp.cos(d)), name="along"),
        da.Constraint(rate[1] - r * (about_axle * sp.sin(c) - rate[3] * sp.cos(c) * sp.cos(d)), name="across"),
    )
    lagrangian = kinetic + m * r**2 * about_axle**2 / 4 - m * 9.81 * r * sp.cos(d)
    return da.System.from_lagrangian(lagrangian, (a, b, c, d, e), constraints=conditions)


def loop() -> da.System:
    """Three bars with four pins, and a requirement on the velocities, whose row is of a later class."""
    sizes = (1.0, 2.5, 2.0)
    bars = [da.PlanarBody(f"bar_{k}", mass=size, inertia=size**3 / 12) for k, size in enumerate(sizes)]
    first, second, third = bars
    pins = (
        da.Revolute("bearing", da.ground.at(0, 0), first.at(-0.5, 0)),
        da.Revolute("crank pin", first.at(0.5, 0), second.at(-1.25, 0)),
        da.Revolute("rocker pin", second.at(1.25, 0), third.at(1.0, 0)),
    )
    system = da.Mechanism((first, second, third), pins, da.Gravity((0, -9.81))).system
    turning = system.coordinates[2].diff(da.t) - system.coordinates[8].diff(da.t)
    return system.constrain(da.Constraint(turning - sp.sin(da.t), name="turning"))


def cancelling() -> da.System:
    """Rows whose difference leaves rounding of an entry, and one in which an entry that is constant is small."""
    rows = (
        da.Constraint(10 * rate[1] + 0.003 * rate[0], name="first"),
        da.Constraint(50 * rate[1] + 200 * rate[0], name="second"),
        da.Constraint(1e-9 * rate[2] + sp.sin(d) * rate[4], name="small"),
        da.Constraint(rate[2] - rate[3] * sp.cos(d), name="turning"),
    )
    return da.System((a, b, c, d, e), sp.diag(m, 1, 2, 1, r), (1, 2, 3, sp.sin(d), 5), rows)


def recorded(system: da.System) -> RecordedTerms:
    source = build(system).native.source
    return RecordedTerms(Programs(source, range(len(source.levels)), None))


def values(terms: RecordedTerms, outputs: list, y: np.ndarray, p: np.ndarray) -> np.ndarray:
    return BatchProgram(Program(terms.tape, outputs), y.shape[1])(y, np.full(len(y), 0.3), p)


@pytest.mark.parametrize("make", [rolling, loop, cancelling])
def test_motion_and_multipliers_are_those_of_the_fundamental_equation(make):
    terms = recorded(make())
    own, n = terms.partitioned_elimination, terms.programs.n
    assert len(own.partition.rows) >= 2
    rows, rng = terms.programs.rows, np.random.default_rng(0)
    y, p = rng.normal(size=(4, 2 * n)), rng.uniform(0.5, 2, len(terms.source.parameters))
    f = [terms.read(entry) for entry in terms.source.form.applied_force]
    target = [terms.target(k) for k in rows]
    found = own.solve(f, target)
    A = [entry for k in rows for entry in terms.row(k)]
    parts = ([entry for row in terms.mass_matrix for entry in row], f, A, target)
    outputs = values(terms, [*found.acceleration, *found.multipliers, *(x for part in parts for x in part)], y, p)
    for line in outputs:
        answer, given_terms = line[: n + len(rows)], line[n + len(rows) :]
        M, Q, A, b_ = np.split(given_terms, np.cumsum([n * n, n, n * len(rows)]))
        motion = da.constrained_motion(M.reshape(n, n), Q, A.reshape(-1, n), b_, formulation=da.PseudoInverse())
        scale = np.abs(motion.acceleration).max()
        assert np.abs(answer[:n] - motion.acceleration).max() < 1e-12 * scale
        force = A.reshape(-1, n).T @ answer[n:]
        assert np.abs(force - motion.constraint_force).max() < 1e-11 * np.abs(motion.constraint_force).max()


def test_leading_rows_alone_are_solved_with_the_same_factors():
    terms = recorded(loop())
    n, leading = terms.programs.n, 6
    rng = np.random.default_rng(1)
    y, e_ = rng.normal(size=(1, 2 * n)), list(rng.normal(size=leading))
    rows = [terms.row(k) for k in terms.programs.rows[:leading]]
    step = terms.partitioned_elimination.solve([0] * n, e_, leading).acceleration
    parts = ([x for row in terms.mass_matrix for x in row], [x for row in rows for x in row])
    found, M, A = np.split(
        values(terms, [*step, *(x for part in parts for x in part)], y, np.zeros(0))[0], np.cumsum([n, n * n])
    )
    M, A = M.reshape(n, n), A.reshape(leading, n)
    shortest = np.linalg.solve(M, A.T @ np.linalg.solve(A @ np.linalg.solve(M, A.T), e_))
    assert np.abs(found - shortest).max() < 1e-13


def margins_hold(system: da.System, y: list[float], p: list[float]) -> bool:
    terms = recorded(system)
    pairs = terms.partitioned_elimination.margins()
    found = values(terms, [x for pair in pairs for x in pair], np.array([y]), np.array(p))[0].reshape(-1, 2)
    return bool((found[:, 0] > found[:, 1]).all())


@pytest.mark.parametrize(("angle", "holds"), [(0.5, True), (0.02, True), (0.01, False), (0.0, False)])
def test_rows_that_become_dependent_are_seen_at_the_same_place(angle, holds):
    """Of the row ẋ = 0, with x = cos θ and y = sin θ, sin²θ/2 of the squared length is left; the limit is 1e-4."""
    x, y, theta = da.coordinates("x y theta")
    rows = (
        da.Constraint(x - sp.cos(theta), name="cosine"),
        da.Constraint(y - sp.sin(theta), name="sine"),
        da.Constraint(x.diff(da.t), name="held"),
    )
    system = da.System((x, y, theta), sp.eye(3), (0, 0, 0), rows)
    assert margins_hold(system, [np.cos(angle), np.sin(angle), angle, 0, 0, 0], []) == holds


@pytest.mark.parametrize(("mass", "holds"), [(1.0, True), (1e5, True), (1e9, False)])
def test_a_heavy_coordinate_is_not_solved_for(mass, holds):
    row = da.Constraint(rate[0] - rate[1] * sp.cos(d) - rate[2] * sp.sin(d), name="rolling")
    system = da.System((a, b, c, d), sp.diag(m, 1, 1, 1), (0, 0, 0, 0), row)
    assert margins_hold(system, [0.3, 0.2, 0.1, 0.4, 0, 0, 0, 0], [mass]) == holds


def test_a_disc_that_lies_flat_is_seen():
    """Yaw and turn are then one rotation: of the mass of yaw a share of cos²(lean)/4 over 1/4 + 5 sin²(lean)/4 is left,
    and the limit is 1e-10."""
    for share, holds in ((1e-9, True), (1.01e-10, True), (0.99e-10, False), (0.0, False)):
        lean = np.pi / 2 - np.sqrt(share * 6)
        assert margins_hold(rolling(), [0, 0, 0.3, lean, 0, 0.1, 0.2, 0.3, 0.4, 0.5], [2.0, 0.3]) == holds
    assert not margins_hold(rolling(), [0, 0, 0.3, 0.2, 0, 0.1, 0.2, 0.3, 0.4, 0.5], [-2.0, 0.3])


def test_bounds_of_masses_hold_at_all_angles():
    """They do not depend on the state, so that steps compute no limits of shares."""
    terms = recorded(rolling())
    masses = terms.diagonal
    least = [terms.partitioned_elimination.polynomials.least(mass) for mass in masses]
    assert all(map(terms.tape.is_constant, least)) and not all(map(terms.tape.is_constant, masses))
    y = np.random.default_rng(0).normal(size=(50, 10))
    found = values(terms, [*masses, *least], y, np.array([2.0, 0.3]))
    assert (found[:, 5:] > 0).all() and (found[:, :5] >= found[:, 5:] * (1 - 1e-15)).all()
    margins = terms.partitioned_elimination.partition.margins(terms.mass_matrix)
    assert all(terms.tape.is_constant(limit) for _, limit in margins)


def test_a_mass_matrix_that_becomes_singular_is_seen_although_the_constraints_determine_the_motion():
    x, u, v = da.coordinates("x u v")
    k = da.parameters("k")
    M = sp.Matrix([[1, 0, 0], [0, 1, k], [0, k, 1]])
    rows = (da.Constraint(x - sp.cos(u), name="first"), da.Constraint(u.diff(da.t) - 1, name="second"))
    system = da.System((x, u, v), M, (0, 0, 0), rows)
    assert margins_hold(system, [np.cos(0.5), 0.5, 0, -np.sin(0.5), 1, 0], [0.5])
    assert not margins_hold(system, [np.cos(0.5), 0.5, 0, -np.sin(0.5), 1, 0], [1.0])


@pytest.mark.parametrize(
    ("name", "used"), [("pendulum", False), ("andrews", False), ("bar-linkage", True), ("snakeboard", True)]
)
def test_the_elimination_with_clearly_fewer_operations_is_used(name, used):
    terms = recorded(gallery.case(name).system)
    assert isinstance(terms.elimination, PartitionedElimination) == used


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from("+-*"), st.integers(0, 40), st.integers(0, 40)), max_size=14), st.floats(-3, 3)
)
def test_polynomials_have_the_values_of_what_was_recorded(steps, angle):
    tape = Tape()
    x, p = tape.input("y", 0), tape.input("p", 0)
    found = [tape.record("sin", x), tape.record("cos", x), p, 2.0, -1.0, 0.5]
    numbers = [np.sin(angle), np.cos(angle), 0.7, 2.0, -1.0, 0.5]
    for name, i, j in steps:
        i, j = i % len(found), j % len(found)
        for own in (found, numbers):
            one, other = own[i], own[j]
            own.append(one + other if name == "+" else one - other if name == "-" else one * other)
    polynomials = TapePolynomials(tape)
    value = polynomials.record(polynomials.add_squares(polynomials.expand(found[-1])))
    scale = 1 + max(map(abs, numbers))
    result = BatchProgram(Program(tape, [value]), 1)(np.array([[angle]]), np.zeros(1), np.array([0.7]))[0, 0]
    assert abs(result - numbers[-1]) < 1e-12 * scale


def test_squares_of_sine_and_cosine_are_added():
    tape = Tape()
    s, c = (tape.record(name, tape.input("y", 0)) for name in ("sin", "cos"))
    polynomials = TapePolynomials(tape)
    found = polynomials.add_squares(polynomials.expand(3 * s * s + 3 * c * c + s))
    assert found == {(): 3, (s.line,): 1}


@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (1e3, True), (1e4, False), (1e6, False)])
def test_a_row_that_earlier_ones_nearly_span_is_not_solved(factor, holds):
    """Its remainder without them is found by a subtraction of their multiples, in which digits are lost."""
    rolling = rate[0] - rate[1] * sp.cos(d)
    rows = (da.Constraint(rolling, name="rolling"), da.Constraint(m * rolling + rate[2] - rate[3], name="with it"))
    system = da.System((a, b, c, d), sp.eye(4), (0, 0, 0, 0), rows)
    terms = recorded(system)
    assert len(terms.partitioned_elimination.partition.rows) == 2
    assert margins_hold(system, [0.3, 0.2, 0.1, 0.4, 0, 0, 0, 0], [factor]) == holds


def test_a_massless_coordinate_leaves_all_unknowns() -> None:
    """A row that would be solved for a coordinate has no margin relative to a mass of zero."""
    friction = da.Coulomb(0.1, velocity=a.diff(da.t), normal_force=10)
    tied = da.System((a, b), sp.diag(1, 0), (-9.81, 0), da.Constraint(b - 2 * a, name="tie"), nonideal=friction)
    found = da.motion(tied, (0.1, 0.2), (1, 2), formulation=da.SingularMass())
    np.testing.assert_allclose(found.acceleration, [-10.81, -21.62], rtol=1e-14)
