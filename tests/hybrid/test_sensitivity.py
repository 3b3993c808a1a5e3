"""Derivatives through events, and periodic motions, against closed forms and variational equations."""

import re

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.gallery.walker import ANGLE, RATE, model

x, y = da.coordinates("x y")
t = da.t
TIGHT = {"rtol": 1e-12, "atol": 1e-14}


def test_a_rebound_from_a_moving_floor() -> None:
    """A ball falls by gravity onto a floor at a t²/2; each step has a closed form, which SymPy differentiates."""
    g, a, e, end = 10, 2, sp.Rational(1, 2), sp.Rational(1, 2)
    floor = da.Constraint(sp.Ge(y, a * t**2 / 2), name="floor", restitution=e)
    run = da.simulate(da.System((y,), [[1]], (-g,), floor), (1,), (-1,), [0, 0.5], **TIGHT)
    assert [event.kind for event in run.events] == ["impact"]
    h, v = sp.symbols("h v")
    hit = (v + sp.sqrt(v**2 + 2 * (g + a) * h)) / (g + a)
    after = a * hit - e * (v - g * hit - a * hit)
    later = end - hit
    final = sp.Matrix([a * hit**2 / 2 + after * later - g * later**2 / 2, after - g * later])
    expected = np.array(final.jacobian([h, v]).subs({h: 1, v: -1}).evalf(20), float)
    np.testing.assert_allclose(run.qd[-1], float(final[1].subs({h: 1, v: -1})), rtol=1e-10)
    np.testing.assert_allclose(da.transition_matrix(run), expected, rtol=1e-8)


@pytest.mark.parametrize(("length", "time"), [(1e-9, 1.0), (1e9, 1.0), (1e-9, 1e-6)])
def test_derivatives_in_other_units(length: float, time: float) -> None:
    """A ball dropped onto a floor, as in units of one: SymPy differentiates the closed form."""
    g, e, end = 10, sp.Rational(1, 2), sp.Rational(4, 5)
    h, v = sp.symbols("h v")
    hit = (v + sp.sqrt(v**2 + 2 * g * h)) / g
    after, later = e * (g * hit - v), end - hit
    final = sp.Matrix([after * later - g * later**2 / 2, after - g * later])
    expected = np.array(final.jacobian([h, v]).subs({h: 1, v: 0}).evalf(20), float)
    floor = da.Constraint(sp.Ge(y, 0), name="floor", restitution=e)
    ball = da.System((y,), [[1]], (-g * length / time**2,), floor)
    units = np.array([length, length / time])
    run = da.simulate(ball, (length,), (0,), [0, float(end) * time], rtol=1e-12)
    np.testing.assert_allclose(da.transition_matrix(run) * units / units[:, None], expected, rtol=1e-7)


def test_a_motion_that_only_seems_to_return() -> None:
    """Of a driven oscillator: its phase is that of the drive at an event in step with it, and at no other."""
    driven = da.System((x,), [[1]], (-x - 0.3 * x.diff(t) + sp.cos(1.3 * t),))
    strobe = da.Event(sp.sin(1.3 * t), direction=1, name="strobe")
    found = da.periodic_motion(driven, (1,), (0,), strobe, within=12)
    response = 1 / (1 - 1.3**2 + 0.39j)
    assert found.period == pytest.approx(2 * np.pi / 1.3)
    np.testing.assert_allclose([*found.q0, *found.qd0], [response.real, -1.3 * response.imag], rtol=1e-8)
    top = da.Event(x.diff(t), direction=-1, name="top")
    with pytest.raises(da.SimulationError, match=r"must repeat itself; after the event `top` at t = .* functions of"):
        da.periodic_motion(driven, (1,), (0,), top, within=12)


def test_a_block_that_sticks_and_one_that_leaves() -> None:
    """Where it stops is v²/(2μg) from its start, and stays; pulled from its floor, nothing jumps."""
    floor = da.Constraint(sp.Ge(y, 0), name="floor", restitution=0, nonideal=da.Coulomb(sp.Rational(1, 5)))
    block = da.System((x, y), sp.eye(2), (0, -10), floor)
    run = da.simulate(block, (0, 0), (3, 0), [0, 2], **TIGHT)
    assert [event.kind for event in run.events] == ["sticks"]
    matrix = da.transition_matrix(run)
    np.testing.assert_allclose(matrix[np.ix_([0, 2], [0, 2])], [[1, 1.5], [0, 0]], atol=1e-9)
    pulled = da.System((x, y), sp.eye(2), (0, 10 * t - 10), floor)
    run = da.simulate(pulled, (0, 0), (3, 0), [0, 1.5], **TIGHT)
    assert [event.kind for event in run.events] == ["opens"]
    np.testing.assert_allclose(da.transition_matrix(run)[np.ix_([0, 2], [0, 2])], [[1, 1.5], [0, 1]], atol=1e-9)


def test_the_gait_of_the_simplest_walker() -> None:
    """The published fixed point from a rough start, and multipliers from the variational equations by SciPy."""
    system, strike = model()
    gait = da.periodic_motion(system, (0.2, 0.4), (-0.2, -0.015), strike, within=10, parameters={"gamma": 0.009})
    np.testing.assert_allclose([gait.q0[0], gait.qd0[0]], [ANGLE, RATE], atol=2e-12)
    assert gait.residual < 1e-13
    np.testing.assert_allclose(gait.multipliers, multipliers_by_scipy(gait.q0, gait.qd0, gait.period), atol=1e-9)
    assert abs(gait.multipliers[0]) < 1
    assert repr(gait) == "<PeriodicMotion of period 3.88246; largest multipliers 0.5891, 0.5891>"
    short = da.periodic_motion(system, (0.193, 0.386), (-0.2, -0.015), strike, within=10, parameters={"gamma": 0.009})
    assert short.period < gait.period and abs(short.multipliers[0]) > 1  # the other gait is unstable


def multipliers_by_scipy(q0: np.ndarray, qd0: np.ndarray, period: float) -> np.ndarray:
    slope = 0.009

    def rates(_, z: np.ndarray) -> np.ndarray:
        (a, b, u, w), change = z[:4], z[4:].reshape(4, 4)
        sine, cosine = np.sin(a - slope), np.cos(a - slope)
        jacobian = np.zeros((4, 4))
        jacobian[0, 2] = jacobian[1, 3] = 1
        jacobian[2, 0] = cosine
        jacobian[3, :3] = cosine + sine * np.sin(b), (u**2 - cosine) * np.cos(b), 2 * u * np.sin(b)
        return np.concatenate([[u, w, sine, sine + (u**2 - cosine) * np.sin(b)], (jacobian @ change).ravel()])

    start = np.concatenate([q0, qd0, np.eye(4).ravel()])
    end = solve_ivp(rates, [0, period], start, method="DOP853", rtol=1e-13, atol=1e-15).y[:, -1]
    (a, _, u, _), before = end[:4], rates(0, end)[:4]
    section, c, s = np.array([-2.0, 1, 0, 0]), np.cos(2 * a), np.sin(2 * a)
    reset = np.zeros((4, 4))
    reset[:2, 0] = -1, -2
    reset[2, [0, 2]] = -2 * s * u, c
    reset[3, [0, 2]] = 2 * s * (2 * c - 1) * u, c * (1 - c)
    found = np.linalg.eigvals(
        reset @ (np.eye(4) - np.outer(before, section) / (section @ before)) @ end[4:].reshape(4, 4)
    )
    return found[np.argsort(-np.abs(found), kind="stable")]


def test_a_drifting_coordinate_need_not_return() -> None:
    """A ball that hops along, and loses nothing: every bounce is like the one before, further along."""
    ball = da.System((x, y), sp.eye(2), (0, -10))
    bounce = da.Event(y, direction=-1, name="bounce", then=da.Change({y.diff(t): 3 - y.diff(t) / 4}))
    hop = da.periodic_motion(ball, (0, 0), (1, 3.5), bounce, within=2, drifting=x)
    np.testing.assert_allclose(hop.qd0, [1, 4], atol=1e-11)
    assert hop.period == pytest.approx(0.8, abs=1e-12)
    np.testing.assert_allclose(sorted(abs(hop.multipliers)), [0, 0.25, 1], atol=1e-9)


FLOOR = da.Constraint(sp.Ge(y, 0), name="floor", restitution=sp.Rational(1, 2))
BALL = da.System((y,), [[1]], (-10,), FLOOR)


def test_what_is_refused() -> None:
    with pytest.raises(da.InputError, match=r"`run` must be one of `da\.simulate` with events"):
        da.transition_matrix(da.simulate(da.System((y,), [[1]], (-10,)), (1,), (0,), [0, 1]))
    run = da.simulate(BALL, (1,), (0,), [0, 3])
    with pytest.raises(
        da.SimulationError,
        match=r"the impacts of `floor` accumulate: .* many\. End the motion before, or start elsewhere\.$",
    ):
        da.transition_matrix(run)
    twice = [da.Event(y - 1, name=name) for name in ("one", "other")]
    run = da.simulate(da.System((y,), [[1]], (-10,)), (2,), (0,), [0, 1], events=twice)
    with pytest.raises(da.SimulationError, match="`one`, `other` coincide"):
        da.transition_matrix(run)
    lands = da.Event(y, direction=-1, name="lands")
    free = da.System((y,), [[1]], (-10,))
    with pytest.raises(da.SimulationError, match="`lands` must occur again within 1; it does not"):
        da.periodic_motion(free, (6,), (0,), lands, within=1)
    with pytest.raises(da.InputError, match="`drifting` must name coordinates; unknown: `z`"):
        da.periodic_motion(free, (6,), (0,), lands, within=1, drifting="z")
    with pytest.raises(da.InputError, match=r"`event` must be a `da.Event`; got y\(t\)"):
        da.periodic_motion(free, (6,), (0,), y, within=1)
    for within in (np.nan, -1, "now"):
        with pytest.raises(da.InputError, match="`within` must"):
            da.periodic_motion(free, (6,), (0,), lands, within=within)
    with pytest.raises(da.InputError, match=r"`system` must be a `da\.System`; got NoneType"):
        da.periodic_motion(None, (6,), (0,), lands, within=1)
    grows = da.Event(y, direction=-1, name="grows", then=da.Change({y.diff(t): 1 - y.diff(t)}))
    with pytest.raises(da.SimulationError, match="a periodic motion must be near `q0` and `qd0`; 30 iterations"):
        da.periodic_motion(free, (0,), (1,), grows, within=1e3, drifting="y")


@pytest.mark.parametrize(
    ("force", "name"),
    [
        (-3 * sp.sign(x), "x"),
        (-sp.Piecewise((0, x < 0.5), (4, True)), "x - 0.5"),
        (-sp.sign(x - sp.sin(t)), "x - sin(t)"),
    ],
    ids=str,
)
def test_a_force_that_jumps_with_the_state_is_refused(force: sp.Expr, name: str) -> None:
    """Differences across the jump gave −4.83 for −3 sign x, where −1.62 is right."""
    system = da.System((x,), [[1]], (force,))
    run = da.simulate(system, (1,), (0.3,), [0, 2], events=[da.Event(x - 50, name="never")])
    with pytest.raises(da.SimulationError, match=rf"a force jumps with the state, where `{re.escape(name)}` vanishes"):
        da.transition_matrix(run)


def test_a_jump_that_only_differences_reach_is_refused() -> None:
    system = da.System((x,), [[1]], (-3 * sp.sign(x),))
    run = da.simulate(system, (1e-5,), (1,), [0, 0.1], events=[da.Event(x - 50, name="never")])
    with pytest.raises(da.SimulationError, match="where `x` vanishes"):
        da.transition_matrix(run)


def test_kinks_and_jumps_in_time_are_differentiated() -> None:
    """Against differences of whole motions, which pass a kink of the force and a jump in time."""
    jump = sp.Piecewise((0, t < 0.5), (-1, True))
    system = da.System((x,), [[1]], (-x - sp.Max(0, x) + jump,))

    def end(start: np.ndarray) -> np.ndarray:
        run = da.simulate(system, start[:1], start[1:], [0, 2], rtol=1e-12, events=[da.Event(x - 50, name="never")])
        return np.concatenate([run.q[-1], run.qd[-1]])

    run = da.simulate(system, (1,), (0.3,), [0, 2], rtol=1e-12, events=[da.Event(x - 50, name="never")])
    start, h = np.array([1, 0.3]), 1e-5
    columns = [(end(start + h * u) - end(start - h * u)) / (2 * h) for u in np.eye(2)]
    np.testing.assert_allclose(
        da.transition_matrix(run), np.transpose(columns), atol=2e-4
    )  # the kink lies within the differences
