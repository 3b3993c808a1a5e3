"""Large systems: the same numbers as straight-line machine code, redundancy, contradictions, runs and messages."""

import numpy as np
import pytest
import sympy as sp
from benchmarks.large_systems import chain, net, truss
from scipy.sparse import csr_array
from scipy.sparse.linalg import spsolve

import dalembert as da
from dalembert.figures.points import guessed_points
from dalembert.model.similar_terms import similar_terms
from dalembert.runs.large_runs import large_consistent_state, large_motion, large_simulation
from dalembert.settings import method_of
from helpers import quick_first

CASES = {"chain": lambda: chain(6), "net": lambda: net(4), "truss": lambda: truss(4)}
FIELDS = ("acceleration", "ideal_force", "multipliers", "rank", "gauss", "unique_multipliers")


def large_run(statement, q, qd, times, parameters=None, drift=da.Projection(), **others):
    method = method_of(None, drift, None, others.get("rtol", 1e-9), None, others.get("step"), 10_000)
    options = {"allow_violation": False, "control": None, "progress": False}
    return large_simulation(statement, method, q, qd, times, parameters=parameters, **options)


def differences(one, other, names=FIELDS):
    for name in names:
        a, b = (np.asarray(getattr(x, name), float) for x in (one, other))
        yield np.abs(a - b).max(initial=0.0) / max(np.abs(b).max(initial=0.0), 1e-3)


@pytest.mark.parametrize("case", CASES)
def test_a_state_has_the_numbers_of_straight_line_code(case):
    system, q, qd = CASES[case]()
    found = large_motion(system.statement, q, qd, 0.0, None, None, throw=True)
    assert max(differences(found, da.motion(system, q, qd))) < 1e-12
    assert found.inconsistency < 1e-12 and found.residual < 1e-14


@pytest.mark.parametrize("drift", [da.Projection(), da.Baumgarte(5, 5), None], ids=str)
def test_a_run_is_that_of_straight_line_code(drift):
    system, q, qd = chain(4)
    times = np.linspace(0, 1, 4)
    found = large_run(system.statement, q, qd, times, drift=drift)
    wanted = da.simulate(system, q, qd, times, drift=drift)
    names = ("q", "qd", "acceleration", "multipliers", "ideal_force")
    assert max(differences(found, wanted, names)) < 1e-6  # both are within the tolerance of the integration
    if drift == da.Projection():
        assert np.abs(found.violation).max() < 1e-14


def test_redundant_rods_are_left_out_and_named():
    system, q, qd = truss(4)
    times = [0, 0.5, 1]
    found = large_run(system.statement, q, qd, times)
    wanted = da.simulate(system, q, qd, times)
    assert max(differences(found, wanted, ("q", "qd", "multipliers", "ideal_force"))) < 1e-6
    assert (found.rank == 17).all()
    assert any("rank 17 of 21; redundant: `rod[" in note for note in found.notes)


def test_a_list_of_similar_constraints_becomes_groups():
    system, q, qd = truss(4)
    plain = da.System(system.coordinates, system.mass_matrix, system.applied_force, system.constraints[::-1])
    groups = similar_terms(plain)
    assert len(groups.constraints) < 6
    found = large_motion(groups, q, qd, 0.0, None, None, throw=True)
    assert max(differences(found, da.motion(plain, q, qd))) < 1e-12
    assert groups.constraint_names == plain.constraint_names


def test_different_terms_are_no_groups():
    x, y, z = da.coordinates("x y z")
    forces = (sp.sin(x), x * y, sp.exp(z))
    assert similar_terms(da.System((x, y, z), sp.eye(3), forces, da.Constraint(x * y - z))) is None
    assert similar_terms(da.System((x, y), [[2, 1], [1, 2]], (sp.sin(x), x * y))) is None


def mixed():
    """Skates on a line, moved by springs and a common time-dependent force: velocity level, parameters, arrays."""
    x, y = da.coordinates("x", 5), da.coordinates("y", 5)
    u, v = da.coordinates("u v")
    k, m, w = da.parameters("k m w")
    masses = da.parameters("mass", 5)
    edge = da.Constraint.over(v.diff(da.t) - w * u * u.diff(da.t), {u: x, v: y, w: np.arange(5.0)}, name="edge")
    springs = da.AppliedForce.from_potential(k * (u - v) ** 2 / 2 + m * u**4, {u: x[:-1], v: x[1:], m: masses[:-1]})
    push = da.AppliedForce.over({u: sp.sin(da.t) - v.diff(da.t)}, {u: x, v: y})
    tie = da.Constraint(x[0] + y[4] - sp.sin(da.t), name="tie")
    system = da.System((x, y), (masses, 2), (springs, push, {y[2:]: np.arange(3.0)}), (edge, tie))
    return system, {"mass": 1.0 + np.arange(5), "k": 3.0}


def test_levels_parameters_and_time():
    system, parameters = mixed()
    rng = np.random.default_rng(1)
    q, qd = rng.normal(size=10), rng.normal(size=10)
    found = large_motion(system.statement, q, qd, 0.3, parameters, None, throw=True)
    wanted = da.motion(system, q, qd, 0.3, parameters=parameters)
    assert max(differences(found, wanted)) < 1e-12
    state = large_consistent_state(system.statement, q, qd, 0.3, parameters, "mass", servos=False)
    for one, other in zip(state, da.consistent_state(system, q, qd, 0.3, parameters=parameters), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)
    times = 0.3 + np.linspace(0, 0.5, 3)
    found = large_run(system.statement, *state, times, parameters)
    wanted = da.simulate(system, *state, times, parameters=parameters)
    names = ("q", "qd", "acceleration", "multipliers", "violation")
    assert max(differences(found, wanted, names)) < 1e-6
    assert np.abs(found.violation).max() < 1e-13


@pytest.mark.parametrize("seed", quick_first(range(6), [0]))
def test_random_sparse_rows_of_deficient_rank(seed):
    """The fundamental equation by NumPy, for linear constraints of which some are sums of others."""
    rng = np.random.default_rng(seed)
    n, m = 40, 30
    A = np.zeros((m, n))
    for i in range(m - 6):
        A[i, rng.choice(n, 3, replace=False)] = rng.normal(size=3)
    A[m - 6 :] = A[:6] + 2 * A[6:12]
    x = da.coordinates("x", n)
    slots = da.coordinates("a b c d e f")
    factors = da.parameters("A B C D E F")
    groups = []
    for k, rows in ((3, range(m - 6)), (6, range(m - 6, m))):
        places = np.array([(*np.flatnonzero(A[i]), *[j for j in range(n) if not A[i, j]])[:k] for i in rows])
        values = np.array([A[i, own] for i, own in zip(rows, places, strict=True)])
        over = {slots[j]: x[places[:, j]] for j in range(k)} | {factors[j]: values[:, j] for j in range(k)}
        expression = sum(factors[j] * slots[j].diff(da.t, 2) for j in range(k)) - 1
        groups.append(da.Constraint.over(expression if k == 3 else expression - 2, over, name=f"rows{k}"))
    M, Q = rng.uniform(1, 2, n), rng.normal(size=n)
    system = da.System(x, M, {x: Q}, groups)
    found = large_motion(system.statement, np.zeros(n), np.zeros(n), 0.0, None, None, throw=True)
    b = np.array([1.0] * (m - 6) + [3.0] * 6)
    root = np.sqrt(M)
    a = Q / M
    wanted = a + np.linalg.pinv(A / root, rcond=1e-10) @ (b - A @ a) / root
    np.testing.assert_allclose(found.acceleration, wanted, rtol=0, atol=1e-11)
    assert found.rank == np.linalg.matrix_rank(A)
    lam = np.linalg.pinv(A.T, rcond=1e-10) @ (M * wanted - Q)
    np.testing.assert_allclose(found.multipliers, lam, rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.constraint_matrix.toarray(), A)


def test_contradictory_constraints_are_named():
    x = da.coordinates("x", 300)
    u = da.coordinates("u")
    one = da.Constraint.over(u.diff(da.t, 2) - 1, {u: x}, name="one")
    two = da.Constraint(x[17].diff(da.t, 2) - 2, name="two")
    system = da.System(x, 1, 0, (one, two))
    q = np.zeros(300)
    with pytest.raises(da.errors.ConstraintError, match=r"`one\[17\]`, `two` contradict one another"):
        da.motion(system, q, q)
    assert da.motion(system, q, q, throw=False).inconsistency > 0.01


@pytest.fixture(scope="module")
def long_chain():
    return chain(150)


def test_nearly_dependent_constraints_are_not_called_contradictory():
    """Their acceleration is determined, and straight-line code finds it; squares of differences of 1e-6 are lost."""

    def pair(n):
        x = da.coordinates("x", n)
        x0, x1 = (v.diff(da.t, 2) for v in x[:2])
        return da.System(
            x, 1, 0, (da.Constraint(x0 - 1, name="a"), da.Constraint(x0 + x1 / 10**6 - 1 - 2e-6, name="b"))
        )

    assert da.motion(pair(20), np.zeros(20), np.zeros(20)).acceleration[1] == pytest.approx(2, rel=1e-9)
    large, still = pair(201), np.zeros(201)
    with pytest.raises(
        da.errors.ConstraintError, match=r"`a`, `b` are nearly dependent: .* limit of large systems is 3e-06"
    ):
        da.motion(large, still, still)
    verdict = da.check(large, still, still)
    assert not verdict.well_posed
    assert "`a`, `b` are nearly dependent, and the limit of large systems is 3e-06" in str(verdict)


def test_a_large_system_runs_end_to_end(long_chain):
    system, q, qd = long_chain
    assert system.templates is not None and "300" not in repr(system)
    run = da.simulate(system, q, qd, [0, 0.05, 0.1], rtol=1e-7)
    assert np.abs(run.violation).max() < 1e-12
    assert run.statistics["program"] == "templates"
    np.testing.assert_allclose(run["rod[3]"], run.multipliers[:, 4])
    x, y = da.coordinates("x", 150), da.coordinates("y", 150)
    lengths = run.evaluate((x[3] - x[4]) ** 2 + (y[3] - y[4]) ** 2)
    np.testing.assert_allclose(lengths, 1)
    np.testing.assert_allclose(sum(run.force(name) for name in run.constraints), run.ideal_force, atol=1e-10)
    middle = run.at(0.02)
    assert middle.t == [0.02] and np.abs(middle.violation).max() < 1e-12
    np.testing.assert_allclose(run.at([0.03, 0.05]).q[1], run.q[1])
    assert run.to_xarray().sizes["constraint"] == 150


def test_a_state_off_the_constraints_is_refused_and_corrected(long_chain):
    system, q, qd = long_chain
    off = q.copy()
    off[100] += 0.01
    with pytest.raises(da.errors.StateError, match=r"`rod\[99\]` is violated by 2.0e-02"):
        da.simulate(system, off, qd, [0, 1])
    near, speeds = da.consistent_state(system, off, qd)
    assert np.abs(da.simulate(system, near, speeds, [0, 1e-3]).violation).max() < 1e-12


def test_a_drift_cure_may_be_baumgarte_and_steps_fixed(long_chain):
    system, q, qd = long_chain
    run = da.simulate(system, q, qd, [0, 0.02], drift=da.Baumgarte(10, 10), step=0.01)
    assert run.statistics["steps"] == 2
    assert any("Baumgarte" in note for note in run.notes)


def test_fixed_steps_that_are_too_long_for_projection_end_the_run(long_chain):
    """Rods far from the support have large terms, beside which a residual of one is small."""
    system, q, qd = long_chain
    with pytest.raises(da.errors.SimulationError, match=r"projection does not converge there: `rod\[\d\]` is violated"):
        da.simulate(system, q, qd, [0, 1], step=0.5)
    run = da.simulate(system, q, qd, [0, 1], step=0.05)
    assert np.abs(run.violation).max() < 1e-10


def test_what_a_large_system_cannot_do_is_said(long_chain):
    system, q, qd = long_chain
    with pytest.raises(da.errors.InputError, match="term by term here, which is for at most 200 coordinates"):
        da.classify(system)
    with pytest.raises(da.errors.InputError, match="must be given for a large system, which is checked by numbers"):
        da.check(system)
    with pytest.raises(da.errors.InputError, match=r"`formulation` of a large system must be `da.Factored\(\)`"):
        da.motion(system, q, qd, formulation=da.PseudoInverse())
    with pytest.raises(da.errors.InputError, match="explicit Runge–Kutta method"):
        da.simulate(system, q, qd, [0, 1], drift=da.Projection(conserve="energy"))
    with pytest.raises(da.errors.InputError, match='`metric` must be "mass" or "euclidean"; got '):
        da.consistent_state(system, q, qd, metric="shortest")
    with pytest.raises(da.errors.InputError, match="a live page must be of a system that is compiled term by term"):
        da.simulate(system, q, qd, [0, 1e-3]).page("page.html")


def test_the_ledger_of_a_large_run_sums_groups(long_chain):
    system, q, qd = long_chain
    run = da.simulate(system, q, qd, [0, 0.05, 0.1], rtol=1e-8)
    ledger = run.ledger()
    np.testing.assert_allclose(ledger.kinetic, (run.qd**2).sum(axis=1) / 2, rtol=1e-12)
    fallen = -9.81 * (run.q[:, 150:] - q[150:]).sum(axis=1)
    np.testing.assert_allclose(ledger["applied forces"], fallen, rtol=0, atol=1e-7 * fallen.max())
    assert ledger.closure < 100
    assert "rod (149)" in str(ledger) and "first" in str(ledger) and "rod[3]" not in str(ledger)


def test_a_note_names_what_a_start_misses_and_what_projection_moves(long_chain):
    system, q, qd = long_chain
    q, qd = q.copy(), qd.copy()
    q[149] += 1e-8
    qd[40] += 1e-3
    run = da.simulate(system, q, qd, [0, 1e-3], allow_violation=True)
    position, velocity = run.notes[:2]
    assert position.startswith(
        "The initial state misses `rod[148]` by 2.0e-08; projection onto the constraints moves it"
    )
    assert velocity.startswith(
        "The initial state misses `rod[39]` by 2.0e-03; projection onto the constraints moves it"
    )
    assert "`x[149]`" in position and "`x[40]'`" in velocity
    assert np.abs(run.violation[0]).max() < 1e-15


def test_masses_and_forces_must_be_valid():
    x = da.coordinates("x", 300)
    u = da.coordinates("u")
    q = np.zeros(300)
    with pytest.raises(da.errors.MassMatrixError, match=r"the mass of `x\[7\]` is 0"):
        da.motion(da.System(x, (np.arange(300) != 7).astype(float), 0), q, q)
    with pytest.raises(da.errors.InputError, match=r"`applied_force` must be finite at this state; that of `x\[0\]`"):
        da.motion(da.System(x, 1, da.AppliedForce.over({u: 1 / u}, {u: x})), q, q)


def test_a_run_that_cannot_continue_says_why():
    x = da.coordinates("x", 300)
    u = da.coordinates("u")
    pull = da.AppliedForce.over({u: -1 / u**2}, {u: x})
    with pytest.raises(da.errors.SimulationError, match=r"it ended at t = 1\.1.*no step is short enough"):
        da.simulate(da.System(x, 1, pull), np.ones(300), np.zeros(300), [0, 2])
    with pytest.raises(da.errors.SimulationError, match="`max_steps`"):
        da.simulate(da.System(x, 1, pull), np.ones(300), np.zeros(300), [0, 1], max_steps=2)


def test_a_tolerance_below_the_rounding_of_coordinates_is_named():
    n, length = 110, 1e9
    x, y = da.coordinates("x", n), da.coordinates("y", n)
    u, v, w, z = da.coordinates("u v w z")
    ends = {u: x[:-1], v: y[:-1], w: x[1:], z: y[1:]}
    rods = da.Constraint.over((u - w) ** 2 + (v - z) ** 2 - length**2, ends, name="rod")
    q, qd = (length * np.concatenate([np.arange(n), 0 * np.arange(n)]) for _ in range(2))
    qd = np.concatenate([np.zeros(n), q[:n] / 3])
    free = da.System((x, y), 1, 0, rods)
    with pytest.raises(
        da.errors.SimulationError, match=r"below the rounding of coordinates up to 1\.1e\+11\. Pass a lar"
    ):
        da.simulate(free, q, qd, [0, 1])
    run = da.simulate(free, q, qd, [0, 1], atol=1.0, rtol=1e-9)
    turned = np.concatenate([np.cos(1 / 3) * q[:n], np.sin(1 / 3) * q[:n]])
    center = turned.reshape(2, n).mean(axis=1) - [q[:n].mean(), q[:n].mean() / 3]  # it moves on, and the chain turns
    np.testing.assert_allclose(run.q[-1], turned - np.repeat(center, n), rtol=0, atol=100)


def test_functions_of_time_with_jumps_belong_to_forces():
    """Those of constraints would change velocities suddenly; terms given one by one keep straight-line code."""
    x, u = da.coordinates("x", 201), da.coordinates("u")
    prescribed = da.Constraint.over(u - sp.Heaviside(da.t - 1), {u: x}, name="led")
    with pytest.raises(da.ModelError, match="must be smooth, except in `applied_force`; `Heaviside` may jump"):
        da.simulate(da.System(x, 1, 0, prescribed), np.zeros(201), np.zeros(201), [0, 2])
    single = [da.coordinates(f"s{i}") for i in range(201)]
    assert similar_terms(da.System(single, sp.eye(201), [-x for x in single])) is not None
    assert similar_terms(da.System(single, sp.eye(201), [-sp.Abs(da.t - 1) for _ in single])) is None


@pytest.mark.slow
def test_lists_keep_what_groups_do_not_support():
    many = [da.coordinates(f"s{i}") for i in range(201)]
    system = da.System(many, sp.eye(201), [-x for x in many])
    found = da.motion(system, np.ones(201), np.zeros(201), formulation=da.PseudoInverse())
    np.testing.assert_allclose(found.acceleration, -1)


def test_arrays_and_groups_are_named_as_wholes(long_chain):
    run, count = da.simulate(*long_chain, [0, 0.01]), len(long_chain.q) // 2
    np.testing.assert_array_equal(run["y"], run.q[:, count:])
    np.testing.assert_array_equal(run["y''"], run.acceleration[:, count:])
    np.testing.assert_array_equal(run["rod"][:, 3], run["rod[3]"])
    with pytest.raises(da.errors.InputError, match="`bar` must be a coordinate or a constraint"):
        run["bar"]


def test_figures_of_a_large_run():
    """Matplotlib takes a minute for a line of each coordinate of a very large system."""
    run = da.simulate(*chain(400), np.linspace(0, 0.1, 3))
    axis = run.plot_energy().axes[0]
    lines = {str(line.get_label()): np.asarray(line.get_ydata()) for line in axis.lines}
    np.testing.assert_allclose(lines["kinetic"], (run.qd**2).sum(axis=1) / 2, atol=1e-12)
    assert all(len(axis.lines) < 400 for axis in run.plot().axes)


def test_forces_may_be_an_array_of_numbers():
    n = 150
    x, y = da.coordinates("x", n), da.coordinates("y", n)
    forces = np.arange(2.0 * n)
    given = da.motion(da.System((x, y), 2, forces), np.zeros(2 * n), np.zeros(2 * n)).acceleration
    np.testing.assert_allclose(given, forces / 2)
    with pytest.raises(da.ModelError, match=r"or an array of 300 numbers; got an array of shape \(3,\)"):
        da.System((x, y), 2, np.ones(3))
    with pytest.raises(da.ModelError, match=r"for entries beside the diagonal; got an array of shape \(300, 300\)"):
        da.System((x, y), np.eye(2 * n), 0)
    with pytest.raises(da.ModelError, match="`w` was used in an expression"):
        -da.parameters("w", n)


def noisy_chain(unit):
    """A chain with links of a length, and a state off its constraints."""
    n = 210
    x, y = da.coordinates("x", n), da.coordinates("y", n)
    u, v, w, z = da.coordinates("u v w z")
    noise = np.random.default_rng(1).normal(0, 0.1, 2 * n)
    first = da.Constraint(x[0] ** 2 + y[0] ** 2 - unit**2, name="first")
    ends = {u: x[:-1], v: y[:-1], w: x[1:], z: y[1:]}
    rods = da.Constraint.over((u - w) ** 2 + (v - z) ** 2 - unit**2, ends, name="rod")
    system = da.System((x, y), 1, {y: -9.81}, (first, rods))
    return system, unit * (np.append(np.arange(1, n + 1), np.zeros(n)) + noise), unit * noise[::-1]


@pytest.mark.parametrize("unit", [1e-12, 1e9])
def test_the_nearest_state_in_other_units(unit):
    for ours, wanted in zip(
        da.consistent_state(*noisy_chain(unit)), da.consistent_state(*noisy_chain(1.0)), strict=True
    ):
        np.testing.assert_allclose(ours / unit, wanted, rtol=0, atol=1e-7)


def test_lengths_that_count_as_zero_are_refused():
    system, q, qd = noisy_chain(1e-20)
    with pytest.raises(da.StateError, match=r"must not all be below 1e-14.*in `first`, .* more.*unit of length"):
        da.consistent_state(system, q, qd)
    with pytest.raises(da.StateError, match="must not all be below 1e-14"):
        da.simulate(system, q, qd, [0, 1e-9], allow_violation=True)


def test_a_lagrangian_takes_arrays_of_coordinates():
    n = 110
    x, y = da.coordinates("x", n), da.coordinates("y", n)
    u, v, w, z = da.coordinates("u v w z")
    ends = {u: x[:-1], v: y[:-1], w: x[1:], z: y[1:]}
    rods = (da.Constraint(x[0], name="end"), da.Constraint.over((u - w) ** 2 + (v - z) ** 2 - 1, ends, name="rod"))
    energy = sum((a.diff(da.t) ** 2 + b.diff(da.t) ** 2) / 2 - 9.81 * b for a, b in zip(x, y, strict=True))
    found = da.System.from_lagrangian(energy, (x, y), constraints=rods)
    start = np.append(np.arange(n), np.zeros(n)), np.linspace(0, 1, 2 * n)
    wanted = da.motion(da.System((x, y), 1, {y: -9.81}, rods), *start)
    np.testing.assert_allclose(da.motion(found, *start).acceleration, wanted.acceleration, atol=1e-10)


def test_coordinates_of_arrays_pair_up_to_points():
    names = (*da.coordinates("x", 3).names, *da.coordinates("y", 3).names)
    assert guessed_points(names)["[1]"] == ("x[1]", "y[1]")


@pytest.mark.parametrize("noise", [1e-3, 1e-2, 1e-1])
def test_the_nearest_state_of_a_long_chain_with_noise(noise):
    """Links move by more than their own errors: d = x − x₀ is a combination of the rows of A, found by SciPy."""
    n, case = 600, chain(600)
    q0 = case.q + noise * np.random.default_rng(0).normal(size=2 * n)
    q, _ = da.consistent_state(case.system, q0, case.qd)
    rods = np.diff(np.vstack([[0, 0], q.reshape(2, n).T]), axis=0)
    assert np.abs((rods**2).sum(1) - 1).max() < 1e-11
    k = np.arange(n)
    rows, columns = np.r_[k, k, k[1:], k[1:]], np.r_[k, n + k, k[1:] - 1, n + k[1:] - 1]
    A = csr_array((np.r_[rods.T.ravel(), -rods[1:].T.ravel()], (rows, columns)))
    d = q - q0
    assert np.linalg.norm(d - A.T @ spsolve((A @ A.T).tocsc(), A @ d)) < 1e-6 * np.linalg.norm(d)
    assert np.linalg.norm(d) < np.linalg.norm(q0 - case.q)


def test_messages_name_arrays_by_their_ends(long_chain):
    system, q, qd = long_chain
    n = len(q) // 2
    with pytest.raises(
        da.InputError, match=rf"\({2 * n}: `x\[0\]` … `x\[{n - 1}\]`, `y\[0\]` … `y\[{n - 1}\]`\); got 3"
    ):
        da.motion(system, q[:3], qd)
    with pytest.raises(da.InputError, match=rf"must be finite; `x\[0\]` … `x\[4\]`, `y\[{n - 1}\]` is not"):
        da.motion(system, np.where((np.arange(2 * n) < 5) | (np.arange(2 * n) == 2 * n - 1), np.nan, q), qd)
    run = da.simulate(system, q, qd, [0, 1e-3])
    with pytest.raises(
        da.InputError, match=rf"`rood` must be a coordinate .* … `y\[{n - 1}\]`, `first`, `rod\[0\]` … "
    ):
        run["rood"]


def test_the_residual_of_an_equilibrium_is_rounding():
    """A hanging chain: all accelerations are zero but for rounding, which must not be compared with itself."""
    system, q, _ = chain(150)
    hanging = np.concatenate([np.zeros(150), -np.arange(1.0, 151)])
    answer = da.motion(system, hanging, 0 * q)
    assert answer.residual < 1e-13
    assert np.abs(answer.acceleration).max() < 1e-12
