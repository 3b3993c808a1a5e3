"""Closed contacts that share their load in a way that the motion does not determine: tables, plates, several feet."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da

t = da.t
z, a, b = da.coordinates("z a b")  # the height of a table, and small rotations about the axes x and y
FOUR = ((1, 1), (-1, 1), (-1, -1), (1, -1))
SIX = tuple((float(np.cos(k * np.pi / 3)), float(np.sin(k * np.pi / 3))) for k in range(6))


def table(feet, force, restitution=0, law: str = "newton") -> da.System:
    """A table of mass one on a plane; ``force`` is the load, a weight with its moments about x and y."""
    given = restitution if isinstance(restitution, tuple) else (restitution,) * len(feet)
    contacts = [
        da.Constraint(sp.Ge(z + v * a - u * b, 0), name=f"foot {k}", restitution=e, impact=law)
        for k, ((u, v), e) in enumerate(zip(feet, given, strict=True))
    ]
    return da.System((z, a, b), sp.eye(3), force, contacts)


def load_at(u, v, weight: float = 10.0):
    return (-weight, -weight * v, weight * u)


def reactions(run, count: int) -> np.ndarray:
    return np.array([run.reaction(f"foot {k}") for k in range(count)]).T


def wrench(feet) -> np.ndarray:
    return np.array([(1.0, v, -u) for u, v in feet]).T


@pytest.mark.parametrize("feet", [FOUR, SIX])
def test_reactions_at_rest_have_the_least_sum_of_squares(feet) -> None:
    run = da.simulate(table(feet, load_at(0.1, -0.05)), (0, 0, 0), (0, 0, 0), [0, 1])
    expected = np.linalg.lstsq(wrench(feet), -np.array(load_at(0.1, -0.05)), rcond=None)[0]
    assert expected.min() > 0
    np.testing.assert_allclose(reactions(run, len(feet)), [expected, expected], rtol=1e-13)
    np.testing.assert_array_equal(run.q, 0)
    # the multipliers are distributed in the same way
    np.testing.assert_allclose(run["foot 0"], expected[0], rtol=1e-13)
    assert "share their load in a way that the motion does not determine" in run.notes[-1]
    assert "with the least sum of squares, that press" in run.notes[-1]


def test_two_contacts_with_one_surface_share_its_reaction() -> None:
    floors = [da.Constraint(sp.Ge(z, 0), name=name, restitution=0) for name in ("one", "other")]
    run = da.simulate(da.System((z,), [[1]], (-1,), floors), (0,), (0,), [0, 1])
    np.testing.assert_allclose([run.reaction("one"), run.reaction("other")], 0.5, rtol=1e-14)


def test_reactions_press_where_the_least_ones_would_pull() -> None:
    """Near a foot, the opposite one has no load: the other three are then determined by statics."""
    u, v = 0.7, 0.5
    assert np.linalg.lstsq(wrench(FOUR), -np.array(load_at(u, v)), rcond=None)[0][2] < 0
    run = da.simulate(table(FOUR, load_at(u, v)), (0, 0, 0), (0, 0, 0), [0, 1])
    # moments about the diagonal through feet 1 and 3, and about the axes
    expected = 10 * np.array([(u + v) / 2, (1 - u) / 2, 0.0, (1 - v) / 2])
    np.testing.assert_allclose(reactions(run, 4)[-1], expected, atol=1e-13)


@pytest.mark.parametrize(
    ("feet", "speed", "instant", "opening"),
    [
        (FOUR, (0.5, 0.2), 2.0, {"foot 1", "foot 2"}),
        (FOUR, (0.5, 0.5), 2.0, {"foot 1", "foot 2", "foot 3"}),  # over a corner
        (SIX, (0.0, 0.5), np.sqrt(3), {"foot 0", "foot 3", "foot 4", "foot 5"}),
    ],
)
def test_a_table_tips_where_its_load_leaves_the_polygon_of_its_feet(feet, speed, instant: float, opening) -> None:
    system = table(feet, load_at(speed[0] * t, speed[1] * t))
    times = np.linspace(0, instant + 0.5, 6)
    run = da.simulate(system, (0, 0, 0), (0, 0, 0), times)
    assert {event.name for event in run.events if event.kind == "opens"} == opening
    np.testing.assert_allclose([event.t for event in run.events], instant, rtol=1e-12)
    assert (reactions(run, len(feet)) >= -1e-13).all()
    assert abs(run.ledger().audit).max() < 1e-12
    # two feet or one remain, as in a table that has no others
    left = [k for k in range(len(feet)) if f"foot {k}" not in opening]
    alone = da.simulate(
        table([feet[k] for k in left], load_at(speed[0] * t, speed[1] * t)), (0, 0, 0), (0, 0, 0), [instant, times[-1]]
    )
    np.testing.assert_allclose(run.q[-1], alone.q[-1], atol=1e-12)
    assert abs(run.q[-1]).max() > 1e-3


def test_a_load_outside_the_polygon_at_the_start() -> None:
    run = da.simulate(table(FOUR, load_at(1.5, 0.0)), (0, 0, 0), (0, 0, 0), [0, 0.1])
    expected = da.simulate(table((FOUR[0], FOUR[3]), load_at(1.5, 0.0)), (0, 0, 0), (0, 0, 0), [0, 0.1])
    np.testing.assert_allclose(run.q, expected.q, atol=1e-14)
    assert run.q[-1, 2] > 1e-3


@pytest.mark.parametrize("law", ["newton", "poisson", "moreau"])
def test_a_table_lands_flat(law: str) -> None:
    run = da.simulate(table(FOUR, (-10, 0, 0), 0.5, law), (5, 0, 0), (0, 0, 0), [0, 1.5, 4])
    impacts = [event for event in run.events if event.kind == "impact"]
    assert {event.name for event in impacts[:4]} == {f"foot {k}" for k in range(4)}
    np.testing.assert_allclose([event.t for event in impacts[:8]], [1] * 4 + [2] * 4, rtol=1e-13)
    np.testing.assert_allclose(impacts[0].after[3:], (5, 0, 0), atol=1e-13)
    rests = [event.t for event in run.events if event.kind == "rests"]
    np.testing.assert_allclose(rests, 3.0, rtol=1e-10)
    np.testing.assert_allclose(run.q[-1], 0, atol=1e-12)
    np.testing.assert_allclose(reactions(run, 4)[-1], 2.5, rtol=1e-12)
    assert abs(run.ledger().audit).max() < 1e-10


def test_a_plate_with_different_coefficients_lands_as_newtons_law_determines() -> None:
    """γ⁺ ≥ −e γ⁻ at each corner: the nearest velocities in the mass metric, by a search without states."""
    from scipy.optimize import minimize

    e = (0.5, 0.4, 0.3, 0.1)
    system = table(FOUR, (-10, 0, 0), e)
    run = da.simulate(system, (0, 0, 0), (-1, 0, 0), [0, 1e-3])
    (first,) = {event.after for event in run.events if event.t == 0 and event.kind == "impact"}
    G = wrench(FOUR).T
    # Newton's law is a projection of v⁺ + e-weighted targets
    found = minimize(
        lambda v: np.sum((v - (-1, 0, 0)) ** 2),
        np.zeros(3),
        constraints={"type": "ineq", "fun": lambda v: G @ v - np.array(e)},
        tol=1e-14,
    )
    np.testing.assert_allclose(first[3:], found.x, atol=1e-7)


def test_poissons_law_with_different_coefficients_is_refused() -> None:
    system = table(FOUR, (-10, 0, 0), (0.5, 0.5, 0.5, 0.1), "poisson")
    with pytest.raises(
        da.ConstraintError, match=r"how contacts share its impulse; those of `foot 0`.* of restitution d"
    ):
        da.simulate(system, (0, 0, 0), (-1, 0, 0), [0, 1])


def test_members_of_an_ensemble_tip_like_single_runs() -> None:
    speed = da.parameters("speed")
    system = table(FOUR, load_at(speed * t, 0.1 * t))
    numbers = np.array([0.4, 0.5, 0.8])
    found = da.simulate_ensemble(system, np.zeros((3, 3)), np.zeros((3, 3)), [0, 3.0], parameters={"speed": numbers})
    for k, number in enumerate(numbers):
        alone = da.simulate(system, (0, 0, 0), (0, 0, 0), [0, 3.0], parameters={"speed": number})
        np.testing.assert_allclose(found.q[k, -1], alone.q[-1], atol=1e-12)


x, y = da.coordinates("x y")
H = 0.5


def sledge(places, mu, push=0.0, law="newton") -> da.System:
    """A body of mass one that slides in a plane on feet in a row, which are half a unit below its centre."""
    given = mu if isinstance(mu, tuple) else (mu,) * len(places)
    contacts: list[da.Constraint] = []
    for s, own in zip(places, given, strict=True):
        along, up = s * sp.cos(a) + H * sp.sin(a), s * sp.sin(a) - H * sp.cos(a) + H
        friction = da.Coulomb(own, velocity=(x + along).diff(t), normal_force=da.multiplier(f"foot {s}"))
        contacts.append(da.Constraint(sp.Ge(y + up, 0), name=f"foot {s}", restitution=0, nonideal=friction, impact=law))
    return da.System((x, y, a), sp.diag(1, 1, sp.Rational(1, 3)), (push, -10, 0), contacts)


def test_three_feet_in_a_row_slide_to_their_stop() -> None:
    speed, mu = 2.0, 0.3
    stop = speed / (10 * mu)
    run = da.simulate(sledge((-1, 0, 1), mu), (0, 0, 0), (speed, 0, 0), [0, 0.5, stop, 1])
    np.testing.assert_allclose(run.q[-1], (speed**2 / (20 * mu), 0, 0), atol=1e-14)
    np.testing.assert_allclose([event.t for event in run.events], stop, rtol=1e-13)
    assert [event.kind for event in run.events] == ["sticks"] * 3
    # the least forces with the sum 10 whose moment balances friction at the height 1/2
    expected = 10 / 3 + np.array([-1, 0, 1]) * 10 * mu * H / 2
    np.testing.assert_allclose([run.reaction(f"foot {s}")[1] for s in (-1, 0, 1)], expected, rtol=1e-13)
    assert abs(run.ledger().audit).max() < 1e-13
    outer = da.simulate(sledge((-1, 1), mu), (0, 0, 0), (speed, 0, 0), [0, 0.5, stop, 1])
    np.testing.assert_allclose(run.q, outer.q, atol=1e-14)


def test_three_feet_stick_until_friction_is_exceeded_and_slip_together() -> None:
    run = da.simulate(sledge((-1, 0, 1), 0.3, push=t), (0, 0, 0), (0, 0, 0), [0, 3.5])
    assert [event.kind for event in run.events] == ["slips"] * 3
    np.testing.assert_allclose([event.t for event in run.events], 3.0, rtol=1e-11)
    np.testing.assert_allclose(run.q[-1, 0], 0.5**3 / 6, rtol=1e-9)


def test_sliding_feet_with_different_coefficients_are_refused() -> None:
    message = "friction must not depend on how closed contacts share their load; at t = 0 that of `foot -1`, `foot 0`"
    with pytest.raises(
        da.ConstraintError, match=f"{message}, `foot 1` does: .*three feet, or by springs, or pass `solver=da.Mor"
    ):
        da.simulate(sledge((-1, 0, 1), (0.3, 0.3, 0.2)), (0, 0, 0), (2, 0, 0), [0, 1])


def test_feet_with_different_coefficients_stick() -> None:
    """Until the largest friction of all distributions is exceeded: 5 of the weight 10 on each outer foot, or less."""
    run = da.simulate(sledge((-1, 0, 1), (0.3, 0.3, 0.2)), (0, 0, 0), (0, 0, 0), [0, 1])
    np.testing.assert_array_equal(run.q, 0)
    assert not run.events


def test_the_time_stepping_scheme_approaches_the_same_motion() -> None:
    system, start = sledge((-1, 0, 1), 0.3, push=sp.sin(t), law="moreau"), ((0, 0, 0), (2, 0, 0), [0, 0.4])
    exact = da.simulate(system, *start).q[-1]
    errors = [abs(da.simulate(system, *start, solver=da.MoreauJean(h)).q[-1] - exact).max() for h in (0.02, 0.01)]
    assert errors[0] < 1e-2
    assert errors[1] < 0.6 * errors[0]


def test_an_event_on_a_reaction_that_is_not_determined() -> None:
    """It takes the reaction that the run reports."""
    limit = da.Event(da.reaction("foot 2") - 1, direction=-1, stop=True)
    run = da.simulate(table(FOUR, load_at(0.2 * t, 0.2 * t)), (0, 0, 0), (0, 0, 0), [0, 4.0], events=limit)
    # 2.5 (1 − u − v) falls to one
    np.testing.assert_allclose(run.t[-1], 1.5, rtol=1e-12)


X, Y, yaw = da.coordinates("X Y yaw")
MU = 0.3


def table_in_space(feet, friction: da.Coulomb | None = None, push=(0, 0), torque=0) -> da.System:
    """A table of mass one whose centre is half a unit above the floor, with friction along both directions of it."""
    law = friction or da.Coulomb(MU)
    contacts: list[da.Constraint] = []
    for k, (u, v) in enumerate(feet):
        rolled = sp.Matrix([u - H * b, v + H * a, -H + v * a - u * b])  # for small rotations a and b
        place = sp.Matrix([X, Y, z + H]) + sp.rot_axis3(-yaw) * rolled
        own = sp.Matrix(place).diff(t)
        name = f"foot {k}"
        slip = da.Coulomb(law.mu, mu_static=law.mu_static, velocity=[own[0], own[1]], normal_force=da.multiplier(name))
        contacts.append(da.Constraint(sp.Ge(place[2], 0), name=name, restitution=0, nonideal=slip))
    load = (*push, -10, torque, 0, 0)
    return da.System((X, Y, z, yaw, a, b), sp.diag(1, 1, 1, 0.4, 0.3, 0.35), load, contacts)


def test_a_table_slides_to_its_stop_in_space() -> None:
    speed = 2.0
    stop = speed / (10 * MU)
    start = ((0,) * 6, (0.6 * speed, 0.8 * speed, 0, 0, 0, 0), [0, 0.3, stop, 1])
    run = da.simulate(table_in_space(FOUR), *start)
    far = speed**2 / (20 * MU)
    np.testing.assert_allclose(run.q[-1], (0.6 * far, 0.8 * far, 0, 0, 0, 0), atol=1e-13)
    assert [event.kind for event in run.events] == ["sticks"] * 4
    np.testing.assert_allclose([event.t for event in run.events], stop, rtol=1e-9)
    assert abs(run.ledger().audit).max() < 1e-12
    np.testing.assert_allclose(reactions(run, 4)[-1], 2.5, rtol=1e-12)
    # without the fourth foot the load is on three feet, and the motion is the same
    three = da.simulate(table_in_space(((1, 1), (-1, 1), (0, -1))), *start)
    np.testing.assert_allclose(run.q, three.q, atol=1e-12)


def test_a_table_in_space_slips_where_no_distribution_holds_it() -> None:
    law = da.Coulomb(MU, mu_static=0.4)
    run = da.simulate(table_in_space(FOUR, law, push=(0.6 * t, 0.8 * t)), (0,) * 6, (0,) * 6, [0, 5])
    assert [event.kind for event in run.events] == ["slips"] * 4
    np.testing.assert_allclose([event.t for event in run.events], 4.0, rtol=1e-11)
    np.testing.assert_allclose(np.linalg.norm(run.q[-1, :2]), 4 / 2 + 1 / 6 - 3 / 2, rtol=1e-10)
    # all feet have the same distance from the centre, so that any distribution holds the same torque
    with pytest.raises(da.SimulationError, match="friction must not depend on how") as error:
        da.simulate(table_in_space(FOUR, law, torque=10 * t), (0,) * 6, (0,) * 6, [0, 0.6])
    np.testing.assert_allclose(error.value.trajectory.t[-1], 0.4 * np.sqrt(2), rtol=1e-11)


def test_a_table_in_space_tips_over_feet_that_stick() -> None:
    run = da.simulate(table_in_space(FOUR, da.Coulomb(3.0), push=(t, 0)), (0,) * 6, (0,) * 6, [0, 20.5])
    assert [(event.kind, event.name) for event in run.events] == [("opens", "foot 1"), ("opens", "foot 2")]
    np.testing.assert_allclose([event.t for event in run.events], 20.0, rtol=1e-12)  # height 1/2, half width 1


def test_a_table_in_space_that_turns_is_refused_when_it_begins_to() -> None:
    with pytest.raises(da.ConstraintError, match=r"at t = 0 that of `foot 0`, .* they slide in different directions"):
        da.simulate(table_in_space(FOUR), (0,) * 6, (2, 0, 0, 0.3, 0, 0), [0, 1])
    with pytest.raises(da.SimulationError, match="friction must not depend on how closed contacts share") as error:
        da.simulate(table_in_space(FOUR, torque=t**2), (0,) * 6, (2, 0, 0, 0, 0, 0), [0, 0.5])
    assert error.value.trajectory.t[-1] < 0.1


def test_feet_with_different_coefficients_that_begin_to_slip_are_refused() -> None:
    """The largest friction is 20/7: F = 0.3 (10 − N) + 0.2 N, with the least load N that balances the moment F/2."""
    limit = 20 / 7
    stays = da.simulate(sledge((-1, 0, 1), (0.3, 0.3, 0.2), push=limit - 1e-9), (0, 0, 0), (0, 0, 0), [0, 1e-3])
    np.testing.assert_array_equal(stays.q, 0)
    with pytest.raises(da.ConstraintError, match="friction must not depend on how closed contacts share"):
        da.simulate(sledge((-1, 0, 1), (0.3, 0.3, 0.2), push=limit + 1e-9), (0, 0, 0), (0, 0, 0), [0, 1])
