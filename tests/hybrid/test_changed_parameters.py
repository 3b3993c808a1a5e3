"""After an event has changed a parameter, everything that a run reports is computed with its new value."""

import numpy as np
import sympy as sp

import dalembert as da

x, y = da.coordinates("x y")
xd, yd = x.diff(da.t), y.diff(da.t)
TIMES = np.linspace(0, 2, 9)


def test_forces_and_expressions_of_a_run() -> None:
    """The slope of a skate and the force on it change; its force is M q̈ − Q, 5.3 N off with the old slope."""
    slope, push = da.parameters("slope push")
    skate = da.Constraint(yd - slope * xd, name="skate")
    system = da.System((x, y), sp.eye(2), (push, -9.81), skate)
    turn = da.Event(x - 1, then=da.Change({slope: 0.5, push: 7.0}), name="turn")
    run = da.simulate(system, (0, 0), (1, 1), TIMES, parameters={"slope": 1.0, "push": 12.0}, events=[turn])
    turned = run.t > run.events[0].t
    assert turned.any() and not turned.all()
    pushed = np.where(turned, 7.0, 12.0)
    acting = run.acceleration - np.stack([pushed, np.full_like(pushed, -9.81)], axis=1)
    np.testing.assert_allclose(run.force("skate"), acting, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(run.evaluate(slope), np.where(turned, 0.5, 1.0))
    np.testing.assert_allclose(run.evaluate([push * x, yd - slope * xd])[:, 0], pushed * run.q[:, 0], rtol=1e-15)
    np.testing.assert_allclose(run.evaluate(yd - slope * xd), 0, atol=1e-14)
    np.testing.assert_array_equal(run.evaluate(slope, t=[0.5, 1.5]), [1.0, 0.5])
    np.testing.assert_allclose(run.at([0.5, 1.5]).force("skate"), run.at([0.5, 1.5]).ideal_force, atol=1e-12)
    assert run.parameters == {"push": 12.0, "slope": 1.0}


def test_reactions_of_a_mechanism() -> None:
    """Two discs on bearings with damping: that of the first one is changed, and the second has its own torque."""
    damping = da.parameters("c")
    discs = [da.PlanarBody(name, mass=1, inertia=1) for name in ("a", "b")]
    pins = [
        da.Revolute(f"pin {disc.name}", da.ground.at(0, 0), disc.at(0, 0), nonideal=da.Viscous(c))
        for disc, c in zip(discs, (damping, 0.5), strict=True)
    ]
    mechanism = da.Mechanism(bodies=discs, joints=pins)
    wear = da.Event(da.t - 1, then=da.Change({damping: 5.0}), name="wear")
    start = np.zeros(6), np.array([0, 0, 1.0, 0, 0, 2.0])
    run = da.simulate(mechanism.system, *start, TIMES, parameters={"c": 0.5}, events=[wear])
    found = mechanism.reactions(run)
    np.testing.assert_allclose(found["pin a"].torque, -np.where(TIMES > 1, 5.0, 0.5) * run.qd[:, 2], atol=1e-12)
    np.testing.assert_allclose(found["pin b"].torque, -0.5 * run.qd[:, 5], atol=1e-12)
    np.testing.assert_allclose(run.qd[-1, [2, 5]], [np.exp(-5.5), 2 * np.exp(-1)], rtol=1e-8)
