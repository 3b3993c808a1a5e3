"""Laws of the actual reaction that are not linear in it, against SciPy and closed forms."""

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.optimize import fsolve

import dalembert as da
from helpers import ALL_FORMULATIONS

x, y, phi = da.coordinates("x y phi")
vx, vy, w = (q.diff(da.t) for q in (x, y, phi))
f, v0, mu = da.parameters("f v0 mu")


def creep(name, v):
    return -f * abs(da.reaction(name)) ** sp.Rational(2, 3) * sp.tanh(v / v0)


def rod(law):
    """A rod of mass 1 and half length 1 whose lower end slides on the ground, where the law acts."""
    ground = da.Constraint(y - sp.sin(phi), name="ground", nonideal=law)
    return da.System((x, y, phi), sp.diag(1, 1, sp.Rational(1, 3)), (0, -10, 0), ground)


slip = vx + w * sp.sin(phi)  # of the lower end, at (x − cos φ, y − sin φ)
ROD = rod(da.SlidingForce(creep("ground", slip), velocity=slip))
NUMBERS = {"f": 0.9, "v0": 0.3}


def solution(equations, start):
    """A root by SciPy, to rounding: it warns if it cannot tell that the root is better than asked for."""
    found, about, *_ = fsolve(equations, start, xtol=1e-14, full_output=True)
    assert np.abs(about["fvec"]).max() < 1e-12
    return found


def by_scipy(q, qd, law):
    """Acceleration and normal force of the rod for a friction force law(N, v), from six equations in six unknowns."""
    angle, rate = q[2], qd[2]
    v = qd[0] + rate * np.sin(angle)

    def equations(unknown):
        ax, ay, alpha, N = unknown
        F = law(N, v)
        return [
            ax - F,
            ay - N + 10,
            # torque about the centre of forces F and N at (−cos φ, −sin φ)
            alpha / 3 - (-np.cos(angle) * N + np.sin(angle) * F),
            ay - np.cos(angle) * alpha + np.sin(angle) * rate**2,
        ]

    return solution(equations, [0, 0, 0, 5])


def states(count, seed=5):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        angle, rate = rng.uniform(0.2, 2.9), rng.normal()
        yield (rng.normal(), np.sin(angle), angle), (rng.normal(), rate * np.cos(angle), rate)


def test_a_law_that_changes_its_own_normal_force_equals_scipy():
    for q, qd in states(40):
        expected = by_scipy(q, qd, lambda N, v: -0.9 * np.cbrt(N) ** 2 * np.tanh(v / 0.3))
        point = da.motion(ROD, q, qd, parameters=NUMBERS)
        assert np.append(point.acceleration, point.reactions) == pytest.approx(expected, rel=1e-12, abs=1e-12)
        assert point.implicit.determinant > 0 and point.residual < 1e-13


def test_a_known_normal_force_gives_the_closed_form():
    force = creep("plane", vx)
    block = da.System((x, y), [[2, 0], [0, 2]], (3, -20), da.Constraint(y, name="plane"), nonideal=(force, 0))
    run = da.simulate(block, (0, 0), (0, 0), np.linspace(0, 2, 9), parameters=NUMBERS, rtol=1e-11)
    own = solve_ivp(
        lambda t, v: (3 - 0.9 * 20 ** (2 / 3) * np.tanh(v / 0.3)) / 2, (0, 2), [0], rtol=1e-12, atol=1e-13, t_eval=run.t
    )
    assert run["x'"] == pytest.approx(own.y[0], abs=1e-9)
    assert run.evaluate(da.reaction("plane")) == pytest.approx(np.full(9, 20.0))


def test_all_formulations_agree():
    q, qd = next(states(1))
    expected = da.motion(ROD, q, qd, parameters=NUMBERS)
    for formulation in ALL_FORMULATIONS:
        found = da.motion(ROD, q, qd, parameters=NUMBERS, formulation=formulation)
        for name in ("acceleration", "ideal_force", "nonideal_force", "reactions"):
            assert getattr(found, name) == pytest.approx(getattr(expected, name), abs=1e-9), formulation


def test_friction_written_as_a_general_law_is_coulombs():
    smooth = slip / sp.sqrt(slip**2 + sp.Rational(1, 100))
    general = rod(da.SlidingForce(-mu * abs(da.reaction("ground")) * smooth, velocity=slip))
    coulomb = rod(da.Coulomb(mu, velocity=slip, normal_force=da.multiplier("ground"), smoothing=sp.Rational(1, 10)))
    named = rod(da.Coulomb(mu, velocity=slip, normal_force=da.reaction("ground"), smoothing=sp.Rational(1, 10)))
    for q, qd in states(10):
        points = [da.motion(own, q, qd, parameters={"mu": 0.4}) for own in (general, coulomb, named)]
        for other in points[1:]:
            assert points[0].acceleration == pytest.approx(other.acceleration, rel=1e-12, abs=1e-12)
        assert points[0].implicit.determinant == pytest.approx(float(1 - points[1].normals.coupling[0, 0]), abs=1e-12)


def test_friction_beside_a_general_law_is_solved_with_it():
    ground = da.Constraint(y - sp.sin(phi), name="ground")
    damping = da.SlidingForce(creep("ground", slip), velocity=slip)
    dry = da.Coulomb(mu, velocity=slip, normal_force=da.multiplier("ground"), smoothing=sp.Rational(1, 10))
    both = da.System((x, y, phi), sp.diag(1, 1, sp.Rational(1, 3)), (0, -10, 0), ground, nonideal=(damping, dry))
    for q, qd in states(10):
        law = lambda N, v: -0.9 * np.cbrt(N) ** 2 * np.tanh(v / 0.3) - 0.2 * abs(N) * v / np.hypot(v, 0.1)  # noqa: E731
        point = da.motion(both, q, qd, parameters=NUMBERS | {"mu": 0.2})
        assert np.append(point.acceleration, point.reactions) == pytest.approx(by_scipy(q, qd, law), abs=1e-11)


def test_a_run_equals_scipy_and_its_ledger_closes():
    q, qd = (0.0, np.sin(1.2), 1.2), (0.7, 0.0, 0.0)
    at = np.linspace(0, 0.5, 6)
    run = da.simulate(ROD, q, qd, at, parameters=NUMBERS, rtol=1e-10)
    law = lambda N, v: -0.9 * np.cbrt(N) ** 2 * np.tanh(v / 0.3)  # noqa: E731

    def slope(t, state):
        return [*state[3:], *by_scipy(state[:3], state[3:], law)[:3]]

    own = solve_ivp(slope, (0, 0.5), [*q, *qd], rtol=1e-10, atol=1e-12, t_eval=at, method="DOP853")
    assert run.q == pytest.approx(own.y[:3].T, abs=1e-8)
    assert not run.notes  # it stayed in machine code
    ledger = run.ledger()
    assert abs(ledger.audit).max() < 1e-8
    assert run.statistics["steps"] < 60


def test_a_reaction_that_is_lost_is_refused_by_name():
    """r = 20 − c r² has no solution for c < −1/80, and otherwise one that continues r = 20."""
    c = da.parameters("c")
    law = (0, c * da.reaction("plane") ** 2)  # a force along the plane's own normal: r = 20 − c r²
    block = da.System((x, y), [[2, 0], [0, 2]], (3, -20), da.Constraint(y, name="plane"), nonideal=law)
    for value in (-0.012, 0.0, 0.5):
        point = da.motion(block, (0, 0), (0, 0), parameters={"c": value})
        exact = 20 if not value else (-1 + np.sqrt(1 + 80 * value)) / (2 * value)
        assert point.reactions == pytest.approx([exact], rel=1e-12)
        assert point.implicit.determinant == pytest.approx(np.sqrt(1 + 80 * value))
    message = (
        r"laws of the actual reaction must leave one reaction possible; at t = 0, where x = 0, y = 0, Newton's method "
        r"finds none; its residual is .*\. Look at the laws of `Prescribed`"
    )
    with pytest.raises(da.PainleveError, match=message):
        da.motion(block, (0, 0), (0, 0), parameters={"c": -0.013})


def test_what_laws_must_not_do_is_refused():
    plane = da.Constraint(y, name="plane")
    N = da.reaction("plane")
    M = [[1, 0], [0, 1]]
    with pytest.raises(da.ModelError, match=r"`applied_force` must not contain `da.reaction`; only a nonideal law may"):
        da.System((x, y), M, (N, 0), plane)
    with pytest.raises(da.ModelError, match=r"`da.reaction` must .*`plan`|unknown.*`plan`"):
        da.System((x, y), M, (0, 0), plane, nonideal=(da.reaction("plan"), 0))
    with pytest.raises(da.ModelError, match=r"must give C itself to depend on `da.reaction`; it gives z"):
        da.System((x, y), M, (0, 0), plane, nonideal=da.Prescribed((N, 0), scaled=True))
    with pytest.raises(da.ModelError, match=r"must not depend on `da.reaction` except by its `normal_force`, for"):
        da.System((x, y), M, (0, 0), da.Constraint(y, name="plane", nonideal=da.Coulomb(mu * abs(N))))
    with pytest.raises(
        da.ModelError, match=r"`force` of SlidingForce must have as many components as `velocity`, 2; got 1"
    ):
        da.System((x, y), M, (0, 0), da.Constraint(y, name="plane", nonideal=da.SlidingForce(-N)))
    with pytest.raises(da.ModelError, match=r"a constraint must have a name for its reaction to be used"):
        da.Constraint(y).reaction  # noqa: B018
    with pytest.raises(da.ModelError, match=r"it depends on `da.reaction`, which it changes\. Use `da.motion`"):
        da.derive(ROD)


def test_redundant_reactions_are_refused():
    twice = (da.Constraint(y, name="plane"), da.Constraint(2 * y, name="again"))
    law = (-abs(da.reaction("plane")) * sp.tanh(vx), 0)
    block = da.System((x, y), [[1, 0], [0, 1]], (0, -10), twice, nonideal=law)
    with pytest.raises(da.ConstraintError, match=r"the multiplier of `plane` is not unique"):
        da.motion(block, (0, 0), (1, 0))


def test_files_and_check(tmp_path):
    path = ROD.save(tmp_path / "rod.toml")
    assert "reaction(ground)" in path.read_text() and da.load(path).system == ROD
    q, qd = next(states(1))
    assert da.check(ROD, q=q, qd=qd, parameters=NUMBERS).well_posed
    assert str(da.Constraint(y, name="plane").reaction) == "reaction(plane)"


def test_ensembles_and_exports_have_the_same_law(tmp_path):
    import runpy

    q, qd = (0.0, np.sin(1.2), 1.2), (0.7, 0.0, 0.0)
    many = da.simulate_ensemble(ROD, q, qd, [0, 0.3], parameters={"f": np.array([0.0, 0.9]), "v0": 0.3})
    single = da.simulate(ROD, q, qd, [0, 0.3], parameters=NUMBERS)
    assert many["q"].values[1, -1] == pytest.approx(single.q[-1], abs=1e-12)
    assert many.attrs["handed_over"] == 0
    module = runpy.run_path(str(da.export_python(ROD, tmp_path / "rod.py")))
    found, valid = module["acceleration"](np.array([*q, *qd]), 0.0, np.array([0.9, 0.3]))
    assert valid and found == pytest.approx(da.motion(ROD, q, qd, parameters=NUMBERS).acceleration, rel=1e-12)


def test_laws_and_forces_of_a_mechanism_use_its_reactions():
    """A pendulum whose bearing resists by 0.02 √N sign-free of the rate, and whose brake presses with a tenth of N."""
    arm = da.PlanarBody("arm", mass=2, inertia=0.5, position=(1, 0))
    pin = da.Revolute("pin", da.ground.at(0, 0), arm.at(-1, 0))
    N = sp.sqrt(pin.reaction("x") ** 2 + pin.reaction("y") ** 2)
    resisting = da.SlidingForce(-0.02 * sp.sqrt(N) * sp.tanh(pin.rate / 0.1))
    worn = da.Revolute("pin", da.ground.at(0, 0), arm.at(-1, 0), nonideal=resisting)
    brake = da.Torque(arm, -0.1 * N * sp.tanh(pin.rate / 0.1))
    mechanism = da.Mechanism([arm], [worn], [da.Gravity((0, -10)), brake])
    run = da.simulate(mechanism.system, (1, 0, 0), (0, 0.5, 0.5), [0, 0.4, 0.8])

    def slope(t, state):
        angle, rate = state

        def miss(unknown):
            alpha, px, py = unknown
            size = np.hypot(px, py)
            torque = -(0.02 * np.sqrt(size) + 0.1 * size) * np.tanh(rate / 0.1)
            ax = -np.sin(angle) * alpha - np.cos(angle) * rate**2
            ay = np.cos(angle) * alpha - np.sin(angle) * rate**2
            return [2 * ax - px, 2 * ay + 20 - py, 2.5 * alpha + 20 * np.cos(angle) - torque]

        return [rate, solution(miss, [-8, 0, 5])[0]]

    own = solve_ivp(slope, (0, 0.8), [0, 0.5], rtol=1e-10, atol=1e-12, t_eval=run.t, method="DOP853")
    assert run["theta_arm"] == pytest.approx(own.y[0], abs=1e-8)
    reactions = mechanism.reactions(run)
    assert np.isfinite(reactions["pin"].force).all()
    with pytest.raises(da.ModelError, match=r"joint `pin` must have an equation `z`; it has `x`, `y`"):
        pin.reaction("z")


@pytest.mark.slow
def test_jax_has_the_same_motion_and_its_derivative():
    import jax

    motion = da.flow(ROD, times=[0, 0.3])
    q, qd = [0.0, np.sin(1.2), 1.2], [0.7, 0.0, 0.0]
    end = lambda f: motion(q, qd, {"f": f, "v0": 0.3})[0][-1, 0]  # noqa: E731
    ends = [da.simulate(ROD, q, qd, [0, 0.3], parameters={"f": 0.9 + h, "v0": 0.3})["x"][-1] for h in (-1e-4, 1e-4)]
    assert jax.grad(end)(0.9) == pytest.approx((ends[1] - ends[0]) / 2e-4, rel=1e-6)
