"""Ropes, and inequalities as limits of mechanisms."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da


def swing(**rope) -> da.Mechanism:
    bob = da.Particle("bob", mass=2, position=(0, -1), velocity=(np.sqrt(3.5), 0))
    return da.Mechanism(bob, da.Rope("rope", da.ground.at(0, 0), bob, length=1, **rope), forces=da.Gravity((0, -1)))


def test_a_rope_goes_slack_where_its_tension_vanishes() -> None:
    mechanism = swing(restitution=0)
    run = da.simulate(mechanism.system, *mechanism.assemble(), [0, 1, 2], rtol=1e-12, atol=1e-14)
    (event,) = run.events
    assert (event.name, event.kind) == ("rope: length", "opens")
    assert event.before[1] == pytest.approx(0.5, abs=1e-11)
    np.testing.assert_allclose(run["rope: length"], [9, 3 * 2 * (0.5 - run["y_bob"][1]), 0], atol=1e-9)
    force = mechanism.reactions(run)["rope"].force
    np.testing.assert_allclose(force[:2], -run["rope: length"][:2, None] * run.q[:2], atol=1e-9)
    assert (force[2] == 0).all()


def test_a_rope_in_a_file(tmp_path) -> None:
    mechanism = swing(restitution=0.5)
    path = mechanism.save(tmp_path / "swing.toml")
    again = da.load(path).mechanism
    assert again.system.constraints == mechanism.system.constraints


def test_a_rope_needs_a_restitution() -> None:
    with pytest.raises(da.ModelError, match="constraint `rope: length`: an inequality needs a `restitution`"):
        _ = swing().system
    with pytest.raises(da.ModelError, match="length of rope"):
        da.Rope("rope", da.ground.at(0, 0), da.Particle("bob", mass=1, position=(0, 1)), length=-1, restitution=0)


def test_a_limit_of_a_joint() -> None:
    """A bar that falls about its end onto a stop at 45° and rebounds with half its spin."""
    bar = da.PlanarBody("bar", mass=1, inertia=sp.Rational(1, 12), position=(0.5, 0), angle=0)
    pin = da.Revolute("pin", da.ground.at(0, 0), bar.at(-0.5, 0))
    stop = da.Constraint(sp.Ge(bar.heading, -sp.pi / 4), name="stop", restitution=0.5)
    mechanism = da.Mechanism(bar, pin, forces=da.Gravity((0, -10)), constraints=stop)
    run = da.simulate(mechanism.system, *mechanism.assemble(), [0, 0.5])
    event = run.events[0]
    assert (event.name, event.kind) == ("stop", "impact")
    spin = np.sqrt(3 * 10 * np.sin(np.pi / 4))
    np.testing.assert_allclose([event.before[5], event.after[5]], [-spin, spin / 2], rtol=1e-8)
    np.testing.assert_allclose(event.before[2], -np.pi / 4, atol=1e-12)
    assert np.abs(run.ledger().audit).max() < 1e-8
