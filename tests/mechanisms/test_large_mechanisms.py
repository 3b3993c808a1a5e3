"""Mechanisms of many bodies: stated by groups, with the numbers of the system that is derived part by part."""

import numpy as np
import pytest
import sympy as sp
from benchmarks.large_systems import spatial_chain

import dalembert as da
from dalembert.large_runs import large_motion
from dalembert.lowering.large_system import compiled
from dalembert.mechanisms.grouped_system import can_be_grouped, grouped_statement
from dalembert.model.standard_form import energy


def mixed():
    """Two bodies in space, one with its centre off the reference point: a ball joint, a hinge, a spring and drag."""
    c, m = da.parameters("c m")
    turned = da.quaternion((1, 2, 3), 0.7)
    one = da.Body("one", 2, (1, 2, 2.5), center=(0.1, 0, 0.2), orientation=turned, spin=(0.3, 0.1, 0))
    two = da.Body("two", m, ((2, 0.1, 0), (0.1, 2, 0), (0, 0, 3)), position=(1, 2, 0), velocity=(0, 1, 0))
    ball = da.Spherical("ball", da.ground.at(0.3, 0, 0), one.at(0.5, 0, 0.1))
    hinge = da.Revolute("hinge", one.at(-0.5, 0, 0), two.at(0, 1, 0), axis=((0, 0, 1), (0, 1, 0)))
    spring = da.Spring(one.at(0, 1, 0), two.at(0, 0, 1), stiffness=3, damping=c, length=1)
    return da.Mechanism((one, two), (hinge, ball), (spring, da.Gravity((0, 1, -9.81))))


def test_groups_have_the_numbers_of_all_parts():
    mechanism, numbers = mixed(), {"c": 0.4, "m": 1.5}
    system, groups = mechanism.system, grouped_statement(mechanism)
    assert can_be_grouped(mechanism) and system.statement is None
    assert groups.constraint_names == system.constraint_names and groups.coordinate_names == system.coordinate_names
    rng = np.random.default_rng(0)
    q, qd = rng.normal(size=14), rng.normal(size=14)
    found = large_motion(groups, q, qd, 0.0, numbers, None, throw=True)
    wanted = da.motion(system, q, qd, parameters=numbers)
    for name in ("acceleration", "applied_force", "ideal_force", "multipliers", "constraint_rhs", "gauss"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=1e-11, atol=1e-11, err_msg=name)
    np.testing.assert_allclose(found.mass_matrix.toarray(), wanted.mass_matrix, rtol=1e-13, atol=1e-13)
    symbols = system.symbols
    values = dict(zip((*symbols.q, *symbols.qd), (*q, *qd), strict=True))
    values |= {sp.Symbol(name, real=True): value for name, value in numbers.items()}
    expected = float(energy(system.lagrangian, symbols).xreplace(values))
    dynamics = compiled(groups)
    total = dynamics.code.energies(q, qd, 0.0, dynamics.numbers(groups.values(numbers))).energy
    assert total == pytest.approx(expected, rel=1e-13)


def test_parts_of_few_copies_share_programs_in_spite_of_their_zeros():
    """Two bodies with equal numbers and zeros at different places, and two hinges about different axes."""
    one = da.Body("one", 2, (1, 1, 1.5), center=(0.1, 0.1, 0))
    two = da.Body("two", 2, ((2, 0.1, 0), (0.1, 2, 0), (0, 0, 3)), position=(1, 0, 0))
    low = da.Revolute("low", one.at(0.5, 0, 0.5), two.at(-0.5, 0, 0), axis=(0, 1, 0))
    three = da.Body("three", 1, (1, 1, 1), position=(2, 0, 0))
    high = da.Revolute("high", two.at(0.5, 0, 0), three.at(-0.5, 0.1, 0), axis=((1, 2, 0), (0, 0, 1)))
    mechanism = da.Mechanism((one, two, three), (low, high), da.Gravity((0, 0, -9.81)))
    groups, system = grouped_statement(mechanism), mechanism.system
    assert len(groups.masses) == 1 and len(groups.constraints) == 6
    assert groups.constraint_names == system.constraint_names
    rng = np.random.default_rng(2)
    q, qd = rng.normal(size=21), rng.normal(size=21)
    found, wanted = large_motion(groups, q, qd, 0.0, {}, None, throw=True), da.motion(system, q, qd)
    for name in ("acceleration", "multipliers", "constraint_rhs"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=1e-11, atol=1e-11, err_msg=name)


def planar_chain(count):
    bodies, joints, last = [], [], da.ground.at(0, 0)
    for i in range(count):
        bodies.append(da.PlanarBody(f"b{i}", 1, 0.1, position=(i + 0.5, 0)))
        joints.append(da.Revolute(f"j{i}", last, bodies[-1].at(-0.5, 0)))
        last = bodies[-1].at(0.5, 0)
    return da.Mechanism(bodies, joints, da.Gravity((0, -9.81)))


@pytest.fixture(scope="module")
def chain():
    return spatial_chain(70)


def test_a_chain_in_space_is_that_of_the_plane(chain):
    """Quaternions and angles are different coordinates of one motion: heights, tensions and energy agree."""
    flat = planar_chain(70)
    assert chain.system.is_large and flat.system.is_large
    state, own = chain.assemble(), flat.assemble()
    assert not state.changes
    one, other = da.motion(chain.system, *state), da.motion(flat.system, *own)
    assert one.rank == 280 and other.rank == 140
    np.testing.assert_allclose(one.acceleration[2::7], other.acceleration[1::3], rtol=0, atol=1e-11)
    runs = [da.simulate(m.system, *s, [0, 0.05, 0.1], rtol=1e-8) for m, s in ((chain, state), (flat, own))]
    np.testing.assert_allclose(runs[0]["z_b69"], runs[1]["y_b69"], rtol=0, atol=1e-8)
    np.testing.assert_allclose(runs[0]["j3: z"], runs[1]["j3: y"], rtol=0, atol=1e-5)
    np.testing.assert_allclose(runs[0].energy, runs[0].energy[0], rtol=0, atol=1e-5)
    assert np.abs(runs[0].violation).max() < 1e-12


def test_motions_of_the_joints_of_a_large_mechanism(chain):
    last = chain.bodies[-1]
    free = da.Body("free", 2, (1, 1, 1), position=(80, 0, 0), spin=(0, 0, 1))
    hinge = da.Revolute("hinge", last.at(0.5, 0, 0), free.at(-0.5, 0, 0), axis=(0, 0, 1))
    mechanism = da.Mechanism((*chain.bodies, free), (*chain.joints, hinge), chain.forces)
    assert mechanism.system.is_large
    found = mechanism.joint_motion(*mechanism.state({"hinge": 0.4}, {"hinge": 2.0}))
    assert found.position["hinge"] == pytest.approx(0.4, abs=1e-12)
    assert found.velocity["hinge"] == pytest.approx(2.0, abs=1e-12)


def test_a_large_mechanism_is_assembled_and_reports_changes(chain):
    off = da.Body("b69", 1, (0.01, 0.1, 0.1), position=(69.5, 0.01, 0))
    bodies = (*chain.bodies[:-1], off)
    joints = (*chain.joints[:-1], da.Spherical("j69", chain.joints[-1].first, off.at(-0.5, 0, 0)))
    found = da.Mechanism(bodies, joints, chain.forces).assemble()
    assert any(change.quantity == "position of b69" for change in found.changes)
    with pytest.raises(da.errors.InputError, match="`keep` must be left out for a mechanism of more than 200"):
        da.Mechanism(bodies, joints, chain.forces).assemble(keep="position of b69")
    broken = (*chain.joints, da.Spherical("anchor", da.ground.at(99, 0, 0), chain.bodies[-1].at(0.5, 0, 0)))
    with pytest.raises(da.errors.StateError, match="the mechanism cannot be assembled from the given poses"):
        da.Mechanism(chain.bodies, broken, chain.forces).assemble()
