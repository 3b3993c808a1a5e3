"""Model files that are made to take long: each is read or refused within about a second of processor time.

``python -m fuzz.files`` reads them before the mutated files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

SMALL = 'format = 1\ncoordinates = ["x"]\nmass_matrix = [[1]]\napplied_force = [0]\n'
SIZE = 450_000
"""Characters of large files, below the limit."""


def system(forces: Sequence[str], further: str = "") -> str:
    """A system of as many coordinates q0, q1, … as there are forces."""
    names = ", ".join(f'"q{i}"' for i in range(len(forces)))
    ones = ", ".join("1" for _ in forces)
    texts = ", ".join(f'"{force}"' for force in forces)
    head = f"format = 1\ncoordinates = [{names}]\nmass_matrix = {{ diagonal = [{ones}] }}\n"
    return f"{head}applied_force = [{texts}]\n{further}"


def lagrangian(count: int, text: str, further: str = "") -> str:
    """A system of some coordinates with a Lagrangian."""
    names = ", ".join(f'"q{i}"' for i in range(count))
    return f'format = 1\ncoordinates = [{names}]\nlagrangian = "{text}"\n{further}'


def forces_of(terms: Iterable[str], each: int) -> str:
    """A system whose forces have some terms each."""
    all_terms = [*terms]
    forces = [" + ".join(all_terms[k : k + each]) for k in range(0, len(all_terms), each)]
    return system([*forces, *["0"] * max(0, 10 - len(forces))])


def tables(header: str, keys: str, count: int) -> str:
    """An array of tables; ``{k}`` in their keys is the number of the table."""
    return "".join(f"[[{header}]]\n{keys.replace('{k}', str(k))}" for k in range(count))


def bodies(count: int) -> str:
    return "format = 1\n" + tables("bodies", 'type = "Body"\nname = "b{k}"\nmass = 1\ninertia = [1, 2, 3]\n', count)


def definitions(lines: Iterable[str]) -> str:
    return "[definitions]\n" + "".join(f"{line}\n" for line in lines)


def nested(inner: str, outer: str, depth: int) -> str:
    """Put a text into another one, at its ``{}`` and with a number at ``{k}``, again and again."""
    for k in range(depth):
        inner = outer.replace("{k}", str(k % 9)).replace("{}", inner)
    return inner


def deep(outer: str, count: int) -> str:
    """Definitions a0, a1, …, each of which puts the one before it into a text ninety times."""
    texts = [nested(f"a{k}", outer, 90) for k in range(count - 1)]
    return definitions(['a0 = "q0"', *(f'a{k} = "{text}"' for k, text in enumerate(texts, start=1))])


def _expressions() -> Iterator[tuple[str, str]]:
    one = "sin exp log tanh acot erf sinc coth acsch loggamma gamma abs floor frac heaviside sign"
    for name in one.split():
        yield f"many {name}", forces_of((f"{name}(q0*q{k % 7} + {k}*q{k % 5})" for k in range(1000)), 40)
    for name in ("atan2", "mod", "min"):
        yield f"many {name}", forces_of((f"{name}(q0*q{k % 7} + {k}, q1 + {k})" for k in range(600)), 30)
    for name in ("sign", "abs", "heaviside", "floor"):
        yield f"{name} of constants", forces_of((f"{name}(exp({k}/31) - sqrt({k})*pi)*q0" for k in range(300)), 20)
    roots = "sqrt({k} + 2) + sqrt({k} + 3) - sqrt(2*{k} + 5 + 2*sqrt(({k} + 2)*({k} + 3)))"  # zero
    yield "abs of zero", forces_of((f"abs({roots.replace('{k}', str(k))})*q0" for k in range(200)), 20)
    yield "trigonometry of pi", forces_of((f"sin(pi*{k}/{k % 97 + 60})*q0" for k in range(800)), 40)
    yield "powers", forces_of((f"(q{k % 9} + {k})^{2 + k % 700}" for k in range(4000)), 180)
    yield (
        "powers of a long sum",
        system([f"({'+'.join(f'q{i % 10}*{i}' for i in range(400))})^{k + 2}" for k in range(20)]),
    )
    yield "towers of powers", system(["9^9^9^9", *["q0^q1^q2^q3^q4^q5"] * 9])
    yield "roots of fractions", forces_of((f"sqrt({10**30 + 7 * k}/{10**25 + 3 * k})*q{k % 9}" for k in range(900)), 50)
    yield "roots of integers", forces_of((f"{10**9 + 7 * k}^(1/{3 + k % 500})*q{k % 9}" for k in range(2000)), 100)
    yield "large fractions", forces_of((f"q{k % 9}*{10**140 + k}/{10**139 + 3 * k + 1}" for k in range(700)), 20)
    yield "products of sums", forces_of(("*".join(f"(q{i % 9} + {i + k})" for i in range(24)) for k in range(450)), 15)
    yield "nested roots", system([nested(f"q{k}", "sqrt({} + q{k})", 90) for k in range(9)])
    yield "nested sines", system([nested(f"q{k}", "sin({})", 90) for k in range(9)])
    yield "nested absolute values", system([nested(f"q{k}", "abs({} - q{k})", 40) for k in range(9)])
    yield "nested cases", system([nested("q1", f"piecewise({{}} if q0 < {{k}} + {k}, 1)", 60) for k in range(9)])
    yield "nested extremes", system([nested("q1", f"max(min({{}}, q{{k}}*{k}), q1 + {{k}})", 40) for k in range(9)])
    conditions = [" and ".join(f"q{i % 9} < {i} + {k} + q{(i + 1) % 9}" for i in range(190)) for k in range(25)]
    yield "conditions", system([f"piecewise(1 if {condition}, 0)" for condition in conditions])
    yield "derivatives", forces_of((f"d(sin(q{k % 9}*q{(k + 1) % 9})*exp(q{k % 5}*{k} + t))" for k in range(180)), 6)
    yield "signs", system(["+".join("-" * 50 + "q1" for _ in range(800)), "0"])
    yield "primes", system(["+".join("q1''" for _ in range(9000)), "0"])
    yield "brackets", system(["(" * 20_000 + "q0" + ")" * 20_000])
    yield "a name of a file", SMALL.replace("[0]", f'["{"a" * SIZE}"]')
    yield "attributes and calls", system(["q0.__class__.__bases__[0].__subclasses__()"])


def _names() -> Iterator[tuple[str, str]]:
    laughs = ['a0 = "q0 + q1"', *(f'a{k} = "a{k - 1}*a{k - 1} + q{k % 3}"' for k in range(1, 60))]
    yield "billion laughs of products", system(["a59"] * 10, definitions(laughs))
    laughs = ['a0 = "q0 + q1"', *(f'a{k} = "sin(a{k - 1}) + cos(a{k - 1})*a{k - 1}"' for k in range(1, 60))]
    yield "billion laughs of functions", system(["a59"] * 10, definitions(laughs))
    yield "deep definitions of sums", system(["a99"] * 10, deep("({} + q{k})*t", 100))
    yield "deep definitions of roots", system(["a20"] * 10, deep("sqrt({} + q{k})", 21))
    yield "many definitions", SMALL + definitions(f'd{k} = "x*{k}"' for k in range(24_000))
    yield "names that are alike", system(["a" * 190], definitions(f'{"a" * 60}{k} = "1"' for k in range(6000)))
    yield "many parameters", SMALL + "parameters = {" + ", ".join(f"p{k} = 1" for k in range(30_000)) + "}\n"


def _large() -> Iterator[tuple[str, str]]:
    for what, value in (("numbers", "0"), ("tables", "{a=1}"), ("texts", '"x"'), ("arrays", "[]")):
        row = ",".join([value] * (SIZE // (len(value) + 1)))
        yield f"an array of {what}", f"{SMALL}a = [{row}]\n"
        yield f"a force of {what}", SMALL.replace("[0]", f"[{row}]")
    square = ", ".join(f"[{', '.join(['1.5'] * 170)}]" for _ in range(170))
    names = ", ".join(f'"q{i}"' for i in range(170))
    zeros = ", ".join(["0"] * 170)
    dense = f"coordinates = [{names}]\nmass_matrix = [{square}]\napplied_force = [{zeros}]\n"
    yield "a dense mass matrix", f"format = 1\n{dense}"
    rows = ", ".join(f'"q{k}^2 = t"' for k in range(500))
    yield "coordinates", system(["0"] * 500, f"constraints = [{rows}]\n")
    yield "constraints", system(["0"] * 10, tables("constraints", 'name = "c{k}"\nequation = "q1 = 1"\n', 10_000))
    law = 'equation = "q1 = 1"\nnonideal = { type = "Coulomb", mu = "{k}/3" }\n'
    yield "laws", system(["0"] * 10, tables("constraints", law, 6000))
    yield "events", SMALL + "[simulate]\n" + tables("simulate.events", 'name = "e{k}"\nexpression = "x"\n', 9000)
    yield "checks", SMALL + tables("checks", 'what = "{k}"\nexpression = "x"\nexpected = 1\ntolerance = 1\n', 7000)
    actuators = tables("actuators", 'name = "a{k}"\nalong = "x"\n', 2000)
    yield "servos", SMALL + actuators + tables("servos", 'name = "s{k}"\nrequirement = "x = t"\nby = "a{k}"\n', 2000)
    signal = '{ times = [0, 1, 2, 3], values = [1, 2, 3, 4], kind = "cubic" }'
    yield "signals", SMALL + "[signals]\n" + "".join(f"s{k} = {signal}\n" for k in range(5000))
    points = ", ".join(f'p{k} = ["x", 0]' for k in range(20_000))
    yield "points", f"{SMALL}[drawing]\npoints = {{ {points} }}\n"
    yield "bodies", bodies(7000)
    ends = 'type = "{type}"\nname = "j{k}"\nfirst = ["b0", 0, 0, 1]\nsecond = ["b1", 0, 0, "{k}/7"]\n'
    yield "joints", bodies(2) + tables("joints", ends.replace("{type}", "Spherical"), 4000)
    spring = ends.replace("{type}", "Spring") + "stiffness = 1\n"
    yield "springs", bodies(2) + tables("forces", spring, 4000)
    yield "keys of many parts", "format = 1\n" + "".join("a." * 19 + f"b{k} = 1\n" for k in range(10_000))
    yield "tables in tables", "format = 1\n" + "".join("[" + "a." * 19 + f"b{k}]\n" for k in range(10_000))
    yield "empty tables", "format = 1\n" + "[[bodies]]\n" * 40_000
    yield "arrays in arrays", "format = 1\na = " + "[" * SIZE
    yield "a long integer", f"{SMALL}parameters = {{ m = {'9' * SIZE} }}\n"
    yield "many long integers", SMALL + "".join(f"m{k} = {'9' * 4200}\n" for k in range(100))
    yield "a long decimal", f"{SMALL}parameters = {{ m = 0.{'9' * SIZE} }}\n"
    yield "a long hexadecimal number", f"{SMALL}parameters = {{ m = 0x{'f' * SIZE} }}\n"
    yield "a long text", 'format = 1\ntitle = "' + "\\u0041" * (SIZE // 6) + '\\u0001"\n'
    yield "quotes", "format = 1\na = " + '"' * SIZE
    yield "continued lines", 'format = 1\na = """' + "\\\n  " * (SIZE // 4) + '"""\n'
    yield "blanks", "format = 1\n" + " " * SIZE + "=\n"
    yield "empty lines", "format = 1\n" + "\n" * SIZE + "x"
    yield "times", SMALL + '[simulate]\ntimes = "0:1:1e300"\n'
    yield "times of too many points", SMALL + '[simulate]\ntimes = "0:1:10000001"\n'


def _derived() -> Iterator[tuple[str, str]]:
    products = ["*".join(f"q{i}'^2" if j == 0 else f"q{(7 * i + j) % 60}" for j in range(20)) for i in range(60)]
    yield "Lagrangian of products", lagrangian(60, " + ".join(products))
    speeds = " + ".join(f"q{i}'" for i in range(500))
    yield "Lagrangian of all velocities", lagrangian(500, f"({speeds})^2")
    products = ["*".join(f"q{(i + j) % 25}'" for j in range(24)) for i in range(60)]
    yield "Lagrangian of products of velocities", lagrangian(25, " + ".join(products))
    roots = [f"sqrt(q{i}'^2 + q{(i + 1) % 90}^2*q{(i + 2) % 90}'^2)" for i in range(90)]
    yield "Lagrangian of roots", lagrangian(90, f"sqrt({' + '.join(roots)})")
    inner = "q0'"
    for i in range(1, 60):
        inner = f"sin({inner} + q{i % 30}*q{(i + 1) % 30}')"
    yield "nested Lagrangian", lagrangian(30, inner)
    inner = "q0'"
    for i in range(1, 40):
        inner = f"({inner} + q{i % 30}*q{(i + 1) % 30}')^2"
    yield "Lagrangian of nested squares", lagrangian(30, inner)
    lines = ['a0 = "q0\'*q1"', *(f'a{k} = "a{k - 1}*sin(a{k - 1} + q{k}\')"' for k in range(1, 11))]
    yield "Lagrangian of definitions", lagrangian(30, "a10", definitions(lines))
    yield "deep Lagrangian", lagrangian(10, "q0'^2 + a30", deep("q{k}*({} + 1)", 31))
    yield "deep constraint", system(["0"] * 10, 'constraints = ["a30 = 1"]\n' + deep("q{k}*({} + 1)", 31))
    sums = ["+".join("*".join(f"(q{(i + j) % 30} + {i})" for j in range(24)) for i in range(40)) for _ in range(4)]
    yield "constraints of products", system(["0"] * 30, "constraints = [" + ", ".join(f'"{s}"' for s in sums) + "]\n")
    nests = [nested("q0", f"sin({{}} + q{{k}}*q{k % 9})", 60) for k in range(8)]
    yield "nested constraints", system(["0"] * 9, "constraints = [" + ", ".join(f'"{s}"' for s in nests) + "]\n")
    chain = "q0"
    for i in range(1, 90):
        chain = f"sin({chain} + q{i}*q{(i + 1) % 90})"
    yield "constraint of nested sines", system(["0"] * 90, f'constraints = ["{chain} = 1"]\n')
    inner = "+".join(f"q{i}*q{(i + 1) % 200}" for i in range(200))
    yield "constraint of all coordinates", system(["0"] * 200, f'constraints = ["sin({inner})^3 = 1"]\n')
    inner = "+".join(f"sqrt(q{i}^2 + q{(i + 1) % 200}^2 + q{(i + 3) % 200}^2)" for i in range(200))
    yield (
        "constraint of roots",
        system(["0"] * 200, f'constraints = [{{ name = "c", inequality = "sqrt({inner}) >= 1" }}]\n'),
    )
    sums = (f"({'+'.join(f'sin(q{(7 * i + j) % 100}*q{j})' for j in range(8))})" for i in range(10))
    actuator = '[[actuators]]\nname = "a"\nalong = "q0"\n'
    servo = f'[[servos]]\nname = "s"\nrequirement = "{"*".join(sums)} = 1"\nby = "a"\n'
    yield "servo of products", system(["0"] * 100, actuator + servo)
    surface = nested("x", "sin({} + {k}*x*y*z)", 45)
    point = 'type = "PointOnSurface"\nname = "j{k}"\nfirst = "ground"\nsecond = ["b0", 1, 2, 3]\n'
    yield "surfaces", bodies(1) + tables("joints", f'{point}surface = "{surface}"\n', 2)
    length = " + ".join(f"sin(t*{k})" for k in range(150))
    rods = 'type = "Rod"\nname = "j{k}"\nfirst = ["b0", 0, 0, 1]\nsecond = ["b1", 0, 0, {k}]\n'
    yield "lengths of rods", bodies(2) + tables("joints", f'{rods}length = "{length}"\n', 4)


def _arrays() -> Iterator[tuple[str, str]]:
    head = 'format = 1\ncoordinates = [{ name = "x", count = {n} }]\nmass_matrix = 1\n'
    many, few = head.replace("{n}", "20000"), head.replace("{n}", "200")
    over = 'over = { u = "x[:-1]", w = "x[1:]" }\n'
    yield "many groups of forces", many + tables("applied_force", 'components = { u = "u*w*(1 + {k})" }\n' + over, 4000)
    yield (
        "groups that are expanded",
        few + tables("applied_force", 'components = { u = "sin(u*w)^(1 + {k})" }\n' + over, 900),
    )
    rows = 'name = "c{k}"\nequation = "sin(u*w)^3 = {k}"\n' + over
    yield "groups of constraints", f"{many}applied_force = 0\n{tables('constraints', rows, 900)}"
    yield "constraints that are expanded", f"{few}applied_force = 0\n{tables('constraints', rows, 900)}"
    places = ", ".join(['"x[7]"'] * 25_000)
    yield "an index set", f'{many}[[applied_force]]\ncomponents = {{ u = "u" }}\nover = {{ u = [{places}] }}\n'
    keys = ", ".join(f"y{k} = 0" for k in range(20_000))
    yield "starts by name", f"{many}applied_force = 0\n[simulate]\nq0 = {{ {keys} }}\n"
    keys = ", ".join(f'"x[{k}]" = "m"' for k in range(15_000))
    yield "units by name", f"{many}applied_force = 0\nunits = {{ {keys} }}\n"
    keys = ", ".join(f'"x[{k}]" = {k}' for k in range(20_000))
    yield "forces by name", f"{many}applied_force = {{ {keys} }}\n"
    yield "masses by name", many.replace("matrix = 1", f"matrix = {{ {keys} }}") + "applied_force = 0\n"
    law = ", ".join(f"{{ type = 'Viscous', coefficient = {k}, velocity = \"x[{k}]'\" }}" for k in range(4000))
    yield "laws by name", f"{many}applied_force = 0\nnonideal = [{law}]\n"
    group = '[[applied_force]]\ncomponents = { u = "u" }\nover = { u = {own} }\n'
    elements = ", ".join(f'"x[{k}]"' for k in range(20_000))
    yield "elements one by one", many + group.replace("{own}", f"[{elements}]")
    yield "an array many times", many + group.replace("{own}", "[" + '"x", ' * 49 + "]")
    two = many.replace("= [", '= ["s", ')
    yield "arrays and coordinates", two + group.replace("{own}", "[" + '"x", "s", ' * 40 + "]")
    numbers = ", ".join(f"p{k} = {k}" for k in range(20_000))
    yield "many index sets", many + group.replace("{own}", f'"x[:2]", {numbers}')
    names = ", ".join(f'"s{k}"' for k in range(20_000))
    yield "coordinates beside arrays", many.replace("= [", f"= [{names}, ") + "applied_force = 0\n"
    start = "[simulate]\nq0 = { x = 0 }\nqd0 = { x = 0 }\n"
    yield "a start by arrays", f"{many}applied_force = 0\n{start}"
    own = ", ".join(f'u{k} = "x[:9]"' for k in range(40))
    chain = "u0"
    for k in range(1, 80):
        chain = f"sin({chain}*u{k % 40})"
    for name, energy in (
        ("deep potential", nested(" + ".join(f"u{k}" for k in range(40)), "sin({})", 90)),
        ("potential of nested products", chain),
    ):
        yield name, f'{many}[[applied_force]]\npotential = "{energy}"\nover = {{ {own} }}\n'


HOSTILE_FILES: dict[str, str] = dict([*_expressions(), *_names(), *_large(), *_derived(), *_arrays()])
"""Texts of model files by what is hostile in them."""
