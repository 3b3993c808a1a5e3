"""Impacts of several contacts in space whose slips turn, and of one contact by Moreau's law."""

from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.impacts.impulses import ImpulseContact, impact_impulses
from dalembert.impacts.impulses_in_space import impulses_in_space

x, y, z = da.coordinates("x y z")
u, v, w = da.coordinates("u v w")


def row(arm: Any, direction: Any) -> np.ndarray:
    return np.concatenate([direction, np.cross(arm, direction)])


def body(arms: np.ndarray, inertia: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mobility, and gradients of gaps and then of slips, of points of a rigid body of unit mass above a plane."""
    slips = [row(arm, axis) for arm in arms for axis in np.eye(3)[:2]]
    rows = np.array([*(row(arm, np.eye(3)[2]) for arm in arms), *slips])
    inverse = np.zeros((6, 6))
    inverse[:3, :3], inverse[3:, 3:] = np.eye(3), np.linalg.inv(inertia)
    return rows @ inverse @ rows.T, rows


def planes(k: int) -> list[slice]:
    return [slice(2 * i, 2 * i + 2) for i in range(k)]


def random_impact(
    seed: int, k: int, most_friction: float, *, even: bool = True
) -> tuple[np.ndarray, np.ndarray, float]:
    """Mobility, velocities and coefficient of friction of points of a body below its centre, in a horizontal plane."""
    draw = np.random.default_rng(seed)
    A = draw.normal(size=(3, 3))
    places, depths = draw.normal(size=(k, 2)), draw.uniform(0.1, 1, 1 if even else k)
    arms = np.column_stack([places, np.broadcast_to(-depths, k)])
    W, rows = body(arms, 0.2 * A @ A.T + 0.2 * np.eye(3))
    velocity = draw.normal(size=6)
    velocity[2] -= 2
    return W, rows @ velocity, draw.uniform(0, most_friction)


def swept(W: np.ndarray, before: np.ndarray, mu: float, e: float, law: str, begin: float = 0.0) -> np.ndarray:
    """Impulses by a projected gradient: all of them at once by one step, with no derivative of the laws.

    It begins with the same impulse of all gaps.
    """
    k = len(before) // 3
    step, aim = 0.5 / np.linalg.norm(W, 2), before.copy()
    least, found = np.zeros(k), np.zeros(3 * k)
    for phase in ("compression", "expansion") if law == "poisson" else ("whole",):
        aim[:k] = before[:k] * (1 if law == "poisson" else 1 + e)
        found = np.concatenate([np.full(k, begin), np.zeros(2 * k)])
        for _ in range(50_000):
            wanted = found - step * (W @ found + aim)
            wanted[:k] = np.maximum(wanted[:k], least)
            for i in range(k):
                own = slice(k + 2 * i, k + 2 * i + 2)
                wanted[own] *= min(1.0, mu * found[i] / max(np.hypot(*wanted[own]), 1e-300))
            change, found = np.abs(wanted - found).max(), wanted
            if change < 1e-15:
                break
        if phase == "compression":
            least = (1 + e) * found[:k]
    return found


def impulses(W: np.ndarray, before: np.ndarray, mu: Any, e: float, law: str) -> np.ndarray:
    k = len(before) // 3
    contacts = [ImpulseContact(f"foot {i}", before[i], e, 0.0, mu, law=law) for i in range(k)]
    return impulses_in_space(contacts, before[k:], planes(k), W)


@pytest.mark.parametrize("law", ["newton", "poisson", "moreau"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_projected_gradients_agree(law: str, k: int) -> None:
    """Feet that stick, slide and separate; how those that stick share friction is not determined."""
    kinds = set[str]()
    for seed in range(4):
        W, before, mu = random_impact(seed, k, 0.6)
        found, expected = impulses(W, before, mu, 0.4, law), swept(W, before, mu, 0.4, law)
        allowed = 1e-12 * max(1, np.abs(expected).max())
        np.testing.assert_allclose(found[:k], expected[:k], rtol=0, atol=allowed)
        np.testing.assert_allclose(W @ found, W @ expected, rtol=0, atol=allowed)
        for own, P in zip(planes(k), found, strict=False):
            slides = np.hypot(*(before + W @ found)[k:][own]) > 1e-9
            kinds.add("separates" if P == 0 else "slides" if slides else "sticks")
    assert {"sticks", "slides"} <= kinds


@pytest.mark.parametrize("law", ["newton", "poisson", "moreau"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_laws_hold(law: str, k: int) -> None:
    """No gap closes, no contact pulls, friction is within its cone and opposes the slip; energy does not grow."""
    for seed in range(40):
        W, before, mu = random_impact(seed, k, 1.5)
        e = 0.0 if law != "poisson" else 0.7
        found = impulses(W, before, mu, e, law)
        after = before + W @ found
        size = np.abs(before).max() + np.abs(W @ found).max()
        assert found[:k].min() >= 0
        assert after[:k].min() >= -1e-13 * size
        if e == 0:
            np.testing.assert_allclose(found[:k] * after[:k], 0, rtol=0, atol=1e-12 * size * np.abs(found).max())
        for own, P in zip(planes(k), found, strict=False):
            F, slip = found[k:][own], after[k:][own]
            assert np.hypot(*F) <= mu * P + 1e-13 * np.abs(found).max()
            expected = -mu * P * np.hypot(*slip)
            assert F @ slip == pytest.approx(expected, abs=1e-12 * size * np.abs(found).max())
        assert found @ (before + after) / 2 <= 1e-13 * size * np.abs(found).max()


def test_corners_that_are_level_only_to_rounding() -> None:
    """They hold one another up to the angle of their line; friction at one of them is at its limit or within it."""
    level = np.array([[0.5, 0.3, -0.2], [-0.5, 0.3, -0.2]])
    inertia = np.diag([0.2, 0.4, 0.5])
    for seed in range(40):
        draw = np.random.default_rng(seed)
        velocity = draw.normal(size=6) * (0.1, 0.1, 1, 1, 1, 1)
        velocity[2] = -abs(velocity[2]) - 1
        after = []
        for tilt in (0, draw.uniform(-3e-11, 3e-11)):
            W, rows = body(np.add(level, [[0, 0, 0], [0, 0, tilt]]), inertia)
            after.append(W @ impulses(W, rows @ velocity, 0.6, 0.5, "poisson"))
        np.testing.assert_allclose(after[1], after[0], rtol=0, atol=1e-10 * np.abs(after[0]).max())


@pytest.mark.parametrize("law", ["newton", "poisson", "moreau"])
def test_plane_motions_are_those_of_the_enumeration(law: str) -> None:
    """Feet in a vertical plane along which they slip, in axes that are turned with it."""
    for seed in range(20):
        draw = np.random.default_rng(seed)
        arms = np.column_stack([draw.normal(size=2), np.zeros(2), np.full(2, -draw.uniform(0.1, 1))])
        W, rows = body(arms, np.diag([0.3, 0.5, 0.4]))
        velocity = np.array([draw.normal(), 0, -2, 0, draw.normal(), 0])
        before, mu = rows @ velocity, draw.uniform(0, 0.5)
        flat = [0, 1, 2, 4]
        contacts = [ImpulseContact(str(i), before[i], 0.4, before[2 + 2 * i], mu, law=law) for i in range(2)]
        expected = np.concatenate(impact_impulses(contacts, W[np.ix_(flat, flat)]))
        turn = np.array([[np.cos(seed), -np.sin(seed)], [np.sin(seed), np.cos(seed)]])
        R = np.eye(6)
        R[2:4, 2:4] = R[4:, 4:] = turn
        found = R.T @ impulses(R @ W @ R.T, R @ before, mu, 0.4, law)
        expected = W[:, flat] @ expected
        np.testing.assert_allclose(W @ found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_a_contact_held_like_an_equation_may_pull() -> None:
    """With the signs of all normal quantities reversed."""
    W, before, _ = random_impact(5, 2, 1.0)
    before[:2] = 1.0, -1.0
    held = [ImpulseContact("a", 1.0, 0, 0, 0.3, two_sided=True), ImpulseContact("b", -1.0, 0, 0, 0.3, two_sided=True)]
    found = impulses_in_space(held, before[2:], planes(2), W)
    after = before + W @ found
    np.testing.assert_allclose(after[:2], 0, rtol=0, atol=1e-13)
    assert found[0] < 0 < found[1]
    for own, P in zip(planes(2), found, strict=False):
        assert np.hypot(*found[2:][own]) <= 0.3 * abs(P) + 1e-14
    mirror = np.diag([-1.0, -1.0, 1, 1, 1, 1])
    other = [ImpulseContact(c.name, -c.approach, 0, 0, 0.3, two_sided=True) for c in held]
    mirrored = impulses_in_space(other, before[2:], planes(2), mirror @ W @ mirror)
    np.testing.assert_allclose(mirror @ mirrored, found, rtol=0, atol=1e-13)


def test_laws_without_impulses_are_refused() -> None:
    """Two gaps of which one is the negative of the other, as between walls that close in."""
    W, before, mu = random_impact(1, 1, 0.5)
    rows = np.array([[1.0, 0, 0], [-1.0, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1]])
    contacts = [ImpulseContact(name, -1.0, 0.0, 0.0, mu) for name in ("left", "right")]
    with pytest.raises(da.ConstraintError, match="the impact of `left`, `right` must have impulses that satisfy"):
        impulses_in_space(contacts, np.tile(before[1:], 2), planes(2), rows @ W @ rows.T)


def test_feet_whose_shares_decide_on_the_velocities_are_refused() -> None:
    """A plate on four feet that slides and spins when it lands."""
    arms = np.array([(a, b, -0.1) for a in (0.3, -0.3) for b in (0.2, -0.2)])
    W, rows = body(arms, np.diag([0.02, 0.05, 0.06]))
    before = rows @ np.array([3.0, 0, -1, 0, 0, 5.0])
    with pytest.raises(
        da.ConstraintError, match=r"must not depend on how contacts share .* since their friction differs"
    ):
        impulses(W, before, 0.3, 0.0, "newton")
    # without the spin the feet have one direction of friction
    before = rows @ np.array([3.0, 1.0, -1, 0, 0, 0])
    after = before + W @ impulses(W, before, 0.3, 0.0, "newton")
    np.testing.assert_allclose(after[4:], np.tile([3.0, 1.0], 4) * (1 - 0.3 / np.sqrt(10)), rtol=0, atol=1e-13)


@pytest.mark.parametrize("seed", [7, 15, 51, 66, 79])
def test_feet_at_the_limit_of_pressing_are_refused_in_all_units(seed: int) -> None:
    """Of four feet one may have no impulse, and rounding decides whether the share that is found is such a one."""
    W, before, mu = random_impact(seed, 4, 1.0)
    for unit in (1.0, 1e-9, 1e9):
        with pytest.raises(da.ConstraintError, match=r"since their friction differs"):
            impulses(unit * W, before, mu, 0.0, "moreau")


@pytest.mark.parametrize("seed", [2, 3, 14, 24])
def test_feet_that_stick_at_different_heights_and_return_their_shares_are_refused(seed: int) -> None:
    """Friction can press both feet further down, so that Poisson's law returns more."""
    W, before, mu = random_impact(seed, 2, 1.0, even=False)
    one, other = (W @ swept(W, before, mu, 0.5, "poisson", begin) for begin in (0.0, 100.0))
    assert np.abs(one - other).max() > 1e-4
    with pytest.raises(da.ConstraintError, match=r"how contacts share .* since friction changes what they return"):
        impulses(W, before, mu, 0.5, "poisson")


def rough(name: str, height: Any, slip: Any, mu: float, e: float, law: Any = "newton") -> da.Constraint:
    friction = da.Coulomb(mu, velocity=slip, normal_force=da.multiplier(name))
    return da.Constraint(sp.Ge(height, 0), name=name, restitution=e, impact=law, nonideal=friction)


def test_friction_of_one_contact_turns_the_slip_of_another() -> None:
    """A plate whose feet are as high as its centre: normal impulses do not drive the slips, but friction does."""
    spin, rates = w.diff(da.t), [c.diff(da.t) for c in (x, y)]
    arms = [(1.0, 0.2), (-0.5, 0.9), (-0.3, -1.1)]
    # small rotations u, v about the axes x and y, and w about z
    feet = [
        rough(f"foot {i}", z + b * u - a * v, (rates[0] - b * spin, rates[1] + a * spin), 0.1, 0.0)
        for i, (a, b) in enumerate(arms)
    ]
    plate = da.System((x, y, z, u, v, w), sp.eye(6), (0, 0, -1, 0, 0, 0), feet)
    run = da.simulate(plate, np.zeros(6), (1, 0.5, -1, 0, 0, 2), [0, 1e-6])
    after = run.events[0].after[6:]
    gaps = np.array([[0, 0, 1, b, -a, 0] for a, b in arms])
    normal = np.linalg.solve(gaps @ gaps.T, [1, 1, 1])
    slips = np.array([[[1, 0, 0, 0, 0, -b], [0, 1, 0, 0, 0, a]] for a, b in arms])
    friction = sum(-0.1 * P * J.T @ (J @ after) / np.linalg.norm(J @ after) for P, J in zip(normal, slips, strict=True))
    np.testing.assert_allclose(after, np.array([1, 0.5, 0, 0, 0, 2]) + friction, rtol=0, atol=1e-12)


def box(e: float, law: Any, corners: Any, **start: Any) -> da.Mechanism:
    body = da.Body("box", 2, (0.05, 0.1, 0.13), **start)
    common = {"restitution": e, "impact": law, "nonideal": da.Coulomb(0.3)}
    feet = [da.PlaneContact(name, da.ground, body.at(*at), normal=(0, 0, 1), **common) for name, at in corners.items()]
    return da.Mechanism(body, feet, da.Gravity((0, 0, -10)))


EDGE = {"left": (-0.3, 0.2, -0.1), "right": (0.3, 0.2, -0.1)}


@pytest.mark.parametrize(("e", "law"), [(0.0, "newton"), (0.5, "poisson"), (0.5, "moreau")])
def test_a_box_falls_on_an_edge_while_it_slips_askew(e: float, law: Any) -> None:
    """Velocity and spin after the impact by Newton's and Euler's equations and projected gradients."""
    start = {"position": (0, 0, 0.2), "velocity": (1, 0.5, -1), "spin": (0, 0, 2)}
    mechanism = box(e, law, EDGE, **start)
    run = da.simulate(mechanism.system, *mechanism.assemble(), np.linspace(0, 0.1, 3), rtol=1e-11)
    hit = run.events[0]
    a, b = hit.before[3], hit.before[6]
    R = np.array([[a * a - b * b, -2 * a * b, 0], [2 * a * b, a * a - b * b, 0], [0, 0, 1]])

    def spin(state: np.ndarray) -> np.ndarray:
        """2 ė ē, in the axes of space."""
        (a, b), (c, d) = (state[3], np.array(state[4:7])), (state[10], np.array(state[11:14]))
        return 2 * (a * d - c * b - np.cross(d, b))

    arms = np.array([R @ arm for arm in EDGE.values()])
    W, rows = body(arms, R @ np.diag([0.05, 0.1, 0.13]) @ R.T / 2)
    pushed = swept(W / 2, rows @ [*hit.before[7:10], *spin(hit.before)], 0.3, e, law)
    change = rows.T @ pushed
    np.testing.assert_allclose(hit.after[7:10], hit.before[7:10] + change[:3] / 2, rtol=0, atol=1e-11)
    turned = spin(hit.before) + R @ (R.T @ change[3:] / [0.05, 0.1, 0.13])
    np.testing.assert_allclose(spin(hit.after), turned, rtol=0, atol=1e-10)
    assert {event.name for event in run.events[:2]} == {"left: gap", "right: gap"}
    assert abs(run.ledger().audit).max() < 1e-10


def test_a_wall_turns_the_slip_on_a_floor() -> None:
    """Coordinates of different masses; the impulse of the wall is normal to it, and friction opposes what remains."""
    floor = rough("floor", z, (x.diff(da.t), y.diff(da.t)), 0.3, 0.0)
    wall = da.Constraint(sp.Ge(x, 0), name="wall", restitution=0.5)
    particle = da.System((x, y, z), sp.diag(1, 3, 1), (0, 0, -1), (floor, wall))
    run = da.simulate(particle, (0, 0, 0), (-1, 1, -1), [0, 0.1])
    after = run.events[0].after[3:]
    slip = np.array(after[:2])
    friction = -0.3 * slip / np.hypot(*slip)
    wall_impulse = 1.5 - friction[0]
    np.testing.assert_allclose(after, [0.5, 1 + friction[1] / 3, 0], rtol=0, atol=1e-13)
    assert wall_impulse > 0
    assert abs(run.ledger().audit).max() < 1e-12


def test_members_of_an_ensemble_have_the_same_impacts() -> None:
    mechanism = box(0.5, "poisson", EDGE, position=(0, 0, 0.2), velocity=(1, 0.5, -1), spin=(0, 0, 2))
    q, qd = mechanism.assemble()
    starts = np.array([qd, qd])
    starts[1, 0] = 0.7
    times = [0, 0.05, 0.1]
    together = da.simulate_ensemble(mechanism.system, q, starts, times)
    for member in range(2):
        alone = da.simulate(mechanism.system, q, starts[member], times)
        np.testing.assert_allclose(together.q[member], alone.q, rtol=0, atol=1e-9)
        np.testing.assert_allclose(together.qd[member], alone.qd, rtol=0, atol=1e-9)
