"""Dry friction where a prescribed velocity jumps: contacts are released, and friction acts within its limit."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da

x, y, z = da.coordinates("x y z")
t = da.t
G, MU = 10, sp.Rational(1, 10)
SLOWING = 1.0  # μ g
TIMES = [0, 0.5, 0.9999, 1, 1.0001, 1.5, 2, 2.5, 3, 5]


def velocity(q: sp.Expr) -> sp.Expr:
    return q.diff(t)


def on_belt(belt: sp.Expr, law: type = da.Coulomb, *coefficients: object) -> da.System:
    own = {"velocity": velocity(x) - belt, "normal_force": da.multiplier("belt")}
    friction = law(*(coefficients or (MU,)), **own)
    return da.System((x, y), sp.eye(2), (0, -G), da.Constraint(y, name="belt", nonideal=friction))


def carried(times: np.ndarray, before: float, after: float) -> np.ndarray:
    """The velocity of a block that sticks to a belt until it jumps at t = 1, and then gets no more than μ g."""
    turned = before + np.sign(after - before) * np.minimum(SLOWING * (times - 1), abs(after - before))
    return np.where(times < 1, before, turned)


def audit(run: da.Trajectory) -> float:
    return float(np.abs(run.ledger().audit).max())


def events(run: da.Trajectory) -> list[tuple[str, float]]:
    return [(event.kind, round(event.t, 9)) for event in run.events]


@pytest.mark.parametrize(
    ("belt", "before", "after"),
    [
        (sp.Piecewise((1, t < 1), (-1, True)), 1, -1),
        (sp.Piecewise((0, t < 1), (2, True)), 0, 2),
        (sp.Piecewise((1, t < 1), (0, True)), 1, 0),
        (2 * sp.Heaviside(t - 1), 0, 2),
        (-sp.sign(t - 1), 1, -1),
        (da.signal([0, 1, 9], [1, -1, 0], "previous", name="record"), 1, -1),
    ],
    ids=["reverses", "starts", "stops", "Heaviside", "sign", "signal"],
)
def test_a_block_that_sticks_is_not_carried_along_by_a_belt_that_jumps(
    belt: sp.Expr, before: float, after: float
) -> None:
    run = da.simulate(on_belt(belt), (0, 0), (before, 0), TIMES)
    np.testing.assert_allclose(run.qd[:, 0], carried(run.t, before, after), atol=1e-11)
    assert events(run) == [("slips", 1.0), ("sticks", 1 + abs(after - before) / SLOWING)]
    # the belt does the work of friction on the block
    np.testing.assert_allclose(run.ledger()["belt: Coulomb"][-1], (after**2 - before**2) / 2, atol=1e-11)
    assert audit(run) < 1e-12


@pytest.mark.parametrize(
    "options",
    [{"solver": da.Implicit()}, {"step": 0.01}, {"drift": da.Baumgarte(3, 3)}, {"drift": None}],
    ids=["implicit", "fixed step", "Baumgarte", "no cure"],
)
def test_every_method_releases_a_block_from_a_belt_that_jumps(options: dict[str, object]) -> None:
    run = da.simulate(on_belt(sp.Piecewise((1, t < 1), (-1, True))), (0, 0), (1, 0), TIMES, **options)
    np.testing.assert_allclose(run.qd[:, 0], carried(run.t, 1, -1), atol=1e-9)
    assert events(run)[0] == ("slips", 1.0)


def test_members_of_an_ensemble_are_released_as_well() -> None:
    starts = [(1, 0), (0.8, 0)]
    belt = on_belt(sp.Piecewise((1, t < 1), (-1, True)))
    found = da.simulate_ensemble(belt, [(0, 0), (0, 0)], starts, TIMES)["qd"].values
    for member, start in zip(found, starts, strict=True):
        np.testing.assert_allclose(member, da.simulate(belt, (0, 0), start, TIMES).qd, atol=1e-12)
    np.testing.assert_allclose(found[0][:, 0], carried(np.array(TIMES), 1, -1), atol=1e-11)


def test_friction_of_stribeck_is_released_too() -> None:
    # far from rest the law has its kinetic coefficient
    belt = on_belt(sp.Piecewise((0, t < 1), (5, True)), da.Stribeck, sp.Rational(1, 10), sp.Rational(1, 5), 0.1)
    run = da.simulate(belt, (0, 0), (0, 0), [0, 0.5, 1.5, 2])
    np.testing.assert_allclose(run.qd[:, 0], [0, 0, 0.5, 1], atol=1e-10)


def test_sliding_goes_on_the_other_way_where_a_belt_stops() -> None:
    run = da.simulate(on_belt(sp.Piecewise((1, t < 0.3), (0, True))), (0, 0), (0.2, 0), [0, 0.2, 0.4, 0.6, 1, 1.5])
    np.testing.assert_allclose(run.qd[:, 0], [0.2, 0.4, 0.4, 0.2, 0, 0], atol=1e-11)
    assert events(run) == [("sticks", 0.8)]
    assert audit(run) < 1e-12


def roped(jump: sp.Expr, force: float) -> da.System:
    """A block on a rough floor, and a free body; a rope through a pulley prescribes the sum of their velocities."""
    friction = da.Coulomb(sp.Rational(3, 10), velocity=velocity(x), normal_force=da.multiplier("floor"))
    rows = (da.Constraint(y, name="floor", nonideal=friction), da.Constraint(jump, name="rope"))
    return da.System((x, y, z), sp.eye(3), (force, -G, 0), rows)


@pytest.mark.parametrize(
    "rope",
    [x + z - 3 * sp.Max(0, t - 1), velocity(x) + velocity(z) - sp.Piecewise((0, t < 1), (3, True))],
    ids=["kink of a position", "jump of a velocity"],
)
def test_friction_has_no_impulse_where_no_normal_impulse_acts(rope: sp.Expr) -> None:
    run = da.simulate(roped(rope, 0.5), (0, 0, 0), (0, 0, 0), [0, 0.5, 1.2, 2])
    # 1.5 each by the impulse; then 2 ẍ = 0.5 − 3
    np.testing.assert_allclose(run.qd[2:, 0], [1.25, 0.25], atol=1e-11)
    np.testing.assert_allclose(run.qd[2:, 2], [1.75, 2.75], atol=1e-11)
    assert run.notes == (
        "At t = 1 a prescribed velocity jumps (`rope` by 3); the velocities follow by an ideal impulse.",
    )
    np.testing.assert_allclose(run.ledger()["rope"][2], 1.5 * 3 / 2 + 1.25 * 3 * 0.2, rtol=1e-11)
    assert audit(run) < 1e-12


def test_a_rope_that_jumps_reverses_the_sliding() -> None:
    rope = velocity(x) + velocity(z) - sp.Piecewise((0, t < 0.2), (8, True))
    run = da.simulate(roped(rope, 0), (0, 0, 0), (-2, 0, 2), [0, 0.1, 0.2, 0.3])
    # 2 ẍ = ±3; the jump adds four to each velocity
    np.testing.assert_allclose(run.qd[:, 0], [-2, -1.85, 2.3, 2.15], atol=1e-11)
    np.testing.assert_allclose(run.qd[:, 2], [2, 1.85, 5.7, 5.85], atol=1e-11)
    assert audit(run) < 1e-11


def test_a_block_on_a_cart_that_starts_suddenly_stays_behind() -> None:
    cart = da.PlanarBody("cart", mass=2, inertia=1, position=(0, 0))
    block = da.PlanarBody("block", mass=1, inertia=0.5, position=(0, 0.5))
    rail = da.Prismatic("rail", da.ground.at(0, 0), cart, axis=(1, 0))
    top = da.Prismatic("top", cart.at(0, 0.5), block, axis=(1, 0), nonideal=da.Coulomb(0.1))
    motor = da.Drive("motor", rail, sp.Max(0, t - sp.Rational(1, 2)))
    mechanism = da.Mechanism((cart, block), (rail, top, motor), da.Gravity((0, -10)))
    run = da.simulate(mechanism.system, *mechanism.assemble(), [0, 0.4, 0.501, 1, 1.4, 2])
    np.testing.assert_allclose(run["x_block'"], [0, 0, 0.001, 0.5, 0.9, 1], atol=1e-10)
    np.testing.assert_allclose(run["x_cart'"], [0, 0, 1, 1, 1, 1], atol=1e-12)
    assert audit(run) < 1e-10


def pushed(surface: sp.Expr) -> da.System:
    """A block that is pushed along a rough surface of height a x from t = 1 on, at the velocity one."""
    slope = sp.diff(surface, x)
    length = sp.sqrt(1 + slope**2)
    along, normal = (velocity(x) + slope * velocity(y)) / length, da.multiplier("surface") * length
    friction = da.Coulomb(sp.Rational(3, 10), velocity=along, normal_force=normal)
    push = da.Constraint(x - sp.Max(0, t - 1), name="push")
    rows = (push, da.Constraint(y - surface, name="surface", nonideal=friction))
    return da.System((x, y), sp.eye(2), (0, -G), rows)


def test_a_block_at_rest_is_pushed_suddenly_along_a_rough_floor() -> None:
    run = da.simulate(pushed(sp.S.Zero * x), (0, 0), (0, 0), [0, 0.5, 1.5])
    np.testing.assert_allclose(run.q[:, 0], [0, 0, 0.5], atol=1e-12)
    # the impulse gives 1/2, which is 1 · 1/2 of the push and nothing of friction, and friction takes 3 · 0.5
    np.testing.assert_allclose(run.ledger()["push"][-1], 0.5 + 1.5, rtol=1e-11)
    np.testing.assert_allclose(run.ledger()["surface: Coulomb"][-1], -1.5, rtol=1e-11)
    assert audit(run) < 1e-12


def test_friction_of_a_normal_impulse_takes_part_in_the_jump() -> None:
    a, mu = 0.5, 0.3
    run = da.simulate(pushed(x / 2), (0, 0), (0, 0), [0, 0.5, 1, 1 + 1e-9])
    # with N the normal impulse per unit of length: Δẏ = a = N (1 − μ a)/l, and friction works on half of the slip l
    length = np.sqrt(1 + a**2)
    N = a * length / (1 - mu * a)
    np.testing.assert_allclose(run.qd[-1], [1, a], atol=1e-12)
    np.testing.assert_allclose(run.ledger()["surface: Coulomb"][-1], -mu * N * length / 2, rtol=1e-7)
    assert "by an impulse with friction of `surface`" in run.notes[0]
    assert audit(run) < 1e-12


@pytest.mark.parametrize("width", [0.01, 0.001, 0.0005])
@pytest.mark.parametrize("start", [0.1, 0.517, 1.2])
def test_a_short_pulse_is_not_missed_while_a_contact_sticks(start: float, width: float) -> None:
    pulse = sp.Piecewise((3, t < start), (3 + 3 / width, t < start + width), (3, True))
    friction = da.Coulomb(sp.Rational(1, 2), velocity=velocity(x), normal_force=da.multiplier("floor"))
    block = da.System((x, y), sp.eye(2), (pulse, -G), da.Constraint(y, name="floor", nonideal=friction))
    run = da.simulate(block, (0, 0), (0, 0), [0, start + width, 1.5])
    np.testing.assert_allclose(run.qd[1, 0], 3 - 2 * width, atol=1e-9)
    assert events(run)[0] == ("slips", pytest.approx(start, abs=1e-8))


def test_messages_name_a_sticking_contact_by_its_own_name() -> None:
    belt = da.signal([0, 0.5, 1], [0.0, 1.0, 1.0], kind="previous").diff(t)
    with pytest.raises(da.DalembertError, match="`sticking of belt`"):
        da.simulate(on_belt(belt), (0, 0), (0, 0), [0, 1])


def test_a_normal_impulse_that_presses_friction_of_the_whole_system_is_refused() -> None:
    friction = da.Coulomb(MU, velocity=velocity(x), normal_force=da.multiplier("lift"))
    lift = da.Constraint(y - sp.Max(0, t - 1), name="lift")
    block = da.System((x, y), sp.eye(2), (0, -G), lift, nonideal=friction)
    with pytest.raises(da.SimulationError, match="must belong to the constraint that presses it"):
        da.simulate(block, (0, 0), (3, 0), [0, 2])


@pytest.mark.parametrize(
    ("system", "speed"),
    [
        (on_belt(sp.Piecewise((1, t < 0.3), (0, True))), 0.2),
        (
            da.System(
                *((x, y), sp.eye(2), (0, -G)),
                da.Constraint(
                    y - sp.Max(0, t - 0.3),
                    name="belt",
                    nonideal=da.Coulomb(MU, velocity=velocity(x), normal_force=da.multiplier("belt")),
                ),
            ),
            3.0,
        ),
    ],
    ids=["reversed", "pressed"],
)
def test_a_flow_refuses_friction_that_a_jump_turns_round_or_presses(system: da.System, speed: float) -> None:
    with pytest.raises(da.SimulationError, match=r"one smooth motion; friction of `belt` .* at about t = 0\.3"):
        da.flow(system, [0, 0.2, 0.4])((0, 0), (speed, 0), {})
