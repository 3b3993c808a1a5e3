"""Impulses of contacts: Routh's construction for one contact with friction, complementarity for several."""

from typing import Any

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.impacts.impulses import ImpulseContact, impact_impulses


def rod(angle: float) -> np.ndarray:
    """Mobility of the end of a rod of mass 1 and half-length 1, at an angle from the ground: normal, tangential."""
    lever = np.array([-np.cos(angle), np.sin(angle)])
    return np.eye(2) + 3 * np.outer(lever, lever)


def velocities(contact: ImpulseContact, W: np.ndarray) -> np.ndarray:
    found = impact_impulses([contact], W)
    return np.array([contact.approach, contact.slip]) + W @ [found.normal[0], found.tangential[0]]


@pytest.mark.parametrize("law", ["newton", "poisson"])
@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_slip_that_goes_on(law: str, e: float) -> None:
    """Friction μP all along: Λ = (1 + e)|v|/(Wₙₙ − μWₙₜ)."""
    W, mu = rod(1.0), 0.1
    contact = ImpulseContact("ground", -1.0, e, 5.0, mu, law=law)
    found = impact_impulses([contact], W)
    normal = (1 + e) / (W[0, 0] - mu * W[0, 1])
    np.testing.assert_allclose([found.normal[0], found.tangential[0]], [normal, -mu * normal], rtol=1e-14)
    assert velocities(contact, W)[0] == pytest.approx(e)


@pytest.mark.parametrize("law", ["newton", "poisson"])
def test_slip_that_stops_and_sticks(law: str) -> None:
    W, mu, e, slip = rod(1.0), 0.9, 0.5, 0.2
    stop = slip / (mu * W[1, 1] - W[1, 0])  # the impulse at which the slip ends
    hold = -W[1, 0] / W[1, 1]
    assert abs(hold) < mu
    after_stop = -1 + stop * (W[0, 0] - mu * W[0, 1])
    rate = W[0, 0] + hold * W[0, 1]
    assert after_stop < 0  # before the end of compression
    end = {"newton": stop + (e - after_stop) / rate, "poisson": (1 + e) * (stop - after_stop / rate)}[law]
    found = impact_impulses([ImpulseContact("ground", -1.0, e, slip, mu, law=law)], W)
    np.testing.assert_allclose(found.normal, end, rtol=1e-14)
    np.testing.assert_allclose(found.tangential, -mu * stop + hold * (end - stop), rtol=1e-14)
    assert velocities(ImpulseContact("ground", -1.0, e, slip, mu, law=law), W)[1] == pytest.approx(0, abs=1e-14)


@pytest.mark.parametrize("law", ["newton", "poisson"])
def test_slip_that_reverses(law: str) -> None:
    """Friction too weak to hold: it stops the slip, which the coupling then drives the other way."""
    W, mu, e, slip = rod(1.0), 0.2, 0.5, -0.1
    W[0, 1] = W[1, 0] = -W[0, 1]
    assert W[1, 0] > mu * W[1, 1]
    stop = -slip / (W[1, 0] + mu * W[1, 1])
    after_stop = -1 + stop * (W[0, 0] + mu * W[0, 1])
    rate = W[0, 0] - mu * W[0, 1]
    end = {"newton": stop + (e - after_stop) / rate, "poisson": (1 + e) * (stop - after_stop / rate)}[law]
    found = impact_impulses([ImpulseContact("ground", -1.0, e, slip, mu, law=law)], W)
    np.testing.assert_allclose(found.normal, end, rtol=1e-14)
    np.testing.assert_allclose(found.tangential, mu * stop - mu * (end - stop), rtol=1e-14)
    assert velocities(ImpulseContact("ground", -1.0, e, slip, mu, law=law), W)[1] > 0


def test_small_steps_of_the_impulse_agree() -> None:
    """Keller's equations, dv/dP = W (1, −μ sign w), by many small steps."""
    draw = np.random.default_rng(1992)
    for _ in range(4):
        W, mu, slip = rod(draw.uniform(0.3, 1.3)), draw.uniform(0.05, 0.4), draw.uniform(-1, 1)
        expected, P, step = np.array([-1.0, slip]), 0.0, 1e-4
        while expected[0] < 0.5:
            friction = -mu * np.tanh(expected[1] / 1e-3)
            expected, P = expected + step * W @ [1, friction], P + step
        found = velocities(ImpulseContact("ground", -1.0, 0.5, slip, mu), W)
        np.testing.assert_allclose(found, expected, atol=5e-3)


def test_a_jam_is_named() -> None:
    """Strong friction on a steep rod pushes it into the ground faster than the normal impulse stops it."""
    W = np.array([[1.0, 1.5], [1.5, 1.0]])
    with pytest.raises(da.ConstraintError, match=r"the impact at `ground` must end; .* as in Painlevé's paradox"):
        impact_impulses([ImpulseContact("ground", -1.0, 0.5, 1.0, 0.8)], W)


def test_several_contacts_satisfy_their_laws() -> None:
    """Complementarity of normal impulses and velocities, and of friction and slip, on random problems."""
    draw = np.random.default_rng(7)
    for _ in range(50):
        k = 3
        B = draw.normal(size=(2 * k, 8))
        W, e, mu = B @ B.T, draw.uniform(0, 1, k), draw.uniform(0, 0.3, k)
        before = np.concatenate([draw.uniform(-1, 0.2, k), draw.normal(size=k)])
        contacts = [ImpulseContact(str(i), before[i], e[i], before[k + i], mu[i]) for i in range(k)]
        normal, tangential = impact_impulses(contacts, W)
        after = before + W @ np.concatenate([normal, tangential])
        rebound = after[:k] + e * before[:k]
        assert normal.min() > -1e-9 and rebound.min() > -1e-9
        np.testing.assert_allclose(normal * rebound, 0, atol=1e-9)
        assert (np.abs(tangential) <= mu * normal + 1e-9).all()
        sliding = np.abs(after[k:]) > 1e-9
        np.testing.assert_allclose(tangential[sliding], -(mu * normal * np.sign(after[k:]))[sliding], atol=1e-9)


def test_poissons_law_returns_a_part_of_the_impulse() -> None:
    """Two contacts of a rod that hits with one end only: the other end is pressed and returns its own part."""
    W = np.zeros((4, 4))
    W[:2, :2] = [[2.0, 0.5], [0.5, 2.0]]
    contacts = [ImpulseContact("a", -1.0, 0.5, law="poisson"), ImpulseContact("b", -1.0, 0.5, law="poisson")]
    normal, _ = impact_impulses(contacts, W)
    np.testing.assert_allclose(normal, 1.5 / 2.5, rtol=1e-13)


def test_a_contact_that_is_held_does_not_expand() -> None:
    """The impulse that the other one returns, half of 2/3, relieves it: 1/2 remains of its own 2/3."""
    W = np.zeros((4, 4))
    W[:2, :2] = [[1.0, 0.5], [0.5, 1.0]]
    contacts = [
        ImpulseContact("a", -1.0, 0.5, law="poisson"),
        ImpulseContact("b", -1.0, 0.0, law="poisson", two_sided=True),
    ]
    np.testing.assert_allclose(impact_impulses(contacts, W).normal, (1, 0.5), rtol=1e-12)


def test_too_many_contacts_are_refused() -> None:
    contacts = [ImpulseContact(str(i), -1.0, 0.5) for i in range(15)]
    with pytest.raises(da.ConstraintError, match="impacts at once must have fewer contacts"):
        impact_impulses(contacts, np.eye(30))


@pytest.mark.parametrize("law", ["newton", "poisson", "moreau"])
@pytest.mark.parametrize("mu", [None, 0.2])
@pytest.mark.parametrize("units", [(1e-9, 1.0), (1.0, 1e-9), (1e9, 1e-9), (1e-12, 1e12)])
def test_impulses_do_not_depend_on_the_units_of_gaps(law: str, mu: float | None, units: tuple[float, float]) -> None:
    """A gap in other units, s φ, has the impulse Λ/s; friction is the same force."""
    rows = np.array([[1.0, 0.3, -0.7], [-0.2, 1.0, 0.4], [0.1, 0.9, 0.0], [1.0, -0.2, 0.0]])
    inverse = np.diag([1.0, 0.5, 3.0])
    scale = np.array([*units, 1.0, 1.0])

    def impulses(scale: np.ndarray) -> np.ndarray:
        scaled = rows * scale[:, None]
        contacts = [
            ImpulseContact(name, -v * s, e, None if mu is None else w, 0.0 if mu is None else mu * s, law=law)
            for name, v, s, e, w in zip("ab", (1.0, 0.5), scale[:2], (0.3, 0.6), (0.4, -2.0), strict=True)
        ]
        found = impact_impulses(contacts, scaled @ inverse @ scaled.T)
        return np.concatenate(found) * scale

    expected = impulses(np.ones(4))
    assert (expected[:2] > 0).any()
    np.testing.assert_allclose(impulses(scale), expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("law", ["newton", "poisson", "moreau"])
@pytest.mark.parametrize("slip", [7.0, -3.0, 0.1])
def test_friction_that_falls_with_the_slip_is_that_of_the_slip(law: Any, slip: float) -> None:
    """A body that slides on through an impact: Δv = −μ(v) (1 + e) times the speed of the fall."""
    x, y = da.coordinates("x y")
    friction = da.Stribeck(0.02, 0.04, 0.1, velocity=x.diff(da.t), normal_force=da.multiplier("floor"))
    floor = da.Constraint(sp.Ge(y, 0), name="floor", restitution=0.5, impact=law, nonideal=friction)
    body = da.System((x, y), [[1, 0], [0, 1]], (0, -10), floor)
    fall = {"q0": (0, 0.2), "qd0": (slip, 0), "times": [0, 0.25]}
    run = da.simulate(body, **fall)
    lost = (0.02 + 0.02 * np.exp(-((slip / 0.1) ** 2))) * 1.5 * 2
    assert run.qd[-1, 0] == pytest.approx(np.sign(slip) * (abs(slip) - lost), abs=1e-12)
    assert abs(run.ledger().audit).max() < 1e-12
    members = da.simulate_ensemble(body, (0, 0.2), np.array([[slip, 0]] * 2), [0, 0.25])
    assert members["qd"].values[:, -1, 0] == pytest.approx(run.qd[-1, 0], abs=1e-12)


@pytest.mark.parametrize("sideways", [1.0, -3.0])
def test_a_body_that_is_coupled_at_the_instant_of_its_impact(sideways: float) -> None:
    """A latch joins it to another one, at their mean velocity; then both rebound with e of that."""
    x, y = da.coordinates("x y")
    floor = da.Constraint(sp.Ge(y, 0), name="floor", restitution=0.5)
    latch = da.Constraint(x - y, name="latch", active=False)
    system = da.System((x, y), [[1, 0], [0, 1]], (0, -10), (floor, latch))
    lands = [da.Event(da.t - 1, name="lands", then=da.Change({x: y}, on="latch"))]
    start = {"q0": (0, 5), "qd0": (sideways, 0), "times": [0, 1.1]}
    run = da.simulate(system, **start, events=lands)
    together = -0.5 * (sideways - 10) / 2 - 5 * 0.1  # both fall with g / 2
    assert run.qd[-1] == pytest.approx([together, together], abs=1e-12)
    assert abs(run.ledger().audit).max() < 1e-12
    members = da.simulate_ensemble(system, (0, 5), np.array([[sideways, 0]] * 2), [0, 1.1], events=lands)
    assert members.attrs["handed_over"] == 0
    assert members["qd"].values[:, -1] == pytest.approx(np.full((2, 2), together), abs=1e-12)
