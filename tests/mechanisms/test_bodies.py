"""Bodies: their share of the equations of motion, against Lagrange's equations and against the centre of mass."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.model.standard_form import euler_lagrange
from dalembert.model.symbols import StateSymbols

TENSOR = [[2.0, 0.3, -0.1], [0.3, 1.5, 0.2], [-0.1, 0.2, 1.8]]
PLANAR = da.PlanarBody("b", 3, 0.7, center=(0.2, -0.4))
SPATIAL = da.Body("b", 3, TENSOR, center=(0.3, -0.2, 0.5))
BODIES = {"particle": da.Particle("b", 3, (0, 0, 0)), "planar": PLANAR, "spatial": SPATIAL}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_mass_and_forces_follow_from_the_kinetic_energy(body):
    symbols = StateSymbols(body.coordinates)
    mass, force = euler_lagrange(body.kinetic, symbols)
    rng = np.random.default_rng(1)
    q, qd = rng.normal(size=(2, len(symbols.q)))
    if len(q) == 7:  # a rotation is one only where |e| = 1
        q[3:] /= np.linalg.norm(q[3:])
        qd[3:] -= q[3:] * (q[3:] @ qd[3:])
    numbers = dict(zip((*symbols.q, *symbols.qd), (*q, *qd), strict=True))

    def at(matrix):
        return np.array(sp.Matrix(matrix).applyfunc(symbols.plain).xreplace(numbers).evalf(), float)

    np.testing.assert_allclose(at(body.mass_matrix), at(mass), atol=1e-12)
    off = (at(body.inertia_force) - at(force)).ravel()
    if len(q) == 7:  # along e the constraint on the norm takes up any force
        off[3:] -= q[3:] * (q[3:] @ off[3:])
    np.testing.assert_allclose(off, 0, atol=1e-12)


def _thrown(body, times):
    mechanism = da.Mechanism(body, forces=da.Gravity((0, 0, -9.81)[3 - body.dimension :]))
    q, qd = mechanism.assemble()
    return da.simulate(mechanism.system, q, qd, times, rtol=1e-11, atol=1e-13)


def test_the_reference_point_does_not_matter():
    """A body thrown, described by its centre of mass and by another of its points."""
    center, turned = np.array([0.3, -0.2, 0.5]), da.quaternion((1, 2, 3), 0.7)
    spin, velocity = np.array([1.0, -2.0, 3.0]), np.array([1.0, 0.5, 4.0])
    free = da.Body("b", 3, TENSOR, position=(0, 0, 0), orientation=turned, spin=spin, velocity=velocity)
    arm = np.array(free.axes_along(np.r_[0, 0, 0, turned][None]))[0] @ center
    about = da.Body("b", 3, TENSOR, -arm, turned, velocity - np.cross(spin, arm), spin, center)
    times = [0, 0.5, 1.0]
    one, other = _thrown(free, times), _thrown(about, times)
    np.testing.assert_allclose(one.q[:, 3:], other.q[:, 3:], atol=1e-9)
    np.testing.assert_allclose(one.q[:, :3], about.place_along(other.q, center), atol=1e-9)
    np.testing.assert_allclose(one.energy, one.energy[0], rtol=1e-10)
    np.testing.assert_allclose(one.q[-1, :3], velocity + np.array([0, 0, -9.81 / 2]), atol=1e-9)  # a projectile


def test_angular_momentum_of_a_free_body_is_kept():
    body = da.Body("b", 2, TENSOR, orientation=da.quaternion((1, 1, 0), 1.0), spin=(2, -1, 5))
    run = _thrown(body, np.linspace(0, 3, 7))
    e, rate = run.q[:, 3:], run.qd[:, 3:]
    from dalembert.mechanisms.vectors import half_turning

    own = 2 * np.einsum("ijt,tj->ti", np.asarray(half_turning(e.T)), rate)
    momentum = np.einsum("tij,tj->ti", body.axes_along(run.q), own @ np.array(TENSOR))
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-9)


def test_a_planar_body_is_a_spatial_one_that_stays_in_its_plane():
    flat = da.PlanarBody("b", 3, 0.7, angle=0.4, velocity=(1, 2), spin=3, center=(0.2, -0.4))
    deep = da.Body(
        "b", 3, (0.5, 0.6, 0.7), (0, 0, 0), da.quaternion((0, 0, 1), 0.4), (1, 2, 0), (0, 0, 3), (0.2, -0.4, 0)
    )
    mechanisms = da.Mechanism(flat, forces=da.Gravity((0, -9.81))), da.Mechanism(deep, forces=da.Gravity((0, -9.81, 0)))
    one, other = (da.simulate(m.system, *m.assemble(), [0, 1], rtol=1e-11, atol=1e-13) for m in mechanisms)
    np.testing.assert_allclose(one.q[-1, :2], other.q[-1, :2], atol=1e-9)
    turned = 2 * np.unwrap(np.arctan2(other.q[:, 6], other.q[:, 3]))
    np.testing.assert_allclose(np.exp(1j * one.q[:, 2]), np.exp(1j * turned), atol=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: da.PlanarBody("bar", 0, 1), "the mass of `bar` must be positive; got 0."),
        (lambda: da.Particle("bob", -1, (0, 0)), "the mass of `bob` must be positive; got -1."),
        (lambda: da.PlanarBody("bar", 1, -2), "the inertia of `bar` must be positive; got -2."),
        (lambda: da.PlanarBody("my bar", 1, 1), "a body's name must be one word"),
        (
            lambda: da.Body("b", 1, (1, 1, 3)),
            "no principal moment of inertia of `b` may exceed the sum of the other two",
        ),
        (lambda: da.Body("b", 1, (1, 1, 0)), "the inertia of `b` must be positive definite"),
        (lambda: da.Body("b", 1, (1, 1)), "the inertia of `b` must be three principal moments or a 3 × 3 tensor"),
        (lambda: da.Body("b", 1, [[1, 1, 0], [0, 1, 0], [0, 0, 1]]), "must be a symmetric tensor"),
        (lambda: da.Body("b", 1, (1, 1, 1), orientation=(0, 0, 0, 0)), "must be a quaternion of some length; got zero"),
        (lambda: da.Body("b", 1, (1, 1, 1), position=(0, 0)), "`position of b` must be 3 finite numbers; got (0, 0)"),
        (lambda: da.PlanarBody("b", 1, 1, angle=float("nan")), "`angle of b` must be 1 finite number; got [nan]"),
        (lambda: da.PlanarBody("b", 1, 1).at(1, 2, 3), "`point of b` must be 2 finite numbers or expressions"),
        (lambda: da.Particle("b", 1, (0, 0)).at(1, 0), "the particle `b` has no other points than its own"),
        (lambda: da.quaternion((0, 0, 0), 1.0), "`axis` must be a direction in space"),
    ],
)
def test_bad_bodies_are_refused(make, message):
    with pytest.raises(da.ModelError) as refusal:
        make()
    assert message in str(refusal.value)
