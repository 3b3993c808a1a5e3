"""Jumps and pulses of explicit functions of time: found beforehand, followed exactly, or refused by name."""

from itertools import pairwise

import diffrax
import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.integration.time_segments import segments
from helpers import quick_first

x, y, z = da.coordinates("x y z")
t = da.t
TIMES = [0, 0.5, 1, 1.5, 2]


def pair(constraint: sp.Expr) -> da.System:
    """Two unit masses on unit springs, under one constraint."""
    return da.System((x, y), sp.eye(2), (-x, -y), da.Constraint(constraint, name="drive"))


def after_the_jump(times: np.ndarray) -> np.ndarray:
    """x − y swings freely at unit frequency, x + y is prescribed: zero before t = 1, at a rate of 3 after it."""
    total = np.where(times < 1, 0, 3 * (times - 1))
    return np.stack([total + np.cos(times), total - np.cos(times)], axis=1) / 2


WAYS = (
    {},
    {"drift": None},
    {"drift": da.Baumgarte(5, 5)},
    {"step": 0.01},
    {"formulation": da.Multipliers()},
    {"solver": diffrax.Tsit5()},
)


@pytest.mark.parametrize("way", quick_first(WAYS, [way for way in WAYS if "formulation" not in way]), ids=str)
def test_a_prescribed_velocity_may_jump(way: dict) -> None:
    """An ideal impulse acts along the constraint alone: x + y follows exactly, x − y goes on as if nothing happened."""
    ramp = (x + y).diff(t) - sp.Piecewise((0, t < 1), (3, True))
    run = da.simulate(pair(ramp), (0.5, -0.5), (0, 0), TIMES, **way)
    np.testing.assert_allclose(run.q, after_the_jump(run.t), atol=1e-8)
    assert "`drive` by 3" in run.notes[0] and "ideal impulse" in run.notes[0]


def test_a_function_system_finds_the_jump_by_its_steps() -> None:
    """No symbols to look at: the projection moves the state far, steps shrink, and the jump is found where they end."""
    ramp = da.FunctionConstraint(
        lambda q, qd, t, p: qd[0] + qd[1] - jnp.where(t < 1, 0.0, 3.0), "velocity", name="drive"
    )
    system = da.FunctionSystem(lambda q, qd, t, p: jnp.eye(2), lambda q, qd, t, p: -q, ramp)
    run = da.simulate(system, (0.5, -0.5), (0, 0), TIMES)
    np.testing.assert_allclose(run.q, after_the_jump(run.t), atol=1e-7)
    assert "`drive` by 3" in run.notes[0]


def test_a_prescribed_position_must_not_jump() -> None:
    with pytest.raises(da.SimulationError, match=r"at t = 1 they do: `drive` by 3") as failure:
        da.simulate(pair(x + y - sp.Piecewise((0, t < 1), (3, True))), (0.5, -0.5), (0, 0), TIMES)
    np.testing.assert_allclose(failure.value.trajectory.q[1], after_the_jump(np.array([0.5]))[0], atol=1e-8)


def test_a_kink_in_the_state_is_refused_by_name() -> None:
    """Along y = |x| the velocity would have to turn at the kink: no smooth constraint force does that."""
    vee = da.System((x, y), sp.eye(2), (1, 0), da.Constraint(y - sp.Piecewise((x, x > 0), (-x, True)), name="vee"))
    with pytest.raises(da.SimulationError, match=r"`vee` has a jump or a kink there|jumps back and forth"):
        da.simulate(vee, (-1, 1), (1, -1), [0, 2], max_steps=50_000)


def oscillator(force: sp.Expr) -> da.System:
    return da.System((x,), [[1]], (-x + force,))


def reference(force: object, times: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # SciPy divides by the error, which is zero at rest
        found = solve_ivp(
            lambda t, s: [s[1], force(t) - s[0]],
            (times[0], times[-1]),
            [0, 0],
            t_eval=times,
            rtol=1e-11,
            atol=1e-13,
            max_step=0.05,
            method="DOP853",
        )
    return found.y[0]


@pytest.mark.parametrize("times", [np.arange(0, 100.05, 0.1), np.array([0.0, 49.3, 100.0])], ids=["many", "few"])
def test_a_pulse_after_a_long_rest_is_seen(times: np.ndarray) -> None:
    run = da.simulate(oscillator(sp.exp(-((t - 50) ** 2))), (0,), (0,), times)
    np.testing.assert_allclose(run["x"], reference(lambda t: np.exp(-((t - 50) ** 2)), times), atol=2e-8)


@pytest.mark.parametrize("width", [1.0, 0.1, 0.02])
@pytest.mark.parametrize("speed", [0.0, 1.0])
def test_a_short_push_is_seen_at_rest_and_in_motion(width: float, speed: float) -> None:
    """A free mass that is pushed for a while at t = 33.3 of 100 gains exactly that impulse."""
    push = sp.Piecewise((0, t < 33.3), (1 / width, t < 33.3 + width), (0, True))
    run = da.simulate(da.System((x,), [[1]], (push,)), (0,), (speed,), [0, 100])
    np.testing.assert_allclose(run.qd[-1, 0], speed + 1, rtol=1e-12)
    np.testing.assert_allclose(run["x"][-1], 100 * speed + 100 - 33.3 - width / 2, rtol=1e-11)


def test_a_drive_that_waits_pulls_its_mass() -> None:
    """x = (t − 50)² from t = 50 on; the mass on its spring then obeys ÿ = x − y, y = τ² − 2 + 2 cos τ."""
    drive = da.Constraint(x - sp.Piecewise((0, t < 50), ((t - 50) ** 2, True)), name="drive")
    system = da.System((x, y), sp.eye(2), (y - x, x - y), drive)
    run = da.simulate(system, (0, 0), (0, 0), np.linspace(0, 53, 54))
    np.testing.assert_allclose(run["y"][-1], 9 - 2 + 2 * np.cos(3), atol=1e-8)


def test_an_output_that_sees_more_than_its_step_is_computed_anew() -> None:
    """A spring that acts at one place only is no function of time: the output there tells that a step went over it."""
    bump = sp.exp(-((x - 50) ** 2) * 4)
    system = da.System((x, y), sp.eye(2), (0, bump))
    run = da.simulate(system, (0, 0), (1, 0), np.linspace(0, 100, 1001))
    found = solve_ivp(
        lambda t, s: [s[1], np.exp(-((t - 50) ** 2) * 4)], (0, 100), [0, 0], rtol=1e-12, atol=1e-13, max_step=0.1
    )
    np.testing.assert_allclose(run["y"][-1], found.y[0, -1], rtol=1e-7)


def test_max_step_bounds_the_steps() -> None:
    free = da.System((x,), [[1]], (0,))
    assert da.simulate(free, (0,), (1,), [0, 100], max_step=0.5).statistics["steps"] >= 200
    assert da.simulate(free, (0,), (1,), [0, 100]).statistics["steps"] < 60
    with pytest.raises(da.InputError, match="`max_step` must not be given along with a fixed `step`"):
        da.simulate(free, (0,), (1,), [0, 1], step=0.1, max_step=0.5)
    with pytest.raises(da.InputError, match="`max_step` must be a positive number"):
        da.simulate(free, (0,), (1,), [0, 1], max_step=-1)


def test_ensembles_see_the_same_events() -> None:
    a, T = da.parameters("a T")
    system = oscillator(a * sp.exp(-((t - T) ** 2)) + sp.Heaviside(t - 70))
    times = np.linspace(0, 100, 101)
    numbers = {"a": np.linspace(1, 2, 6), "T": np.repeat([30.0, 50.0], 3)}
    many = da.simulate_ensemble(system, (0,), (0,), times, parameters=numbers)
    ends = da.simulate_ensemble(system, (0,), (0,), times, parameters=numbers, keep="end")
    assert many.attrs["handed_over"] == 0
    for k in range(6):
        alone = da.simulate(system, (0,), (0,), times, parameters={name: v[k] for name, v in numbers.items()})
        np.testing.assert_allclose(many["q"][k], alone.q, atol=1e-9)
        np.testing.assert_allclose(ends["q"][k, 0], alone.q[-1], atol=1e-9)


def test_segments_end_at_jumps_and_where_functions_wake_up() -> None:
    def functions(at: np.ndarray) -> np.ndarray:
        return np.stack([np.where(at < np.pi, 0.0, 1.0), np.exp(-((at - 7) ** 2) * 100)], axis=1)

    found = segments(functions, 0.0, 10.0)
    assert any(a.end < np.pi <= b.start and b.start == np.nextafter(a.end, 10) for a, b in pairwise(found))
    awake = [segment for segment in found if np.isfinite(segment.max_step)]
    assert len(awake) == 1 and 6.4 < awake[0].start < 6.8 and awake[0].max_step < 0.01
    assert segments(lambda at: np.sin(1000 * at)[:, None], 0.0, 100.0)[0].end == 100.0  # busy everywhere
    assert segments(None, 0.0, 1.0) == [(0.0, 1.0, np.inf)]


def test_the_work_of_an_impulse_is_in_the_ledger() -> None:
    """At rest but for x − y, the impulse that makes x + y grow at a rate of 3 adds a kinetic energy of ¼ 3² J."""
    ramp = (x + y).diff(t) - sp.Piecewise((0, t < 1), (3, True))
    run = da.simulate(pair(ramp), (0.5, -0.5), (0, 0), [0, 1 - 1e-9, 1, 2])
    ledger = run.ledger()
    np.testing.assert_allclose(np.diff(ledger["drive"])[1], 2.25, atol=1e-7)
    assert np.abs(ledger.audit).max() < 1e-8


@pytest.mark.parametrize("force", [sp.floor(t), sp.Piecewise((0, t < 1), (1, t < 2), (2, t < 3), (3, True))], ids=str)
def test_a_jump_at_the_last_time_or_at_the_first_is_no_obstacle(force: sp.Expr) -> None:
    """A force of 0, 1, 2, … in turn moves a unit mass to 2.5 at t = 3, where it jumps again."""
    system, times = da.System((x,), [[1]], (force,)), np.array([0.0, 1.0, 3.0])
    for way in ({}, {"step": 0.01}):
        np.testing.assert_allclose(da.simulate(system, (0,), (0,), times, **way)["x"], [0, 0, 2.5], atol=1e-12)
        many = da.simulate_ensemble(system, np.zeros((2, 1)), (0,), times, **way)
        np.testing.assert_allclose(many["q"][1, :, 0], [0, 0, 2.5], atol=1e-12)
        assert not any(many["reason"].values)
    pushed = da.System((x,), [[1]], (sp.Heaviside(t),))
    for way in ({}, {"step": 0.01}):
        np.testing.assert_allclose(da.simulate(pushed, (0,), (0,), [0, 0.9], **way)["x"][-1], 0.405, rtol=1e-13)
        many = da.simulate_ensemble(pushed, np.zeros((2, 1)), (0,), [0, 0.9], **way)
        np.testing.assert_allclose(many["q"][1, :, 0], [0, 0.405], rtol=1e-13)


def test_fixed_steps_do_not_pass_a_kink_either() -> None:
    """They name the constraint, though the kink is anywhere within the next step, and not one that only bends."""
    bowl = da.Constraint(z - sp.cos(30 * x), name="bowl")
    vee = da.System((x, y), sp.eye(2), (0, 0), da.Constraint(y - sp.Abs(x), name="vee"))
    deep = da.System((x, y, z), sp.eye(3), (0, 0, 0), (bowl, da.Constraint(y - sp.Abs(x), name="vee")))
    for step in (0.001, 0.01, 0.3):
        with pytest.raises(da.SimulationError, match="smooth along the motion; `vee` has a jump or a kink there"):
            da.simulate(vee, (-1, 1), (1, -1), [0, 0.5, 2], step=step)
    slope = 30 * np.sin(30 * 0.1)  # at x = −0.1, z = cos 3
    with pytest.raises(da.SimulationError, match="smooth along the motion; `vee` has a jump or a kink there"):
        da.simulate(deep, (-0.1, 0.1, np.cos(3)), (1, -1, slope), [0, 2], step=0.007)
    many = da.simulate_ensemble(vee, np.array([[-1.0, 1.0]] * 2), (1, -1), [0, 0.5, 2], step=0.01)
    assert "`vee` has a jump or a kink there" in str(many["reason"].values[1])
    assert "error.trajectory" not in str(many["reason"].values[1])


def test_what_changes_smoothly_is_not_taken_for_a_jump() -> None:
    """Where constraints contradict one another at the start, that is said, however fast a drive moves."""
    ram = da.Constraint(x - 2 * t, name="ram")
    rows = (da.Constraint(y, name="floor"), da.Constraint(y - t**2, name="lift"), ram)
    with pytest.raises(da.ConstraintError, match="`floor`, `lift` contradict one another"):
        da.simulate(da.System((x, y), sp.eye(2), (0, -9.81), rows), (0, 0), (2, 0), [0, 2])


@pytest.mark.parametrize("law", [3 * sp.Heaviside(t - 0.7), 1.5 + 1.5 * sp.sign(t - 0.7), 3 * sp.Heaviside(7 - 10 * t)])
def test_the_value_exactly_at_a_jump_never_appears(law: sp.Expr) -> None:
    """The prescribed velocity is 0 or 3; at its jump a Heaviside function is 1/2, and no motion has that velocity."""
    system, times = pair((x + y).diff(t) - law), np.array([0.0, 0.7, 1.0])
    first = float(law.subs(t, 0))
    expected = np.array([first, first, 3 - first])
    for way in ({}, {"step": 0.01}):
        run = da.simulate(system, (0.5, -0.5), (first / 2,) * 2, times, **way)
        np.testing.assert_array_equal(run.t, times)
        np.testing.assert_allclose(run.qd.sum(axis=1), expected, atol=1e-9)
        np.testing.assert_allclose(run.at([0.6, 0.7]).qd.sum(axis=1), first, atol=1e-9)
        np.testing.assert_allclose(run.evaluate(law), expected)
        assert "`drive` by 3" in run.notes[0]
        ledger = run.ledger()
        assert ledger.closure < 1 and not ledger.notes
        np.testing.assert_array_equal(ledger.t, times)
    many = da.simulate_ensemble(system, np.array([[0.5, -0.5]]), (first / 2,) * 2, times)
    np.testing.assert_allclose(many["qd"].values[0].sum(axis=1), expected, atol=1e-9)


def test_a_run_may_begin_and_end_at_a_jump() -> None:
    """Where it begins, the state before the jump is the one that must satisfy the constraints."""
    system = pair((x + y).diff(t) - 3 * sp.Heaviside(t - 1))
    np.testing.assert_allclose(da.consistent_state(system, (0.5, -0.5), (0, 0), 1).qd, 0, atol=1e-12)
    np.testing.assert_allclose(da.simulate(system, (0.5, -0.5), (0, 0), [1, 2]).qd.sum(axis=1), [0, 3], atol=1e-9)
    np.testing.assert_allclose(da.simulate(system, (0.5, -0.5), (0, 0), [0, 1]).qd.sum(axis=1), 0, atol=1e-9)


def test_forces_at_a_jump_are_those_before_it() -> None:
    pushed = da.System((x,), [[1]], (4 * sp.Heaviside(t - 0.1 * 3),))  # 0.1 * 3 is not the number 0.3
    at = 0.1 * 3
    np.testing.assert_array_equal(da.simulate(pushed, (0,), (0,), [0, at, 1])["x''"], [0, 0, 4])
    assert da.motion(pushed, (0,), (0,), at).acceleration == 0


def test_the_size_of_a_jump_of_positions_is_that_of_both_sides() -> None:
    with pytest.raises(da.SimulationError, match=r"at t = 0.7 they do: `drive` by 1\."):
        da.simulate(pair(x + y - sp.Heaviside(t - 0.7)), (0.5, -0.5), (0, 0), [0, 1])


def test_rounding_may_hold_the_value_at_a_jump_for_several_numbers() -> None:
    """Near t = 0.5, t + 8 − 8.5 is zero for several numbers; no segment begins or ends at one of them."""

    def functions(at: np.ndarray) -> np.ndarray:
        return np.heaviside(at + 8.0 - 8.5, 0.5)[:, None]

    before, after = segments(functions, 0.0, 1.0)
    np.testing.assert_array_equal(functions(np.array([before.end, after.start]))[:, 0], [0, 1])
