"""Vakonomic mechanics: its published equations, where it agrees with d'Alembert's and where not, and its marks."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.interpolate import CubicSpline

import dalembert as da
from dalembert.report.case_figures import figures_of

t = da.t
SKATE = {"m": 1.0, "J": 0.1, "g": 9.81, "alpha": 0.3}
M_J_G = 1.0, 0.1, 9.81 * np.sin(0.3)
TIMES = np.linspace(0, 2, 201)
TIGHT = {"rtol": 1e-11, "atol": 1e-13}


@cache
def skate() -> da.Vakonomic:
    """On an incline, with the force m G along x: that of the gallery, whose compiled program serves here, too."""
    return da.vakonomic(da.gallery.case("skate").system)


@cache
def skate_run() -> da.Trajectory:
    start = ((0.1, -0.2, 0.3), (0.7 * np.cos(0.3), 0.7 * np.sin(0.3), 2.0))
    return skate().simulate(*start, TIMES, multipliers0={"blade": -0.4}, parameters=SKATE, **TIGHT)


@cache
def pendulum() -> da.Vakonomic:
    q = x, y = da.coordinates("x y")
    m, g, length = da.parameters("m g l")
    L = m * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 - m * g * y
    return da.vakonomic(da.System.from_lagrangian(L, q, constraints=da.Constraint(x**2 + y**2 - length**2, name="rod")))


def test_skate_obeys_the_published_equations() -> None:
    """By hand, from equation 53: m ẋ + λ sin θ = m G t + c₁, m ẏ − λ cos θ = c₂, J θ̈ = λ v."""
    run = skate_run()
    m, J, G = M_J_G
    (x0, y0, theta0), (vx, vy, turn), lam0 = run.q[0], run.qd[0], -0.4
    c1, c2 = m * vx + lam0 * np.sin(theta0), m * vy - lam0 * np.cos(theta0)

    def speed_and_multiplier(now, theta):
        along, across = m * G * now + c1, c2
        speed = (along * np.cos(theta) + across * np.sin(theta)) / m
        return speed, along * np.sin(theta) - across * np.cos(theta)

    def rates(now, state):
        speed, lam = speed_and_multiplier(now, state[2])
        return [speed * np.cos(state[2]), speed * np.sin(state[2]), state[3], lam * speed / J]

    by_hand = solve_ivp(rates, (0, 2), [x0, y0, theta0, turn], method="DOP853", t_eval=TIMES, rtol=1e-12, atol=1e-13).y
    np.testing.assert_allclose(run.q, by_hand[:3].T, atol=1e-10)
    np.testing.assert_allclose(run.qd[:, 2], by_hand[3], atol=1e-9)
    np.testing.assert_allclose(run["blade"], speed_and_multiplier(TIMES, by_hand[2])[1], atol=1e-9)
    assert np.abs(run.violation).max() < 1e-9
    np.testing.assert_array_equal(run.violation, run.velocity_violation)


def test_skate_keeps_its_energy_and_its_forces_add_up() -> None:
    run = skate_run()
    m, J, G = M_J_G
    np.testing.assert_allclose(run.energy, run.energy[0], atol=1e-9)
    free = np.array([m * G, 0, 0])
    np.testing.assert_allclose(run.ideal_force, run.acceleration * [m, m, J] - free, atol=1e-12)
    assert not run.nonideal_force.any()
    assert (run.rank == 1).all() and not run.inconsistency.any()
    # the force on θ does virtual work: no constraint of d'Alembert's would exert it
    speed = run.qd[:, 0] * np.cos(run["theta"]) + run.qd[:, 1] * np.sin(run["theta"])
    np.testing.assert_allclose(run.ideal_force[:, 2], run["blade"] * speed, atol=1e-7)


def test_skate_departs_from_d_alembert_and_starts_with_its_acceleration_only_for_zero_multiplier() -> None:
    """The initial acceleration would have to be prescribed along with the state, as the paper objects."""
    vakonomic = skate()
    state, parameters = skate_run().q[0], SKATE
    velocity = skate_run().qd[0]
    usual = da.motion(vakonomic.system, state, velocity, parameters=parameters).acceleration
    begin = [
        da.motion(
            vakonomic.equations, (*state, 0), (*velocity, lam), parameters=parameters, formulation=da.Multipliers()
        ).acceleration[:3]
        for lam in (0.0, -0.4, 1.0)
    ]
    np.testing.assert_allclose(begin[0], usual, atol=1e-12)
    assert np.abs(begin[1] - usual).max() > 0.1 and np.abs(begin[2] - begin[1]).max() > 0.1
    np.testing.assert_allclose(begin[1], skate_run().acceleration[0], atol=1e-12)
    run = da.simulate(vakonomic.system, state, velocity, TIMES, parameters=parameters)
    assert np.abs(run.q[-1] - skate_run().q[-1]).max() > 0.5


def test_holonomic_motion_is_that_of_d_alembert_for_any_multiplier() -> None:
    """Equations 54 to 57: λ̇ takes the place of −λ, and λ itself has no influence."""
    parameters = {"m": 1.5, "g": 9.81, "l": 2.0}
    start = ((2.0, 0.0), (0.0, 0.5), TIMES)
    usual = da.simulate(pendulum().system, *start, parameters=parameters, **TIGHT)
    run = pendulum().simulate(*start, multipliers0=[0.8], parameters=parameters, **TIGHT)
    for name in ("q", "qd", "acceleration", "ideal_force"):
        np.testing.assert_allclose(getattr(run, name), getattr(usual, name), atol=1e-9, err_msg=name)
    assert run["rod"][0] == 0.8
    np.testing.assert_allclose(CubicSpline(run.t, run["rod"])(run.t, 1)[5:-5], -usual["rod"][5:-5], atol=1e-4)
    for lam in (0.0, -3.0):
        rates = da.motion(
            pendulum().equations,
            (*run.q[50], 0),
            (*run.qd[50], lam),
            parameters={"m": 1.5, "g": 9.81},
            formulation=da.Multipliers(),
        ).acceleration
        np.testing.assert_allclose(rates[:2], usual.acceleration[50], atol=1e-9)
        np.testing.assert_allclose(rates[2], -usual["rod"][50], atol=1e-9)
    np.testing.assert_allclose(run.violation[:, 0], (run.q**2).sum(axis=1) - 4, atol=1e-13)
    np.testing.assert_allclose(run.velocity_violation[:, 0], 2 * (run.q * run.qd).sum(axis=1), atol=1e-13)
    assert np.abs(run.violation).max() < 1e-9
    assert run.parameters == parameters


def test_rolling_coin_agrees_with_d_alembert_for_one_choice_of_multipliers() -> None:
    """With λ(0) = −m (ẋ, ẏ): Fernandez and Bloch (2008), the vertical rolling disc."""
    q = x, y, theta, phi = da.coordinates("x y theta phi")
    m, inertia, J, R = 0.5, 0.02, 0.01, 0.3
    speeds = [c.diff(t) for c in q]
    L = sum(weight * speed**2 for weight, speed in zip((m, m, J, inertia), speeds, strict=True)) / 2
    rolling = (
        da.Constraint(x.diff(t) - R * phi.diff(t) * sp.cos(theta), name="rolling x"),
        da.Constraint(y.diff(t) - R * phi.diff(t) * sp.sin(theta), name="rolling y"),
    )
    system = da.System.from_lagrangian(L, q, constraints=rolling)
    turn, spin = 0.7, 4.0
    velocity, reach = (R * spin, 0, turn, spin), R * spin / turn
    run = da.vakonomic(system).simulate((0, 0, 0, 0), velocity, TIMES, multipliers0=(-m * R * spin, 0))
    circle = reach * np.sin(turn * TIMES), reach * (1 - np.cos(turn * TIMES)), turn * TIMES, spin * TIMES
    np.testing.assert_allclose(run.q, np.transpose(circle), atol=1e-8)
    np.testing.assert_allclose(run.multipliers, -m * run.qd[:, :2], atol=1e-8)


def test_nonlinear_constraint_with_time_and_another_force_obeys_equation_53() -> None:
    """Against the equations written out by SymPy's own total derivatives, at one state."""
    q = x, y, z = da.coordinates("x y z")
    k, c = da.parameters("k c")
    L = (1 + x**2) * x.diff(t) ** 2 / 2 + y.diff(t) ** 2 + z.diff(t) ** 2 / 2 + k * x.diff(t) * y - x * z * t
    g = x.diff(t) ** 2 + x * y.diff(t) * z.diff(t) + sp.sin(t) * z.diff(t)
    f = x * y + z * t
    force = (-c * x.diff(t), 0, sp.cos(t))
    system = da.System.from_lagrangian(
        L, q, applied_force=force, constraints=(da.Constraint(g, name="g"), da.Constraint(f, name="f"))
    )
    vakonomic = da.vakonomic(system)
    assert list(vakonomic.equations.constraints) == []
    state, velocity, now, numbers = (0.3, -0.4, 0.5, 0, 0), (0.6, 0.2, -0.7, 0.9, -1.1), 0.8, {"k": 1.3, "c": 0.2}
    options = {"parameters": numbers, "formulation": da.Multipliers()}
    found = da.motion(vakonomic.equations, state, velocity, now, **options).acceleration

    lams = da.coordinates("lam1 lam2")
    rows = (g, f.diff(t))
    residuals = [
        L.diff(v.diff(t)).diff(t)
        - L.diff(v)
        - F
        - sum(lam * (row.diff(v) - row.diff(v.diff(t)).diff(t)) for lam, row in zip(lams, rows, strict=True))
        + sum(lam.diff(t) * row.diff(v.diff(t)) for lam, row in zip(lams, rows, strict=True))
        for v, F in zip(q, force, strict=True)
    ] + [row.diff(t) for row in rows]
    values = {v.diff(t, 2): a for v, a in zip(q, found, strict=False)}
    values |= {lam.diff(t): rate for lam, rate in zip(lams, found[3:], strict=True)}
    values |= {v.diff(t): rate for v, rate in zip(q, velocity, strict=False)}
    values |= dict(zip(q, state, strict=False)) | dict(zip(lams, velocity[3:], strict=True))
    values = {key: sp.Float(float(value)) for key, value in (values | {t: now, k: 1.3, c: 0.2}).items()}
    for residual in residuals:
        assert abs(float(residual.doit().xreplace(values))) < 1e-11


def test_names_of_the_added_coordinates_clash_with_none() -> None:
    x, y = da.coordinates("x Lambda1")
    Lambda_ = da.parameters("Lambda_")
    L = Lambda_ * (x.diff(t) ** 2 + y.diff(t) ** 2) / 2
    system = da.System.from_lagrangian(L, (x, y), constraints=da.Constraint(x.diff(t) - x * y.diff(t)))
    assert da.vakonomic(system).equations.coordinate_names == ("x", "Lambda1", "Lambda__1")


def test_a_force_beyond_the_lagrangian_is_carried_along() -> None:
    x, y = da.coordinates("x y")
    c = da.parameters("c")
    L = (x.diff(t) ** 2 + y.diff(t) ** 2) / 2 - x**2 * y
    rod = da.Constraint(x - y, name="rod")
    system = da.System.from_lagrangian(L, (x, y), applied_force=(-c * x.diff(t), 0), constraints=rod)
    assert list(da.vakonomic(system).equations.applied_force) == [-2 * x * y - c * x.diff(t), -(x**2), 0]
    stated = da.System((x, y), sp.eye(2), (-2 * x * y, -x * x), rod, lagrangian=L)
    assert list(da.vakonomic(stated).equations.applied_force) == [-2 * x * y, -(x**2), 0]


def test_it_is_marked_wherever_it_is_shown(tmp_path: Path) -> None:
    run = skate_run()
    assert run.theory == "vakonomic"
    assert repr(run).startswith("<Trajectory (vakonomic) of x, y, theta: 201 times")
    assert "vakonomic mechanics, not d'Alembert's principle" in run.notes[0] and "`blade` = -0.4" in run.notes[0]
    for figure in (run.plot(), run.plot_phase(), run.plot_path("x", "y")):
        assert figure.get_suptitle() == "vakonomic"
    assert run.to_xarray().attrs["theory"] == "vakonomic"
    run.save(tmp_path / "run.nc")
    again = da.Trajectory.load(tmp_path / "run.nc")
    assert again.theory == run.until(3).theory == "vakonomic"
    np.testing.assert_array_equal(again["blade"], run["blade"])
    short = run.until(6)
    animations = [r.animate(tmp_path / f"{k}.gif", fps=50) for k, r in enumerate((short, replace(short, theory="")))]
    assert animations[0].read_bytes() != animations[1].read_bytes()


def test_the_usual_motion_bears_no_mark(tmp_path: Path) -> None:
    run = replace(skate_run(), theory="d'Alembert")
    assert run.mark == "" and repr(run).startswith("<Trajectory of x")
    assert run.plot().get_suptitle() == run.plot_path("x", "y").get_suptitle() == ""
    old = run.to_xarray()
    del old.attrs["theory"]
    assert da.Trajectory.from_xarray(old).theory == "d'Alembert"


def test_gallery_shows_both_motions_of_the_skate() -> None:
    case = da.gallery.case("skate")
    run = case.simulate()
    (figure,) = (drawn.figure for drawn in figures_of(case, run) if drawn.name == "vakonomic")
    usual, *others = figure.axes[0].lines
    assert [line.get_label() for line in (usual, *others)] == [
        "nonholonomic (d'Alembert)",
        "vakonomic, λ(0) = 0 N s",
        "vakonomic, λ(0) = −0.5 N s",
    ]
    np.testing.assert_array_equal(usual.get_xdata(), run["x"][:121])
    for line in others:
        assert line.get_xdata()[0] == line.get_ydata()[0] == 0
        assert np.abs(line.get_ydata() - usual.get_ydata()).max() > 1


def test_a_run_that_ends_early_carries_the_motion_so_far() -> None:
    with pytest.raises(da.SimulationError, match=r"limit of 3 steps .* may also have become singular") as caught:
        skate().simulate((0, 0, 0), (0, 0, 2), TIMES, multipliers0=[0], parameters=SKATE, max_steps=3)
    found = caught.value.trajectory
    assert found.theory == "vakonomic" and found.coordinates == ("x", "y", "theta") and found.constraints == ("blade",)
    assert found.t[-1] == caught.value.time < 2


def started(**changed) -> da.Trajectory:
    given = {"q0": (0, 0, 0), "qd0": (0, 0, 2), "times": TIMES, "multipliers0": [0], "parameters": SKATE} | changed
    return skate().simulate(**given)


INPUT_MESSAGES = {
    r"must give λ at the initial time for every constraint \(`blade`\).* Choose one number per constraint": (
        lambda: started(multipliers0=None)
    ),
    r"`multipliers0` must have one entry per constraint \(1: `blade`\); got 2": lambda: started(multipliers0=[0, 1]),
    r"`multipliers0` must give a value for every constraint; missing: `blade`.*`blad` is unknown. Did you mean": (
        lambda: started(multipliers0={"blad": 1})
    ),
    r"`multipliers0\[blade\]` must be one finite number; got nan": lambda: started(multipliers0=[np.nan]),
    r"`multipliers0` must be a sequence or a mapping by name; got 3": lambda: started(multipliers0=3),
    r"missing: `alpha`, `g`": lambda: started(parameters={"m": 1, "J": 1}),
    r"`times` must increase": lambda: started(times=[0, 0]),
    r"`system` must be a `da.System`, stated in symbols, .* got FunctionSystem": (
        lambda: da.vakonomic(da.FunctionSystem(lagrangian=lambda q, qd, t, p: qd @ qd))
    ),
}


@pytest.mark.parametrize("message", INPUT_MESSAGES)
def test_input_messages(message: str) -> None:
    with pytest.raises(da.InputError, match=message):
        INPUT_MESSAGES[message]()


def test_the_start_must_satisfy_the_constraints() -> None:
    with pytest.raises(da.StateError, match=r"`blade` is violated by 1.0e\+00 at `qd0`.*consistent_state"):
        started(qd0=(0, 1, 2))
    with pytest.raises(da.StateError, match=r"`rod` is violated by 3.0e\+00 at `q0`"):
        pendulum().simulate((2, 0), (0, 0), TIMES, multipliers0=[0], parameters={"m": 1, "g": 1, "l": 1})


def plane(constraints=(), **options) -> da.System:
    x, y = da.coordinates("x y")
    return da.System.from_lagrangian((x.diff(t) ** 2 + y.diff(t) ** 2) / 2, (x, y), constraints=constraints, **options)


def test_undetermined_accelerations_are_refused_at_the_start() -> None:
    x, y = da.coordinates("x y")
    slope = da.Constraint(x.diff(t) - y.diff(t), name="slope")
    same = da.vakonomic(plane((slope, da.Constraint(2 * y - 2 * x, name="same"))))
    with pytest.raises(da.ConstraintError, match=r"independent.* have rank 1 of 2 because of `slope`, `same`. Remove"):
        same.simulate((0, 0), (1, 1), TIMES, multipliers0=[0, 0])
    # λ = −1/2 cancels the mass along the velocity that the constraint leaves free
    speed = da.vakonomic(plane(da.Constraint(x.diff(t) ** 2 + y.diff(t) ** 2 - 1, name="speed")))
    with pytest.raises(da.MassMatrixError, match=r"must be regular .* with these `multipliers0`.* Choose others"):
        speed.simulate((0, 0), (1, 0), TIMES, multipliers0=[-0.5])


def test_systems_without_vakonomic_equations_are_refused_with_all_reasons() -> None:
    x, y = da.coordinates("x y")
    hold = da.Constraint(x.diff(t, 2) - y, name="hold")
    with pytest.raises(da.ModelError, match=r"must have a Lagrangian.*it has none. State it with") as caught:
        da.vakonomic(da.System((x, y), sp.eye(2), (0, 0), hold, da.Viscous(1)))
    assert len(caught.value.problems) == 3
    assert "`hold` is at acceleration level" in caught.value.problems[1]
    assert "a stationary action has no `nonideal` force; the system has `Viscous`" in caught.value.problems[2]
    with pytest.raises(da.ModelError, match=r"must have a constraint; it has none. Use `da.simulate`"):
        da.vakonomic(plane())
    spelled = replace(plane(da.Constraint(x - y)), mass_matrix=(sp.sin(x) ** 2 + sp.cos(x) ** 2) * sp.eye(2))
    assert da.vakonomic(spelled).system == spelled
    other = replace(plane(da.Constraint(x - y)), mass_matrix=2 * sp.eye(2))
    with pytest.raises(da.ModelError, match=r"must have the mass matrix for its Hessian ∂²L/∂q̇²; it has not"):
        da.vakonomic(other)


def test_the_motion_at_other_times_is_vakonomic_too() -> None:
    run = skate_run()
    found = run.at(TIMES[[40, 111]])
    for name in ("q", "qd", "multipliers", "ideal_force", "energy"):
        np.testing.assert_allclose(getattr(found, name), getattr(run, name)[[40, 111]], atol=1e-10)
    assert found.theory == "vakonomic" and found.notes == run.notes
    x, theta = da.coordinates("x theta")
    np.testing.assert_allclose(run.evaluate(x + theta.diff(t)), run["x"] + run["theta'"], atol=1e-14)
    with pytest.raises(da.InputError, match="the force of one constraint is defined by d'Alembert's principle; this"):
        run.force("blade")
    with pytest.raises(
        da.InputError, match="a ledger is of constraint forces by d'Alembert's principle; this run is v"
    ):
        run.ledger()
    with pytest.raises(da.InputError, match="`run` must be a motion by d'Alembert's principle to be simulated again"):
        da.reproduce(skate().system, run)
