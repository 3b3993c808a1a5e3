"""Large systems with massless coordinates and indefinite masses, against NumPy and straight-line code."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.runs.large_runs import large_motion
from helpers import quick_first

SINGULAR = da.SingularMass()


def light_truss(n, hinge=3):
    """A bridge of n triangles whose upper joints have no mass; the upper chord is missing at every third place."""
    bx, by = da.coordinates("bx", n + 1), da.coordinates("by", n + 1)
    tx, ty = da.coordinates("tx", n), da.coordinates("ty", n)
    u, v, w, z = da.coordinates("u v w z")
    i = np.arange(n - 1)
    i = i[i % hinge != hinge - 1]
    ends = {
        "bottom": (bx[:-1], by[:-1], bx[1:], by[1:]),
        "up": (bx[:-1], by[:-1], tx, ty),
        "down": (tx, ty, bx[1:], by[1:]),
        "top": (tx[i], ty[i], tx[i + 1], ty[i + 1]),
    }
    distance = (u - w) ** 2 + (v - z) ** 2 - 1
    rods = [da.Constraint.over(distance, dict(zip((u, v, w, z), own, strict=True)), name=k) for k, own in ends.items()]
    pins = [da.Constraint(bx[0], name="pin x"), da.Constraint(by[0], name="pin y")]
    system = da.System((bx, by, tx, ty), {bx: 2, by: 2}, {by: -9.81}, (*pins, *rods))
    q = np.concatenate([np.arange(n + 1.0), np.zeros(n + 1), np.arange(n) + 0.5, np.full(n, np.sqrt(3) / 2)])
    return system, q


def moving(system, q):
    """Return velocities that the constraints allow."""
    A = da.motion(system, q, 0 * q, formulation=SINGULAR).constraint_matrix
    A = A.toarray() if hasattr(A, "toarray") else np.asarray(A)
    free = np.linalg.svd(A)[2][np.linalg.matrix_rank(A) :]
    return free.T @ free @ np.cos(np.arange(len(q)))


def by_numpy(M, A, Q, b):
    """Return q̈ and λ of the saddle-point system."""
    m = len(A)
    found = np.linalg.lstsq(np.block([[M, -A.T], [A, np.zeros((m, m))]]), np.concatenate([Q, b]), rcond=1e-12)[0]
    return found[: len(Q)], found[len(Q) :]


def test_massless_joints_move_as_the_saddle_matrix_says():
    system, q = light_truss(60)
    qd = moving(system, q)
    answer = da.motion(system, q, qd, formulation=SINGULAR)
    M = np.diag(np.where(np.arange(len(q)) < 122, 2.0, 0.0))
    np.testing.assert_array_equal(answer.mass_matrix.toarray(), M)
    acceleration, multipliers = by_numpy(
        M, answer.constraint_matrix.toarray(), answer.applied_force, answer.constraint_rhs
    )
    np.testing.assert_allclose(answer.acceleration, acceleration, rtol=0, atol=1e-12 * np.abs(acceleration).max())
    np.testing.assert_allclose(answer.multipliers, multipliers, rtol=0, atol=1e-12 * np.abs(multipliers).max())
    assert answer.free_acceleration is None and answer.gauss is None
    assert answer.residual < 1e-14 and answer.rank == 222


def test_a_run_with_massless_joints_is_that_of_straight_line_code():
    small, q = light_truss(6)
    qd, times = moving(small, q), [0, 0.1, 0.2]
    assert not small.is_large
    wanted = da.simulate(small, q, qd, times, formulation=SINGULAR, rtol=1e-10)
    found = large_motion(small.statement, q, qd, 0.0, None, SINGULAR, throw=True)
    np.testing.assert_allclose(found.acceleration, wanted.acceleration[0], rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.multipliers, wanted.multipliers[0], rtol=0, atol=1e-10)


@pytest.fixture(scope="module")
def bridge_run():
    system, q = light_truss(60)
    qd = moving(system, q)
    return system, q, qd, da.simulate(system, q, qd, [0, 0.05, 0.1], formulation=SINGULAR, rtol=1e-9)


def test_a_run_keeps_the_constraints_and_the_energy_balance(bridge_run):
    *_, run = bridge_run
    assert np.abs(run.violation).max() < 1e-13
    ledger = run.ledger()
    np.testing.assert_allclose(ledger.audit, 0, rtol=0, atol=1e-7 * np.abs(ledger.work).max())
    assert np.abs(ledger.work).max() > 10


@pytest.mark.parametrize("how", [{"solver": da.Implicit()}, {"drift": da.Baumgarte(5, 5)}, {"drift": None}], ids=str)
def test_other_methods_find_the_same_motion(bridge_run, how):
    system, q, qd, run = bridge_run
    other = da.simulate(system, q, qd, run.t, formulation=SINGULAR, rtol=1e-9, **how)
    np.testing.assert_allclose(other.q, run.q, rtol=0, atol=1e-7)


# in the last three a remainder of rounding looks like a further motion, or a singular block like a definite one
RANDOM = [(24, 16, kind, seed) for seed in range(8) for kind in ("singular", "indefinite")]
NEARLY = [(12, 8, "singular", 15), (24, 16, "indefinite", 23), (24, 16, "singular", 26)]


@pytest.mark.parametrize("case", quick_first([*RANDOM, *NEARLY], [*RANDOM[:4], *NEARLY]), ids=str)
def test_random_systems_with_blocks(case):
    """Blocks of M of deficient rank, or with negative eigenvalues, and rows of which some are redundant."""
    n, m, kind, seed = case
    rng = np.random.default_rng(seed)
    size = 3
    x = da.coordinates("x", n)
    slots, factors = da.coordinates("a b c"), da.parameters("A B C")
    places = rng.permutation(n).reshape(-1, size)
    M, blocks = np.zeros((n, n)), []
    for number, own in enumerate(places):
        turn = np.linalg.qr(rng.normal(size=(size, size)))[0]
        worst = {"singular": 0.0, "indefinite": -rng.uniform(0.5, 2)}[kind] if number % 2 else 1.0
        blocks.append(turn @ np.diag([worst, 2, 3]) @ turn.T)
        M[np.ix_(own, own)] = blocks[-1]
    pairs = [(i, j) for i in range(size) for j in range(i + 1)]
    names = {pair: sp.Symbol(f"m{pair[0]}{pair[1]}") for pair in pairs}
    over = {slots[j]: x[places[:, j]] for j in range(size)}
    over |= {names[p]: np.array(blocks)[:, p[0], p[1]] for p in pairs}
    mass = da.MassEntries.over({(slots[i], slots[j]): names[i, j] for i, j in pairs}, over)
    A = np.zeros((m, n))
    for i in range(m):
        A[i, [places[i // 2][i % 2], *rng.choice(n, 2, replace=False)]] += rng.normal(size=3)
    redundant = kind == "singular"  # the multiplier form needs independent rows
    if redundant:
        A[m - 2 :] = A[:2]
    own = np.array([np.flatnonzero(row)[np.arange(3) % np.count_nonzero(row)] for row in A])
    values = np.array([[A[i, j] if j not in own[i, :k] else 0.0 for k, j in enumerate(own[i])] for i in range(m)])
    over = {slots[j]: x[own[:, j]] for j in range(3)} | {factors[j]: values[:, j] for j in range(3)}
    rows = da.Constraint.over(sum(f * s.diff(da.t, 2) for f, s in zip(factors, slots, strict=True)) - 1, over, name="r")
    Q = rng.normal(size=n)
    system = da.System(x, mass, {x: Q}, rows)
    formulation = SINGULAR if kind == "singular" else da.Multipliers()
    found = large_motion(system.statement, np.zeros(n), np.zeros(n), 0.0, None, formulation, throw=True)
    acceleration, multipliers = by_numpy(M, A, Q, np.ones(m))
    size = max(np.abs(acceleration).max(), np.abs(multipliers).max())
    np.testing.assert_allclose(found.acceleration, acceleration, rtol=0, atol=1e-11 * size)
    np.testing.assert_allclose(found.ideal_force, A.T @ multipliers, rtol=0, atol=1e-11 * size)
    assert found.rank == np.linalg.matrix_rank(A) == m - 2 * redundant
    if kind == "indefinite":
        np.testing.assert_allclose(found.free_acceleration, np.linalg.solve(M, Q), rtol=1e-10)


def test_a_consistent_state_without_a_mass_metric_is_the_nearest_one():
    system, q = light_truss(60)
    rng = np.random.default_rng(0)
    guess = q + 1e-2 * rng.normal(size=len(q))
    with pytest.raises(da.errors.MassMatrixError, match=r'mass of `tx\[0\]` is 0. .* pass `metric="euclidean"`'):
        da.consistent_state(system, guess, 0 * q)
    found = da.consistent_state(system, guess, rng.normal(size=len(q)), metric="euclidean")
    A = da.motion(system, found.q, found.qd, formulation=SINGULAR).constraint_matrix.toarray()
    moved = found.q - guess
    np.testing.assert_allclose(A.T @ np.linalg.lstsq(A.T, moved, rcond=None)[0], moved, rtol=0, atol=1e-9)
    np.testing.assert_allclose(A @ found.qd, 0, rtol=0, atol=1e-12)


def test_a_massless_particle_that_nothing_moves_is_named():
    system, q = light_truss(60)
    x = da.coordinates("loose")
    bx, by, *_ = pieces = system.statement.pieces
    loose = da.System((*pieces, x), {bx: 2, by: 2}, {by: -9.81}, system.statement.constraints)
    q, wanted = (
        np.append(q, 0.0),
        "regular along the motions that the constraints allow; along one of `loose` it is not",
    )
    with pytest.raises(da.errors.MassMatrixError, match=wanted):
        da.motion(loose, q, 0 * q, formulation=SINGULAR)
    with pytest.raises(da.errors.MassMatrixError, match=wanted):
        da.simulate(loose, q, 0 * q, [0, 1], formulation=SINGULAR)
    verdict = da.check(loose, q, 0 * q)
    assert not verdict.well_posed
    assert "The acceleration along `loose` is not determined" in str(verdict)


def test_the_verdict_names_the_formulation():
    system, q = light_truss(60)
    verdict = da.check(system, q, 0 * q)
    assert verdict.mass_matrix == "singular" and verdict.well_posed
    assert "use `formulation=da.SingularMass()`" in str(verdict)


def heavy(n, mass):
    x = da.coordinates("x", n)
    u, v = da.coordinates("u v")
    return da.System(x, {x: mass}, 0, da.Constraint.over(u - v, {u: x[:-1], v: x[1:]}, name="tie"))


def test_formulations_that_do_not_suit_are_refused():
    n = 210
    q = np.zeros(n)
    negative = heavy(n, np.where(np.arange(n) == 7, -1.0, 1.0))
    with pytest.raises(da.errors.MassMatrixError, match=r"`x\[7\]` is -1. If that is meant, pass .*da.Multipliers\(\)"):
        da.motion(negative, q, q)
    with pytest.raises(da.errors.MassMatrixError, match=r"no negative eigenvalue for `SingularMass`; that of `x\[7\]`"):
        da.motion(negative, q, q, formulation=SINGULAR)
    assert da.motion(negative, q, q, formulation=da.Multipliers()).residual == 0
    (x,), ties = (open_ring := heavy(n, 1).statement).pieces, open_ring.constraints
    closed = da.System(x, 1, 0, (*ties, da.Constraint(x[0] - x[n - 1], name="closing")))
    with pytest.raises(da.errors.ConstraintError, match="`Multipliers` must have independent constraints; got 210 of"):
        da.motion(closed, q, q, formulation=da.Multipliers())
    lighter = da.System(x, np.where(np.arange(n) == 7, -1.0, 1.0), 0, closed.statement.constraints)
    with pytest.raises(da.errors.ConstraintError, match=r"follow from the others\. Remove the redundant ones\.$"):
        da.motion(lighter, q, q, formulation=da.Multipliers())


def test_a_negative_eigenvalue_is_found_in_the_units_of_the_coordinates():
    n = 101
    x, y = da.coordinates("x", n), da.coordinates("y", n)
    u, v = da.coordinates("u v")
    mass = da.MassEntries.over({(u, u): 1e18, (u, v): 1e8, (v, v): -1}, {u: x, v: y})
    with pytest.raises(da.errors.MassMatrixError, match=r"no negative eigenvalue for `SingularMass`; that of `x\[0\]`"):
        da.motion(da.System((x, y), mass, 0, ()), np.zeros(2 * n), np.zeros(2 * n), formulation=SINGULAR)


def test_a_singular_block_whose_last_pivot_is_rounding_is_refused():
    n, null = 210, np.array([1.0, 3.0, 1e-4])
    x = da.coordinates("x", n)
    slots = da.coordinates("a b c")
    mass = np.eye(3) - np.outer(null, null) / (null @ null)
    entries = {(slots[i], slots[j]): mass[i, j] for i in range(3) for j in range(i + 1)}
    groups = {slot: x[k::3] for k, slot in enumerate(slots)}
    system = da.System(x, da.MassEntries.over(entries, groups), 0, ())
    with pytest.raises(da.errors.MassMatrixError, match=r"must be positive definite; .* pass .*da.SingularMass\(\)"):
        da.motion(system, np.zeros(n), np.zeros(n))


def test_servos_need_a_positive_definite_mass_matrix():
    n = 210
    x = da.coordinates("x", n)
    push = da.Actuator("push", x[0])
    system = da.System(x, 1, 0, servos=da.Servo("place", x[0] - sp.sin(da.t), by=push, settle=2.0))
    with pytest.raises(da.ModelError, match="servo constraints of a large system need a positive definite"):
        da.motion(system, np.zeros(n), np.zeros(n), formulation=SINGULAR)
