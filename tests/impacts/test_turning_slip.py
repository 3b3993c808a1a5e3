"""Impacts in space whose slip turns: the equations of Darboux and Keller for one contact with friction."""

from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.impacts.impulses import ImpulseContact, impact_impulses
from dalembert.impacts.turning_slip import turning_impulses

x, y, z = da.coordinates("x y z")

COUPLED = np.array([[1.0, 0.4, -0.3], [0.4, 1.2, 0.2], [-0.3, 0.2, 0.7]])
"""Mobility: of the gap, and of the slip in two directions."""


def keller(W: np.ndarray, u: np.ndarray, mu: float, e: float, law: str) -> np.ndarray:
    """Impulses for a unit speed of approach, by Runge–Kutta steps of u′ = a|u| − μ B u in σ, with dP = |u| dσ.

    Cartesian, so that it shares no formula with the angle and the logarithm of the slip.
    """
    a, B = W[1:, 0], W[1:, 1:]
    holding, step = -np.linalg.solve(B, a), 0.0125 / np.linalg.norm(W)

    def rates(state: np.ndarray) -> np.ndarray:
        slip, size = state[:2], np.hypot(*state[:2])
        return np.array([*(a * size - mu * B @ slip), size, W[0, 0] * size - mu * a @ slip, *(-mu * slip)])

    def advanced(state: np.ndarray, h: float) -> np.ndarray:
        k1 = rates(state)
        k2 = rates(state + h / 2 * k1)
        k3 = rates(state + h / 2 * k2)
        return state + h / 6 * (k1 + 2 * k2 + 2 * k3 + rates(state + h * k3))

    state = np.array([*u, 0.0, -1.0, 0.0, 0.0])
    for part in ("compression", "expansion") if law == "poisson" else ("whole",):
        entry = 2 if part == "expansion" else 3
        end = {"compression": 0.0, "whole": e, "expansion": (1 + e) * state[2]}[part]
        while True:
            if np.hypot(*state[:2]) < 1e-13:
                assert np.hypot(*holding) <= mu
                sticking = np.array([0, 0, 1, W[0, 0] + a @ holding, *holding])
                state = state + (end - state[entry]) / sticking[entry] * sticking
                break
            following = advanced(state, step)
            if following[entry] >= end:
                h = step
                for _ in range(20):
                    h -= (advanced(state, h)[entry] - end) / rates(advanced(state, h))[entry]
                state = advanced(state, h)
                break
            state = following
    return np.array([state[2], *state[4:]])


def random_impacts(seed: int, count: int) -> list[tuple[np.ndarray, np.ndarray, float, float]]:
    """Mobilities W, slips u, coefficients μ and e."""
    draw, found = np.random.default_rng(seed), []
    for _ in range(count):
        A = draw.normal(size=(3, 3))
        slip = draw.normal(size=2) * 10.0 ** draw.uniform(-4, 1)
        found.append((A @ A.T + 0.05 * np.eye(3), slip, draw.uniform(0, 1.5), draw.uniform()))
    return found


def impulses(W: np.ndarray, u: np.ndarray, mu: float, e: float, law: str = "poisson", v: float = -1.0) -> np.ndarray:
    return np.concatenate(turning_impulses(ImpulseContact("floor", v, e, 0.0, mu, law=law), u, W))


@pytest.mark.parametrize("law", ["newton", "poisson"])
@pytest.mark.parametrize(
    ("mu", "slip"),
    [
        (0.3, (1.0, 2.0)),  # turns to the end
        (0.3, (0.1, 0.02)),  # turns almost to the direction in which friction drives it
        (1.0, (0.1, 0.2)),  # stops in compression and sticks
        (1.0, (0.5, -0.3)),  # stops in expansion and sticks
    ],
)
def test_small_steps_of_the_impulse_agree(law: str, mu: float, slip: tuple[float, float]) -> None:
    u = np.array(slip)
    expected = keller(COUPLED, u, mu, 0.6, law)
    np.testing.assert_allclose(impulses(COUPLED, u, mu, 0.6, law), expected, rtol=0, atol=3e-12)


@pytest.mark.parametrize("law", ["newton", "poisson"])
@pytest.mark.parametrize(("coupling", "mu", "slip"), [(0.5, 0.1, 5.0), (-0.5, 0.9, 0.2), (0.5, 0.2, -0.1)])
def test_a_plane_motion_is_that_of_rouths_construction(law: str, coupling: float, mu: float, slip: float) -> None:
    """Slip that goes on, that sticks, and that reverses, along any line of the plane of contact."""
    plane = np.array([[1.0, coupling], [coupling, 1.3]])
    found = impact_impulses([ImpulseContact("floor", -1.0, 0.5, slip, mu, law=law)], plane)
    for angle in (0.0, 0.7, 2.5):
        along = np.array([np.cos(angle), np.sin(angle)])
        W = np.diag([1.0, 0.8, 0.8])
        W[0, 1:] = W[1:, 0] = coupling * along
        W[1:, 1:] += 0.5 * np.outer(along, along)
        pushed = impulses(W, slip * along, mu, 0.5, law)
        expected = [found.normal[0], *(found.tangential[0] * along)]
        np.testing.assert_allclose(pushed, expected, rtol=0, atol=1e-13)


def test_energy_does_not_grow_by_poissons_law() -> None:
    """On random problems; the tangential impulse is within the cone, and the answer turns with the tangents."""
    turn = np.eye(3)
    turn[1:, 1:] = [[np.cos(0.8), -np.sin(0.8)], [np.sin(0.8), np.cos(0.8)]]
    for W, u, mu, e in random_impacts(3, 40):
        found, before = impulses(W, u, mu, e), np.array([-1.0, *u])
        after = before + W @ found
        assert found @ (before + after) <= 0
        assert np.hypot(*found[1:]) <= mu * found[0] * (1 + 1e-13)
        turned = impulses(turn @ W @ turn.T, turn[1:, 1:] @ u, mu, e)
        np.testing.assert_allclose(turned, turn @ found, rtol=0, atol=1e-12 * np.abs(found).max())


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1e9])
def test_units_do_not_matter(unit: float) -> None:
    """Speeds, masses and gaps in other units: impulses change in proportion."""
    u, expected = np.array([0.2, -0.4]), impulses(COUPLED, np.array([0.2, -0.4]), 0.3, 0.5)
    faster = impulses(COUPLED, unit * u, 0.3, 0.5, v=-unit)
    heavier = impulses(COUPLED / unit, u, 0.3, 0.5)
    gap = np.array([unit, 1, 1])
    scaled = impulses(COUPLED * np.outer(gap, gap), u, 0.3 * unit, 0.5, v=-unit)
    for found in (faster / unit, heavier / unit, scaled * gap):
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_contact_without_slip_leaves_in_the_only_possible_direction() -> None:
    """Friction too weak to hold: du/dP = a − μ B s is along s, as in the limit of a small slip."""
    a, B, mu = COUPLED[1:, 0], COUPLED[1:, 1:], 0.2
    F = impulses(COUPLED, np.zeros(2), mu, 0.0)
    s = -F[1:] / (mu * F[0])
    growth = a - mu * B @ s
    np.testing.assert_allclose(growth, (growth @ s) * s, rtol=0, atol=1e-14)
    assert growth @ s > 0
    for slip in ((1e-9, 0), (0, -1e-9), (-1e-9, 1e-9)):
        np.testing.assert_allclose(impulses(COUPLED, np.array(slip), mu, 0.0), F, rtol=0, atol=1e-8)


@pytest.mark.parametrize("law", ["newton", "poisson"])
def test_a_contact_that_only_grazes(law: str) -> None:
    """The slip hardly changes: Λ = (1 + e)|v|/(Wₙₙ − μ a·s)."""
    u, v = np.array([3.0, 4.0]), 1e-10
    normal = 1.5 * v / (1 - 0.3 * COUPLED[0, 1:] @ u / 5)
    expected = normal * np.array([1, -0.3 * 0.6, -0.3 * 0.8])
    np.testing.assert_allclose(impulses(COUPLED, u, 0.3, 0.5, law, v=-v), expected, rtol=1e-9)


def test_a_contact_held_like_an_equation_may_pull() -> None:
    """With the signs of all normal quantities reversed."""
    mirror = np.diag([-1.0, 1.0, 1.0])
    pulled = ImpulseContact("floor", 1.0, 0.5, 0.0, 0.3, two_sided=True)
    found = np.concatenate(turning_impulses(pulled, np.array([0.5, 0.1]), COUPLED))
    pressed = impulses(mirror @ COUPLED @ mirror, np.array([0.5, 0.1]), 0.3, 0.0)
    np.testing.assert_allclose(found, mirror @ pressed, rtol=0, atol=1e-15)


def test_a_jam_is_named() -> None:
    """A mobility that is not that of a mechanical system: friction presses faster than the normal impulse stops."""
    W = np.array([[1.0, 3.0, 0.1], [3.0, 1.0, 0.0], [0.1, 0.0, 1.0]])
    with pytest.raises(da.ConstraintError, match=r"the impact at `floor` must end; .* as in Painlevé's paradox"):
        impulses(W, np.array([1.0, 0.3]), 0.8, 0.5)


def coupled_particle(mu: float, e: float, law: Any = "poisson", turn: Any = None) -> da.System:
    """A mass matrix with the mobility of ``COUPLED`` in z, x, y above a rough floor; or in turned coordinates."""
    R = sp.eye(3) if turn is None else turn
    M = np.linalg.inv(COUPLED[np.ix_([1, 2, 0], [1, 2, 0])])
    up, rates = R[:, 2], sp.Matrix([c.diff(da.t) for c in (x, y, z)])
    # components along the axes: three of them if the plane is inclined
    slip = [rate for rate in rates - up * up.dot(rates) if rate != 0]
    friction = da.Coulomb(mu, velocity=slip, normal_force=da.multiplier("floor"))
    above = sp.Ge(up.dot(sp.Matrix([x, y, z])), 0)
    floor = da.Constraint(above, name="floor", restitution=e, impact=law, nonideal=friction)
    weight = R * sp.Matrix([0, 0, -10])
    return da.System((x, y, z), R * sp.Matrix(M) * R.T, tuple(weight), floor)


def test_rotated_coordinates_give_the_rotated_motion() -> None:
    """The plane is then inclined, and the slip has three components."""
    turn = sp.Matrix(3, 3, [sp.Rational(n, 9) for n in (1, -8, 4, 8, -1, -4, 4, 4, 7)]).T
    assert turn * turn.T == sp.eye(3)
    R, q, v = np.array(turn, float), np.array([0, 0, 1.0]), np.array([1, -2, 0.5])
    times = np.linspace(0, 0.7, 8)
    plain = da.simulate(coupled_particle(0.3, 0.5), q, v, times)
    turned = da.simulate(coupled_particle(0.3, 0.5, turn=turn), R @ q, R @ v, times)
    assert [event.kind for event in plain.events][:1] == ["impact"]
    np.testing.assert_allclose(turned.q, plain.q @ R.T, rtol=0, atol=1e-10)
    np.testing.assert_allclose(turned.qd, plain.qd @ R.T, rtol=0, atol=1e-10)


def test_newtons_law_that_creates_energy_is_refused() -> None:
    """Friction that stops the slip takes velocity of the approach with it: Kane's paradox."""
    system = coupled_particle(0.8, 1, "newton")
    q, v = (0, 0, 0), (-0.4, 0.3, -1)
    with pytest.raises(da.ConstraintError, match=r"must not create energy; Newton's law .* Pass `impact=.poisson.`"):
        da.simulate(system, q, v, [0, 0.1])


def test_impacts_that_accumulate_end_in_contact() -> None:
    run = da.simulate(coupled_particle(0.3, 0.3), (0, 0, 0.1), (1, -2, 0), np.linspace(0, 1, 11))
    assert {"impact", "rests"} <= {event.kind for event in run.events}
    assert abs(run.q[-1, 2]) < 1e-12
    assert abs(run.ledger().audit).max() < 1e-10


def thrown_box(law: Any) -> da.Mechanism:
    turned = np.array([0.8, 0.4, -0.3, 0.2])
    box = da.Body(
        "box", 2, (0.05, 0.1, 0.13), (0, 0, 0.7), turned / np.linalg.norm(turned), velocity=(1, 0.5, -1), spin=(1, 2, 3)
    )
    corner = box.at(-0.3, -0.2, -0.1)
    rough = {"restitution": 0.5, "impact": law, "nonideal": da.Coulomb(0.3)}
    floor = da.PlaneContact("floor", da.ground, corner, normal=(0, 0, 1), **rough)
    return da.Mechanism(box, floor, da.Gravity((0, 0, -10)))


@pytest.mark.parametrize("law", ["newton", "poisson"])
def test_a_corner_of_a_box_hits_a_rough_plane(law: str) -> None:
    """Velocity and spin after the impact by Newton's and Euler's equations and small steps of the impulse."""
    mechanism = thrown_box(law)
    run = da.simulate(mechanism.system, *mechanism.assemble(), np.linspace(0, 0.25, 6), rtol=1e-11)
    hit = next(event for event in run.events if event.kind == "impact")
    w, i, j, k = hit.before[3:7]
    R = np.array(
        [
            [w * w + i * i - j * j - k * k, 2 * (i * j - w * k), 2 * (i * k + w * j)],
            [2 * (i * j + w * k), w * w - i * i + j * j - k * k, 2 * (j * k - w * i)],
            [2 * (i * k - w * j), 2 * (j * k + w * i), w * w - i * i - j * j + k * k],
        ]
    )

    def spin(state: np.ndarray) -> np.ndarray:
        """2 ė ē, in the axes of space."""
        (a, b), (c, d) = (state[3], np.array(state[4:7])), (state[10], np.array(state[11:14]))
        return 2 * (a * d - c * b - np.cross(d, b))

    arm, inverse = R @ [-0.3, -0.2, -0.1], R @ np.diag([1 / 0.05, 1 / 0.1, 1 / 0.13]) @ R.T
    lever = np.array([[0, -arm[2], arm[1]], [arm[2], 0, -arm[0]], [-arm[1], arm[0], 0]])
    order = [2, 0, 1]
    W = (np.eye(3) / 2 - lever @ inverse @ lever)[np.ix_(order, order)]
    before = (hit.before[7:10] + np.cross(spin(hit.before), arm))[order]
    speed = -before[0]
    pushed = np.empty(3)
    pushed[order] = speed * keller(W, before[1:] / speed, 0.3, 0.5, law)
    np.testing.assert_allclose(hit.after[7:10], hit.before[7:10] + pushed / 2, rtol=0, atol=1e-9)
    np.testing.assert_allclose(spin(hit.after), spin(hit.before) + inverse @ np.cross(arm, pushed), rtol=0, atol=1e-9)
    assert abs(run.ledger().audit).max() < 1e-10


def test_members_of_an_ensemble_have_the_same_impacts() -> None:
    system, times = coupled_particle(0.3, 0.5), np.linspace(0, 0.6, 4)
    q, v = np.array([[0, 0, 1.0], [0, 0, 0.9]]), np.array([[1, -2, 0.5], [0.1, 0.3, 0]])
    together = da.simulate_ensemble(system, q, v, times)
    for member in range(2):
        alone = da.simulate(system, q[member], v[member], times)
        np.testing.assert_allclose(together.q[member], alone.q, rtol=0, atol=1e-9)
        np.testing.assert_allclose(together.qd[member], alone.qd, rtol=0, atol=1e-9)


def test_derivatives_pass_through_the_impact() -> None:
    system, times, q = coupled_particle(0.3, 0.5), [0, 0.6], np.array([0, 0, 1.0])
    v, h = np.array([1, -2, 0.5]), 1e-4
    run = da.simulate(system, q, v, times, rtol=1e-12)
    columns = []
    for shift in h * np.eye(3):
        later, earlier = (da.simulate(system, q, v + sign * shift, times, rtol=1e-12) for sign in (1, -1))
        columns.append(np.concatenate([later.q[-1] - earlier.q[-1], later.qd[-1] - earlier.qd[-1]]) / (2 * h))
    np.testing.assert_allclose(da.transition_matrix(run)[:, 3:], np.array(columns).T, rtol=0, atol=1e-6)
