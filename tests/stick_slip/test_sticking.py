"""Friction that holds: when it lets go, which way it slips, and that nothing moves that should not."""

from dataclasses import replace

import diffrax
import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import dalembert as da

x, y, z = da.coordinates("x y z")
xd, yd, zd = (q.diff(da.t) for q in (x, y, z))
g, mu, mu_s = da.parameters("g mu mu_s")
G = 9.81


def block(force: object = 0) -> da.System:
    """A block on a level floor, pulled along it."""
    floor = da.Constraint(y, name="floor", nonideal=da.Coulomb(mu, mu_static=mu_s))
    return da.System((x, y), sp.eye(2), (force, -g), floor)


def numbers(sliding: float, holding: float) -> dict[str, float]:
    return {"g": G, "mu": sliding, "mu_s": holding}


def incline(angle: float) -> da.System:
    floor = da.Constraint(y, name="floor", nonideal=da.Coulomb(mu, mu_static=mu_s))
    return da.System((x, y), sp.eye(2), (g * sp.sin(angle), -g * sp.cos(angle)), floor)


def test_a_block_slides_on_where_friction_cannot_hold_it() -> None:
    """Up the incline, round, and down again; the turn is no event of sticking."""
    run = da.simulate(incline(0.5), (0, 0), (-2, 0), (0, 3), parameters=numbers(0.2, 0.3))
    turn = 2 / (G * (np.sin(0.5) + 0.2 * np.cos(0.5)))
    end = -2 * turn / 2 + G * (np.sin(0.5) - 0.2 * np.cos(0.5)) * (3 - turn) ** 2 / 2
    assert run.events == ()
    assert run["x"][-1] == pytest.approx(end, abs=1e-8)


def test_a_block_at_rest_stays_at_rest() -> None:
    run = da.simulate(incline(0.3), (0, 0), (0, 0), np.linspace(0, 100, 11), parameters=numbers(0.2, 0.4))
    np.testing.assert_array_equal(run.q, 0)
    np.testing.assert_array_equal(run.qd, 0)
    np.testing.assert_allclose(run.nonideal_force[:, 0], -G * np.sin(0.3), rtol=1e-12)
    np.testing.assert_allclose(run.ideal_force[:, 1], G * np.cos(0.3), rtol=1e-12)
    assert run.events == ()
    assert (run.rank == 1).all()


@pytest.mark.parametrize("rtol", [1e-3, 1e-9])
def test_the_instant_of_rest_is_as_exact_as_the_motion(rtol: float) -> None:
    """Under a constant force any step is exact, and so is where it ends; friction does not jump on the way."""
    run = da.simulate(block(), (0, 0), (0.6, 0), (0, 1), parameters=numbers(0.3, 0.4), rtol=rtol, atol=rtol)
    assert run.events[0].t == pytest.approx(0.6 / (0.3 * G), abs=1e-13)
    assert run["x"][-1] == pytest.approx(0.6**2 / 2 / (0.3 * G), abs=1e-13)


@pytest.mark.slow  # a program of JAX for each phase
def test_fixed_steps_with_a_solver_of_ones_own_do_not_chatter() -> None:
    """Down to rest, which no step ends at, and at rest ever after; with a solver of one's own."""
    run = da.simulate(
        incline(-0.1),
        *((0, 0), (0.6, 0), np.linspace(0, 1, 6)),
        parameters=numbers(0.3, 0.4),
        solver=diffrax.Tsit5(),
        step=0.07,
    )
    stop = 0.6 / (G * (np.sin(0.1) + 0.3 * np.cos(0.1)))
    assert [(event.kind, event.t) for event in run.events] == [("sticks", pytest.approx(stop, abs=1e-12))]
    np.testing.assert_array_equal(run.qd[2:], 0)
    np.testing.assert_allclose(run.nonideal_force[2:, 0], G * np.sin(0.1), rtol=1e-12)


def test_rest_within_a_single_step_is_not_missed() -> None:
    """Under F = 4t the velocity 1 − 3t + 2t² of sliding on is negative from 1/2 to 1: it rests, held up to 4.4."""
    parameters = {"g": 10.0, "mu": 0.3, "mu_s": 0.44}
    run = da.simulate(block(4 * da.t), (0, 0), (1, 0), (0, 2), parameters=parameters, rtol=1e-2, atol=1e-2)
    assert [event.kind for event in run.events] == ["sticks", "slips"]
    np.testing.assert_allclose([event.t for event in run.events], [0.5, 1.1], atol=1e-9)
    assert run.qd[-1, 0] == pytest.approx(2 * (4 - 1.21) - 3 * 0.9, abs=1e-9)


def test_a_growing_pull_makes_it_slip_when_it_is_too_strong() -> None:
    """F = t up to μₛ m g, then ẍ = t − μ g: v and x in closed form."""
    run = da.simulate(block(da.t), (0, 0), (0, 0), np.linspace(0, 6, 25), parameters=numbers(0.3, 0.4))
    slip = 0.4 * G
    later = np.maximum(run.t - slip, 0)
    assert [(e.name, e.kind) for e in run.events] == [("floor", "slips")]
    assert run.events[0].t == pytest.approx(slip, abs=1e-10)
    np.testing.assert_allclose(run.qd[:, 0], later**2 / 2 + (slip - 0.3 * G) * later, atol=1e-9)
    np.testing.assert_allclose(run.nonideal_force[:, 0], np.where(later > 0, -0.3 * G, -run.t), atol=1e-9)


def test_it_slips_the_other_way_too() -> None:
    run = da.simulate(block(-da.t), (0, 0), (0, 0), (0, 6), parameters=numbers(0.3, 0.4))
    later = 6 - 0.4 * G
    assert run.qd[-1, 0] == pytest.approx(-(later**2) / 2 - (0.4 - 0.3) * G * later, abs=1e-9)


def test_an_alternating_pull_holds_and_slips_in_turn() -> None:
    """Under F = 5 sin t with μₛ g = 3.9 the block sticks for a part of every half period; momentum tells the rest."""
    run = da.simulate(block(5 * sp.sin(da.t)), (0, 0), (0, 0), np.linspace(0, 20, 401), parameters=numbers(0.3, 0.4))
    kinds = [event.kind for event in run.events]
    assert kinds == ["slips", "sticks"] * (len(kinds) // 2) + ["slips"] * (len(kinds) % 2)
    slips = [event.t for event in run.events if event.kind == "slips"]
    np.testing.assert_allclose(5 * np.abs(np.sin(slips)), 0.4 * G, rtol=1e-9)
    for slip, stick in zip(slips, (e.t for e in run.events if e.kind == "sticks"), strict=False):
        push = np.sign(np.sin(slip))
        impulse = 5 * (np.cos(slip) - np.cos(stick)) - push * 0.3 * G * (stick - slip)
        assert impulse == pytest.approx(0, abs=1e-8)


def plane() -> da.System:
    """A particle on a level plane, in space."""
    floor = da.Constraint(z, name="plane", nonideal=da.Coulomb(mu, mu_static=mu_s))
    return da.System((x, y, z), sp.eye(3), (0, 0, -g), floor)


def test_in_space_it_stops_along_its_own_direction() -> None:
    run = da.simulate(plane(), (0, 0, 0), (3, 4, 0), (0, 1, 4), parameters=numbers(0.25, 0.3))
    stop = 5 / (0.25 * G)
    assert run.events[0].t == pytest.approx(stop, abs=1e-8)
    np.testing.assert_allclose(run.q[-1], 5 * stop / 2 * np.array([0.6, 0.8, 0]), atol=1e-8)
    np.testing.assert_array_equal(run.qd[-1], 0)


def test_in_space_a_tilting_plane_lets_go_along_the_slope() -> None:
    """The pull turns up slowly, along (3, 4): it slips when the pull is μₛ g, and in that direction."""
    tilted = da.System((x, y, z), sp.eye(3), (0.6 * da.t, 0.8 * da.t, -g), plane().constraints)
    run = da.simulate(tilted, (0, 0, 0), (0, 0, 0), (0, 6), parameters=numbers(0.3, 0.4))
    assert run.events[0].t == pytest.approx(0.4 * G, abs=1e-9)
    later = 6 - 0.4 * G
    speed = later**2 / 2 + 0.1 * G * later
    np.testing.assert_allclose(run.qd[-1], speed * np.array([0.6, 0.8, 0]), atol=1e-8)


def test_it_starts_the_way_it_moves_not_the_way_it_is_pushed() -> None:
    """With masses that differ by direction: M v̇ = F − μN v/|v| has v̇ along v at the start; machine code does it."""
    M = sp.Matrix([[2, 1, 0], [1, 3, 0], [0, 0, 1]])
    law = da.Coulomb(mu, velocity=(xd, yd), normal_force=da.multiplier("plane"), mu_static=mu_s)
    system = da.System((x, y, z), M, (da.t, 0, -g), da.Constraint(z, name="plane", nonideal=law))
    run = da.simulate(
        system, (0, 0, 0), (0, 0, 0), (0, 3 + 1e-6, 4), parameters={"g": 10, "mu": 0.2, "mu_s": 0.3}, max_steps=60
    )
    d = run.qd[1, :2] / np.linalg.norm(run.qd[1, :2])
    rate = np.linalg.solve(np.array([[2, 1], [1, 3]]), np.array([3, 0]) - 2 * d)
    assert rate[1] / rate[0] == pytest.approx(d[1] / d[0], abs=1e-5)
    assert run.statistics["program"] == "machine code"


def test_a_bead_on_a_wire_comes_to_rest_off_the_lowest_point() -> None:
    """In a parabola it stops where the slope is less than μₛ, and stays there."""
    wire = da.Constraint(y - x**2, name="wire", nonideal=da.Coulomb(mu, mu_static=mu_s))
    bead = da.System((x, y), sp.eye(2), (0, -g), wire)
    run = da.simulate(bead, (-1, 1), (0, 0), np.linspace(0, 100, 201), parameters=numbers(0.2, 0.3))
    assert run.events[-1].kind == "sticks"
    after = run.t > run.events[-1].t
    assert abs(2 * run["x"][-1]) < 0.3
    np.testing.assert_allclose(run.qd[after], 0, atol=1e-15)
    assert np.ptp(run["x"][after]) < 1e-11  # accelerations are zero to rounding, over 97 s
    assert np.abs(run.violation).max() < 1e-12


def test_two_blocks_each_stick_on_their_own() -> None:
    """One on top of the other: the upper one is dragged along until the lower one is pulled too hard."""
    a, b, u, w = da.coordinates("a b u w")
    lower = da.Constraint(
        u,
        name="floor",
        nonideal=da.Coulomb(0.1, velocity=a.diff(da.t), normal_force=da.multiplier("floor"), mu_static=0.2),
    )
    upper = da.Constraint(
        w - u,
        name="top",
        nonideal=da.Coulomb(
            0.3, velocity=b.diff(da.t) - a.diff(da.t), normal_force=da.multiplier("top"), mu_static=0.4
        ),
    )
    system = da.System((a, b, u, w), sp.eye(4), (2 * da.t, 0, -10, -10), (lower, upper))
    run = da.simulate(system, np.zeros(4), np.zeros(4), np.linspace(0, 6, 13))
    # the floor holds up to 0.2 · 20; together they move at (2t − 2)/2 until that is 0.4 · 10
    assert [(e.name, e.kind) for e in run.events] == [("floor", "slips"), ("top", "slips")]
    np.testing.assert_allclose([e.t for e in run.events], [2.0, 5.0], atol=1e-8)
    at_five = (25 - 4) / 2 - 1 * 3
    assert run.qd[-1, 1] == pytest.approx(at_five + 3.0, abs=1e-7)
    assert run.qd[-1, 0] == pytest.approx(at_five + 11 - 2 - 3, abs=1e-7)


def test_stribeck_sticks_as_well() -> None:
    floor = da.Constraint(y, name="floor", nonideal=da.Stribeck(0.2, 0.4, 0.1))
    system = da.System((x, y), sp.eye(2), (da.t, -10), floor)
    run = da.simulate(system, (0, 0), (0, 0), (0, 3, 5))
    assert run.events[0].t == pytest.approx(4, abs=1e-9)
    assert run["x"][1] == 0
    assert run["x"][2] > 0


def test_events_are_kept_in_files(tmp_path) -> None:
    run = da.simulate(block(da.t), (0, 0), (0, 0), (0, 6), parameters=numbers(0.3, 0.4))
    run.save(tmp_path / "run.nc")
    assert da.Trajectory.load(tmp_path / "run.nc").events == run.events


def test_smoothed_friction_does_not_stick() -> None:
    with pytest.raises(da.ModelError, match=r"either be smoothed or stick; leave out `smoothing` or `mu_static`"):
        da.Coulomb(0.2, smoothing=0.01, mu_static=0.3)


def test_a_motion_that_cannot_go_on_says_so_with_what_there_is() -> None:
    system = block(1 / sp.sqrt(2 - da.t) + 5)
    with pytest.raises(da.SimulationError, match="ended at t =") as caught:
        da.simulate(system, (0, 0), (0, 0), np.linspace(0, 3, 7), parameters=numbers(0.3, 0.4))
    assert caught.value.trajectory.t[-1] <= 2
    assert len(caught.value.trajectory.t) >= 4


def test_a_slip_between_two_long_steps_is_not_missed() -> None:
    """While nothing moves, steps grow as long as the run; the pull of 3.2 sin t beats 3 at asin(3/3.2) all the same."""
    system = da.System((x, y), sp.eye(2), (sp.Rational(16, 5) * sp.sin(da.t), -10), block().constraints)
    for end in (6.28, 20.0):
        run = da.simulate(system, (0, 0), (0, 0), (0, end), parameters={"mu": 0.2, "mu_s": 0.3})
        assert run.events[0].t == pytest.approx(np.arcsin(3 / 3.2), abs=1e-9)


def test_a_short_slip_in_a_long_run_is_not_missed() -> None:
    """3.1 sin t e^(−t/100) beats 3 once, for a third of a second in a thousand; nothing moves before that."""
    pull = sp.Rational(31, 10) * sp.sin(da.t) * sp.exp(-da.t / 100)
    system = da.System((x, y), sp.eye(2), (pull, -10), block().constraints)
    run = da.simulate(system, (0, 0), (0, 0), (0, 1000), parameters={"mu": 0.2, "mu_s": 0.3})
    assert [event.kind for event in run.events] == ["slips", "sticks"]
    assert 3.1 * np.sin(run.events[0].t) * np.exp(-run.events[0].t / 100) == pytest.approx(3, abs=1e-9)
    assert run.events[0].t < np.pi / 2


def test_friction_of_what_has_just_let_go_counts() -> None:
    """Both at the same instant: with the floor's friction the stack is held, without it it would not be."""
    a, b, c, d = da.coordinates("a b c d")
    floor = da.Coulomb(0.1, velocity=a.diff(da.t), normal_force=da.multiplier("floor"), mu_static=0.2)
    stack = da.Coulomb(0.3, velocity=c.diff(da.t) - a.diff(da.t), normal_force=da.multiplier("stack"), mu_static=0.4)
    rows = (da.Constraint(b, name="floor", nonideal=floor), da.Constraint(d - b - 1, name="stack", nonideal=stack))
    run = da.simulate(da.System((a, b, c, d), sp.eye(4), (9.5, -10, 0, -10), rows), (0, 0, 0, 1), (0, 0, 0, 0), (0, 1))
    np.testing.assert_allclose(run.q[-1], [1.875, 0, 1.875, 1], atol=1e-9)


@pytest.mark.parametrize(("speed", "sliding", "stiffness"), [(1.7, 0.37, 83.0), (2.7, 0.6, 86.0), (4.9, 0.05, 3.0)])
def test_a_block_on_a_spring_comes_to_rest(speed: float, sliding: float, stiffness: float) -> None:
    """Half swings about ±μg/k, each of which the velocity ends; the last one ends where the spring can be held."""
    system = da.System((x, y), sp.eye(2), (-stiffness * x, -10), block().constraints)
    run = da.simulate(system, (0, 0), (speed, 0), (0, 60), parameters={"mu": sliding, "mu_s": 1.2 * sliding})
    shift, side = 10 * sliding / stiffness, 1
    place = -shift + np.hypot(shift, speed / np.sqrt(stiffness))
    while abs(place) * stiffness > 12 * sliding:
        side = -side
        place = 2 * side * -shift - place
    assert run["x"][-1] == pytest.approx(place, abs=1e-6)
    assert run.events[-1].kind == "sticks"


def test_what_turns_aside_while_it_stops_is_followed_to_rest() -> None:
    """A steady pull of 1 across against 3 of friction: with r the speed along, Δt = (r₀ (μg + cos θ₀))/(μ²g² − 1)."""
    pulled = da.System((x, y, z), sp.eye(3), (1, 0, -g), plane().constraints)
    for rtol, error in ((1e-3, 1e-5), (1e-9, 1e-9)):
        run = da.simulate(
            pulled, (0, 0, 0), (0.3, 0.4, 0), (0, 1), parameters={"g": 10, "mu": 0.3, "mu_s": 0.4}, rtol=rtol, atol=rtol
        )
        assert run.events[0].t == pytest.approx(0.5 * (3 + 0.6) / 8, abs=error)
        np.testing.assert_array_equal(run.qd[-1], 0)


def on_two_feet(pull: object) -> da.System:
    """A block on two feet of different roughness, one before the other, that move as one."""
    theta = da.coordinates("theta")
    rows = [
        da.Constraint(
            y + sign * sp.sin(theta),
            name=name,
            nonideal=da.Coulomb(0.1, velocity=xd, normal_force=da.multiplier(name), mu_static=most),
        )
        for name, sign, most in (("rear", -1, sp.Rational(2, 5)), ("front", 1, sp.Rational(1, 5)))
    ]
    return da.System((x, y, theta), sp.eye(3), (pull, -10, 0), rows)


def test_contacts_that_hold_the_same_motion_hold_it_together() -> None:
    """2 + 1 is what the feet can hold; how they share it does not matter, since none can slip without the other."""
    run = da.simulate(on_two_feet(da.t), (0, 0, 0), (0, 0, 0), (0, 2, 5))
    assert [(e.name, e.kind) for e in run.events] == [("rear", "slips"), ("front", "slips")]
    np.testing.assert_allclose([e.t for e in run.events], 3, atol=1e-9)
    assert run.qd[-1, 0] == pytest.approx((25 - 9) / 2 - 2, abs=1e-9)
    np.testing.assert_allclose(run.nonideal_force[:, 0], [0, -2, -1], atol=1e-9)
    assert "`rear`, `front` hold the same motion: they slip together" in run.notes[0]


def test_they_stop_together_too() -> None:
    run = da.simulate(on_two_feet(0), (0, 0, 0), (2, 0, 0), (0, 3))
    assert [(e.name, e.t) for e in run.events] == [("rear", pytest.approx(2)), ("front", pytest.approx(2))]
    assert run["x"][-1] == pytest.approx(2)


def test_forces_of_sticking_that_cannot_be_known_are_refused() -> None:
    """A lift, whose floor holds what friction would."""
    across = da.Coulomb(0.3, velocity=(xd, yd - 1), mu_static=0.4)
    lift = da.System((x, y), sp.eye(2), (0, -10), da.Constraint(y - da.t, name="lift", nonideal=across))
    with pytest.raises(
        da.SimulationError,
        match=r"at t = 0.5 those of `lift` are not: .* the `velocity` of `lift` has several components",
    ) as e:
        da.simulate(lift, (0, 0), (1.5, 1), np.linspace(0, 1, 11))
    assert e.value.trajectory["x"][-1] == pytest.approx(1.5**2 / 6)


def test_what_walls_keep_at_rest_stays_there() -> None:
    """A corner, whose walls hold what friction would: a note says that the split is not determined."""
    rough = da.Coulomb(0.3, mu_static=0.4)
    walls = (da.Constraint(y, name="floor", nonideal=rough), da.Constraint(x, name="wall", nonideal=rough))
    run = da.simulate(da.System((x, y), sp.eye(2), (-5, -10), walls), (0, 0), (0, 0), (0, 1))
    np.testing.assert_array_equal(run.q[-1], 0)
    np.testing.assert_allclose(run.constraint_force[-1], [5, 10], atol=1e-14)
    assert any("`floor`, `wall` are kept at rest by constraints" in note for note in run.notes)


def test_friction_that_neither_holds_nor_lets_go_is_given_up_at_once() -> None:
    """Painlevé's rod, its friction by the ideal normal force: it slides off one way by that, the other by its own."""
    rod = da.gallery.case("painleve-rod")
    law = da.gallery.friction_cases.painleve_system("ideal").constraints[0].nonideal[0]
    floor = replace(rod.system.constraints[0], nonideal=replace(law, mu_static=mu))
    start = (0, 0.5 * np.sin(1.1), 1.1)
    with pytest.raises(
        da.SimulationError, match=r"without end; by t = 0.239\d+ .* `floor` can neither hold nor slip"
    ) as e:
        da.simulate(
            replace(rod.system, constraints=floor), start, (1, 0, 0), (0, 0.5), parameters={**rod.parameters, "mu": 1.5}
        )
    assert e.value.trajectory.t[-1] == pytest.approx(0.2394, abs=1e-3)


def test_static_friction_is_not_less_than_sliding_friction() -> None:
    with pytest.raises(da.InputError, match=r"static coefficient of `floor` must not be less .*; got 0.3 and 0.5"):
        da.simulate(block(), (0, 0), (1, 0), (0, 1), parameters=numbers(0.5, 0.3))
    with pytest.raises(da.InputError, match=r"static coefficient of `floor` must not be less .*; got 0.3 and 0.5"):
        da.motion(block(), (0, 0), (0, 0), parameters=numbers(0.5, 0.3))
    for law in (da.Coulomb, da.Stribeck):
        with pytest.raises(da.ModelError, match=r"`mu_static` must not be less than `mu`; got 0\.3 and 0\.5\."):
            law(0.5, mu_static=0.3, **({"speed": 1} if law is da.Stribeck else {}))


def test_slow_motion_without_load_does_not_stop() -> None:
    run = da.simulate(block(), (0, 0), (1e-9, 0), (0, 5), parameters={"g": 0.0, "mu": 0.2, "mu_s": 0.3})
    assert run["x"][-1] == pytest.approx(5e-9)


def test_steps_are_counted_over_all_pieces() -> None:
    case = da.gallery.case("belt")
    with pytest.raises(da.SimulationError, match="the limit of 60 steps was reached"):
        da.simulate(case.system, case.q0, case.qd0, case.times, parameters=case.parameters, max_steps=60)


def test_part_of_a_run_has_books_too() -> None:
    assert da.gallery.case("belt").simulate(times=np.linspace(0, 10, 6)).until(3).ledger().closure < 10


def ladder(one_sided: bool = True) -> da.System:
    """A uniform ladder of mass 10 and half length 2 on a rough floor (mu) and against a rough wall (nu)."""
    x, y, a = da.coordinates("x y a")
    mu, nu = da.parameters("mu nu")
    floor = da.Coulomb(mu, velocity=(x + 2 * sp.sin(a)).diff(da.t), normal_force=da.reaction("floor"))
    wall = da.Coulomb(nu, velocity=(y + 2 * sp.cos(a)).diff(da.t), normal_force=da.reaction("wall"))
    gaps = {"floor": (y - 2 * sp.cos(a), floor), "wall": (x - 2 * sp.sin(a), wall)}
    supports = [
        da.Constraint(sp.Ge(gap, 0), name=name, restitution=0, nonideal=law)
        if one_sided
        else da.Constraint(gap, name=name, nonideal=law)
        for name, (gap, law) in gaps.items()
    ]
    return da.System((x, y, a), sp.diag(10, 10, sp.Rational(40, 3)), (0, -98.1, 0), supports)


def leaning(angle: float) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    return (2 * np.sin(angle), 2 * np.cos(angle), angle), (0, 0, 0)


@pytest.mark.parametrize("one_sided", [True, False])
def test_a_ladder_holds_up_to_the_angle_of_statics(one_sided: bool) -> None:
    """At rest it is held if tan a ≤ 2 mu/(1 − mu nu), although statics does not determine how it is supported."""
    numbers = {"mu": 0.3, "nu": 0.2}
    limit = np.arctan(0.6 / (1 - 0.06))
    q0, qd0 = leaning(limit - 1e-6)
    held = da.simulate(ladder(one_sided), q0, qd0, [0, 0.5], parameters=numbers)
    np.testing.assert_allclose(held.q[-1], q0, atol=1e-13)
    assert any("reactions are one of many possible" in note for note in held.notes)
    floor, wall = held.reaction("floor"), held.reaction("wall")
    # friction balances the wall at the foot, and the rest of the weight at the top, each within its limit
    assert (wall <= 0.3 * floor * (1 + 1e-9)).all() and (abs(98.1 - floor) <= 0.2 * wall * (1 + 1e-9)).all()
    falls = da.simulate(ladder(one_sided), *leaning(limit + 1e-6), [0, 0.5], parameters=numbers)
    assert falls["a"][-1] > limit + 1.2e-6


@pytest.mark.parametrize("nu", [0.2, 0.0])
def test_a_ladder_that_must_slip_starts_to_slide_at_both_ends(nu: float) -> None:
    """α from the equations of a ladder that slides at floor and wall."""
    mu, angle = 0.3, 0.75
    point = da.motion(ladder(one_sided=False), *leaning(angle), parameters={"mu": mu, "nu": nu})
    s, c = np.sin(angle), np.cos(angle)
    # 10 x'' = W − mu N, 10 y'' = N + nu W − 98.1, 40/3 a'' = 2 (N (s − mu c) − W (c + nu s)),
    # x'' = 2 c a'', y'' = −2 s a''
    equations = [[20 * c, mu, -1], [-20 * s, -1, -nu], [40 / 3, -2 * (s - mu * c), 2 * (c + nu * s)]]
    alpha, N, W = np.linalg.solve(equations, [0, -98.1, 0])
    np.testing.assert_allclose(point.acceleration, [2 * c * alpha, -2 * s * alpha, alpha], rtol=1e-10)
    np.testing.assert_allclose(point.reactions, [N, W], rtol=1e-10)


def test_a_load_that_grows_releases_contacts_of_undetermined_friction_where_statics_does() -> None:
    """A ladder whose centre is pushed away from the wall by a growing force slips at both ends."""
    system = ladder(one_sided=False)
    pushed = da.System(system.coordinates, system.mass_matrix, (4 * da.t, -98.1, 0), system.constraints)
    q0, qd0 = leaning(0.5)
    run = da.simulate(pushed, q0, qd0, [0, 10], parameters={"mu": 0.3, "nu": 0.2})
    slips = [event for event in run.events if event.kind == "slips"]
    assert {event.name for event in slips} == {"floor", "wall"}
    mu, nu, s, c = 0.3, 0.2, np.sin(0.5), np.cos(0.5)
    # at the limit, with the force P at the centre: W = mu N − P, N + nu W = 98.1, N (s − mu c) = W (c + nu s)
    *_, P = np.linalg.solve([[mu, -1, -1], [1, nu, 0], [s - mu * c, -(c + nu * s), 0]], [0, 98.1, 0])
    assert slips[0].t == pytest.approx(P / 4, rel=1e-9)


def test_a_linkage_with_friction_in_two_joints_swings_through_its_turning_points() -> None:
    """All joints of one degree of freedom stop at once; with hardly any friction in one, as with the other alone."""
    times, ends = [0, 1.5], []
    for coefficient in (0, 1e-7):
        crank = da.PlanarBody("crank", mass=1, inertia=1 / 12, position=(0.5, 0), spin=5)
        slider = da.PlanarBody("slider", mass=1, inertia=0.1, position=(3.0, 0))
        bearing = da.Revolute("bearing", da.ground.at(0, 0), crank.at(-0.5, 0), radius=0.05, nonideal=da.Coulomb(0.5))
        rod = da.Rod("rod", crank.at(0.5, 0), slider, length=2)
        guide = da.Prismatic("guide", da.ground.at(0, 0), slider, nonideal=da.Coulomb(coefficient))
        linkage = da.Mechanism((crank, slider), (bearing, rod, guide), da.Gravity((0, -9.81)))
        run = da.simulate(linkage.system, *linkage.assemble(keep=("theta_crank",)), times)
        ends.append(run.q[-1])
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-5)


def test_contacts_of_undetermined_friction_in_a_plane_are_refused() -> None:
    x, y, z = da.coordinates("x y z")
    v = x.diff(da.t), y.diff(da.t)
    floor = da.Constraint(z, name="floor", nonideal=da.Coulomb(0.3, velocity=v, normal_force=da.reaction("floor")))
    wall_law = da.Coulomb(0.3, velocity=x.diff(da.t) + z.diff(da.t), normal_force=da.reaction("wall"))
    wall = da.Constraint(y, name="wall", nonideal=wall_law)
    block = da.System((x, y, z), sp.eye(3), (1, 0, -10), (floor, wall))
    with pytest.raises(
        da.ConstraintError, match=r"the `velocity` of `floor` has several components\. If the contact can"
    ):
        da.simulate(block, (0, 0, 0), (0, 0, 0), [0, 1])


def test_a_slow_slip_of_fast_bodies_comes_to_rest() -> None:
    """A block on a plate that swings fast: errors of the plate turn the direction of the slip, which misses zero."""
    u, w = da.coordinates("u w")
    slip = (xd - u.diff(da.t), yd - w.diff(da.t))
    friction = da.Coulomb(0.3, velocity=slip, normal_force=da.multiplier("plate"))
    force = (0, 0, -10, -200 * u, -250 * w)
    system = da.System(
        (x, y, z, u, w), sp.diag(1, 1, 1, 50, 50), force, da.Constraint(z, name="plate", nonideal=friction)
    )
    draw = np.random.default_rng(0)
    v, ahead, place = draw.normal(size=2), 0.05 * draw.normal(size=2), draw.normal(size=2)
    run = da.simulate(system, (0, 0, 0, *place), (*(v + ahead), 0, *v), [0, 0.05], max_steps=1000)

    def rates(_: float, state: np.ndarray) -> np.ndarray:
        block, plate, at = np.split(state, 3)
        push = 3 * (block - plate) / np.linalg.norm(block - plate)
        return np.concatenate([-push, (push - (200, 250) * at) / 50, plate])

    def slow(_: float, state: np.ndarray) -> float:
        return np.linalg.norm(state[:2] - state[2:4]) - 1e-6

    slow.terminal = True
    found = solve_ivp(
        rates, (0, 1), np.concatenate([v + ahead, v, place]), "DOP853", events=slow, rtol=1e-13, atol=1e-14
    )
    last = rates(0, np.asarray(found.y_events[0][0]))
    rest = found.t_events[0][0] + 1e-6 / np.linalg.norm(last[:2] - last[2:4])
    assert [event.kind for event in run.events] == ["sticks"]
    # the instant is found by some steps that do not slow down, of 1e-8 each
    assert run.events[0].t == pytest.approx(rest, abs=1e-7)
    np.testing.assert_allclose(run.qd[-1, :2], run.qd[-1, 3:], atol=1e-12)
