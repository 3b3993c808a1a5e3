"""Motion in time: accuracy, drift cures, solvers, outputs, and what a trajectory offers."""

import diffrax
import numpy as np
import pytest
import sympy as sp
from scipy.special import ellipj, ellipk

import dalembert as da
from helpers import ALL_DRIFT_CURES, angle_pendulum, chain, chain_state, label, pendulum

x, y = da.coordinates("x y")
G = {"g": 9.81}


def swing(t: np.ndarray) -> np.ndarray:
    """A pendulum released from the horizontal: sin(θ/2) = k sn(K − √g t, k) with k = 1/√2."""
    sn, *_ = ellipj(ellipk(0.5) - np.sqrt(9.81) * t, 0.5)
    theta = 2 * np.arcsin(np.sqrt(0.5) * sn)
    return np.stack([-np.sin(theta), -np.cos(theta)], axis=1)


@pytest.mark.parametrize("drift", ALL_DRIFT_CURES, ids=label)
def test_pendulum_against_elliptic_functions(drift: da.Projection) -> None:
    """Outputs between the steps are as good as the steps: 431 times in 5 s against the closed form."""
    times = np.linspace(0, 5, 431)
    run = da.simulate(pendulum(), (-1, 0), (0, 0), times, parameters=G, rtol=1e-12, atol=1e-13, drift=drift)
    assert run.statistics["steps"] < 431
    np.testing.assert_allclose(run.q, swing(times), atol=2e-10)


def test_projection_stays_on_the_constraint_for_1000_seconds() -> None:
    times = np.linspace(0, 1000, 1001)
    projected = da.simulate(pendulum(), (1, 0), (0, 0), times, parameters=G)
    assert np.abs(projected.violation).max() < 1e-12
    assert np.abs(projected.velocity_violation).max() < 1e-12
    drifting = da.simulate(pendulum(), (1, 0), (0, 0), times, parameters=G, drift=None)
    assert np.abs(drifting.violation[-1]) > 1e-7
    assert np.abs(drifting.violation[-1]) > 5 * np.abs(drifting.violation[len(times) // 10])


def test_baumgarte_lets_a_violation_decay_at_its_rate() -> None:
    """With β = α: φ(t) = (φ₀ + (φ̇₀ + αφ₀)t) e^(−αt), and ψ(t) = ψ₀ e^(−αt), exactly."""
    times = np.linspace(0, 3, 13)
    options = {"allow_violation": True, "rtol": 1e-12, "atol": 1e-13, "drift": da.Baumgarte(2, 2)}
    run = da.simulate(pendulum(), (1.01, 0), (0, 0), times, parameters=G, **options)
    np.testing.assert_allclose(run.violation[:, 0], 0.0201 * (1 + 2 * times) * np.exp(-2 * times), atol=1e-11)
    skate = da.System((x, y), sp.eye(2), (0, 1), da.Constraint(x.diff(da.t) - y, name="skate"))
    run = da.simulate(skate, (0, 0), (0.3, 0), times, **options)
    np.testing.assert_allclose(run.violation[:, 0], 0.3 * np.exp(-2 * times), atol=1e-11)


def test_another_solver_with_projection() -> None:
    times = np.linspace(0, 1, 7)
    settings = {"parameters": G, "rtol": 1e-6, "atol": 1e-8}
    run = da.simulate(pendulum(), (-1, 0), (0, 0), times, solver=diffrax.Tsit5(), **settings)
    np.testing.assert_allclose(run.q, swing(times), atol=1e-4)
    assert np.abs(run.violation).max() < 1e-12


@pytest.mark.slow
def test_implicit_solvers_take_fixed_steps_and_can_be_halved() -> None:
    """Their root finders get the tolerances of the run, which diffrax asks for in so many words."""
    times = np.linspace(0, 0.5, 3)
    settings = {"parameters": G, "rtol": 1e-5, "atol": 1e-7}
    fixed = da.simulate(pendulum(), (-1, 0), (0, 0), times, solver=diffrax.ImplicitEuler(), step=1e-3, **settings)
    halved = diffrax.HalfSolver(diffrax.ImplicitEuler())
    adaptive = da.simulate(pendulum(), (-1, 0), (0, 0), times, solver=halved, **settings)
    for run in (fixed, adaptive):
        np.testing.assert_allclose(run.q, swing(times), atol=5e-3)
        assert np.abs(run.violation).max() < 1e-12


@pytest.mark.parametrize(
    ("solver", "order"),
    [
        (diffrax.Bosh3(), 3),
        *(pytest.param(*other, marks=pytest.mark.slow) for other in ((diffrax.Heun(), 2), (diffrax.Dopri5(), 5))),
    ],
    ids=str,
)
def test_fixed_steps_show_the_order_of_the_solver(solver: diffrax.AbstractSolver, order: int) -> None:
    """Projection does not spoil the order: error ratio on halving the step, slope of a log-log line."""
    times = np.array([0, 0.37, 1.0])
    steps = np.array([0.02, 0.01, 0.005])
    errors = [
        np.abs(
            da.simulate(pendulum(), (-1, 0), (0, 0), times, parameters=G, solver=solver, step=h).q - swing(times)
        ).max()
        for h in steps
    ]
    slope = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert slope == pytest.approx(order, abs=0.4)


def test_stiff_spring_with_an_implicit_solver() -> None:
    """ẍ = −k(x − y) − c ẋ, ẏ = 1: the implicit solver needs far fewer steps than the explicit one."""
    system = da.System(
        (x, y), sp.eye(2), (-1e6 * (x - y) - 1e5 * x.diff(da.t), 0), da.Constraint(y.diff(da.t) - 1, name="v")
    )
    options = {"times": (0, 5), "rtol": 1e-5, "atol": 1e-7}
    # the explicit one in machine code, which takes the many steps at once
    runs = [da.simulate(system, (0, 0), (0, 1), solver=s, **options) for s in (diffrax.Kvaerno5(), None)]
    assert [run.statistics["program"] for run in runs] == ["JAX", "machine code"]
    np.testing.assert_allclose(runs[0].q[-1], [5 - 0.1 * (1 - np.exp(-50)), 5], atol=1e-3)
    assert 20 * runs[0].statistics["steps"] < runs[1].statistics["steps"]


def test_rows_that_depend_on_one_another_only_on_the_constraints() -> None:
    """A redundant parallelogram: off the constraint the third rod is independent, and a solver's stages are off it.

    Four bars of equal length stay a parallelogram; a further coupler parallel to the first is redundant there.
    """
    a, b, c, d = coordinates = da.coordinates("a b c d")
    rods = (
        da.Constraint(a**2 + b**2 - 1, name="left"),
        da.Constraint((c - 2) ** 2 + d**2 - 1, name="right"),
        da.Constraint((c - a) ** 2 + (d - b) ** 2 - 4, name="coupler"),
        da.Constraint(((c - 2 + a) / 2 + 1 - a) ** 2 + ((d + b) / 2 - b) ** 2 - 1, name="half coupler"),
        da.Constraint(((a + c - 2) / 2) ** 2 + ((b + d) / 2) ** 2 - 1, name="middle bar"),
    )
    system = da.System(coordinates, sp.eye(4), (0, -g_(), 0, -g_()), rods)
    start = (np.sin(0.4), -np.cos(0.4), 2 + np.sin(0.4), -np.cos(0.4))
    times = np.linspace(0, 5, 21)
    run = da.simulate(system, start, (0, 0, 0, 0), times, parameters=G, rtol=1e-11, atol=1e-12)
    single = da.simulate(angle_pendulum(), [0.4], [0], times, parameters=G, rtol=1e-12, atol=1e-13)
    assert (run.rank == 3).all()
    np.testing.assert_allclose(run["a"], np.sin(single["theta"]), atol=1e-8)
    np.testing.assert_allclose(run["d"], -np.cos(single["theta"]), atol=1e-8)
    assert np.abs(run.violation).max() < 1e-12


def g_() -> sp.Symbol:
    return da.parameters("g")


def test_rheonomic_constraint_is_followed() -> None:
    system = da.System((x, y), sp.eye(2), (0, -1), da.Constraint(sp.Eq(y, sp.sin(3 * da.t)), name="shaker"))
    run = da.simulate(system, (0, 0), (1, 3), np.linspace(0, 2, 9))
    np.testing.assert_allclose(run["y"], np.sin(3 * run.t), atol=1e-13)
    np.testing.assert_allclose(run["shaker"], 1 - 9 * np.sin(3 * run.t), atol=1e-9)


def test_energy_is_kept_and_reported_where_a_lagrangian_is_known() -> None:
    run = da.simulate(pendulum(), (1, 0), (0, 0), np.linspace(0, 10, 11), parameters=G, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(run.energy, 0, atol=1e-10)
    plain = da.System((x,), [[1]], [0])
    assert da.simulate(plain, [0], [1], (0, 1)).energy is None


def test_many_outputs_of_a_system_without_constraints() -> None:
    run = da.simulate(angle_pendulum(), [1], [0], np.linspace(0, 1, 300), parameters={"g": 9.81})
    assert run.violation.shape == (300, 0)


def test_starting_time_is_the_first_of_times() -> None:
    system = da.System((x,), [[1]], [da.t])
    run = da.simulate(system, [0], [0], (2, 3, 4), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(run["x"], (run.t**3 / 6 - 2 * run.t + 8 / 3), atol=1e-12)


def test_consistent_state_is_the_nearest_in_the_mass_metric() -> None:
    """Against the stationarity condition M(q − q0) ∥ ∇φ, and for equal masses against plain geometry."""
    q, qd = da.consistent_state(pendulum(), (0.9, -1.7), (1, 1), parameters=G)
    np.testing.assert_allclose(q, np.array([0.9, -1.7]) / np.hypot(0.9, 1.7), atol=1e-12)
    np.testing.assert_allclose(qd, np.array([1, 1]) - q * (q @ [1, 1]), atol=1e-12)
    ellipse = da.System((x, y), sp.diag(1, 5), (0, 0), da.Constraint(x**2 + 3 * y**2 - 1, name="ellipse"))
    q, _ = da.consistent_state(ellipse, (2, 1), (0, 0))
    pull, normal = np.array([1, 5]) * (q - [2, 1]), np.array([q[0], 3 * q[1]])
    assert abs(pull[0] * normal[1] - pull[1] * normal[0]) < 1e-10
    assert q[0] ** 2 + 3 * q[1] ** 2 == pytest.approx(1, abs=1e-12)


def test_consistent_state_of_a_chain_and_of_redundant_rows() -> None:
    q, qd = chain_state(5)
    rng = np.random.default_rng(0)
    numbers = {"m": 1.0, "g": 9.81, "l": 1.0}
    state = da.consistent_state(chain(5), q + 0.05 * rng.normal(size=10), qd, parameters=numbers)
    run = da.simulate(chain(5), *state, (0, 0.1), parameters=numbers)
    assert np.abs(run.violation).max() < 1e-12
    twice = pendulum(da.Constraint(x**2 + y**2 - 1, name="again"))
    q, _ = da.consistent_state(twice, (3, 4), (0, 0), parameters=G)
    np.testing.assert_allclose(q, [0.6, 0.8], atol=1e-12)


def test_rank_changes_are_noted() -> None:
    """A second constraint whose gradient vanishes for good: x(t) = 1 − t below zero has max(x, 0)² = 0."""
    ramp = sp.Piecewise((x**4, x > 0), (0, True))
    system = da.System((x, y), sp.eye(2), (0, 0), da.Constraint(y * ramp, name="gate"))
    run = da.simulate(system, (1, 0), (-1, 0), (0, 2))
    assert list(run.rank) == [1, 0]
    assert "rank of the constraints changed during the run, between 0 and 1" in run.notes[0]
    assert "At t = 1 the compiled integrator handed over to the general one" in run.notes[1]
    assert run.notes[2:] == (
        "At t = 0 the constraints have rank 1 of 1; none is redundant.",
        "At t = 2 the constraints have rank 0 of 1; redundant: `gate`.",
    )


def test_names_are_indices() -> None:
    run = da.simulate(pendulum(), {"y": 0, x: 1}, {"x": 0, "y": 0}, (0, 1), parameters={da.parameters("g"): 9.81})
    np.testing.assert_array_equal(run["x"], run.q[:, 0])
    np.testing.assert_array_equal(run[y], run.q[:, 1])
    np.testing.assert_array_equal(run["rod"], run.multipliers[:, 0])
    with pytest.raises(
        da.InputError, match=r"`w` must be a coordinate or a constraint of the run; it has `x`, `y`, `rod`"
    ):
        run["w"]


def test_xarray_and_netcdf_round_trip(tmp_path) -> None:
    run = da.simulate(pendulum(), (1, 0), (0, 0), (0, 0.5, 1), parameters=G)
    data = run.to_xarray()
    assert data["q"].sel(coordinate="x").values[0] == 1
    assert data["multipliers"].dims == ("time", "constraint")
    run.save(tmp_path / "run.nc")
    back = da.Trajectory.load(tmp_path / "run.nc")
    for field in ("t", "q", "qd", "acceleration", "ideal_force", "multipliers", "violation", "energy", "rank"):
        np.testing.assert_array_equal(getattr(back, field), getattr(run, field))
    assert (back.coordinates, back.constraints, back.parameters) == (run.coordinates, run.constraints, run.parameters)
    assert back.statistics == run.statistics
    free = da.simulate(da.System((x,), [[1]], [0]), [0], [1], (0, 1))
    free.save(tmp_path / "free.nc")
    assert da.Trajectory.load(tmp_path / "free.nc").energy is None


def test_loading_something_else_is_an_error(tmp_path) -> None:
    with pytest.raises(da.InputError, match="there is no"):
        da.Trajectory.load(tmp_path / "nothing.nc")
    (tmp_path / "text.nc").write_text("hello")
    with pytest.raises(da.InputError, match="holds something else"):
        da.Trajectory.load(tmp_path / "text.nc")


def test_plot_shows_motion_forces_and_violation(tmp_path) -> None:
    run = da.simulate(pendulum(), (1, 0), (0, 0), np.linspace(0, 1, 20), parameters=G)
    figure = run.plot()
    assert [axis.get_ylabel() for axis in figure.axes] == ["coordinates", "constraint force", "violation"]
    figure.savefig(tmp_path / "run.png")
    free = da.simulate(da.System((x,), [[1]], [0]), [0], [1], (0, 1))
    assert len(free.plot().axes) == 1


def test_progress_is_shown_when_asked_for(capfd) -> None:
    da.simulate(pendulum(), (1, 0), (0, 0), (0, 1), parameters=G, progress=True)
    assert "steps" in capfd.readouterr().err
    da.simulate(pendulum(), (1, 0), (0, 0), (0, 1), parameters=G)
    assert capfd.readouterr().err == ""


def test_long_runs_go_on_from_stretch_to_stretch(monkeypatch) -> None:
    """The same motion whether it is integrated in one segment or in many, in machine code or by diffrax."""
    import equinox as eqx

    from dalembert.integration import general_steps, integrate

    whole = da.simulate(pendulum(), (-1, 0), (0, 0), (0, 5), parameters=G, rtol=1e-12, atol=1e-13)
    monkeypatch.setattr(integrate, "NATIVE_BATCH", 16)
    monkeypatch.setattr(general_steps, "BATCH_STEPS", 16)
    eqx.clear_caches()
    for solver in (None, diffrax.Dopri8()):
        parts = da.simulate(pendulum(), (-1, 0), (0, 0), (0, 5), parameters=G, rtol=1e-12, atol=1e-13, solver=solver)
        np.testing.assert_allclose(parts.q, whole.q, atol=1e-10)
    eqx.clear_caches()


def test_nothing_is_compiled_again_for_other_numbers() -> None:
    """Another start, end, parameter or number of steps reuses the compiled program."""

    def compiled() -> list[int]:
        return [program._cache_size() for program in da.build(pendulum()).programs.values()]

    da.simulate(pendulum(), (1, 0), (0, 0), np.linspace(0, 1, 10), parameters=G, solver=diffrax.Dopri8())
    before = compiled()
    assert len(before) >= 2
    run = da.simulate(
        pendulum(), (0.6, -0.8), (0.8, 0.6), np.linspace(1, 7, 13), parameters={"g": 3.3}, solver=diffrax.Dopri8()
    )
    assert run.statistics["steps"] > 40
    assert compiled() == before
