"""Systems stated by arrays in model files: written and read back, all commands, and mistakes with their places."""

import numpy as np
import pytest
import sympy as sp
from typer.testing import CliRunner

import dalembert as da
from dalembert.cli import app
from dalembert.files.load import loads

CHAIN = """format = 1
coordinates = [{ name = "x", count = 150 }, { name = "y", count = 150 }]
mass_matrix = "m"
applied_force = { y = "-m*g - c*y'" }

[parameters]
m = 1.0
g = 9.81
c = 0.1
l = { count = 149, value = 1.0 }

[[constraints]]
name = "first"
equation = "x[0]^2 + y[0]^2 = 1"

[[constraints]]
name = "rod"
equation = "(u - w)^2 + (v - z)^2 = own^2"
over = { u = "x[:-1]", v = "y[:-1]", w = "x[1:]", z = "y[1:]", own = "l" }

[simulate]
q0 = { x = "1:150:150", y = 0 }
qd0 = { x = 0, y = 0 }
times = "0:0.05:3"

[[checks]]
what = "the free end falls freely at first"
expression = "y[149]"
expected = "-g*t^2/2"
tolerance = 1e-3

[[checks]]
what = "the first link keeps its length"
expression = "sqrt(x[0]^2 + y[0]^2)"
expected = "m"
tolerance = 1e-12

[drawing]
points = { hook = [0, 0], end = ["x[149]", "y[149]"] }
links = [["hook", "end"]]
"""

n = 110
x, y = da.coordinates("x", n), da.coordinates("y", n)
u, v, w, z, s = da.coordinates("u v w z s")
m, g, k, own = da.parameters("m g k own")
lengths, weights = da.parameters("l", n - 1), da.parameters("m", n)
rod = (u - w) ** 2 + (v - z) ** 2
RODS = {u: x[:-1], v: y[:-1], w: x[1:], z: y[1:]}
rods = da.Constraint.over(rod - own**2, {**RODS, own: lengths}, name="rod")
first = da.Constraint(x[0] ** 2 + y[0] ** 2 - 1, name="first")
damped = da.Constraint.over(rod - 1, RODS, name="rod", nonideal=da.Viscous(sp.Rational(1, 3), velocity=u.diff(da.t)))
springs = da.AppliedForce.from_potential(k * (u - w) ** 2 / 2, {u: x[:-2], w: x[2:]})
drag = da.AppliedForce.over({u: -own * u.diff(da.t), v: own * w}, {u: x, v: y, w: x[7], own: np.arange(n) / 7})
mixed = da.AppliedForce.over({u: own * v}, {u: (x[3], y[5], s), v: x[[3, 1, 4]], own: [m, 2, k]})
carts = da.MassEntries.over({(u, u): 3, (u, v): sp.cos(v) / 2, (v, v): 1 + m**2}, {u: x, v: y})
floors = da.Constraint.over(v >= 0, {v: y}, name="floor", restitution=own / 3)

SYSTEMS = {
    "chain": da.System((x, y), m, {y: -m * g}, (first, rods)),
    "masses": da.System((x, y), [weights, np.linspace(1, 2, n)], [{y: -g}, springs], (first, rods)),
    "laws": da.System((x, y), m, [{x: 1}, drag], (first, damped)),
    "coupled": da.System((x, y, s), [carts, {s: m, x[2:9]: 1}], [drag, {s: -k * s}, mixed], rods),
    "viscous": da.System((x, y), m, {y: -m * g}, (first, rods), nonideal=da.Viscous(0.1)),
    "signals": da.System((x, y), m, {y: -da.signal([0, 1, 2], [3, 1, 2], name="gust")}, rods),
    "listed": da.System((x, y), m, da.AppliedForce.over({u: k * v}, {u: tuple(x[i] for i in (3, 9, 4)), v: y[5]})),
}


def numbers_of(system):
    draw = np.random.default_rng(7)
    return {name: draw.uniform(0.9, 1.1, size) if size else 1.3 for name, size in system.statement.parameters.items()}


@pytest.mark.parametrize("name", SYSTEMS)
def test_systems_by_arrays_are_read_back(name, tmp_path):
    system = SYSTEMS[name]
    draw, size, values = np.random.default_rng(3), len(system.coordinate_names), numbers_of(system)
    q, qd = draw.uniform(-1, 1, size), draw.uniform(-1, 1, size)
    found = da.load(system.save(tmp_path / "model.toml", parameters=values, q0=q, qd0=qd, times=[0, 1]))
    assert found.system.coordinate_names == system.coordinate_names
    assert found.system.constraint_names == system.constraint_names
    assert found.system.parameter_names == system.parameter_names
    assert np.array_equal(found.q0, q) and np.array_equal(found.qd0, qd)
    for parameter, value in values.items():
        assert np.array_equal(found.parameters[parameter], value)
    expected = da.motion(system, q, qd, parameters=values, throw=False)
    got = da.motion(found.system, found.q0, found.qd0, parameters=found.parameters, throw=False)
    scale = abs(expected.acceleration).max()
    assert abs(got.acceleration - expected.acceleration).max() <= 1e-13 * scale
    assert abs(got.constraint_force - expected.constraint_force).max() <= 1e-13 * abs(expected.constraint_force).max()
    again = da.load(found.save(tmp_path / "again.toml"))
    assert (tmp_path / "again.toml").read_text() == (tmp_path / "model.toml").read_text()
    assert again.system.constraint_names == system.constraint_names


def test_contacts_by_arrays_are_read_back(tmp_path):
    system = da.System((x, y), 1, {y: -g}, floors)
    path = system.save(tmp_path / "model.toml", parameters={"g": 9.81, "own": 2}, q0=[0.01] * 220, qd0=[0] * 220)
    found = da.load(path)
    times, solver = [0, 0.05, 0.1], da.MoreauJean(0.001)
    expected = da.simulate(system, [0.01] * 220, [0] * 220, times, parameters={"g": 9.81, "own": 2}, solver=solver)
    assert abs(found.simulate(times=times, solver=solver).q - expected.q).max() == 0


def test_small_systems_by_arrays_are_read_back_equal(tmp_path):
    few = da.coordinates("x", 4)
    ties = da.Constraint.over(u - w - own, {u: few[1:], w: few[:-1], own: da.parameters("l", 3)}, name="tie")
    system = da.System((few, s), [m, 2], {few: -k, s: -k * s}, ties)
    values = {"m": 1, "k": 2, "l": [1.0, 2.0, 4.0]}
    found = da.load(system.save(tmp_path / "model.toml", parameters=values, q0=[0, 1, 3, 7, 0], qd0=[0] * 5))
    assert found.system == system
    assert found.parameters["l"] == (1.0, 2.0, 4.0)
    assert abs(found.simulate(times=[0, 1])["x[3]"][-1] - 6).max() < 1e-12


def test_a_file_by_hand_is_the_system_of_python():
    model = loads(CHAIN)
    assert model.q0[:3] == (1.0, 2.0, 3.0) and model.q0[150:] == (0.0,) * 150
    a, b = da.coordinates("x", 150), da.coordinates("y", 150)
    over = {u: a[:-1], v: b[:-1], w: a[1:], z: b[1:]}
    head = da.Constraint(a[0] ** 2 + b[0] ** 2 - 1, name="first")
    c = da.parameters("c")
    forces = [{b: -m * g}, da.AppliedForce.over({v: -c * v.diff(da.t)}, {v: b})]
    system = da.System((a, b), m, forces, (head, da.Constraint.over(rod - 1, over, name="rod")))
    expected = da.simulate(system, model.q0, model.qd0, model.times, parameters={"m": 1, "g": 9.81, "c": 0.1})
    assert abs(model.simulate().q - expected.q).max() < 1e-12
    slower = model.simulate(parameters={"g": 1.62, "l": np.ones(149)})
    assert abs(slower["y[149]"][-1] + 1.62 * 0.05**2 / 2) < 1e-4


@pytest.mark.parametrize(
    ("old", "new", "message", "line"),
    [
        ("count = 150 }]", "count = 0 }]", "`count` must be a whole number, at least 1; got 0.", 2),
        ("count = 150 }]", "count = 19900 }]", "must have at most 20000 elements in all; got 20050.", 2),
        ('name = "y"', 'name = "x"', "an array must have a name of its own; `x` is declared already.", 2),
        ("{ y = ", "{ yy = ", "unknown coordinate `yy`. Did you mean `y`?", 4),
        ("{ y = ", "{ m = ", "terms must belong to coordinates; `m` is not one.", 4),
        ("-m*g - c*y'", "-m*g - c*x'", "an array must be used by its elements in an expression; got `x`.", 4),
        ('"x[0]^2', '"x[150]^2', "`x[150]` must lie in the array; `x` has 150 elements.", 14),
        (
            'u = "x[:-1]"',
            'u = "x[:-2]"',
            "arrays of one length; `u(t)` has 148 entries, another one 149.",
            19,
        ),
        ('u = "x[:-1]"', 'u = "x[:149:0]"', "the step of a part of an array must not be zero; got `[:149:0]`.", 19),
        ('name = "y", count = 150 }', 'name = "y", count = 150 }, "t"', "a coordinate must not be named `t`", 2),
        ('u = "x[:-1]"', 'u = "x[:-]"', "got `[:-]`.", 19),
        ('u = "x[:-1]"', f'u = "x[{"9" * 5000}]"', "elements of an array must be given as in", 19),
        ('"x[0]^2', f'"x[{"9" * 5000}]^2', "a name must have at most 200 characters; got 5003.", 14),
        ('u = "x[:-1]"', 'u = "x[149, 150]"', "`x[149, 150]` must lie in the array; `x` has 150 elements.", 19),
        ('u = "x[:-1]"', 'u = "x[5:5]"', "`x[5:5]` must have at least one element; it has none.", 19),
        (
            'u = "x[:-1]"',
            'u = "x[one]"',
            "as in `x[3]`, `x[1:]`, `x[::2]` or `x[3, 1, 4]`; got `[one]`.",
            19,
        ),
        ('u = "x[:-1]"', 'u = ["x[:-1]", 2]', "`u` must hold coordinates only, as its other elements; got 2.", 19),
        ("(u - w)^2", "(uu - w)^2", "unknown name `uu`. Did you mean `u`?", 18),
        ('name = "rod"', "", "a group of constraints must have a `name`", 16),
        ("value = 1.0", "value = [1, 2]", "`value` must have 149 numbers; got 2.", 10),
        ("value = 1.0", 'value = "1:2:3"', "`value` must have 149 numbers; got 3 in `1:2:3`.", 10),
        (
            "count = 149, value",
            "count = 149, assumptions = { positive = true }, value",
            "must be without assumptions",
            10,
        ),
        ('x = "1:150:150"', "x = [1]", "`x` must have 150 numbers; got 1.", 22),
        ('x = "1:150:150"', "xx = 1", "unknown coordinate `xx`. Did you mean `x`?", 22),
        ('mass_matrix = "m"', 'mass_matrix = ["m"]', "one for each of the 2 entries of `coordinates`", 3),
        ('mass_matrix = "m"', 'mass_matrix = "x"', "`mass_matrix` must be an expression", 3),
        ('u = "x[:-1]"', 'u = "xx[:-1]"', "unknown array `xx`. Did you mean `x`?", 19),
        ("{ y = ", "{ potential = ", "must have `over`, which gives the arrays behind its names.", 4),
        ("[simulate]", '[simulate]\nevents = [{ expression = "x" }]', "an array must be used by its elements", 22),
        ("[simulate]", '[simulate]\nevents = [{ expression = "x[0] - l[3]" }]', "must have coordinates and single", 22),
        ("over = {", 'nonideal = { type = "Viscous", coefficient = 1 }\nover = {', "must be given its `velocity`", 16),
        ('mass_matrix = "m"', 'mass_matrix = "m"\nnonideal = [1]', "in `nonideal` of a system stated by arrays", 4),
        ("[drawing]", '[units]\nz = "m"\n[drawing]', "unknown key `z`. Known are: `rod`, `x`, `y`,", 39),
        ('mass_matrix = "m"', 'mass_matrix = [{ over = { u = "x" } }]', "must have `over` and one of: `entries`.", 3),
    ],
)
def test_mistakes_have_their_places(old, new, message, line):
    assert old in CHAIN
    with pytest.raises(da.FileError) as error:
        loads(CHAIN.replace(old, new, 1))
    assert message in error.value.problem
    assert error.value.line == line


def test_events_end_a_run_of_a_file_and_are_saved(tmp_path):
    low = "[[simulate.events]]\nname = 'low'\nexpression = 'y[149] + g/1000'\ndirection = -1\nstop = true\n"
    model = loads(CHAIN.replace("[[checks]]", low + "[[checks]]", 1))
    run = model.simulate()
    assert run.events[0].name == "low" and run.t[-1] == run.events[0].t < 0.05
    assert abs(run["y[149]"][-1] + 9.81 / 1000) < 1e-9
    found = da.load(model.save(tmp_path / "model.toml"))
    assert found.settings["events"] == model.settings["events"]


def test_units_of_arrays(tmp_path):
    given = {"x": "m", "y": "m", "force y": "N", "rod": "N/m", "first": "N/m", "t": "s"}
    lines = "".join(f'"{name}" = "{unit}"\n' for name, unit in given.items())
    model = loads(f"{CHAIN}[units]\n{lines}")
    assert model.units["x[3]"] == "m" and model.units["force y[149]"] == "N" and model.units["rod[148]"] == "N/m"
    text = model.save(tmp_path / "model.toml").read_text()
    assert all(f"\n{name} = " in text for name in ("x", "y", '"force y"', "rod"))
    assert da.load(tmp_path / "model.toml").units == model.units


def test_index_sets_have_a_limit():
    forces = "".join('[[applied_force]]\ncomponents = { u = "-u*v" }\nover = { u = "x", v = "x" }\n' for _ in range(30))
    head = 'format = 1\ncoordinates = [{ name = "x", count = 20000 }]\nmass_matrix = 1\n'
    with pytest.raises(da.FileError, match="the index sets of a file must have at most 1000000 elements in all"):
        loads(head + forces)


MANY = 'format = 1\ncoordinates = [{ name = "x", count = 20000 }, "s"]\nmass_matrix = 1\n'


def test_terms_of_single_elements_have_a_limit():
    for force in (
        "{ " + ", ".join(f'"x[{k}]" = 1' for k in range(1001)) + " }",
        "[{ components = { u = 1 }, over = { u = [" + '"x[:600]", "s", ' * 2 + "] } }]",
        '[{ s = "' + "+".join(f"x[{k}]" for k in range(1001)) + '" }]',
    ):
        with pytest.raises(da.FileError, match="each element that an expression or a force names by itself") as error:
            loads(f"{MANY}applied_force = {force}\n")
        assert error.value.line == 4


def test_coordinates_beside_arrays_have_a_limit():
    names = ", ".join(f'"s{k}"' for k in range(500))
    with pytest.raises(da.FileError, match="`coordinates` must hold at most 500 names; got 501"):
        loads(f'format = 1\ncoordinates = [{{ name = "x", count = 2 }}, {names}]\nmass_matrix = 1\napplied_force = 0\n')


def test_what_cannot_be_read_is_not_saved(tmp_path):
    long = da.coordinates("x", 20_001)
    with pytest.raises(da.ModelError, match="the arrays of a file must have at most 20000 elements in all; got 20001"):
        da.System(long, 1, {long: -g}).save(tmp_path / "model.toml")
    many = [{x[i]: i} for i in range(n)] * 10
    with pytest.raises(da.ModelError, match="the index sets of a file must have at most 1000000 elements in all"):
        da.System((x, y), 1, many).save(tmp_path / "model.toml")
    sums = [sum(sp.sin(i * u * w) for i in range(1, 60)) for _ in range(2)]
    few = da.coordinates("x", 200)
    heavy = [da.AppliedForce.over({u: own * i}, {u: few[1:], w: few[:-1]}) for own in sums for i in range(1, 7)]
    with pytest.raises(da.ModelError, match="what is derived from the expressions of a file must have a limited size"):
        da.System(few, 1, heavy).save(tmp_path / "model.toml")
    assert not list(tmp_path.iterdir())


def test_work_of_expansion_has_a_limit():
    sums = "+".join(f"sin(u*{i})" for i in range(60))
    forces = f'[[applied_force]]\ncomponents = {{ u = "{sums}" }}\nover = {{ u = "x" }}\n' * 12
    head = 'format = 1\ncoordinates = [{ name = "x", count = 200 }]\nmass_matrix = 1\n'
    with pytest.raises(da.FileError, match="what is derived from the expressions of a file must have a limited size"):
        loads(head + forces)


def test_systems_that_were_derived_are_not_written(tmp_path):
    with pytest.raises(da.ModelError, match=r"a part of an array must not be written as coordinates; got `x\[1:\]`"):
        da.System(x[1:], 1, 0).save(tmp_path / "part.toml")
    many = da.Mechanism([da.Body(f"bar{i}", mass=1, inertia=(1, 2, 3)) for i in range(40)])
    with pytest.raises(da.ModelError, match=r"280 coordinates must be stated by arrays .* Save the mechanism"):
        many.system.save(tmp_path / "many.toml")
    assert da.load(many.save(tmp_path / "many.toml")).mechanism is not None


@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("run chain.toml --set g=1.62 --times 0:0.01:2 --save run.csv --ledger", "and 200 more"),
        ("run chain.toml", "the first link"),
        ("check chain.toml", "150 of 150 constraints are independent"),
        ("show chain.toml", "and 200 more"),
        ("sweep chain.toml --grid g=9,10 --times 0,0.1", "2 members, 0 failed."),
        ("animate chain.toml -o chain.html", "wrote chain.html"),
        ("new copy.toml --from chain.toml", "wrote copy.toml"),
    ],
)
def test_commands(command, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chain.toml").write_text(CHAIN)
    result = CliRunner().invoke(app, command.split())
    assert result.exit_code == 0, (result.output, result.exception)
    assert text in result.output
    if command.startswith("new"):
        assert abs(da.load("copy.toml").simulate().q - loads(CHAIN).simulate().q).max() == 0


@pytest.mark.parametrize("command", ["classify chain.toml", "derive chain.toml -o c.html"])
def test_commands_that_do_not_support_large_systems(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chain.toml").write_text(CHAIN)
    result = CliRunner().invoke(app, command.split())
    assert isinstance(result.exception, da.DalembertError)
    assert "at most" in str(result.exception) and "300" in str(result.exception)
