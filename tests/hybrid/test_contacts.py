"""Contacts that open and close, against closed forms."""

from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert import gallery

x, y, a, X = da.coordinates("x y a X")
t = da.t
TIGHT = {"rtol": 1e-12, "atol": 1e-14}


def kinds(run: da.Trajectory) -> list[tuple[str, str]]:
    return [(event.name, event.kind) for event in run.events]


def audit(run: da.Trajectory) -> float:
    return float(np.abs(run.ledger().audit).max())


@pytest.mark.parametrize("height", [0.0, 3.0])
def test_a_bouncing_ball_comes_to_rest_in_finite_time(height: float) -> None:
    e, g, h = 0.5, 10.0, 5.0
    floor = da.Constraint(sp.Ge(y, height), name="floor", restitution=e)
    ball = da.System((x, y), sp.eye(2), (0, -g), floor)
    run = da.simulate(ball, (0, height + h), (1, 0), np.linspace(0, 4, 41))
    fall = np.sqrt(2 * h / g)
    end = fall * (1 + 2 * e / (1 - e))
    (rest,) = (event for event in run.events if event.kind == "rests")
    assert rest.t == pytest.approx(end, abs=1e-10)
    assert rest.before == rest.after and rest.after[3] == 0 and rest.after[1] == pytest.approx(height, abs=1e-10)
    impacts = [event.t for event in run.events if event.kind == "impact"]
    expected = fall * (1 + 2 * e * (1 - e ** np.arange(len(impacts))) / (1 - e))
    np.testing.assert_allclose(impacts, expected, atol=1e-10)
    np.testing.assert_allclose(run.q[-1], [4, height], atol=1e-11)
    np.testing.assert_allclose(run["floor"][run.t > end + 0.01], g, rtol=1e-12)
    assert run.violation.min() > -1e-12
    np.testing.assert_allclose(run.ledger()["floor"][-1], -g * h, rtol=1e-11)
    assert audit(run) < 1e-10


def test_a_bead_leaves_a_sphere_where_cos_is_two_thirds() -> None:
    start = 0.5
    sphere = da.Constraint(sp.Ge(x**2 + y**2, 1), name="sphere", restitution=0)
    bead = da.System((x, y), sp.eye(2), (0, -1), sphere)
    run = da.simulate(bead, (np.sin(start), np.cos(start)), (0, 0), np.linspace(0, 2, 21), **TIGHT)
    assert kinds(run) == [("sphere", "opens")]
    assert run.events[0].before[1] == pytest.approx(2 / 3 * np.cos(start), abs=1e-12)
    assert audit(run) < 1e-11
    two_sided = da.Constraint(x**2 + y**2 - 1, name="sphere", releases=True)
    bead = da.System((x, y), sp.eye(2), (0, -1), two_sided)
    again = da.simulate(bead, (np.sin(start), np.cos(start)), (0, 0), np.linspace(0, 2, 21), **TIGHT)
    assert kinds(again) == [("sphere", "releases")]
    np.testing.assert_allclose(again.q, run.q, atol=1e-11)


def test_a_pendulum_on_a_rope_goes_slack_and_is_caught() -> None:
    speed = np.sqrt(3.5)
    rope = da.Constraint(sp.Le(x**2 + y**2, 1), name="rope", restitution=0)
    pendulum = da.System((x, y), sp.eye(2), (0, -1), rope)
    run = da.simulate(pendulum, (0, -1), (speed, 0), np.linspace(0, 5, 51), **TIGHT)
    assert kinds(run)[:3] == [("rope", "opens"), ("rope", "impact"), ("rope", "closes")]
    slack, caught = run.events[:2]
    height = (speed**2 - 2) / 3
    assert slack.before[1] == pytest.approx(height, abs=1e-11)
    # the parabola from there meets the circle again: with sin φ = height, after 4 √height cos φ
    flight = 4 * np.sqrt(height) * np.sqrt(1 - height**2)
    assert caught.t - slack.t == pytest.approx(flight, abs=1e-10)
    # the rope takes the radial velocity
    q, qd, after = np.array(caught.before[:2]), np.array(caught.before[2:]), np.array(caught.after[2:])
    np.testing.assert_allclose(after, qd - (qd @ q) * q, atol=1e-12)
    assert audit(run) < 1e-10


def test_a_block_leaves_a_moving_wedge() -> None:
    """A particle on a hemisphere that slides itself: k c³ − 3 c + 2 c₀ = 0 with k = m/(M + m), Kalensky (2020)."""
    M, m, start = 2.0, 1.0, 0.4
    surface = da.Constraint(sp.Ge((x - X) ** 2 + y**2, 1), name="surface", restitution=0)
    system = da.System((X, x, y), sp.diag(M, m, m), (0, 0, -1), surface)
    run = da.simulate(system, (0, np.sin(start), np.cos(start)), (0, 0, 0), [0, 2.5], **TIGHT)
    c = run.events[0].before[2]
    assert kinds(run) == [("surface", "opens")]
    assert m / (M + m) * c**3 - 3 * c + 2 * np.cos(start) == pytest.approx(0, abs=1e-11)


def test_a_ladder_leaves_the_wall_at_two_thirds_of_its_height() -> None:
    wall = da.Constraint(sp.Ge(x - sp.sin(a), 0), name="wall", restitution=0)
    floor = da.Constraint(sp.Ge(y - sp.cos(a), 0), name="floor", restitution=0)
    ladder = da.System((x, y, a), sp.diag(1, 1, sp.Rational(1, 3)), (0, -1, 0), (wall, floor))
    start = 0.6
    run = da.simulate(ladder, (np.sin(start), np.cos(start), start), (0, 0, 0), [0, 1.6], **TIGHT)
    assert kinds(run) == [("wall", "opens")]
    assert np.cos(run.events[0].before[2]) == pytest.approx(2 / 3 * np.cos(start), abs=1e-11)
    assert audit(run) < 1e-10


def ball_on_floor(restitution: float) -> da.System:
    slip = x.diff(t) + a.diff(t)
    friction = da.Coulomb(0.2, velocity=slip, normal_force=da.multiplier("floor"))
    floor = da.Constraint(sp.Ge(y, 1), name="floor", restitution=restitution, nonideal=friction)
    return da.System((x, y, a), sp.diag(1, 1, sp.Rational(2, 5)), (0, -10, 0), floor)


def test_a_sliding_ball_rolls_at_five_sevenths_of_its_speed() -> None:
    run = da.simulate(ball_on_floor(0), (0, 1, 0), (7, 0, 0), [0, 2])
    assert kinds(run) == [("floor", "sticks")]
    assert run.events[0].t == pytest.approx(2 * 7 / (7 * 0.2 * 10), abs=1e-13)
    np.testing.assert_allclose(run.qd[-1], [5, 0, -5], atol=1e-12)
    assert audit(run) < 1e-12


def test_a_thrown_ball_bounces_and_rolls_at_the_same_speed() -> None:
    """Friction has no moment about the point of contact, in flight, impact or sliding: 5/7 in any case."""
    run = da.simulate(ball_on_floor(0.5), (0, 1.2, 0), (7, 0, 0), [0, 1, 2])
    assert kinds(run)[-1] == ("floor", "sticks")
    np.testing.assert_allclose(run.qd[-1], [5, 0, -5], atol=1e-11)
    assert audit(run) < 1e-12


def test_a_rocking_block_loses_energy_as_housner_says() -> None:
    b, h, g = 0.25, 1.0, 9.81
    inertia = (b**2 + h**2) / 3
    constraints = []
    for name, side in (("left", -b), ("right", b)):
        corner = (x + sp.cos(a) * side + sp.sin(a) * h, y + sp.sin(a) * side - sp.cos(a) * h)
        friction = da.Coulomb(2, velocity=corner[0].diff(t), normal_force=da.multiplier(name))
        constraints.append(da.Constraint(sp.Ge(corner[1], 0), name=name, restitution=0, nonideal=friction))
    block = da.System((x, y, a), sp.diag(1, 1, inertia), (0, -g, 0), constraints)
    tilt = 0.1
    q0 = (-b + np.cos(tilt) * b - np.sin(tilt) * h, np.sin(tilt) * b + np.cos(tilt) * h, tilt)
    run = da.simulate(block, q0, (0, 0, 0), np.linspace(0, 1.5, 16), **TIGHT)
    impacts = [event for event in run.events if event.kind == "impact"]
    assert [event.name for event in impacts] == ["right", "left"]
    ratio = 1 - 1.5 * np.sin(np.arctan2(b, h)) ** 2
    np.testing.assert_allclose([event.after[5] / event.before[5] for event in impacts], ratio, rtol=1e-12)
    # a quarter of the first period, from the energy of the pendulum about a corner
    p2, alpha = 0.75 * g / np.hypot(b, h), np.arctan2(b, h)
    turn = impacts[0].before[5] ** 2 / 2 - p2 * (np.cos(alpha - tilt) - np.cos(alpha))
    assert turn == pytest.approx(0, abs=1e-11)
    assert audit(run) < 1e-10


def test_newtons_cradle_and_simultaneous_impacts() -> None:
    """By Newton's law, three equal balls in contact share the blow: the last two move off together."""
    z = da.coordinates("z")
    contacts = [
        da.Constraint(sp.Ge(y - x, 1), name="first", restitution=1),
        da.Constraint(sp.Ge(z - y, 1), name="second", restitution=1),
    ]
    balls = da.System((x, y, z), sp.eye(3), (0, 0, 0), contacts)
    touching = da.simulate(balls, (-1, 1, 2), (1, 0, 0), [0, 2])
    np.testing.assert_allclose(touching.qd[-1], [-1 / 3, 2 / 3, 2 / 3], atol=1e-13)
    apart = da.simulate(balls, (-1, 1, 2.1), (1, 0, 0), [0, 2])
    np.testing.assert_allclose(apart.qd[-1], [0, 0, 1], atol=1e-13)


def test_a_rod_that_lands_flat() -> None:
    ends = [da.Constraint(sp.Ge(y + side * sp.sin(a), 0), name=str(side), restitution=0.5) for side in (-1, 1)]
    rod = da.System((y, a), sp.diag(1, sp.Rational(1, 3)), (-10, 0), ends)
    run = da.simulate(rod, (1, 0), (0, 0), [0, 0.6])
    assert kinds(run) == [("-1", "impact"), ("1", "impact")]
    np.testing.assert_allclose(run.events[0].after[2:], [np.sqrt(20) / 2, 0], atol=1e-12)


def test_a_block_lifts_off_a_floor_that_is_pulled_away() -> None:
    """The floor at −sin(t)·2 accelerates faster than gravity at 2 sin t = 1."""
    floor = da.Constraint(sp.Ge(y, 2 * sp.sin(t)), name="floor", restitution=0)
    block = da.System((y,), [[1]], (-1,), floor)
    run = da.simulate(block, (0,), (2,), [0, 2], **TIGHT)
    assert kinds(run)[0] == ("floor", "opens")
    assert run.events[0].t == pytest.approx(np.pi / 6, abs=1e-12)


def shaken_box(mu: Any, centre: Any) -> da.System:
    """A box with two corners on a table that moves up and down; the floor also pulls at it sideways."""
    rows = []
    for name, side in (("left", -1), ("right", 1)):
        along = (side - centre) / 2
        corner = (x + sp.cos(a) * along + sp.sin(a) / 4, y + sp.sin(a) * along - sp.cos(a) / 4)
        friction = da.Coulomb(mu, velocity=corner[0].diff(t), normal_force=da.multiplier(name))
        gap = sp.Ge(corner[1] - sp.sin(20 * t) / 10, 0)
        rows.append(da.Constraint(gap, name=name, restitution=0, nonideal=friction))
    return da.System((x, y, a), sp.diag(1, 1, sp.Rational(1, 10)), (0, -10, 0), rows)


@pytest.mark.parametrize(("mu", "centre"), [(0.1, 0.0), (0.4, -0.2)])
def test_contacts_whose_reactions_vanish_together_open_together(mu: float, centre: float) -> None:
    """The table falls faster than the box where 40 sin 20t = 10; until then friction takes μ (g t + 2 sin 20t …)."""
    run = da.simulate(shaken_box(mu, centre), (0, 0.25, 0), (3, 2, 0), [0, 0.1, 0.2])
    assert sorted(kinds(run)) == [("left", "opens"), ("right", "opens")]
    leaves = np.arcsin(0.25) / 20
    np.testing.assert_allclose([event.t for event in run.events], leaves, rtol=1e-10)
    speeds = 2 * np.cos(20 * leaves), 3 - mu * (10 * leaves + 2 * np.cos(20 * leaves) - 2)
    np.testing.assert_allclose(
        run.qd, [[3, 2, 0], *([speeds[1], speeds[0] - 10 * (h - leaves), 0] for h in (0.1, 0.2))], atol=1e-10
    )


@pytest.mark.parametrize("drift", [da.Projection(), da.Baumgarte(20, 20)], ids=["projection", "baumgarte"])
def test_contacts_of_a_slow_body_on_a_fast_one_open_together(drift: Any) -> None:
    """A slider, at rest across its guide, hangs on a rod: its rounding is that of the rod's velocity, not of its own.

    Both corners leave the guide at 15.03 ms; rounding that is taken for a motion would close them again, in turns.
    """
    case = gallery.case("slider-clearance")
    run = da.simulate(case.system, case.q0, case.qd0, [0, 0.01, 0.02], parameters=case.parameters, drift=drift)
    reference = da.simulate(case.system, case.q0, case.qd0, [0, 0.01, 0.02], parameters=case.parameters, **TIGHT)
    leaving = [event for event in run.events if event.kind == "opens"]
    assert [event.name for event in leaving] == ["upper front corner: gap", "upper rear corner: gap"]
    assert leaving[0].t == leaving[1].t
    assert [event[1:3] for event in run.events] == [event[1:3] for event in reference.events]
    np.testing.assert_allclose(run.q, reference.q, atol=1e-8)


def test_a_pulled_floor_lets_go() -> None:
    """A two-sided floor would hold a block that is pulled upwards, and brake it."""
    floor = da.Constraint(sp.Ge(y, 0), name="floor", restitution=0, nonideal=da.Coulomb(0.3))
    block = da.System((x, y), sp.eye(2), (0, 10 * t - 10), floor)
    run = da.simulate(block, (0, 0), (3, 0), [0, 0.5, 1.5], **TIGHT)
    assert kinds(run) == [("floor", "opens")]
    assert run.events[0].t == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(run.qd[-1], [1.5, 1.25], atol=1e-11)
    np.testing.assert_allclose(run.q[-1, 1], 10 / 6 / 8, atol=1e-11)


def test_the_ledger_of_an_impact_with_friction() -> None:
    """The ideal impulse of a ball that lands is that without friction; friction has the rest of the work."""
    run = da.simulate(ball_on_floor(0.5), (0, 1.2, 0), (7, 0, 0), [0, 0.3])
    ledger = run.ledger()
    assert [event.kind for event in run.events] == ["impact"]
    assert ledger["floor"][-1] == pytest.approx(-2 * 0.75, rel=1e-12)  # (1 − e²) m g h
    assert ledger.ideal_work[-1] == pytest.approx(ledger["floor"][-1], rel=1e-12)
    impulse = 0.2 * 1.5 * 2  # μ (1 + e) m v
    slip = 7 - 7 / 4 * impulse  # mean of the slip, which falls by 7/2 of the impulse
    assert ledger["floor: Coulomb"][-1] == pytest.approx(-impulse * slip, rel=1e-12)
    assert ledger.nonideal_work[-1] == pytest.approx(ledger["floor: Coulomb"][-1], rel=1e-12)


def test_a_particle_that_bounces_in_space() -> None:
    """Friction takes μ (1 + e) vₙ from the slip, along its direction, and stops it if that is more."""
    z = da.coordinates("z")
    floor = da.Constraint(sp.Ge(z, 0), name="floor", restitution=0.5, nonideal=da.Coulomb(0.2))
    particle = da.System((x, y, z), sp.eye(3), (0, 0, -10), floor)
    fast, slow = (da.simulate(particle, (0, 0, 0.2), (v, 4 / 3 * v, 0), [0, 0.25]) for v in (3, 0.1))
    np.testing.assert_allclose(fast.events[0].after[3:], [3 - 0.6 * 0.6, 4 - 0.6 * 0.8, 1], atol=1e-13)
    np.testing.assert_allclose(slow.events[0].after[3:], [0, 0, 1], atol=1e-13)
    assert max(audit(fast), audit(slow)) < 1e-13
    assert fast.ledger()["floor: Coulomb"][-1] == pytest.approx((4.4**2 - 25) / 2, rel=1e-12)


def triangle(mu: float, restitution: float) -> da.System:
    """A body with three rough corners above the ground."""
    constraints = []
    for name, (along, across) in {"A": (-0.5, -0.3), "B": (0.5, -0.3), "C": (0.1, 0.4)}.items():
        corner = (x + sp.cos(a) * along - sp.sin(a) * across, y + sp.sin(a) * along + sp.cos(a) * across)
        friction = da.Coulomb(mu, velocity=corner[0].diff(t), normal_force=da.multiplier(name))
        gap = sp.Ge(corner[1], 0)
        constraints.append(da.Constraint(gap, name=name, restitution=restitution, nonideal=friction, impact="poisson"))
    kinetic = (x.diff(t) ** 2 + y.diff(t) ** 2 + a.diff(t) ** 2 / 8) / 2
    return da.System.from_lagrangian(kinetic - 10 * y, (x, y, a), constraints=constraints)


def test_rebounds_lower_than_the_rounding_of_the_gap() -> None:
    """After three impacts the next flight would be 2e-19 high, which no gap of size one resolves."""
    draw = np.random.default_rng(1416)
    q0 = (0.0, draw.uniform(0.7, 1.2), draw.uniform(-np.pi, np.pi))
    body = triangle(draw.uniform(0, 0.5), draw.uniform(0, 0.5))
    run = da.simulate(body, q0, 2 * draw.normal(size=3), [0, 0.16, 0.17, 0.3])
    rests = [event for event in run.events if event.kind == "rests"]
    assert rests[0].name == "B"
    assert rests[0].t == pytest.approx(0.1678097804, abs=1e-9)
    assert run.violation.min() > -1e-12
    assert np.diff(run.ledger().energy).max() < 1e-9


@pytest.mark.slow  # random throws of a triangle with friction at its corners
@pytest.mark.parametrize("quarter", range(4))
def test_random_throws_neither_hang_nor_penetrate_nor_create_energy(quarter: int) -> None:
    """Forty throws; a quarter of them in each turn of the slow tests."""
    body = triangle(0.3, 0.4)
    draw = np.random.default_rng(3)
    throws = [(1 + draw.uniform(0, 1), draw.uniform(-3, 3), 2 * draw.normal(size=3)) for _ in range(40)]
    for height, angle, qd0 in throws[quarter::4]:
        run = da.simulate(body, (0, height, angle), qd0, np.linspace(0, 3, 61))
        ledger = run.ledger()
        assert run.violation.min() > -1e-12
        assert np.diff(ledger.energy).max() < 1e-8
        assert np.abs(ledger.audit).max() < 1e-8


def test_a_start_in_contact_that_approaches_begins_with_an_impact() -> None:
    floor = da.Constraint(sp.Ge(y, 0), name="floor", restitution=0.5)
    run = da.simulate(da.System((y,), [[1]], (-10,), floor), (0,), (-2,), [0, 0.1, 0.25])
    np.testing.assert_allclose(run.qd[:2, 0], [1, 0], atol=1e-14)
    assert run.notes == ("The motion starts with an impact at `floor`: its initial velocities are those after it.",)
    assert kinds(run) == [("floor", "impact"), ("floor", "impact")]
    assert audit(run) < 1e-14
    assert audit(run.taken(slice(1, 3))) < 1e-14


@pytest.mark.parametrize("length", [1e-9, 1e9])
@pytest.mark.parametrize("unit", [1e-9, 1e9])
def test_a_rope_in_other_units_has_the_same_motion(length: float, unit: float) -> None:
    """Lengths, and the rows of an equation beside the contact, in units of 1e-9 to 1e9."""
    z = da.coordinates("z")

    def swing(L: float, s: float) -> tuple[np.ndarray, list[tuple[str, float]], float]:
        rope = da.Constraint(sp.Ge(L**2 - x**2 - y**2 - z**2, 0), name="rope", restitution=0.4)
        plane = da.Constraint(s * (z - 2 * x), name="plane")
        system = da.System((x, y, z), 3 * sp.eye(3), (0, -3 * L, 0), (rope, plane))
        speed = np.sqrt(0.7) * L
        run = da.simulate(system, (0, -L, 0), (speed, 0, 2 * speed), [0, 2, 5])
        events = [(event.kind, round(event.t, 7)) for event in run.events]
        return run.q / L, events, run.ledger()["rope"][-1] / L**2

    q, events, work = swing(length, unit)
    expected_q, expected_events, expected_work = swing(1.0, 1.0)
    assert "impact" in dict(expected_events)
    assert events == expected_events
    np.testing.assert_allclose(q, expected_q, atol=1e-8)
    assert work == pytest.approx(expected_work, rel=1e-8)


def test_stabilising_terms_are_noted_with_contacts_and_events() -> None:
    note = "Accelerations, constraint forces and multipliers include Baumgarte's stabilising terms."
    drive = da.Constraint(x - sp.sin(da.t), name="drive")
    floor = da.Constraint(sp.Ge(y, 0), name="floor", restitution=0.5)
    system = da.System((x, y), sp.eye(2), (0, -10), (drive, floor))
    start = ((0, 1), (1, 0), [0, 0.1])
    assert note in da.simulate(system, *start, drift=da.Baumgarte(3, 3)).notes
    assert note not in da.simulate(system, *start).notes
