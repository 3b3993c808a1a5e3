"""Mistakes in model files: the message has file, line and column, and the nearest known name."""

import time

import pytest

import dalembert as da
from dalembert.files.load import loads
from dalembert.model.expression_work import LARGEST_FILE
from fuzz.files import ARM, BASES, fault_of, mutated

GOOD = """format = 1
coordinates = ["x", "y"]
mass_matrix = [["m", 0], [0, "m"]]
applied_force = [0, "-m*g"]
parameters = { m = 1, g = 9.81 }
constraints = ["x^2 + y^2 = 1"]

[simulate]
q0 = { x = 1, y = 0 }
qd0 = [0, 0]
times = "0:1:11"
"""
BODY = '[[bodies]]\ntype = "Particle"\nname = "p"\nmass = 1\nposition = [0, 0]\n'


def refused(text):
    began = time.process_time()
    with pytest.raises(da.FileError) as error:
        loads(text, "file.toml")
    assert time.process_time() - began < 1
    assert str(error.value).startswith(f"file.toml:{error.value.line}:{error.value.column}: ")
    return error.value


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ("-m*g", "-m*gg", (4, 25), "unknown name `gg`. Did you mean `g`?"),
        ("-m*g", "sin x", (4, 22), "`sin` is a function. Write its argument in brackets, as in `sin(t)`."),
        ("-m*g", "arctan*2", (4, 22), "`arctan` is a function. Write its argument in brackets, as in `arctan(t)`."),
        ('"-m*g"', '"""\n-m\n*gg"""', (6, 2), "unknown name `gg`"),
        ('"-m*g"', '"\\t-m*gg"', (4, 27), "unknown name `gg`"),
        ("x^2 + y^2 = 1", "x^2 + y^2 < 1", (6, 27), "an equation was expected; got the comparison `<`"),
        ("x^2 + y^2 = 1", "1 = 2", (6, 16), "must contain a coordinate"),
        ("format = 1", "format = 2", (1, 1), "`format` must be 1, the version that is known; got 2."),
        ("format = 1", "", (1, 1), "the file must give `format`; there is none."),
        ("mass_matrix", "massmatrix", (3, 1), "unknown key `massmatrix`. Did you mean `mass_matrix`?"),
        ("times", "tmes", (11, 1), "unknown key `tmes`. Did you mean `times`?"),
        ("qd0", "zzzz", (10, 1), "unknown key `zzzz`. Known are: `q0`, `qd0`, `keep`, `times`"),
        ('["m", 0], [0, "m"]', '["m", 1], [0, "m"]', (3, 1), "`mass_matrix` must be symmetric"),
        ('["m", 0], [0, "m"]', '["m", 0]', (3, 1), "`mass_matrix` must have shape (2, 2)"),
        ('[0, "-m*g"]', "[0]", (4, 1), "`applied_force` must have one entry per coordinate"),
        ('[0, "-m*g"]', "{ x = 0, z = 1 }", (4, 1), "missing: `y`"),
        ('[0, "-m*g"]', "5", (4, 1), "`applied_force` must be an array; got 5."),
        ("applied_force", "# applied_force", (1, 1), "must give `applied_force`"),
        ("mass_matrix", "# mass_matrix", (1, 1), "the file must give `mass_matrix` or `lagrangian`"),
        ('coordinates = ["x", "y"]', "", (1, 1), "the file must give `coordinates`"),
        ('["x", "y"]', "[]", (2, 1), "`coordinates` must hold at least one name"),
        ('["x", "y"]', '["x", "x"]', (2, 1), "must name each coordinate once"),
        ('["x", "y"]', '["x", "t"]', (2, 21), "a coordinate must not be named `t`"),
        ('["x", "y"]', '["x", "a`b"]', (2, 21), "neither backquotes nor line breaks"),
        ('["x", "y"]', '["x", ""]', (2, 21), "`coordinates` must be a text that is not empty"),
        ("m = 1,", "m = 1, x = 2,", (5, 1), "a parameter must not have the name of a coordinate; got `x`."),
        ("m = 1,", "m = 1, k = 2,", (5, 23), "parameter `k` must occur in the model"),
        ("m = 1,", "m = true,", (5, 16), "`m` must be a number; got True."),
        ("m = 1,", "m = inf,", (5, 16), "`m` must be a finite number"),
        ("m = 1,", "m = { valu = 1 },", (5, 22), "unknown key `valu`. Did you mean `value`?"),
        ("m = 1,", 'm = "1/0",', (5, 22), "divided by zero"),
        ("{ m = 1, g = 9.81 }", "3", (5, 1), "`parameters` must be an array; got 3."),
        ("x = 1, y = 0", "x = 1, z = 0", (9, 15), "unknown key `z`. Known are: `x`, `y`."),
        ("x = 1, y = 0", "x = 1", (9, 1), "`q0` must give a value for every coordinate; missing: `y`."),
        ('"0:1:11"', '"0:1"', (11, 1), "`times` must be an array of times, or"),
        ('"0:1:11"', '"0:1:99999999999"', (11, 1), "`times` must be an array of times, or"),
        ('"0:1:11"', "[1, 0]", (11, 1), "`times` must increase"),
        ('"0:1:11"', '"0:1:11"\ndrift = "Projekt"', (12, 10), "Did you mean `Projection`?"),
        ('"0:1:11"', '"0:1:11"\ndrift = "Baumgarte"', (12, 1), "must be given `alpha` and `beta`"),
        ('"0:1:11"', '"0:1:11"\ndrift = { type = "none", alpha = 1 }', (12, 26), "unknown key `alpha`"),
        ('"0:1:11"', '"0:1:11"\nformulation = { type = "Factored", weight = [1] }', (12, 36), "only `StackedLeast"),
        ('"0:1:11"', '"0:1:11"\nallow_violation = 1', (12, 1), "`allow_violation` must be true or false; got 1."),
        ('"0:1:11"', '"0:1:11"\n[definitions]\nx = "1"', (13, 1), "a definition must have a name of its own"),
        ('"0:1:11"', '"0:1:11"\n[[checks]]\nexpression = "k"\nexpected = 0\ntolerance = 1', (13, 15), "unknown"),
        ('"0:1:11"', '"0:1:11"\n[[checks]]\nexpression = "x"\nexpected = 0\ntolerance = -1', (15, 1), "not be neg"),
        ('"0:1:11"', '"0:1:11"\n[[checks]]\nexpression = "x\'\'"\nexpected = 0\ntolerance = 1', (13, 15), "accelera"),
        (
            '"0:1:11"',
            '"0:1:11"\n[[checks]]\nexpression = "x"\nexpected = 0\ntolerance = 1\nat = "begin"',
            (16, 7),
            "`at` must be one of those known; got `begin`. Known are: `all`, `end`.",
        ),
        ('"0:1:11"', '"0:1:11"\nrtol = -1', (12, 1), "`rtol` must be a positive number; got -1."),
        ('"0:1:11"', '"0:1:11"\nmax_steps = 2.5', (12, 1), "`max_steps` must be a whole number"),
        ('"0:1:11"', '"0:1:11"\nmax_step = 0.1\nstep = 0.1', (12, 1), "not be given along with a fixed `step`"),
        ('"0:1:11"', '"0:1:11"\n[[checks]]\nexpression = "x"', (12, 1), "`checks` must give `expected`, `tolerance`"),
        ('"0:1:11"', '"0:1:11"\n[drawing]\npoints = { a = [0] }', (13, 12), "two or three coordinates; `a` has 1"),
        ('"0:1:11"', '"0:1:11"\n[drawing]\npoints = { a = [0, 0] }\nlinks = [["a", "b"]]', (14, 17), "got `b`"),
        ('"0:1:11"', '"0:1:11"\n[drawing]\npoints = { a = [0, 0] }\nlinks = [["a"]]', (14, 10), "connect two points"),
        ('"0:1:11"', '"0:1:11"\n[[actuators]]\nname = "u"\nalong = "x"', (12, 1), "`actuators` must serve a servo"),
        (
            '"0:1:11"',
            '"0:1:11"\n[[actuators]]\nname = "u"\nalong = "m"',
            (14, 10),
            "`along` must be one of those known",
        ),
        ("format = 1", "format = 1\nformat = 1", (2, 11), "the file must be TOML: Cannot overwrite a value"),
        ('"x", "y"]', '"x", "y"', (3, 1), "the file must be TOML"),
        ('y^2 = 1"', "y^2 = 1", (6, 31), "A text is not closed before the end of its line."),
        ("format = 1", "format = ", (1, 10), "the file must be TOML: Invalid value"),
        ("format = 1", f"format = {'9' * 5000}", (1, 1), "the file must hold numbers below 1e308"),
        ("format = 1", f"format = {'[' * 5000}", (1, 1), "nested that deep"),
        ("format = 1", f"{'a.' * 500}b = 1", (1, 1), "a key must not have that many parts"),
    ],
)
def test_mistakes_in_systems(old, new, place, message):
    assert old in GOOD
    error = refused(GOOD.replace(old, new, 1))
    assert message in str(error)
    assert (error.line, error.column) == place


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("qd0 = [0, 0]", 'qd0 = { x = 0, y = "a" }', "such as `pi/4` was expected; got the name `a`. Write its value."),
        ("qd0 = [0, 0]", 'qd0 = [0, "2 m"]', "got `m`. Write a number without its unit, and a product with `*`."),
        ('"x", "y"]', 'x, "y"]', "must be TOML: Invalid value. Texts and expressions are written between quotes."),
        ("format = 1", "format = 1\nformat = 1", "a table of an array has one bracket: write `[[bodies]]`."),
        ("format = 1", 'format = 1\nunits = { xx = "m" }', "unknown key `xx`. Did you mean `x`?"),
        ("format = 1", 'format = 1\nunits = { "force z" = "N" }', "unknown key `force z`. Did you mean `force"),
        ('constraints = ["x^2 + y^2 = 1"]', "constraints = { a = 1 }", "an array; write `[[constraints]]` above each"),
    ],
)
def test_mistakes_tell_what_to_write(old, new, message):
    assert old in GOOD
    assert message in str(refused(GOOD.replace(old, new, 1)))


@pytest.mark.parametrize(
    ("law", "message"),
    [
        ('{ type = "Coulom", mu = 1 }', "Did you mean `Coulomb`?"),
        ('{ type = "Coulomb" }', "a Coulomb must be given `mu`; there is none."),
        ('{ type = "Coulomb", mu = -1 }', "`mu` of Coulomb must not be negative"),
        ('{ type = "Coulomb", mu = 1, normals = 2 }', "unknown key `normals`. Did you mean `normal`?"),
        ("{ mu = 1 }", "must have the `type` of its law"),
        ("[0]", "`nonideal` must have one entry per coordinate"),
        ("3", "`nonideal` must be an array; got 3."),
    ],
)
def test_mistakes_in_laws(law, message):
    text = GOOD.replace('["x^2 + y^2 = 1"]', f'[{{ name = "rod", equation = "x^2 + y^2 = 1", nonideal = {law} }}]')
    assert message in str(refused(text))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"PlanarBody"',
            '"PlanarBdy"',
            "`type` must be one of those known; got `PlanarBdy`. Did you mean",
        ),
        (
            'name = "load"',
            'name = "upper"',
            "`bodies` must differ in name, and none be `ground`; given twice",
        ),
        ('name = "load"', 'name = "ground"', "none be `ground`"),
        ('["upper", 0.5, 0]', '["uper", 0.5, 0]', "Did you mean `upper`?"),
        ('["upper", 0.5, 0]', '["upper", 0.5, 0, 0]', "`point of upper` must be 2 finite numbers or expressions"),
        ('["upper", 0.5, 0]', "[]", "the name of a body, or an array such as"),
        ('along = "shoulder"', 'along = "sholder"', "Did you mean `shoulder`?"),
        ('along = "shoulder"', 'along = "wire"', "actuator `motor` must act on a joint with one motion"),
        ('by = ["motor"]', 'by = ["moter"]', "Did you mean `motor`?"),
        ("settle = 5", "settle = [1, 2]", "`settle` of servo `turn` must have one rate per requirement (1); got 2."),
        ("settle = 5", "settle = [[[]]]", "`settle` of servo `turn` must be an expression; got []"),
        ('requirement = "theta_upper = sin(2*t)"', "requirement = []", "must have at least one requirement"),
        ("m = 1.5", "m = 1.5\nx_upper = 2", "a parameter must not have the name of a coordinate; got `x_upper`."),
        ("acceleration = [0, -9.81]", "acceleration = [0, 0, -9.81]", "a Gravity must have 2 components"),
        ("format = 1", "format = 1\ncoordinates = []", "unknown key `coordinates`"),
        (
            "limit = 20",
            '[[actuators]]\nname = "motor"\nalong = 0',
            "actuators must differ in name; given twice",
        ),
    ],
)
def test_mistakes_in_mechanisms(old, new, message):
    assert old in ARM
    assert message in str(refused(ARM.replace(old, new, 1)))


def test_billion_laughs():
    lines = "\n".join(f'd{k} = "d{k - 1}*sin(d{k - 1})"' for k in range(1, 40))
    text = GOOD.replace("[simulate]", f'[definitions]\nd0 = "x + 1"\n{lines}\n[simulate]')
    assert "at most 40000 parts, those of definitions included" in str(refused(text))
    many = "\n".join(f'e{k} = "d12"' for k in range(60))
    some = lines.split("\nd13")[0]
    text = GOOD.replace("[simulate]", f'[definitions]\nd0 = "x + 1"\n{some}\n{many}\n[simulate]')
    assert "at most 100000 parts in all" in str(refused(text))


def test_work_of_a_file():
    """Definitions and numbers count together; each of these texts is within the limit of one expression."""
    most = [
        '"max({})"'.format(", ".join(f"{x}{i}.{k}" for i in range(40))) for k, x in enumerate(["x*"] * 2 + [""] * 2)
    ]
    definitions = "\n".join(f"d{k} = {text}" for k, text in enumerate(most[:2]))
    text = GOOD.replace("[simulate]", f"[definitions]\n{definitions}\n[simulate]")
    loads(text)
    for line, changed in (
        (14, text.replace("qd0 = [0, 0]", f"qd0 = [\n{most[2]},\n{most[3]},\n]")),
        (11, text.replace("[simulate]", "\n".join(f"e{k} = {own}" for k, own in enumerate(most[:2])))),
    ):
        error = refused(changed)
        assert "the expressions of a file must have at most 20000 operations in all" in str(error)
        assert "Divide the model, state it as a mechanism, or build it in Python." in str(error)
        assert error.line == line


def test_too_many_names():
    names = ", ".join(f'"q{k}"' for k in range(501))
    assert "`coordinates` must hold at most 500 names" in str(refused(GOOD.replace('"x", "y"', names)))


def test_files_that_are_not_there_or_not_text(tmp_path):
    with pytest.raises(da.InputError, match=r"`path` must end in .toml; got"):
        da.load("model.json")
    with pytest.raises(da.InputError, match="there is no"):
        da.load(tmp_path / "none.toml")
    file = tmp_path / "a.toml"
    file.write_bytes(b"format = 1\n\xff\xfe")
    with pytest.raises(da.FileError, match=r"a.toml:2:1: the file must be text in UTF-8"):
        da.load(file)
    file.write_bytes(b"#" * (LARGEST_FILE + 1))
    with pytest.raises(da.InputError, match="a model file must have at most 500000 bytes"):
        da.load(file)
    file.write_bytes("\ufeff".encode() + GOOD.replace("\n", "\r\n").encode())
    assert da.load(file).system.coordinate_names == ("x", "y")


def test_functions_of_systems_say_what_to_pass():
    with pytest.raises(da.InputError, match=r"got ModelFile: pass its `.system`"):
        da.simulate(loads(GOOD), (1, 0), (0, 0), [0, 1])


def test_a_time_of_a_check_must_be_one_of_the_run():
    model = loads(GOOD + '[[checks]]\nexpression = "x"\nexpected = 0\ntolerance = 1\nat = 0.55\n')
    with pytest.raises(da.InputError, match=r"`at` of a check must be one of the times of the run; 0.55 is none"):
        model.failed_checks(model.simulate())


def test_mutated_files_are_read_or_refused():
    for text in BASES:
        loads(text)
    outcomes = [fault_of(seed, mutated(seed)) for seed in (*range(250), 41986)]
    assert [fault for _, fault in outcomes if fault] == []
    assert {outcome for outcome, _ in outcomes} == {"read", "refused"}


CONTROLS = [
    ('title = "red \\u001b[31m"\n', 1, "a text must not contain control characters; got '\\x1b' as character 5."),
    ('about = "nul\\u0000"\n', 1, "a text must not contain control characters; got '\\x00' as character 4."),
    ('about = "\u202egnat"\n', 1, "a text must not contain control characters; got '\\u202e' as character 1."),
    ('units = { x = "m\\n" }\n', 1, "a unit must not contain control characters; got '\\n' as character 2."),
    ('units = { "x\\u0007" = "m" }\n', 1, "a name must not contain control characters; got '\\x07' as character 2."),
    (
        'constraints = [{ name = "a\\nb", equation = "x = 1" }]\n',
        1,
        "a name must not contain control characters; got '\\n",
    ),
]


def test_mistakes_in_what_assembly_keeps():
    def problem(text):
        error = refused(text)
        return error.problem, error.line

    message, line = problem(ARM + '[simulate]\nkeep = ["angle of upper", "spin of uper"]\n')
    assert message == "`keep` must be one of those known; got `spin of uper`. Did you mean `spin of upper`?"
    assert line == ARM.count("\n") + 2
    for text in (GOOD + 'keep = "x"\n', f'{ARM}[simulate]\nq0 = {[0] * 5}\nqd0 = {[0] * 5}\nkeep = "spin of upper"\n'):
        assert problem(text)[0].startswith("`keep` must be used where a mechanism is assembled")


@pytest.mark.parametrize(("line", "number", "problem"), CONTROLS)
def test_control_characters_are_refused(line, number, problem):
    with pytest.raises(da.FileError) as caught:
        loads(line + 'format = 1\ncoordinates = ["x"]\nmass_matrix = [[1]]\napplied_force = [0]\n', "file.toml")
    assert caught.value.line == number and caught.value.problem.startswith(problem)


def test_texts_may_have_several_lines_but_names_of_a_system_that_is_saved_may_not(tmp_path):
    x = da.coordinates("x")
    text = 'format = 1\nabout = "one\\n\\ttwo"\ncoordinates = ["x"]\nmass_matrix = [[1]]\napplied_force = [0]\n'
    assert loads(text).about == "one\n\ttwo"
    system = da.System((x,), [[1]], [-x], da.Constraint(x - 1, name="bell\a"))
    with pytest.raises(da.ModelError, match=r"a name must not contain control characters; got '\\x07' .* Rename it to"):
        system.save(tmp_path / "bell.toml")
    assert not list(tmp_path.iterdir())


def test_names_of_files_that_are_too_long(tmp_path):
    with pytest.raises(da.InputError, match=r"`path` must name a file; there is no `aaa"):
        da.load("a" * 5000 + ".toml")
    text = 'format = 1\ncoordinates = ["x"]\nmass_matrix = [[1]]\napplied_force = ["gust(t)"]\n'
    model = tmp_path / "model.toml"
    model.write_text(text + f'signals = {{ gust = {{ file = "{"a" * 5000}.csv" }} }}\n')
    with pytest.raises(da.FileError, match=r"model.toml:5:\d+: `file` must name a file of .* no such `aaa"):
        da.load(model)
