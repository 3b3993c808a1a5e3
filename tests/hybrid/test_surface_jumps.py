"""One-sided contacts whose surface moves with a kink or a jump in time: they open, or hit, by the laws of impact."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da

x, y = da.coordinates("x y")
t = da.t
G = 10


def on_floor(height: sp.Expr, restitution: float = 0, **laws: object) -> da.System:
    floor = da.Constraint(sp.Ge(y - height, 0), name="floor", restitution=restitution, **laws)
    return da.System((x, y), sp.eye(2), (0, -G), floor)


def kinds(run: da.Trajectory) -> list[tuple[str, float]]:
    return [(event.kind, round(event.t, 9)) for event in run.events]


def audit(run: da.Trajectory) -> float:
    return float(np.abs(run.ledger().audit).max())


@pytest.mark.parametrize(
    "options", [{}, {"solver": da.Implicit()}, {"step": 0.01}], ids=["default", "implicit", "step"]
)
@pytest.mark.parametrize("floor", [1 - sp.Abs(t - 1), sp.Min(t, 1)], ids=["reverses", "stops"])
def test_a_body_flies_off_a_floor_that_stops_or_reverses(floor: sp.Expr, options: dict[str, object]) -> None:
    run = da.simulate(on_floor(floor), (0, 0), (0, 1), [0, 0.5, 1.1], **options)
    np.testing.assert_allclose(run.q[:, 1], [0, 0.5, 1 + 0.1 - G * 0.1**2 / 2], atol=1e-10)
    assert kinds(run)[0] == ("opens", 1.0) and audit(run) < 1e-10


@pytest.mark.parametrize("e", [0, 0.5, 1])
def test_a_floor_that_starts_suddenly_hits_a_body_at_rest(e: float) -> None:
    run = da.simulate(on_floor(sp.Max(0, t - 1), e), (0, 0), (0, 0), [0, 1, 1.01])
    after = 1 + e
    expected = after - G * 0.01 if e else 1.0
    np.testing.assert_allclose(run.qd[:, 1], [0, 0, expected], atol=1e-11)
    assert kinds(run) == [("impact", 1.0), *([("opens", 1.0)] if e else [])]
    np.testing.assert_allclose(run.ledger()["floor"][-1], after**2 / 2 + (0 if e else G * 0.01), rtol=1e-11)
    assert audit(run) < 1e-12


def test_friction_acts_by_the_normal_impulse_of_a_floor_that_starts() -> None:
    friction = da.Coulomb(0.4, velocity=x.diff(t), normal_force=da.multiplier("floor"))
    run = da.simulate(on_floor(2 * sp.Max(0, t - 0.2), nonideal=friction), (0, 0), (3, 0), [0, 0.1, 0.2, 0.3])
    # μ g before and after it, and μ · 2 by the impulse
    np.testing.assert_allclose(run.qd[:, 0], [3, 2.6, 2.2, 2.2 - 0.8 - 0.4], atol=1e-11)
    assert kinds(run) == [("impact", 0.2)] and audit(run) < 1e-12


def test_friction_may_stop_the_slip_by_the_impulse() -> None:
    friction = da.Coulomb(0.4, velocity=x.diff(t), normal_force=da.multiplier("floor"))
    run = da.simulate(on_floor(2 * sp.Max(0, t - 0.1), nonideal=friction), (0, 0), (1, 0), [0, 0.1, 0.11, 0.3])
    np.testing.assert_allclose(run.qd[:, 0], [1, 0.6, 0, 0], atol=1e-12)
    assert kinds(run) == [("impact", 0.1), ("sticks", 0.1)] and audit(run) < 1e-12


def hung(sign: int) -> da.System:
    return da.System(
        (y,), [[1]], (-G,), da.Constraint(y + 1 + sign * 20 * sp.Max(0, t - 1), name="hook", releases=True)
    )


def test_a_constraint_that_releases_does_so_where_a_jump_would_reverse_its_impulse() -> None:
    run = da.simulate(hung(1), (-1,), (0,), [0, 0.5, 1.1])
    np.testing.assert_allclose(run.q[:, 0], [-1, -1, -1 - G * 0.1**2 / 2], atol=1e-11)
    assert kinds(run) == [("releases", 1.0)] and audit(run) < 1e-12


def test_it_holds_where_the_impulse_has_the_sign_of_its_force() -> None:
    run = da.simulate(hung(-1), (-1,), (0,), [0, 0.5, 1.1])
    np.testing.assert_allclose(run.q[:, 0], [-1, -1, 1], atol=1e-11)
    assert run.notes == ("At t = 1 a prescribed velocity jumps (`hook` by 20); the velocities follow by an impulse.",)
    np.testing.assert_allclose(run.ledger()["hook"][-1], 20**2 / 2 + G * 2, rtol=1e-11)
    assert kinds(run) == [] and audit(run) < 1e-10


@pytest.mark.parametrize("height", [0.0, 0.5], ids=["closed", "open"])
def test_a_surface_that_jumps_into_a_body_is_refused_by_name(height: float) -> None:
    floor = sp.Piecewise((0, t < 0.1), (1, True))
    with pytest.raises(da.SimulationError, match=r"must not jump; at t = 0\.1 they do: `floor` by 1"):
        da.simulate(on_floor(floor), (0, height), (0, 0), [0, 0.2])


def test_a_surface_that_jumps_below_a_body_in_flight_does_nothing() -> None:
    run = da.simulate(on_floor(sp.Piecewise((0, t < 0.1), (0.2, True))), (0, 5.2), (0, 0), [0, 0.5, 0.999])
    np.testing.assert_allclose(run.q[:, 1], 5.2 - G * run.t**2 / 2, atol=1e-11)
    assert kinds(run) == []


def test_a_velocity_that_jumps_passes_the_events_in_between() -> None:
    pull = da.Constraint(x.diff(t) - sp.Piecewise((0, t < 1), (3, True)), name="pull")
    body = da.System((x, y), sp.eye(2), (0, -G), (pull, da.Constraint(sp.Ge(y, 0), name="floor", restitution=0)))
    run = da.simulate(body, (0, 0), (0, 0), [0, 0.5, 2], events=[da.Event(x.diff(t) - 1, name="fast")])
    assert kinds(run) == [("event", 1.0)]
    np.testing.assert_allclose(run.q[-1], [3, 0], atol=1e-12)
    np.testing.assert_allclose(run.ledger()["pull"][-1], 4.5, rtol=1e-12)
    assert audit(run) < 1e-12


@pytest.mark.parametrize("width", [0.002, 0.0005])
@pytest.mark.parametrize("start", [0.1, 0.517, 1.2])
def test_a_short_pulse_opens_a_contact_and_passes_an_event_on_its_reaction(start: float, width: float) -> None:
    pulse = sp.Piecewise((0, t < start), (3 / width, t < start + width), (0, True))
    lifted = da.System((y,), [[1]], (pulse - G,), da.Constraint(sp.Ge(y, 0), name="floor", restitution=0))
    run = da.simulate(lifted, (0,), (0,), [0, start + width, 1.5])
    assert kinds(run)[0] == ("opens", pytest.approx(start, abs=1e-8))
    np.testing.assert_allclose(run.qd[1, 0], 3 - G * width, rtol=1e-9)
    held = da.System((y,), [[1]], (pulse - G,), da.Constraint(y, name="hook"))
    run = da.simulate(held, (0,), (0,), [0, 1.5], events=[da.Event(da.reaction("hook") - 5, name="light")])
    assert [event.t for event in run.events] == pytest.approx([start, start + width], abs=1e-8)
