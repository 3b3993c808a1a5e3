"""Extra coordinates: an elastic slider crank against its published equations, contact parameters, what is refused."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from mechanisms import elastic_slider_crank as crank

A = da.PlanarBody("a", 1, 1)
Q = da.coordinates("q")


def test_an_elastic_slider_crank_has_the_published_accelerations():
    """At the published start, and at random states on the constraints, as the printed equations do."""
    mechanism, system = crank.mechanism(), crank.published()
    q, qd = mechanism.assemble(keep=("q1", "q2", "q3", "q4"))
    point = da.motion(mechanism.system, q, qd)
    # the published start has nine digits
    np.testing.assert_allclose(point.acceleration[[*crank.OWN]], crank.ACCELERATIONS, atol=1e-4)
    rng = np.random.default_rng(3)
    for t in (0.01, 0.033, 0.07):
        size = np.array([0, 0, 0, 1e-3, 1e-3, 1e-4, 1e-4])
        other = da.consistent_state(
            system,
            np.array([crank.OMEGA * t, -0.3, 0.3, 0, 0, 0, 0]) + size * rng.normal(size=7),
            np.array([150, 50, 1, 0, 0, 0, 0]) + 100 * size * rng.normal(size=7),
            t,
        )
        expected = da.motion(system, *other, t)
        place = L = crank.L1 * np.array([np.cos(other.q[0]), np.sin(other.q[0])])
        q, qd = np.zeros(12), np.zeros(12)
        q[[*crank.OWN]], qd[[*crank.OWN]] = other
        q[3:5], qd[3:5] = place, other.qd[0] * np.array([-L[1], L[0]])
        found = da.motion(mechanism.system, q, qd, t)
        scale = np.abs(expected.acceleration).max()
        np.testing.assert_allclose(found.acceleration[[*crank.OWN]], expected.acceleration, atol=1e-10 * scale)
        torque = found.multipliers[mechanism.system.constraint_names.index("motor: angle")]
        assert torque == pytest.approx(expected.multipliers[2], rel=1e-10)


@pytest.mark.slow
def test_the_motion_of_an_elastic_slider_crank_ends_at_the_published_state():
    mechanism = crank.mechanism()
    run = da.simulate(mechanism.system, *mechanism.assemble(), [0, 0.1], rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(run.q[-1, [*crank.OWN]], crank.END, atol=1e-9)
    np.testing.assert_allclose(run.qd[-1, [*crank.OWN]], crank.END_RATES, atol=2e-5)


def test_a_contact_parameter_of_a_user():
    """A bead on a parabola with the parameter of the curve as a coordinate, as ``da.PointOnCurve`` does without."""
    bead = da.Particle("bead", 2, (0.5, 0.25), velocity=(1, 1))
    x, y = bead.coordinates
    rows = da.Constraint(x - Q, name="foot"), da.Constraint(y - Q**2, name="curve")
    parameter = da.ExtraCoordinates("parameter", Q, determined_by=x - Q, start=(0.5,), rates=(1,))
    with_parameter = da.Mechanism(bead, (), da.Gravity((0, -9.81)), rows, extra_coordinates=parameter)
    wire = da.PointOnCurve("wire", da.ground.at(0, 0), bead, curve=lambda x, y: y - x**2)
    without = da.Mechanism(bead, wire, da.Gravity((0, -9.81)))
    one, other = (
        da.simulate(m.system, *m.assemble(), np.linspace(0, 2, 9), rtol=1e-11, atol=1e-12)
        for m in (with_parameter, without)
    )
    np.testing.assert_allclose(one.q[:, :2], other.q, atol=1e-9)
    np.testing.assert_allclose(one["curve"], other["wire: on the curve"], atol=1e-8)
    np.testing.assert_allclose(one.energy, other.energy, atol=1e-9)


def test_forces_of_extra_coordinates_and_their_power():
    """A body that carries a damped oscillator: what the damper takes is missing from the energy."""
    v, w = A.coordinates[0].diff(da.t), Q.diff(da.t)
    load = da.ExtraCoordinates(
        "load", Q, kinetic=3 * (v + w) ** 2 / 2, potential=8 * Q**2, force={"q": -2 * w}, start=[1]
    )
    mechanism = da.Mechanism(A, extra_coordinates=load)
    run = da.simulate(mechanism.system, *mechanism.assemble(), np.linspace(0, 3, 61), rtol=1e-11, atol=1e-12)
    momentum = run["x_a'"] + 3 * (run["x_a'"] + run["q'"])
    np.testing.assert_allclose(momentum, 0, atol=1e-10)
    # relative motion: μ q̈ + 2 q̇ + 16 q = 0 with the reduced mass μ = 3/4
    decay, rate = 2 / 1.5, np.sqrt(16 / 0.75 - (2 / 1.5) ** 2)
    expected = np.exp(-decay * run.t) * (np.cos(rate * run.t) + decay / rate * np.sin(rate * run.t))
    np.testing.assert_allclose(run["q"], expected, atol=1e-10)
    ledger = run.ledger()
    np.testing.assert_allclose(ledger.work.sum(axis=1), ledger.energy - ledger.energy[0], atol=1e-8)
    assert "extra coordinates q" in repr(mechanism)
    assert "ExtraCoordinates" in mechanism._repr_html_()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: da.ExtraCoordinates("", Q), "the name of extra coordinates must be a text that is not empty"),
        (
            lambda: da.ExtraCoordinates("m", sp.Symbol("q")),
            "`coordinates` of m must be made by `da.coordinates`; got q",
        ),
        (lambda: da.ExtraCoordinates("m", ()), "`coordinates` of m must be made by `da.coordinates`"),
        (lambda: da.ExtraCoordinates("m", Q, kinetic="T"), "`kinetic energy of m` must be a finite number or an"),
        (lambda: da.ExtraCoordinates("m", Q, force=(1, 2)), "`force of m` must have one entry per coordinate"),
        (lambda: da.ExtraCoordinates("m", Q, determined_by=None), "`determined_by of m` must be a finite number or an"),
        (lambda: da.ExtraCoordinates("m", Q, start=(1, 2)), "`start of m` must be 1 finite number"),
        (lambda: da.ExtraCoordinates("m", Q, rates={"p": 1}), "`rates of m` must give a value for every coordinate"),
        (lambda: da.Mechanism(A, extra_coordinates=Q), "`extra_coordinates` must hold `da.ExtraCoordinates` objects"),
        (
            lambda: da.Mechanism(A, extra_coordinates=(da.ExtraCoordinates("m", Q), da.ExtraCoordinates("n", Q))),
            "coordinates must differ in name; given twice: `q`",
        ),
        (
            lambda: da.Mechanism(A, extra_coordinates=da.ExtraCoordinates("m", A.coordinates[0])),
            "coordinates must differ in name; given twice: `x_a`",
        ),
    ],
)
def test_refused(make, message):
    with pytest.raises(da.ModelError) as refusal:
        make()
    assert message in str(refusal.value)
