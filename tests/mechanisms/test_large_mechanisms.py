"""Mechanisms of many bodies: stated by groups, with the numbers of the system that is derived part by part."""

import cProfile
import pickle
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from benchmarks.large_systems import spatial_chain

import dalembert as da
from dalembert.integration import sparse_start
from dalembert.integration.sparse_descent import Descent
from dalembert.lowering.large_system import compiled
from dalembert.mechanisms import mechanism_system
from dalembert.mechanisms.grouped_system import can_be_grouped, grouped_statement
from dalembert.model.standard_form import energy
from dalembert.runs.large_runs import large_motion


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


def driven(inertia):
    """Four bodies with springs on hinges, and rotors on all joints, some without inertia or damping."""
    one = da.Body("one", 2, (1, 2, 2.5), center=(0.1, 0, 0.2), orientation=da.quaternion((1, 2, 3), 0.7))
    two = da.Body("two", 1.5, ((2, 0.1, 0), (0.1, 2, 0), (0, 0, 3)), position=(1, 2, 0))
    three, four = (da.Body(name, 1.1, (1, 1.2, 1.3), position=(2, y, 0)) for name, y in (("three", 2), ("four", 3)))
    root = da.Revolute("root", da.ground.at(0.3, 0, 0), one.at(0.5, 0, 0.1), axis=((0, 0, 1), (1, 2, 1)))
    hinge = da.Revolute("hinge", one.at(-0.5, 0, 0), two.at(0, 1, 0), axis=((0, 0, 1), (0, 1, 0)))
    ball = da.Spherical("ball", two.at(0.3, 0, 0), three.at(0.5, 0, 0.1))
    slide = da.Prismatic("slide", three.at(0.3, 0, 0), four.at(0.5, 0, 0.1), axis=(1, 2, 0))
    rotors = (
        *(da.Rotor(root, inertia, 0.1), da.Rotor(hinge, 0.5), da.Rotor(ball, 0.2, 0.3), da.Rotor(slide, 0, 0.7)),
        *(da.Rotor(hinge, 0, 0.2), da.Rotor(slide, 0.9)),
    )
    springs = (da.TorsionSpring(root, 7, angle=0.3), da.TorsionSpring(hinge, 2.5, damping=0.4))
    forces = (da.Gravity((0, 1, -9.81)), *rotors, *springs)
    return da.Mechanism((one, two, three, four), (root, hinge, ball, slide), forces)


@pytest.mark.parametrize("inertia", [1e-9, 0.3, 1e3])
def test_rotors_and_springs_in_groups_have_the_numbers_of_all_parts(inertia):
    mechanism = driven(inertia)
    assert can_be_grouped(mechanism)
    system, groups = mechanism.system, grouped_statement(mechanism)
    rng = np.random.default_rng(0)
    q, qd = rng.normal(size=28), rng.normal(size=28)
    found, wanted = large_motion(groups, q, qd, 0.0, {}, None, throw=True), da.motion(system, q, qd)
    for name in ("acceleration", "free_acceleration", "applied_force", "ideal_force", "multipliers", "gauss"):
        ours, theirs = getattr(found, name), getattr(wanted, name)
        assert np.abs(ours - theirs).max() <= 1e-12 * np.abs(theirs).max(), name
    M = found.mass_matrix.toarray()
    assert np.abs(M - wanted.mass_matrix).max() <= 1e-14 * np.abs(M).max()
    assert found.rank == wanted.rank and found.residual < 1e-13
    dynamics = compiled(groups)
    energies = dynamics.code.energies(q, qd, 0.0, dynamics.numbers(groups.values({})))
    assert energies.kinetic == pytest.approx(qd @ M @ qd / 2, rel=1e-13)
    assert np.abs(dynamics.code.mass.diagonal - np.diag(M)).max() <= 1e-14 * np.abs(M).max()
    if inertia != 0.3:
        return  # the energies of springs and rotors are the same functions
    values = dict(zip((*system.symbols.q, *system.symbols.qd), (*q, *qd), strict=True))
    assert energies.energy == pytest.approx(
        float(energy(system.lagrangian, system.symbols).xreplace(values)), rel=1e-13
    )


def led():
    """Two bodies on a driven hinge and a hinge with a motor, a further constraint, and a servo for motor and force."""
    one = da.PlanarBody("one", 2, 0.3, position=(0.5, 0))
    two = da.PlanarBody("two", 1.5, 0.2, position=(1.5, 0))
    three = da.PlanarBody("three", 1.1, 0.1, position=(2, 2))
    root = da.Revolute("root", da.ground.at(0, 0), one.at(-0.5, 0))
    hinge = da.Revolute("hinge", one.at(0.5, 0), two.at(-0.5, 0))
    drive = da.Drive("crank", root, 0.3 * sp.sin(da.t))
    x, y, _ = three.coordinates
    rail = da.Constraint(x - 2 - da.t**2 / 10, name="rail")
    by = da.Actuator("motor", hinge), da.Actuator("push", y)
    servo = da.Servo("path", (hinge.angle - 0.1 * da.t, y - 2), by=by, settle=3.0)
    gravity = da.Gravity((0, -9.81))
    return da.Mechanism((one, two, three), (root, hinge, drive), gravity, constraints=rail, servos=servo)


def test_drives_constraints_and_servos_in_groups_have_the_numbers_of_all_parts():
    mechanism = led()
    system, groups = mechanism.system, grouped_statement(mechanism)
    assert can_be_grouped(mechanism) and groups.constraint_names == system.constraint_names
    rng = np.random.default_rng(0)
    q, qd = (x + 0.1 * rng.normal(size=9) for x in mechanism.assemble())
    found = large_motion(groups, q, qd, 0.3, {}, None, throw=True)
    wanted = da.motion(system, q, qd, 0.3)
    for name in ("acceleration", "applied_force", "multipliers", "constraint_rhs"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=1e-10, atol=1e-10, err_msg=name)
    assert found.inputs == pytest.approx(wanted.inputs, rel=1e-10)
    np.testing.assert_allclose(found.servo_error["path"], wanted.servo_error["path"], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "motion",
    [sp.Heaviside(da.t - 1), da.signal([0, 1, 2], [0, 1, 0], "cubic"), da.function("crank", np.sin)(da.t)],
    ids=["jump", "signal", "python"],
)
def test_drives_that_groups_do_not_support_are_left_to_straight_line_code(motion):
    mechanism = led()
    drive = da.Drive("crank", mechanism.joints[0], motion)
    assert grouped_statement(replace(mechanism, joints=(*mechanism.joints[:2], drive))) is None


def test_a_motor_of_a_large_mechanism_leads_its_joint_as_a_drive_does():
    chain = spatial_chain(30)
    first, second = chain.bodies[:2]
    hinge = da.Revolute("hinge", first.at(0.5, 0, 0), second.at(-0.5, 0, 0), axis=(0, 1, 0))
    joints, motion = (chain.joints[0], hinge, *chain.joints[2:]), 0.2 + da.t**2
    servo = da.Servo("fold", hinge.angle - motion, by=da.Actuator("motor", hinge), settle=20.0)
    led = replace(chain, joints=joints, servos=servo)
    driven = replace(chain, joints=(*joints, da.Drive("crank", hinge, motion)))
    assert led.system.is_large and driven.system.is_large
    states = led.assemble(servos=True), driven.assemble()
    for one, other in zip(*states, strict=True):
        # coordinates up to 30 are rounded by 4e-15, and the constraints amplify that by up to 26, as A M⁻¹ Aᵀ shows
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)
    q, qd = states[0]
    found, wanted = da.motion(led.system, q, qd), da.motion(driven.system, q, qd)
    np.testing.assert_allclose(found.acceleration, wanted.acceleration, rtol=0, atol=1e-9)
    # the drive's equation is the difference of the angles, or twice the sine of half of it
    assert abs(found.inputs["motor"]) == pytest.approx(abs(wanted.multipliers[-1]), rel=1e-9)
    run = da.simulate(led.system, q, qd, [0, 0.05, 0.1])
    np.testing.assert_allclose(run.evaluate(hinge.angle), 0.2 + run.t**2, rtol=0, atol=1e-9)


def test_a_large_mechanism_is_drawn(chain):
    """Each joint has a path, of which the legend names the first ones, and each body a line from pin to pin."""
    run = da.simulate(chain.system, *chain.assemble(), [0, 0.02, 0.05])
    picture = chain.plot(run, positions=1)
    (legend,), (axis,) = picture.legends, picture.axes
    moving = len(chain.joints) - 1  # the first one is held
    assert legend.get_title().get_text() == f"paths of joints, the first 24 of {moving}"
    assert len(legend.get_texts()) == 24
    assert len([line for line in axis.lines if len(line.get_xdata()) == 3]) >= moving


def test_redundant_constraints_beside_rotors_are_left_out():
    """A second hinge between two bodies, in line with the first, adds five redundant equations."""
    one, two = da.Body("one", 2, (1, 2, 2.5)), da.Body("two", 1, (1, 1, 1), position=(1, 0, 0))
    root = da.Revolute("root", da.ground.at(0, 0, 0), one, axis=(0, 0, 1))
    joints = (root, *(da.Revolute(f"pin {z}", one.at(0.5, 0, z), two.at(-0.5, 0, z), axis=(0, 0, 1)) for z in (0, 1)))
    mechanism = da.Mechanism((one, two), joints, (da.Gravity((1, 1, 0)), *(da.Rotor(j, 0.2) for j in joints[:2])))
    q, qd = mechanism.state({"pin 0": 0.3}, {"root": 1, "pin 0": -2})
    found = large_motion(grouped_statement(mechanism), q, qd, 0.0, {}, None, throw=True)
    wanted = da.motion(mechanism.system, q, qd)
    assert found.rank == wanted.rank == 12 and len(found.multipliers) == 17
    for name in ("acceleration", "ideal_force", "multipliers"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=0, atol=1e-10, err_msg=name)
    np.testing.assert_array_equal(found.unique_multipliers, wanted.unique_multipliers)


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


@pytest.fixture
def arm(monkeypatch):
    """A chain of four bodies on hinges with rotors, which counts as large enough to be known by groups."""
    monkeypatch.setattr(mechanism_system, "LARGEST_STRAIGHT_LINE", 20)
    bodies, joints, last = [], [], da.ground.at(0, 0, 0)
    for i in range(4):
        bodies.append(da.Body(f"b{i}", 1 + i / 10, (0.1, 0.2, 0.2), position=(i + 0.5, 0, 0)))
        axis = (0, 1, 0) if i % 2 else (0, 0, 1)
        joints.append(da.Revolute(f"j{i}", last, bodies[-1].at(-0.5, 0, 0), axis=axis))
        last = bodies[-1].at(0.5, 0, 0)
    rotors = [da.Rotor(joint, 0.1, 0.02) for joint in joints]
    return da.Mechanism(bodies, joints, (da.Gravity((0, 0, -9.81)), *rotors))


def test_a_mechanism_of_some_size_is_derived_only_where_it_must_be(arm):
    system = arm.system
    q, qd = arm.state({f"j{i}": 0.1 * i for i in range(4)}, {"j3": 1.0})
    answer, run = da.motion(system, q, qd), da.simulate(system, q, qd, [0, 0.1, 0.2])
    assert "x_b0" in repr(system) and len(system.coordinate_names) == 28 and system.parameter_names == ()
    assert not arm.assemble().changes
    assert "mass_matrix" not in vars(system)  # nothing of this needs the expressions
    derived = mechanism_system.derived_system(arm)
    wanted, same = da.motion(derived, q, qd), da.simulate(derived, q, qd, [0, 0.1, 0.2])
    for name in ("acceleration", "multipliers", "mass_matrix", "constraint_matrix", "applied_force"):
        ours, theirs = getattr(answer, name), getattr(wanted, name)
        assert isinstance(ours, np.ndarray) and np.abs(ours - theirs).max() <= 1e-12 * np.abs(theirs).max(), name
    np.testing.assert_allclose(run.q, same.q, rtol=0, atol=1e-7)
    np.testing.assert_allclose(run.energy, same.energy, rtol=0, atol=1e-6)
    assert system == derived and hash(system) == hash(derived) and pickle.loads(pickle.dumps(system)) == derived
    assert system.constraint_names == derived.constraint_names and system.coordinate_names == derived.coordinate_names
    assert system.coefficients == derived.coefficients and len(system.force_parts) == len(derived.force_parts)
    longer = system.constrain(da.Constraint(system.coordinates[0] - 0.5, name="held"))
    assert longer.deferred is None and longer.constraint_names[-1] == "held"


def test_a_start_far_from_the_constraints_is_found(arm):
    """The iteration of large systems fails there; the nearest state is that of the derived system."""
    q, qd = arm.state()
    rng = np.random.default_rng(3)
    away = q + rng.uniform(-0.5, 0.5, 28), qd + rng.uniform(-1, 1, 28)
    stated = arm.system.templates
    dynamics = compiled(stated)
    numbers = dynamics.numbers(stated.values({}))
    assert sparse_start._nearest(dynamics, *away, 0.0, numbers, 0) is None
    found, wanted = (da.consistent_state(s, *away) for s in (arm.system, mechanism_system.derived_system(arm)))
    np.testing.assert_allclose(found[0], wanted[0], rtol=0, atol=1e-8)
    np.testing.assert_allclose(found[1], wanted[1], rtol=0, atol=1e-7)
    q = Descent(dynamics, *away, 0.0, numbers, 0).nearest()  # the method without arrays of n × n numbers
    np.testing.assert_allclose(q, wanted[0], rtol=0, atol=1e-7)


def test_closed_loops_of_a_mechanism_of_groups_keep_given_angles(arm):
    closed = (*arm.joints, da.Spherical("loop", da.ground.at(3, 1, 0), arm.bodies[-1].at(0.5, 0, 0)))
    mechanism = da.Mechanism(arm.bodies, closed, arm.forces)
    q, qd = mechanism.state({"j0": 0.4}, {"j0": 0.7})
    assert "mass_matrix" not in vars(mechanism.system)
    found = mechanism.joint_motion(q, qd)
    assert found.position["j0"] == pytest.approx(0.4, abs=1e-10)
    assert found.velocity["j0"] == pytest.approx(0.7, abs=1e-10)
    values = dict(zip(mechanism.system.coordinate_names, q, strict=True))
    end = mechanism.bodies[-1].at(0.5, 0, 0).position
    place = [float(e.xreplace({x: values[x.func.__name__] for x in e.atoms(sp.Function)})) for e in end]
    np.testing.assert_allclose(place, (3, 1, 0), rtol=0, atol=1e-9)


def test_each_body_takes_few_calls():
    """Numbers, points and inertias of bodies made in a loop are converted once; calls of functions do not vary."""

    def calls(count):
        profile = cProfile.Profile()
        profile.enable()
        mechanism = spatial_chain(count)
        _ = mechanism.system
        profile.disable()
        return sum(entry.callcount for entry in profile.getstats())

    calls(40)
    assert (calls(80) - calls(40)) / 40 < 1000


@pytest.mark.parametrize("moved", [(), (3,), (0, 7)])
def test_changes_of_a_large_assembly_are_those_of_the_bodies_that_moved(moved):
    turn = da.quaternion((1, 2, 3), 0.3)
    bodies = [
        da.Body(f"b{i}", 1, (1, 1, 1), position=(i + 0.1 * (i in moved), 0, 0), orientation=turn, spin=(0.1 * i, 0, 1))
        for i in range(30)
    ]
    pins = [da.Weld(f"w{i}", da.ground.at(i, 0, 0), bodies[i].at(0, 0, 0)) for i in moved]
    assembly = da.Mechanism(bodies, pins).assemble()
    assert {change.quantity for change in assembly.changes} == {
        f"{quantity} of b{i}" for i in moved for quantity in ("position", "spin")
    }
    amounts = [change.amount for change in assembly.changes if change.quantity.startswith("position")]
    assert amounts == pytest.approx([0.1] * len(moved), rel=1e-9)
