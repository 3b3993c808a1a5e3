"""Models written to files are read back equal: the gallery, mechanisms of all parts, laws, servos, settings."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.files.load import loads
from dalembert.gallery.file_case import case_of, model_of
from dalembert.mechanisms.mechanism_document import FORCES, JOINTS
from dalembert.model.law_document import LAWS
from dalembert.model.value_document import times_entry

x, y = da.coordinates("x y")
m, g, mu = da.parameters("m g mu")
xd, yd = x.diff(da.t), y.diff(da.t)

QUICK = (
    *("projectile", "spiral", "swarm", "manipulator", "particle", "block-proportional", "bead", "hoop", "pin-friction"),
    *("belt", "painleve-rod", "indefinite-mass", "weber", "pendulum-rod-twice", "measured", "andrews", "sleigh"),
    *("crane", "satellites", "cart-pole", "five-bar", "walker", "bicycle"),
)
"""Cases of all kinds that are read fast; the slow tests read all."""


def again(model, path):
    """The model written to a file and read back."""
    file = path / "model.toml"
    model.save(file)
    return da.load(file)


def accelerations(model):
    """At three random states, without a check whether they satisfy the constraints."""
    draw, n = np.random.default_rng(20260101), len(model.system.coordinates)
    states = [(draw.uniform(0.3, 0.9, n), draw.uniform(-1, 1, n)) for _ in range(3)]
    given = {"parameters": model.parameters, "throw": False}
    return np.array([da.motion(model.system, q, qd, 0.3, **given).acceleration for q, qd in states])


def controllers_are_equal(one, other):
    if one is None or other is None:
        return one is other
    keys = ("system", "parameters", "robust", "adaptive", "period", "delay", "seed")
    noise = [None if control.noise is None else control.noise.tolist() for control in (one, other)]
    return [getattr(one, key) for key in keys] == [getattr(other, key) for key in keys] and noise[0] == noise[1]


def check_case(name, path):
    model = model_of(da.gallery.case(name))
    found = again(model, path)
    assert found.system == model.system
    assert [c.name for c in found.system.constraints] == [c.name for c in model.system.constraints]
    assert [type(law.law) for law in found.system.laws] == [type(law.law) for law in model.system.laws]
    for field in ("q0", "qd0", "times"):
        assert np.array_equal(getattr(found, field), getattr(model, field))
    assert (dict(found.parameters), dict(found.units)) == (dict(model.parameters), dict(model.units))
    assert (found.title, found.about, found.source) == (model.title, model.about, model.source)
    assert controllers_are_equal(found.settings.get("control"), model.settings["control"])
    for key, value in model.settings.items():
        if key not in ("formulation", "control"):
            assert found.settings.get(key, {"drift": da.Projection(), "allow_violation": False}.get(key)) == value
    assert repr(found.settings.get("formulation")) == repr(model.settings["formulation"])


@pytest.mark.parametrize("name", QUICK)
def test_cases_are_read_back_equal(name, tmp_path):
    check_case(name, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in da.gallery.names() if name not in QUICK])
def test_all_other_cases_are_read_back_equal(name, tmp_path):
    check_case(name, tmp_path)


def test_a_case_with_events_runs_to_the_same_numbers(tmp_path):
    case = da.gallery.case("walker")
    found = again(model_of(case), tmp_path)
    assert found.settings["events"] == case.settings["events"]
    runs = [found.simulate(times=[0, 5]), case.simulate(times=[0, 5])]
    assert [event.name for event in runs[0].events] == ["heel strike"]
    assert np.array_equal(runs[0].q, runs[1].q)


def test_symbols_with_assumptions_are_those_of_the_lagrangian(tmp_path):
    mass, stiffness = sp.symbols("mass stiffness", positive=True)
    system = da.System.from_lagrangian(mass * xd**2 / 2 - stiffness * x**2 / 2, (x,))
    assert system.mass_matrix[0] is mass and system.applied_force[0] == -stiffness * x
    assert da.load(system.save(tmp_path / "a.toml")).system == system


def test_directions_and_orientations_are_read_back_to_the_last_bit(tmp_path):
    draw = np.random.default_rng(3)
    for _ in range(100):
        turned, axis, other = draw.normal(size=4), draw.normal(size=3), draw.normal(size=3)
        body = da.Body("a", 1, (1, 1, 1), orientation=turned)
        hinge = da.Revolute("h", da.ground.at(0, 0, 0), body, axis=(axis, other))
        assert replace(body, orientation=body.orientation).orientation == body.orientation
        assert replace(hinge, axis=hinge.axis).axis == hinge.axis
    found = da.load(da.Mechanism(body, hinge).save(tmp_path / "a.toml")).mechanism
    assert found.bodies[0].orientation == body.orientation and found.joints[0].axis == hinge.axis


@pytest.mark.parametrize("name", ["pendulum-rod-twice", "particle", "andrews", "sleigh"])
def test_accelerations_are_the_same_at_random_states(name, tmp_path):
    model = model_of(da.gallery.case(name))
    assert np.array_equal(accelerations(again(model, tmp_path)), accelerations(model))


def test_a_case_that_was_read_runs_to_the_same_numbers(tmp_path):
    case = da.gallery.case("bead")
    found = case_of(again(model_of(case), tmp_path), "bead")
    assert np.array_equal(found.simulate().q, case.simulate().q)


def test_a_system_saves_itself_with_and_without_numbers(tmp_path):
    rod = da.Constraint(x**2 + y**2 - 1, name="rod", nonideal=da.Viscous(0.1))
    pendulum = da.System((x, y), [[m, 0], [0, m]], (0, -m * g), rod)
    bare = da.load(pendulum.save(tmp_path / "bare.toml"))
    assert bare.system == pendulum
    assert (dict(bare.parameters), bare.q0, bare.times) == ({}, None, None)
    numbers = {"parameters": {"m": 1, g: 9.81}, "q0": {"x": 1, "y": 0}, "qd0": (0, 0), "times": [0, 1, 2, 3]}
    full = da.load(pendulum.save(tmp_path / "full.toml", **numbers))
    expected = da.simulate(pendulum, **numbers)
    assert np.array_equal(full.simulate().q, expected.q)


SYSTEMS = {
    "rationals": da.System((x,), [[sp.Rational(1, 3)]], (sp.Float(0.1) * x / 7,)),
    "lagrangian": da.System.from_lagrangian(m * xd**2 / 2 - m * g * sp.cosh(x), (x,)),
    "lagrangian with a force": da.System.from_lagrangian(m * xd**2 / 2, (x,), applied_force=(-g * xd,)),
    "odd names": da.System(
        (da.coordinates("θ"), sp.Function("x_{1}")(da.t)), [[1, 0], [0, sp.Symbol("m 1")]], (sp.Symbol("t_0"), 0)
    ),
    "laws of all kinds": da.System(
        (x, y),
        [[m, 0], [0, m]],
        (0, 0),
        (
            da.Constraint(
                y - x**2,
                name="a",
                nonideal=(
                    *(da.Viscous(mu), da.Quadratic(0.2, velocity=xd)),
                    da.SlidingForce(-mu * da.multiplier("a") ** 2 * sp.tanh(xd), velocity=xd),
                ),
            ),
            da.Constraint(sp.Eq(xd, yd), name="b", nonideal=da.Coulomb(0.1, (xd, yd), da.multiplier("b"), "ideal")),
            da.Constraint(
                x.diff(da.t, 2) - y,
                name="c d",
                nonideal=da.Stribeck(mu, 0.5, 2, xd, (da.multiplier("a"), da.multiplier("c d")), smoothing=1e-3),
            ),
        ),
        (
            da.Proportional(mu),
            da.Prescribed((-sp.Abs(da.ideal_force(y)), 0), scaled=True),
            da.Prescribed({"x": 1, "y": y}),
        ),
    ),
    "servos": da.System(
        (x, y),
        [[1, 0], [0, 2]],
        (0, 0),
        servos=(
            da.Servo(
                "place",
                (sp.Eq(x, sp.sin(da.t)), y - 1),
                by=(da.Actuator("one", x, limit=3), da.Actuator("two", {x: -1, y: m}), da.Actuator("three", (1, x))),
                settle=([[1, 0], [0, 2]], [[1, 0.5], [0.5, m]]),
                cost=(1, 2, m),
            ),
        ),
    ),
    "servos with names": da.System(
        (x,), [[1]], (0,), servos=da.Servo("s", (da.Constraint(xd - 1, name="speed"),), settle=2, metric="euclidean")
    ),
    "assumptions": da.System(
        (x,),
        [[sp.Symbol("m", positive=True)]],
        (sp.sqrt(sp.Symbol("m", positive=True) ** 2) * sp.Symbol("k", zero=False),),
    ),
    "contacts": da.System(
        (x, y),
        [[m, 0], [0, m]],
        (0, -m * g),
        (
            da.Constraint(sp.Ge(y, x**2), name="floor", restitution=mu, nonideal=da.Coulomb(0.3)),
            da.Constraint(sp.Le(x, 2), name="wall", restitution=0.5, impact="poisson"),
            da.Constraint(y - 1, name="table", releases=True),
            da.Constraint(x - 1, name="peg", active=False),
        ),
    ),
    "arrays": da.System(
        (da.coordinates("w", 3),),
        2,
        (),
        da.Constraint.over(x**2 + 1 - y, {x: da.coordinates("w", 3)[:2], y: da.coordinates("w", 3)[1:]}, name="rod"),
    ),
    "coefficients": replace(
        da.System((x,), [[1]], (-m * xd,)), coefficients=(("Spring", da.model.laws.Coefficient("damping", m, True)),)
    ),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_systems_are_read_back_equal(name, tmp_path):
    system = SYSTEMS[name]
    assert da.load(system.save(tmp_path / "a.toml")).system == system


def test_every_law_is_in_a_test():
    laws = {type(law).__name__ for c in SYSTEMS["laws of all kinds"].constraints for law in c.nonideal}
    assert laws | {type(law).__name__ for law in SYSTEMS["laws of all kinds"].nonideal} == {*LAWS}


def plane():
    bar = da.PlanarBody("bar", m, 0.2, (0.5, 0), 0.3, (0, 1), 0.5, (0.1, 0))
    disc = da.PlanarBody("disc", 1, 0.1, (1, 0))
    bead = da.Particle("bead", 2, (1, 1), (0.5, 0))
    pin = da.Revolute("pin", da.ground.at(0, 0), bar.at(-0.5, 0), radius=0.01, nonideal=da.Coulomb(mu))
    slide = da.Prismatic("slide", da.ground.at(0, 1), disc, axis=(3, 4), nonideal=(da.Viscous(0.1),))
    joints = (
        *(pin, slide, da.Rod("wire", disc, bead, length=1 + sp.sin(da.t) / 10), da.Gear("gear", bar, disc, ratio=-m)),
        da.Gear("planet", bar, disc, ratio=2, carrier=da.ground),
        da.PointOnCurve("track", da.ground.at(0, 0), bead, curve=lambda x, y: y - m * x**2),
        da.RollingOnLine("wheel", da.ground.at(0, 0), disc, radius=0.5),
        da.KnifeEdge("blade", da.ground.at(0, 0), bar.at(0.5, 0)),
        da.Weld("weld", bar.at(0.5, 0), disc),
        da.Drive("drive", pin, da.t**2),
        da.Cam("cam", bar, disc, profile=lambda s: 1 + m * sp.cos(s), start=0.5, radius=0.1),
        da.Cam("flat cam", bar, disc, profile=lambda s: 2 + sp.sin(s), face=(1, 1)),
        da.RollingOnProfile(
            "hill", da.ground.at(0, 0), disc, radius=0.1, profile=lambda s: (s, m * s**2), span=(-1, 1)
        ),
        da.RollingOnCircle("ring", da.ground.at(0, 0), disc, radius=0.1, circle=m, inside=True),
    )
    forces = (
        *(da.Gravity((0, -g)), da.Force(bar.at(0.5, 0), (1, da.t), "body"), da.Torque(bar, 2, against=disc)),
        *(da.Spring(bar, bead, 10, 1, 0.1), da.TorsionSpring(pin, 3, sp.pi / 4, 0.2), da.Drag(bead, 0.1, 0.2)),
        da.Spring(bar, bead, length=1, force=lambda e: 100 * e + m * e**3),
        da.TorsionSpring(pin, torque=sp.sinh, potential_energy=lambda a: sp.cosh(a) - 1),
    )
    bend, sway = da.coordinates("bend sway")
    modes = da.ExtraCoordinates(
        "modes",
        (bend, sway),
        kinetic=m * bend.diff(da.t) ** 2 + sway.diff(da.t) * bar.coordinates[2].diff(da.t),
        potential=bend**2,
        force={sway: -sway.diff(da.t), bend: 0},
        start=(0.1, 0),
        rates=(0, 0.2),
        determined_by=sway - disc.coordinates[1],
    )
    level = da.Constraint(bead.coordinates[0] - disc.coordinates[0], name="level")
    held = da.Constraint(sway - disc.coordinates[1], name="held")
    belt = da.Transmission("belt", pin, slide, coefficients=(0, m, 0.1))
    forces = (*forces, da.Rotor(pin, inertia=0.1, damping=m))
    return da.Mechanism((bar, disc, bead), (*joints, belt), forces, (level, held), extra_coordinates=modes)


def space():
    one = da.Body("one", 1, (1, 2, 2.5), (0, 0, 1), da.quaternion((0, 0, 1), 0.5), spin=(0, 0, 1), center=(0, 0, 0.1))
    two = da.Body("two", m, [[2, 0.1, 0], [0.1, 2, 0], [0, 0, 3]])
    joints = (
        da.Spherical("ball", da.ground.at(0, 0, 0), one.at(0, 0, -1)),
        da.Cylindrical("tube", da.ground.at(0, 0, 0), two, axis=(0, 0, 2)),
        da.Universal("cross", one.at(0, 0, 1), two, axis=((1, 0, 0), (0, 1, 0))),
        da.Revolute("hinge", one, two.at(0, 0, 1), axis=((0, 0, 1), (0, 1, 0))),
        da.RollingBall("rolling ball", da.ground.at(0, 0, 0), one, radius=1),
        da.RollingDisc("rolling disc", da.ground.at(0, 0, 0), two, radius=0.5, axle=(1, 0, 0)),
        da.RollingEllipsoid("egg", da.ground.at(0, 0, 0), two, axes=(1, 2, 3), normal=(0, 1, 0)),
        da.Planar("table", one, two, normal=((0, 0, 1), (0, 1, 0))),
        da.Screw("screw", da.ground.at(0, 0, 0), one, axis=(0, 0, 1), pitch=m),
        da.PointOnSurface("dish", da.ground.at(0, 0, 0), two, surface=lambda x, y, z: z - m * x * y),
        da.PointOnCurve("wire", da.ground.at(0, 0, 0), two, curve=lambda x, y, z: (x - y, z - m)),
        da.RollingOnSphere("bowl", da.ground.at(0, 0, 0), one, radius=0.1, sphere=1, inside=True),
        da.RollingOnCylinder("pipe", one, two, radius=0.1, cylinder=m, axis=(1, 0, 0)),
    )
    return da.Mechanism((one, two), joints, (da.Gravity((0, 0, -9.81)), da.Torque(one, (1, 0, da.t), axes="body")))


def robot():
    arm = da.PlanarBody("arm", 1, 0.1, (0.5, 0))
    pin = da.Revolute("pin", da.ground.at(0, 0), arm.at(-0.5, 0))
    tip = arm.at(0.5, 0).position
    servo = da.Servo("lift", tip[1] - sp.sin(da.t), by=da.Actuator("motor", pin, limit=50), settle=4)
    return da.Mechanism(arm, pin, da.Gravity((0, -9.81)), servos=servo)


@pytest.mark.parametrize("make", [plane, space, robot])
def test_mechanisms_are_read_back_equal(make, tmp_path):
    mechanism = make()
    found = da.load(mechanism.save(tmp_path / "a.toml")).mechanism
    assert found.system == mechanism.system
    assert [type(part) for part in found.joints + found.forces] == [
        type(p) for p in mechanism.joints + mechanism.forces
    ]


def test_constraints_in_a_file_may_contain_contact_parameters(tmp_path):
    wheel = da.PlanarBody("wheel", 1, 0.1, (0, 0.5))
    hill = da.RollingOnProfile("hill", da.ground.at(0, 0), wheel, radius=0.5, profile=lambda s: (s, s**2 / 9))
    stop = da.Constraint(hill.parameter - sp.sin(da.t), name="stop")
    mechanism = da.Mechanism(wheel, hill, (), stop)
    assert da.load(mechanism.save(tmp_path / "a.toml")).mechanism.system == mechanism.system


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ('coordinates = ["x_a"]', "a coordinate must have a name of its own; `x_a` is declared already"),
        ('coordinates = ["w"]\npotental = "w^2"', "unknown key `potental`. Did you mean `potential`"),
        ('coordinates = ["w"]\nstart = [1, 2]', "`start of modes` must be 1 finite number"),
    ],
)
def test_extra_coordinates_in_a_file_that_are_wrong(extra, message, tmp_path):
    path = tmp_path / "a.toml"
    body = '[[bodies]]\ntype = "PlanarBody"\nname = "a"\nmass = 1\ninertia = 1\n'
    path.write_text(f'format = 1\n{body}[[extra_coordinates]]\nname = "modes"\n{extra}\n', encoding="utf-8")
    with pytest.raises(da.FileError) as refusal:
        da.load(path)
    assert message in str(refusal.value)


@pytest.mark.parametrize("name", ["five-bar", "rod-impact", "rocking-block", "bowling-ball"])
def test_mechanisms_of_cases_are_read_back_equal(name, tmp_path):
    mechanism = da.gallery.case(name).mechanism
    found = da.load(mechanism.save(tmp_path / "a.toml"))
    assert found.mechanism == mechanism
    assert found.system == mechanism.system


def test_every_joint_and_force_is_in_a_test():
    parts = [part for make in (plane, space) for part in (*make().joints, *make().forces)]
    # a rope is one-sided, and has a test of its own beside its simulation
    assert {type(part).__name__ for part in parts} | {"Rope", "PlaneContact", "RoundContact"} == {*JOINTS, *FORCES}


def test_a_mechanism_without_a_start_is_assembled(tmp_path):
    path = robot().save(tmp_path / "robot.toml", times=[0, 0.5])
    model = da.load(path)
    assert np.allclose(model.simulate().q, da.simulate(robot().system, *robot().assemble(), [0, 0.5]).q, atol=1e-12)


def test_settings_checks_and_drawings_are_read_back(tmp_path):
    system = da.System((x,), [[m]], (-m * g,))
    model = da.ModelFile(
        system=system,
        parameters={"m": 2.0, "g": 9.81},
        q0=(1,),
        qd0=(0,),
        times=(0, 0.1, 0.4),
        settings={"rtol": 1e-8, "drift": da.Projection(3, (xd**2 / 2 + g * x,)), "formulation": da.PseudoInverse()},
        units={"x": "m", "m": "kg", "t": "s"},
        checks=(da.files.model_check.ModelCheck("falls", x, 1 - g * da.t**2 / 2, 1e-9),),
        points={"stone": (sp.Integer(0), x)},
        links=(("stone", "stone"),),
    )
    found = again(model, tmp_path)
    assert found.checks == model.checks
    assert (found.points, found.links, found.units) == (model.points, model.links, model.units)
    assert found.settings["drift"] == model.settings["drift"]
    assert found.settings["formulation"] == da.PseudoInverse()
    assert found.failed_checks(found.simulate(drift=None, formulation=None)) == ()
    (wrong,) = found.failed_checks(found.simulate(parameters={"g": 9.8}, qd0=(0.1,), drift=None, formulation=None))
    assert wrong.startswith("falls: got ")
    assert np.array_equal(found.points_along(found.simulate(drift=None, formulation=None))["stone"][0], [0, 0, 0])


def ball(*constraints):
    return da.System((y,), [[m]], (-m * g,), constraints)


def test_events_are_read_back_and_run(tmp_path):
    peg = da.Constraint(y - 1, name="peg", active=False)
    events = (
        da.Event(y - mu, direction=-1, name="bounces", then=da.Change({yd: -yd / 2, "m": 2 * m})),
        da.Event(y - 1, stop=True),
        da.Event(yd, name="holds", then=da.Change(on="peg", off=())),
    )
    given = {"parameters": {"m": 1.0, "g": 10.0, "mu": 0.5}, "q0": (2.0,), "qd0": (0.0,), "times": (0.0, 1.0)}
    model = da.ModelFile(system=ball(peg), settings={"events": events[:1]}, **given)
    found = again(model, tmp_path)
    assert found.settings["events"] == events[:1]
    assert np.array_equal(found.simulate().q, model.simulate().q)
    (bounce,) = found.simulate().events
    assert bounce.t == pytest.approx(np.sqrt(0.3), abs=1e-10)  # y = 2 - 5 t² is 0.5
    model = da.ModelFile(system=ball(peg), settings={"events": events}, **given)
    assert again(model, tmp_path).settings["events"] == events


def test_controllers_are_read_back_and_act_the_same(tmp_path):
    plant, model = (
        da.System((x,), [[m]], (force,), servos=da.Servo("hold", x - 1, by=da.Actuator("motor", x, limit=50), settle=2))
        for force in (-g * xd, 0)
    )
    given = {"parameters": {"m": 1.2, "g": 0.1}, "q0": (0.0,), "qd0": (0.0,), "times": (0.0, 1.0)}
    controls = (
        da.controller(plant, parameters={"m": 1, "g": 0}, robust=da.BoundedUncertainty(2 * m, 0.01)),
        da.controller(model, parameters={"m": 1}, period=0.01, delay=0.001, noise=0.001, seed=3),
        da.controller(model, parameters={"m": 1}, adaptive=da.AdaptiveBound(100, 0.1, 0.01, 0.5)),
    )
    for control in controls:
        saved = da.ModelFile(system=plant, settings={"control": control}, **given)
        found = again(saved, tmp_path)
        assert controllers_are_equal(found.settings["control"], control)
    assert np.array_equal(found.simulate().q, saved.simulate().q)


CONTROLLED = """format = 1
coordinates = ["x"]
mass_matrix = [["m"]]
applied_force = [0]
parameters = { m = 2 }
actuators = [{ name = "motor", along = "x" }]
servos = [{ name = "hold", requirement = "x = 1", by = "motor", settle = 2 }]
[simulate]
"""


def test_a_controller_has_the_values_of_the_file_by_default():
    assert loads(CONTROLLED + "control = { period = 0.1 }").settings["control"].parameters == {"m": 2}


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("control = { perod = 1 }", 9, "unknown key `perod`. Did you mean `period`"),
        ("control = { period = -1 }", 9, "`period` must be positive"),
        ("control = { robust = { rho = -1, epsilon = 1 } }", 9, "`rho` of BoundedUncertainty must be positive"),
        ("control = { robust = { rho = 1 } }", 9, "`robust` must give `epsilon`"),
        ("control = { parameters = { n = 1 } }", 9, "unknown key `n`"),
        ('control = { model = { coordinates = ["x"] } }', 9, "must give `mass_matrix` or `lagrangian`"),
        ("events = [{ direction = 1 }]", 9, "must give `expression`"),
        ('events = [{ expression = "x - z" }]', 9, "unknown name `z`"),
        ('events = [{ expression = "x", then = { on = "peg" } }]', 9, "`peg`"),
        ('events = [{ expression = "x", name = "a" }, { expression = "x - 1", name = "a" }]', 9, "given twice: `a`"),
    ],
)
def test_controllers_and_events_that_are_wrong(text, line, message):
    with pytest.raises(da.FileError, match=message) as refusal:
        loads(CONTROLLED + text)
    assert refusal.value.line == line


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        ('inequality = "x = 1", restitution = 0', "an inequality was expected: write `left >= right`"),
        ('inequality = "x >= 1"', "an inequality needs a `restitution`"),
        ('equation = "x >= 1"', "A constraint on one side is an `inequality`"),
        ('inequality = "x >= 1", equation = "x = 1"', "an `equation`, or an `inequality`, and not both"),
        ('inequality = "x >= 1", restitution = 2', "from 0 for no rebound to 1"),
        ('equation = "x = 1", impact = "hertz"', '`impact` must be "newton", "poisson" or "moreau"'),
    ],
)
def test_contacts_that_are_wrong(constraint, message):
    start = 'format = 1\ncoordinates = ["x"]\nmass_matrix = [[1]]\napplied_force = [0]\n'
    with pytest.raises(da.FileError, match=message) as refusal:
        loads(f"{start}constraints = [{{ {constraint} }}]\n")
    assert refusal.value.line == 5


def test_assumptions_that_contradict_one_another():
    start = 'format = 1\ncoordinates = ["x"]\nmass_matrix = [["m"]]\napplied_force = [0]\n'
    with pytest.raises(da.FileError, match="assumptions of parameter `m` contradict"):
        loads(f"{start}parameters = {{ m = {{ assumptions = {{ positive = true, real = false }} }} }}\n")


def test_times_are_written_short_if_they_are_equally_spaced():
    assert times_entry(np.linspace(0, 10, 101)) == "0.0:10.0:101"
    assert times_entry([0, 1, 3]) == [0.0, 1.0, 3.0]


def test_what_cannot_be_written_is_refused(tmp_path):
    system = da.System((x,), [[1]], (0,))
    with pytest.raises(da.InputError, match=r"`path` must end in .toml"):
        system.save(tmp_path / "a.json")
    with pytest.raises(da.InputError, match="in a folder that exists"):
        system.save(tmp_path / "none" / "a.toml")
    with pytest.raises(da.InputError, match="`k` is unknown"):
        system.save(tmp_path / "a.toml", parameters={"k": 1})
    with pytest.raises(da.ModelError, match="with a controller or conserved integrals attached"):
        replace(system, feedback=SimpleNamespace(expressions=())).save(tmp_path / "a.toml")
    with pytest.raises(da.InputError, match="can hold the drift cures"):
        da.ModelFile(system=system, settings={"drift": object()}).save(tmp_path / "a.toml")
    with pytest.raises(da.InputError, match="can hold the formulations"):
        da.ModelFile(system=system, settings={"formulation": object()}).save(tmp_path / "a.toml")
    weighted = da.StackedLeastSquares(weight=lambda t: [1])
    with pytest.raises(da.InputError, match="can hold a `weight` of numbers"):
        da.ModelFile(system=system, settings={"formulation": weighted}).save(tmp_path / "a.toml")
    twice = [da.Servo(n, xd - 1, by=da.Actuator("u", x, limit=k)) for k, n in ((1, "a"), (2, "b"))]
    with pytest.raises(da.ModelError, match="actuators in a file must differ in name; given twice: `u`"):
        da.model.servo_document.write_actuators(twice)
    with pytest.raises(da.ModelError, match=r"a controller made by `da\.controller`"):
        da.ModelFile(system=system, settings={"control": object()}).save(tmp_path / "a.toml")
    with pytest.raises(da.ModelError, match="a model file can hold `Viscous`"):
        da.model.law_document.write_laws(_Strange())
    bead = da.Particle("p", 1, (0, 0))
    rail = da.PointOnCurve("rail", da.ground.at(0, 0), bead, curve=lambda a, b: a - sp.Symbol("x"))
    with pytest.raises(da.ModelError, match="must not use a parameter `x`"):
        da.Mechanism(bead, rail).save(tmp_path / "a.toml")


class _Strange(da.model.laws.Law):
    def components(self, coordinates):
        return (0,)


def test_a_model_without_start_or_times_says_so():
    model = loads('format = 1\ncoordinates = ["x"]\nmass_matrix = [[1]]\napplied_force = [0]\n')
    with pytest.raises(da.InputError, match="the model must have `times`"):
        model.simulate()
    with pytest.raises(da.InputError, match="the model must have an initial state; there is no `q0`, `qd0`"):
        model.simulate(times=[0, 1])
    assert model.simulate(times=[0, 1], q0=[0], qd0=[1])["x"][-1] == pytest.approx(1)


def test_a_mechanism_of_many_bodies_is_read_back_equal(tmp_path):
    """Beyond 200 coordinates a system is known by groups of terms only, and a mechanism still by its parts."""
    m, gust = sp.Symbol("m", positive=True), da.signal([0, 1, 2], [0, 1, 0], name="gust")
    bodies = [da.Body(f"b{k}", mass=m, inertia=(1, 2, 3), position=(k, 0, 0)) for k in range(30)]
    ends = [da.ground.at(-0.5, 0, 0), *(body.at(0.5, 0, 0) for body in bodies[:-1])]
    joints = [
        da.Revolute(f"j{k}", end, body.at(-0.5, 0, 0), axis=(0, 1, 0))
        for k, (end, body) in enumerate(zip(ends, bodies, strict=True))
    ]
    forces = [da.Gravity((0, 0, -9.81)), da.Force(bodies[-1].at(0, 0, 0), (0, gust, 0))]
    chain = da.Mechanism(bodies, joints, forces)
    path = chain.save(tmp_path / "chain.toml", parameters={"m": 2})
    model = da.load(path)
    assert model.mechanism == chain and len(model.system.coordinate_names) == 210
    assert "assumptions = { positive = true }" in path.read_text()
    assert model.save(tmp_path / "again.toml").read_text() == path.read_text()
    q, qd = chain.assemble(parameters={"m": 2})
    found, expected = (da.motion(s, q, qd, 0.5, parameters={"m": 2}) for s in (model.system, chain.system))
    assert (found.acceleration == expected.acceleration).all()


def test_parameters_that_cancel_are_read_back(tmp_path):
    a, b = da.parameters("a b")
    disc = da.PlanarBody("disc", a, 0.1, position=(0, 2))
    floor = da.PlaneContact("floor", da.ground.at(b, 0), disc, normal=(0, 1), radius=a, restitution=0.5)
    drop = da.Mechanism(disc, floor, da.Gravity((0, -9.81)))
    assert "b" not in drop.system.parameter_names
    path = drop.save(tmp_path / "drop.toml", parameters={"a": 1}, times=[0, 0.1])
    path.write_text(path.read_text().replace("b = {}", 'b = { value = 3, unit = "m" }'))
    model = da.load(path)
    assert model.mechanism == drop and dict(model.parameters) == {"a": 1}
    assert abs(model.simulate()["y_disc"][-1] - (2 - 9.81 * 0.1**2 / 2)) < 1e-9
    assert da.load(model.save(path)).mechanism == drop
