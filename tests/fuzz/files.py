"""Mutated model files: each is read, or refused by a message with its place, within a second, and runs no code.

The long run: ``PYTHONPATH=tests python -m fuzz.files --count 100000``.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import dalembert as da
from dalembert.files.load import loads
from fuzz.hostile import HOSTILE_FILES

SLOW = 1.0
"""Seconds within which a file must be read or refused."""

SLOW_LARGE = 1.5
"""The same for the files of ``hostile.py``, which go up to the limits of size and work: 1 on a core without load."""

TEMPLATE = files("dalembert.files").joinpath("template.toml").read_text(encoding="utf-8")

ARM = """format = 1
[parameters]
m = 1.5
[definitions]
lift = "m*sin(theta_upper)^2"
[[bodies]]
type = "PlanarBody"
name = "upper"
mass = "m"
inertia = 0.1
position = [0.5, 0]
[[bodies]]
type = "Particle"
name = "load"
mass = 2
position = [1, 0]
[[joints]]
type = "Revolute"
name = "shoulder"
first = ["ground", 0, 0]
second = ["upper", -0.5, 0]
radius = 0.02
nonideal = { type = "Coulomb", mu = 0.1 }
[[joints]]
type = "Rod"
name = "wire"
first = ["upper", 0.5, 0]
second = "load"
length = "1/2 + 0.1*sin(t)"
[[forces]]
type = "Gravity"
acceleration = [0, -9.81]
[[forces]]
type = "Spring"
first = ["ground", 1, 1]
second = "load"
stiffness = 10
damping = 0.3
[[actuators]]
name = "motor"
along = "shoulder"
limit = 20
[[servos]]
name = "turn"
requirement = "theta_upper = sin(2*t)"
by = ["motor"]
settle = 5
"""

RIDER = """format = 1
coordinates = ["x", "y", "phi"]
lagrangian = "m*(x'^2 + y'^2)/2 + J*phi'^2/2 - m*g*piecewise(y if y < 1, 1)"
applied_force = { x = "-c*abs(x')*x'", y = 0, phi = "max(0, min(1, t))" }
nonideal = ["-mu*abs(ideal_force(y))*sign(x')", 0, 0]
parameters = { m = 2, g = 9.81, J = "1/3", c = 0.1, mu = 0.2 }
constraints = ["x'*sin(phi) = y'*cos(phi)", "d(x*y) - heaviside(t)*phi' = 0"]
[simulate]
q0 = [0, 0, "pi/4"]
qd0 = [0, 0, 0]
times = [0, 1, 2.5]
rtol = 1e-8
drift = { type = "Baumgarte", alpha = 5, beta = 5 }
"""

BOUNCER = """format = 1
coordinates = ["x", "y"]
mass_matrix = { diagonal = ["m", "m"] }
applied_force = [0, "-m*g"]
parameters = { m = { value = 2, unit = "kg", assumptions = { positive = true } }, g = 9.81, l = 3 }
constraints = [{ name = "floor", inequality = "y >= x^2/9", restitution = 0.5, impact = "poisson" }]
[simulate]
q0 = [0, 1]
qd0 = [1, 0]
times = "0:1:5"
[[simulate.events]]
name = "high"
expression = "y - l"
direction = 1
then = { values = { "y'" = "-y'/2", m = 1 }, off = "floor" }
"""

HOLDER = """format = 1
coordinates = ["x"]
mass_matrix = [["m"]]
applied_force = ["-c*x'"]
parameters = { m = 2, c = 0.1 }
actuators = [{ name = "jet", along = "x", limit = "9*m" }]
servos = [{ name = "hold", requirement = "x = sin(t)", by = "jet", settle = 2 }]
[simulate.control]
parameters = { m = 1, c = 0 }
robust = { rho = "2*m", epsilon = 0.1 }
period = 0.01
noise = [0.1, 0.2]
"""

ROPE = """format = 1
coordinates = [{ name = "x", count = 120 }, { name = "y", count = 120 }, "s"]
parameters = { m = 0.1, g = 9.81, k = [3, 2, 1], l = { count = 119, value = 1, unit = "m" } }
mass_matrix = [{ entries = [["u", "u", "m"], ["u", "v", "v/99"]], over = { u = "x", v = "y" } }, { y = "m", s = 2 }]
applied_force = [
  { y = "-m*g - s*y'" },
  { potential = "a*(u - w)^2/2", over = { u = "x[3, 1, 4]", w = ["s", "y[:2]"], a = "k" } },
  { components = { u = "b*w" }, over = { u = "x[::-1]", w = "s", b = 3 } },
]
nonideal = { type = "Viscous", coefficient = 0.1 }
[[constraints]]
name = "rod"
equation = "(u - w)^2 + (v - z)^2 = d^2"
over = { u = "x[:-1]", v = "y[:-1]", w = "x[1:]", z = "y[1:]", d = "l" }
[[constraints]]
name = "hook"
equation = "x[0] = s"
[simulate]
q0 = { x = "1:120:120", y = 0, s = 1 }
qd0 = { x = 0, y = 0, s = 0 }
times = [0, 0.01]
[[checks]]
expression = "y[119]^2 + x[0]"
expected = "m + t"
tolerance = 1
[drawing]
points = { a = ["x[0]", "y[0]"], b = ["s", 1] }
"""

BASES = (TEMPLATE, ARM, RIDER, BOUNCER, HOLDER, ROPE)

HOSTILE = (
    *("__import__('os').system('id')", "x.__class__", "().__class__.__bases__[0]", "lambda: 0", "exec(x)", "open(x)"),
    *("9**9**9**9", "9^9^9", "exp(exp(exp(exp(x))))", "x**x**x**x**x", "(" * 500, ")" * 50, "[" * 2000, "{" * 50),
    *("-" * 400 + "x", "2**-1000000", "1e999", "1" * 400, "9" * 5000, "0x" + "f" * 300, "inf", "nan", "1/0", "0**-1"),
    *("\x00", "\x1b[31m", "\u202e", "'", '"', '"""', "'''", "\\", "#", "=", "==", "`", "``", "`a b`", "$(id)", "%s%n"),
    *("x'''", "x''''", "d(d(d(x)))", "sin()", "sin(x,y)", "piecewise()", "piecewise(1 if x<0)", "not", "and", "if"),
    *("sqrt(-1)", "log(0)", "asin(2)", "gamma(-1)", "loggamma(10**9)", "mod(x, 0)", "floor(1e300)", "x = y = 1"),
    *(
        "true",
        "false",
        "1979-05-27",
        "[]",
        "{}",
        "[[]]",
        '""',
        "-1",
        "0",
        "0.0",
        "-0.0",
        "1e-320",
        "10**400",
        "t",
        "pi",
    ),
)
TOKENS = (
    *("x", "y", "x'", "m", "g", "l", "t", "pi", "+", "-", "*", "/", "**", "^", "(", ")", ",", "<", "<=", "=", "and"),
    *("sin(", "sqrt(", "abs(", "min(", "piecewise(", " if ", "multiplier(rod)", "ideal_force(y)", "d(", "2", "0.5"),
    *("name", "type", "equation", "[[constraints]]", "[parameters]", "format = 2", '"Coulomb"', "mu = -1", "\n", " "),
)


@dataclass(frozen=True)
class Fault:
    """A file that was not handled as it must be."""

    seed: int
    what: str
    text: str


def mutated(seed: int) -> str:
    """A model file with some random changes."""
    draw = random.Random(seed)
    text = draw.choice(BASES)
    for _ in range(draw.choice((1, 1, 2, 3, 6))):
        text = _CHANGES[draw.randrange(len(_CHANGES))](draw, text)
    return text


def _place(draw: random.Random, text: str) -> int:
    return draw.randrange(len(text) + 1)


def _delete(draw: random.Random, text: str) -> str:
    k = _place(draw, text)
    return text[:k] + text[k + draw.choice((1, 1, 2, 10)) :]


def _insert(draw: random.Random, text: str) -> str:
    k = _place(draw, text)
    return text[:k] + draw.choice(draw.choice((TOKENS, HOSTILE))) + text[k:]


def _swap(draw: random.Random, text: str) -> str:
    lines = text.split("\n")
    i, j = draw.randrange(len(lines)), draw.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return "\n".join(lines)


def _repeat(draw: random.Random, text: str) -> str:
    lines = text.split("\n")
    k = draw.randrange(len(lines))
    return "\n".join([*lines[:k], *[lines[k]] * draw.choice((2, 2, 30)), *lines[k + 1 :]])


def _in_quotes(draw: random.Random, text: str) -> str:
    """Replace, or change, the content of a string."""
    parts = text.split('"')
    if len(parts) < 3:
        return text
    k = draw.randrange(1, len(parts), 2) if len(parts) > 3 else 1
    new = draw.choice(draw.choice((TOKENS, HOSTILE))).replace('"', "'").replace("\n", " ")
    old, place = parts[k], draw.randrange(len(parts[k]) + 1)
    parts[k] = draw.choice((new, old[:place] + new + old[place:], old[:place] + old[place + 1 :], f"{old}*{new}"))
    return '"'.join(parts)


def _value(draw: random.Random, text: str) -> str:
    """Replace the value of a key."""
    lines = text.split("\n")
    pairs = [k for k, line in enumerate(lines) if "=" in line]
    if not pairs:
        return text
    k = draw.choice(pairs)
    lines[k] = lines[k].split("=")[0] + "= " + draw.choice(HOSTILE)
    return "\n".join(lines)


_CHANGES = (_delete, _insert, _swap, _repeat, _in_quotes, _in_quotes, _in_quotes, _value)

FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "subprocess.Popen", "socket.connect")
_events: list[str] = []
_watching = False


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if not _watching:
        return
    writes = event == "open" and isinstance(arguments[1], str) and any(letter in arguments[1] for letter in "wax+")
    if event in FORBIDDEN or writes:
        _events.append(event)


@cache
def _watch() -> None:
    """Have `_audit` called; Python never drops it, and it costs a fiftieth of the time of all other tests."""
    sys.addaudithook(_audit)


def fault_of(seed: int, text: str, slow: float = SLOW) -> tuple[str, Fault | None]:
    """The outcome of reading a file, "read" or "refused", and the fault if it was not handled as it must be."""
    global _watching
    _watch()
    began, outcome, wrong = time.process_time(), "read", ""
    _watching, before = True, len(_events)
    try:
        loads(text, "file.toml")
    except da.FileError as error:
        outcome = "refused"
        if not (1 <= error.line <= text.count("\n") + 1 and error.column >= 1 and str(error).startswith("file.toml:")):
            wrong = f"place {error.line}:{error.column} of {error.problem}"
    except BaseException as error:
        outcome, wrong = "raised", f"{type(error).__name__}: {str(error)[:200]}"
    finally:
        _watching = False
    if time.process_time() - began > slow:
        wrong = f"{time.process_time() - began:.1f} s"
    if len(_events) > before:
        wrong = f"events {_events[before:]}"
    return outcome, Fault(seed, wrong, text) if wrong else None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100_000, help="files (default 100000)")
    parser.add_argument("--first", type=int, default=0, help="first seed (default 0)")
    given = parser.parse_args()
    for text in BASES:
        loads(text)  # what is imported when first used is imported now
    outcomes: Counter[str] = Counter()
    faults: list[Fault] = []
    for name, text in HOSTILE_FILES.items():
        outcome, fault = fault_of(-1, text, SLOW_LARGE)
        if fault:
            faults.append(fault)
            print(f"{name}: {fault.what}", flush=True)  # noqa: T201
    print(f"{len(HOSTILE_FILES)} hostile files, {len(faults)} faults", flush=True)  # noqa: T201
    began, slowest = time.perf_counter(), 0.0
    for seed in range(given.first, given.first + given.count):
        start = time.process_time()
        outcome, fault = fault_of(seed, mutated(seed))
        slowest = max(slowest, time.process_time() - start)
        outcomes[outcome] += 1
        if fault:
            faults.append(fault)
            print(f"seed {fault.seed}: {fault.what}", flush=True)  # noqa: T201
    print(f"{dict(outcomes)}, {len(faults)} faults, slowest {slowest:.2f} s, {time.perf_counter() - began:.0f} s")  # noqa: T201
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
