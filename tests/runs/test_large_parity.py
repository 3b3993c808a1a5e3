"""Groups of terms give the numbers of straight-line code for all gallery cases, and of the equation by NumPy."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.model.active_system import active_system
from dalembert.model.similar_terms import grouped_terms, reason_against_groups
from dalembert.runs.large_runs import large_motion, large_simulation
from dalembert.settings import method_of
from helpers import CONTACTS, quick_first, random_spd

INDEFINITE = ("hidden-constraint", "indefinite-mass")
"""The cases whose mass matrix is not positive definite."""
OPENING_CONTACTS = CONTACTS - {"walker"}
"""The cases whose constraints open and close, of which each phase is compared; the walker has events instead."""

QUICK = ("projectile-polar", "particle", "block-proportional", "bead", "pendulum-rod-twice", "car-axis", "bar-linkage")
QUICK_STATES = (*QUICK, *INDEFINITE, "measured")
VECTORS = ("acceleration", "free_acceleration", "ideal_force", "nonideal_force", "multipliers", "reactions", "nonideal")
LAWS = (("", "Viscous"), ("rail", "Viscous"), ("rod[0]", "Coulomb"), ("rod[1]", "Coulomb"))
OTHERS = ("rank", "gauss", "unique_multipliers", "applied_force", "constraint_rhs")


def largest_difference(found, wanted, names=(*VECTORS, *OTHERS)):
    pairs = [[np.asarray(getattr(x, name), float) for x in (found, wanted)] for name in names]
    return max(np.abs(a - b).max(initial=0.0) / max(np.abs(b).max(initial=0.0), 1e-3) for a, b in pairs)


@pytest.mark.parametrize(
    "name", quick_first([n for n in da.gallery.names() if n not in OPENING_CONTACTS], QUICK_STATES)
)
def test_a_gallery_case_has_the_same_numbers(name):
    """At the start, which satisfies the constraints, and moving: friction by actual reactions slides there.

    Contradictory constraints are met in the sense of least squares by both: those of the case ``measured``, and those
    of closed loops whose velocities violate them.
    """
    case = da.gallery.case(name)
    groups, t = grouped_terms(case.system), float(np.asarray(case.times)[0])
    method = da.Multipliers() if name in INDEFINITE else None
    rng = np.random.default_rng(0)
    for faster in (1.0, 1.3):
        qd = faster * (np.asarray(case.qd0) + (faster > 1) * 0.1 * rng.normal(size=len(case.q0)))
        found = large_motion(groups, case.q0, qd, t, case.parameters, method, throw=False)
        wanted = da.motion(case.system, case.q0, qd, t, parameters=case.parameters, formulation=method, throw=False)
        assert found.inconsistency == pytest.approx(wanted.inconsistency, abs=1e-12)
        assert largest_difference(found, wanted) < 1e-12
        np.testing.assert_allclose(found.mass_matrix.toarray(), wanted.mass_matrix, rtol=0, atol=1e-12)
        assert found.laws == wanted.laws
        assert found.inputs == pytest.approx(wanted.inputs, rel=1e-12, abs=1e-12)
        assert list(found.servo_error) == list(wanted.servo_error)
        for servo, error in wanted.servo_error.items():
            np.testing.assert_allclose(found.servo_error[servo], error, rtol=0, atol=1e-12)
        assert faster > 1 or wanted.inconsistency < 1e-8 or case.allow_violation or name == "measured"


@pytest.mark.parametrize("name", QUICK)
def test_a_run_of_a_gallery_case_has_the_same_numbers(name):
    case = da.gallery.case(name)
    begin, *_, end = np.asarray(case.times, float)
    times = begin + min(0.3, (end - begin) / 10) * np.array([0, 0.5, 1])
    found = by_groups(grouped_terms(case.system), (case.q0, case.qd0), times, case.parameters)
    wanted = da.simulate(case.system, case.q0, case.qd0, times, parameters=case.parameters, rtol=1e-12)
    names = ("q", "qd", "acceleration", "ideal_force", "nonideal_force", "multipliers")
    assert largest_difference(found, wanted, names) < 1e-11


def test_contradictory_constraints_are_refused_alike():
    case = da.gallery.case("measured")
    state = case.q0, case.qd0, 0.0
    with pytest.raises(da.errors.ConstraintError) as wanted:
        da.motion(case.system, *state, parameters=case.parameters)
    with pytest.raises(da.errors.ConstraintError) as found:
        large_motion(grouped_terms(case.system), *state, case.parameters, None, throw=True)
    same = "`first sensor`, `second sensor` contradict one another (inconsistency 4.8e-02). Remove or correct one of"
    assert same in str(found.value) and same in str(wanted.value)
    for simulated in (
        lambda: da.simulate(case.system, *state[:2], [0, 1], parameters=case.parameters),
        lambda: by_groups(grouped_terms(case.system), state[:2], [0, 1], case.parameters),
    ):
        with pytest.raises(da.errors.ConstraintError, match="`first sensor`, `second sensor` contradict one another"):
            simulated()


@pytest.mark.parametrize("name", INDEFINITE)
def test_a_mass_matrix_that_is_not_positive_definite_is_refused_alike(name):
    case = da.gallery.case(name)
    for solved in (
        lambda **how: da.motion(case.system, case.q0, case.qd0, parameters=case.parameters, **how),
        lambda formulation=None: large_motion(
            grouped_terms(case.system), case.q0, case.qd0, 0.0, case.parameters, formulation, throw=True
        ),
    ):
        with pytest.raises(da.errors.MassMatrixError, match=r"must be positive definite; .* pass `formulation=da\."):
            solved()
        with pytest.raises(da.errors.MassMatrixError, match="must have no negative eigenvalue for `SingularMass`"):
            solved(formulation=da.SingularMass())


def phases(case):
    """Return the first half of a motion, and the closed contacts of each phase with the numbers of its outputs."""
    times = np.asarray(case.times, float)
    run = da.simulate(case.system, case.q0, case.qd0, times[: len(times) // 2], parameters=case.parameters)
    permanent = {str(c.name) for c in case.system.constraints if c.is_permanent}
    passed = np.searchsorted([event.t for event in run.events], run.t)
    found = {}
    for i, row in enumerate(run.multipliers):
        closed = frozenset(permanent | {k for k, force in zip(case.system.constraint_names, row, strict=True) if force})
        found.setdefault((passed[i], closed), []).append(i)
    return run, [(closed, own) for (_, closed), own in found.items() if len(own) > 2]


@pytest.mark.parametrize("name", sorted(OPENING_CONTACTS))
def test_each_phase_of_a_motion_with_contacts_has_the_same_numbers(name):
    """The equations of a phase, in which closed contacts are equations, give the accelerations of the whole run.

    Contacts with friction are compared while they slide; forces of those that stick are no function of the state alone.
    The friction of the rocking block, with a coefficient of 2, is too strong for the iteration at some states.
    """
    case = da.gallery.case(name)
    assert reason_against_groups(case.system) == "it has contacts that open and close"
    run, found = phases(case)
    assert found
    rng, smooth = np.random.default_rng(0), not case.system.laws
    compared = too_strong = 0
    for closed, own in found[:6]:
        phase = active_system(case.system, closed)
        groups, own_values = grouped_terms(phase), {k: case.parameters[k] for k in phase.parameter_names}
        assert reason_against_groups(phase) in {"", "it has dry friction that can stick"}
        kept = [case.system.constraint_names.index(k) for k in phase.constraint_names]
        for i in own[:: max(1, len(own) // 3)]:
            off = 0.0 if smooth else 0.3 * run.qd[i] + 0.1 * rng.normal(size=run.qd.shape[1])
            state = run.q[i], run.qd[i] + off, float(run.t[i])
            try:
                answer = large_motion(groups, *state, own_values, None, throw=False)
            except da.errors.ConstraintError:
                too_strong += 1
                continue
            compared += 1
            wanted = da.motion(phase, *state, parameters=own_values, throw=False)
            assert largest_difference(answer, wanted) < 1e-12
            if smooth:
                np.testing.assert_allclose(answer.acceleration, run.acceleration[i], rtol=1e-10, atol=1e-10)
                np.testing.assert_allclose(answer.multipliers, run.multipliers[i][kept], rtol=1e-10, atol=1e-10)
        if smooth:
            first, last = own[0], own[-1]
            again = by_groups(groups, (run.q[first], run.qd[first]), run.t[[first, last]], own_values)
            np.testing.assert_allclose(again.q[-1], run.q[last], rtol=0, atol=1e-8)
    assert compared and (not too_strong or name == "rocking-block")


def carts(count=3):
    """Carts with pendulums, joined by rods with friction: blocks of two coordinates, laws of rods and of all."""
    x, y, a = (da.coordinates(name, count) for name in "xya")
    u, v, w, z, b = da.coordinates("u v w z b")
    mu, drag = da.parameters("mu", count - 1), da.parameters("drag")
    m = da.parameters("m")
    mass = da.MassEntries.over({(u, u): m, (u, b): sp.cos(b), (b, b): 1}, {u: x, b: a, m: 2.0 + np.arange(count)})
    rate = (u - w) * (v - z).diff(da.t) - (v - z) * (u - w).diff(da.t)
    friction = da.Coulomb(m, velocity=rate, normal_force=da.multiplier("rod"), smoothing=0.1)
    ends = {u: x[:-1], v: y[:-1], w: x[1:], z: y[1:], m: mu}
    rods = da.Constraint.over((u - w) ** 2 + (v - z) ** 2 - 1, ends, name="rod", nonideal=friction)
    rail = da.Constraint(
        y[0] + x[0] / 5, name="rail", nonideal=da.Viscous(0.3, velocity=x[0].diff(da.t) * 5 - y[0].diff(da.t))
    )
    gravity = [{y: -9.81}, da.AppliedForce.over({b: -sp.sin(b), u: b.diff(da.t) ** 2 * sp.sin(b)}, {b: a, u: x})]
    system = da.System((x, y, a), [mass, {y: 3}], gravity, (rail, rods), nonideal=da.Viscous(drag))
    q = np.concatenate([np.arange(count) * 0.8, 0.6 * (np.arange(count) % 2), np.linspace(0, 1, count)])
    return system, q, 0.2 * np.cos(np.arange(3 * count)), {"mu": np.linspace(0.1, 0.3, count - 1), "drag": 0.1}


def by_groups(statement, state, times, parameters, **others):
    method = method_of(None, da.Projection(), others.get("solver"), 1e-12, None, None, 100_000)
    options = {"allow_violation": False, "control": None, "progress": False}
    return large_simulation(statement, method, *state, times, parameters=parameters, **options)


@pytest.fixture(scope="module")
def cart_runs():
    system, q, qd, parameters = carts()
    state = da.consistent_state(system, q, qd, parameters=parameters)
    times = [0, 0.23, 0.5]
    wanted = da.simulate(system, *state, times, parameters=parameters, rtol=1e-12)
    return by_groups(system.statement, state, times, parameters), wanted


def test_laws_and_blocks_by_groups_have_the_same_numbers():
    system, q, qd, parameters = carts()
    found = large_motion(system.statement, q, qd, 0.0, parameters, None, throw=True)
    wanted = da.motion(system, q, qd, parameters=parameters)
    assert np.abs(wanted.nonideal_force).max() > 0.1
    assert largest_difference(found, wanted) < 1e-12
    assert largest_difference(found, wanted, ("law_forces",)) < 1e-12
    np.testing.assert_allclose(found.law_nonideal.toarray(), wanted.law_nonideal, rtol=0, atol=1e-12)
    assert found.laws == wanted.laws == LAWS
    v = np.linalg.svd(wanted.constraint_matrix)[2][-1]
    np.testing.assert_allclose(found.virtual_work(v, of="rod[1]"), wanted.virtual_work(v, of="rod[1]"), atol=1e-12)


def test_a_run_with_laws_is_that_of_straight_line_code(cart_runs):
    found, wanted = cart_runs
    names = ("q", "qd", "acceleration", "nonideal_force", "multipliers", "reactions", "ideal_force")
    assert largest_difference(found, wanted, names) < 1e-8


def test_the_ledger_of_a_large_run_is_that_of_straight_line_code(cart_runs):
    """Two quadratures of one power: Gauss's along the steps, and the weights of the Runge–Kutta method."""
    found, wanted = (run.ledger() for run in cart_runs)
    assert found.entries == wanted.entries
    size = max(np.abs(wanted.work).max(), 1.0)
    for name in ("work", "split_work", "power", "split_power", "kinetic", "audit"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=0, atol=3e-9 * size, err_msg=name)
    for sparse, dense in zip(found.force, wanted.force, strict=True):
        np.testing.assert_allclose(sparse.toarray(), dense, rtol=0, atol=1e-7)
    assert found.closure < 100
    np.testing.assert_allclose(found["rod"], sum(found[f"rod[{i}]"] for i in range(2)))
    assert "force" not in found.to_xarray()


@pytest.mark.parametrize("seed", quick_first(range(6), [0]))
def test_random_sparse_systems_with_blocks_and_nonideal_forces(seed):
    """The fundamental equation by NumPy: blocks of M, rows of deficient rank, and C at random."""
    rng = np.random.default_rng(seed)
    n, m, size = 24, 16, 3
    x = da.coordinates("x", n)
    slots, factors = da.coordinates("a b c"), da.parameters("A B C")
    M, groups = np.zeros((n, n)), []
    places = rng.permutation(n).reshape(-1, size)
    blocks = np.array([random_spd(rng, size) for _ in places])
    pairs = [(i, j) for i in range(size) for j in range(i + 1)]
    names = {pair: sp.Symbol(f"m{pair[0]}{pair[1]}") for pair in pairs}
    for own, block in zip(places, blocks, strict=True):
        M[np.ix_(own, own)] = block
    over = {slots[j]: x[places[:, j]] for j in range(size)} | {names[p]: blocks[:, p[0], p[1]] for p in pairs}
    mass = da.MassEntries.over({(slots[i], slots[j]): names[i, j] for i, j in pairs}, over)
    A = np.zeros((m, n))
    for i in range(m - 4):
        A[i, rng.choice(n, 3, replace=False)] = rng.normal(size=3)
    A[m - 4 :] = A[:4]
    own = np.array([np.flatnonzero(row) for row in A])
    over = {slots[j]: x[own[:, j]] for j in range(3)} | {factors[j]: A[np.arange(m), own[:, j]] for j in range(3)}
    groups = da.Constraint.over(
        sum(f * s.diff(da.t, 2) for f, s in zip(factors, slots, strict=True)) - 1, over, name="r"
    )
    Q, qd, drag = rng.normal(size=n), rng.normal(size=n), 0.7
    system = da.System(x, mass, {x: Q}, groups, nonideal=da.Viscous(drag))
    found = large_motion(system.statement, np.zeros(n), qd, 0.0, None, None, throw=True)
    root = np.linalg.cholesky(M)  # B = A L⁻ᵀ, z = L⁻¹C: the acceleration does not depend on the root
    B, a, z = np.linalg.solve(root, A.T).T, np.linalg.solve(M, Q), np.linalg.solve(root, -drag * qd)
    inverse = np.linalg.pinv(B, rcond=1e-10)
    ideal = root @ inverse @ (1 - A @ a)
    nonideal = root @ (z - inverse @ B @ z)
    np.testing.assert_allclose(found.ideal_force, ideal, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.nonideal_force, nonideal, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.acceleration, np.linalg.solve(M, Q + ideal + nonideal), rtol=0, atol=1e-12)
    assert found.rank == np.linalg.matrix_rank(A) == m - 4


def rough_rods(law):
    x, y = da.coordinates("x", 150), da.coordinates("y", 150)
    u, v, w, z = da.coordinates("u v w z")
    ends = {u: x[:-1], v: y[:-1], w: x[1:], z: y[1:]}
    rods = da.Constraint.over((u - w) ** 2 + (v - z) ** 2 - 1, ends, name="rod", nonideal=law(v - z))
    return da.System((x, y), 1, {y: -9.81}, (da.Constraint(x[0], name="end"), rods))


@pytest.mark.parametrize(
    ("law", "parameters", "error", "message"),
    [
        (lambda v: da.Viscous(1), {}, da.ModelError, "Viscous of `rod` must be given its `velocity`"),
        (
            lambda v: da.Coulomb(1, velocity=v.diff(da.t)),
            {},
            da.ModelError,
            "Coulomb of `rod` must be given its `normal_force`",
        ),
        (
            lambda v: da.Coulomb(1, velocity=v.diff(da.t), normal_force=da.multiplier("rod")),
            {},
            da.ModelError,
            "dry friction in a large system must not stick",
        ),
        (lambda v: [1] * 4, {}, da.ModelError, "must map coordinates to components of C"),
        (
            lambda v: da.Coulomb(1, velocity=v.diff(da.t), normal_force=da.multiplier("bar"), smoothing=1),
            {},
            da.ModelError,
            "laws must name constraints of the system; `bar` is not one",
        ),
        (
            lambda v: da.Viscous(sp.Symbol("c"), velocity=v.diff(da.t)),
            {"c": -1.0},
            da.errors.InputError,
            "coefficients of Viscous of `rod` must not be negative",
        ),
        (
            lambda v: da.Coulomb(9, velocity=v.diff(da.t), normal_force=da.multiplier("rod"), smoothing=0.01),
            {},
            da.errors.ConstraintError,
            "the laws must determine the reactions on which they depend",
        ),
    ],
)
def test_laws_that_are_not_supported_are_named(law, parameters, error, message):
    q = np.concatenate([np.cos(0.3) * np.arange(150), np.sin(0.3) * np.arange(150)])
    with pytest.raises(error, match=message):
        da.motion(rough_rods(law), q, np.cos(np.arange(300.0)), parameters=parameters)


def test_a_mass_matrix_of_blocks_must_be_positive_definite():
    x, y, wide = da.coordinates("x", 150), da.coordinates("y", 150), da.coordinates("w", 300)
    u, v, c = *da.coordinates("u v"), da.parameters("c")
    coupling = np.where(np.arange(150) == 7, 1.0, 0.5)
    q = np.zeros(300)
    mass = da.MassEntries.over({(u, u): 1, (v, v): 1, (u, v): c}, {u: x, v: y, c: coupling})
    with pytest.raises(da.errors.MassMatrixError, match=r"that of `y\[7\]` and the coordinates coupled with it is not"):
        da.motion(da.System((x, y), mass, 0), q, q)
    neighbours = da.MassEntries.over({(u, v): 0.1}, {u: wide[:-1], v: wide[1:]})
    with pytest.raises(da.ModelError, match="blocks of at most 200 coordinates; one block has 300"):
        da.motion(da.System(wide, [{wide: 1}, neighbours], 0), q, q)
    twice = da.MassEntries.over({(u, u): 1, (u, v): 0.1}, {u: wide, v: wide})
    with pytest.raises(da.ModelError, match="must be of two coordinates; one copy has the same twice"):
        da.motion(da.System(wide, twice, 0), q, q)
    moving = da.MassEntries.over({(u, u): u.diff(da.t)}, {u: wide})
    with pytest.raises(da.ModelError, match="must depend on coordinates and time only; got a velocity"):
        da.motion(da.System(wide, moving, 0), q, q)
