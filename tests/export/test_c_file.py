"""Exported C files: compiled with all warnings as errors, and compared with the library's own numbers."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.export.arguments import model_of
from dalembert.lowering.batch_program import BatchProgram
from export.c_library import STRICT, CLibrary, needs_compiler
from helpers import CONTACTS, quick_first

pytestmark = needs_compiler

QUICK = ("pendulum", "pendulum-rod-twice", "particle", "car-axis", "two-masses", "snakeboard", "wrong-masses")

STICKING = {"bead", "circular-wire", "hoop", "pin-friction", "rotating-rod", "incline", "belt", "painleve-rod"}
OTHER_FORMULATION = {"hidden-constraint", "indefinite-mass", "measured"}
SAMPLED = {"cart-pole"}
REFUSED = STICKING | OTHER_FORMULATION | SAMPLED | CONTACTS

SAME = 1e-13


def exported(case, folder: Path):
    """The compiled file of a case, and its programs."""
    file = da.export_c(case.system, folder / "model.c", **case.export_arguments)
    return CLibrary(file), model_of(case.system, "model", inputs=(), **case.export_arguments)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(REFUSED))
def test_other_cases_are_refused_and_listed_on_the_page(name: str, tmp_path: Path) -> None:
    case = da.gallery.case(name)
    with pytest.raises(da.DalembertError, match=r"must"):
        da.export_c(case.system, tmp_path / "model.c", **case.export_arguments)
    page = Path(__file__).parents[2] / "docs" / "exchange.md"
    assert f"`{name}`" in page.read_text(encoding="utf-8").split("## Limits")[1]


MATHEMATICS = {"sqrt", "pow", "fmin", "fmax", "sin", "cos", "exp", "tan", "log", "atan2", "tanh", "floor", "fabs"}
MATHEMATICS |= {"sincos"}  # which compilers make of both
LINKED = {"__cxa_finalize", "__gmon_start__", "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable"}
BOUNDED = r"(\w+) = 0; \1 < (\d+|s|count|model_STATES|model_COORDINATES|model_PARAMETERS|most && \*t < end); \1\+\+"
"""Loops over stages and components, and over at most ``most`` adaptive steps."""
STAGES = "s = 0; s <= stages && valid; s++"


def check_bounded(folder: Path) -> None:
    """No global variable, no allocation, and a bounded number of operations."""
    symbols = subprocess.run(["nm", str(folder / "model.so")], capture_output=True, text=True).stdout.splitlines()
    kinds = {line.split()[-1].partition("@")[0]: line.split()[-2] for line in symbols}
    assert {kind for name, kind in kinds.items() if "model" in name} <= {"T", "t", "r"}  # functions, constant tables
    assert {name for name, kind in kinds.items() if kind in "Uw"} <= MATHEMATICS | LINKED
    text = re.sub(r"/\*.*?\*/", "", (folder / "model.c").read_text(), flags=re.DOTALL)
    assert text.count("#include") == 1 and "#include <math.h>" in text
    assert not re.search(r"\b(while|do|goto)\b", text)
    loops = re.findall(r"\bfor \((.*)\)", text)
    assert loops and all(re.fullmatch(BOUNDED, head) or head == STAGES for head in loops), loops


def parts_of(out, groups):
    """The outputs by kind."""
    ends = np.cumsum([len(group.names) for group in groups])
    return dict(zip([group.kind for group in groups], np.split(out, ends[:-1]), strict=True))


def difference(a, b, floor=0.0):
    """The largest difference of two vectors, relative to the largest entry."""
    scale = max(np.abs(b).max(initial=0.0), floor)
    return 0.0 if scale == 0.0 and np.abs(a).max(initial=0.0) == 0.0 else np.abs(a - b).max(initial=0.0) / scale


@pytest.mark.parametrize("name", quick_first([n for n in da.gallery.names() if n not in REFUSED], QUICK))
def test_steps_and_forces_are_those_of_the_library(name: str, tmp_path: Path) -> None:
    case = da.gallery.case(name)
    library, model = exported(case, tmp_path)
    check_bounded(tmp_path)
    n, start = model.n, model.start
    t, y, p = library.start(2 * n, len(model.parameters))
    assert t == start.t and (y == start.y).all() and (p == start.p).all()
    # the stiff governor needs shorter steps than the others, and the projection of long runs steps below 0.05
    h = min(float(case.times[-1] - case.times[0]) / (200_000 if name == "flyball" else 2000), 0.05)
    times = t + h * np.arange(6)
    given = {key: value for key, value in case.export_arguments.items() if key != "t0"}
    run = da.simulate(case.system, times=times, step=h, **given)
    assert run.statistics["steps"] == 5  # otherwise the run is divided in time, and its steps differ
    for k in range(5):
        y, valid = library.step(y, times[k], h, p)
        assert valid
        visible = np.concatenate([y[: len(case.q0)], y[n : n + len(case.q0)]])
        reference = np.concatenate([run.q[k + 1], run.qd[k + 1]])
        for own in (slice(0, len(case.q0)), slice(len(case.q0), None)):
            assert difference(visible[own], reference[own], floor=1e-3) < SAME
    out, valid = library.at("outputs", len(model.output_names), y, times[5], p)
    assert valid
    found = parts_of(out, model.groups)
    acceleration, _ = library.at("acceleration", n, y, times[5], p)
    assert difference(acceleration, found["acceleration"]) < SAME
    # the same operations in machine code
    native = BatchProgram(model.accelerate, 2 * n)(y[None], times[5:], p[None])[0, :n]
    assert difference(acceleration, native) < SAME
    if case.control is None:
        compare_with_motion(case, model, found, y, float(times[5]))


def compare_with_motion(case, model, found, y, t):
    """The forces at one state, by another algorithm: orthogonal rows instead of an elimination."""
    point = da.motion(case.system, y[: model.n], y[model.n :], t, parameters=dict(case.parameters))
    scale = np.abs(point.mass_matrix @ point.acceleration).max()
    if case.drift is None or case.drift.gains() is None:
        # elimination loses digits of the acceleration where bodies are light or rows nearly dependent
        assert difference(found["acceleration"], point.acceleration, floor=1e-6) < (1e-12 if len(y) > 40 else SAME)
        for kind in ("ideal_force", "nonideal_force"):
            assert difference(found[kind], getattr(point, kind), floor=scale) < SAME
    for k, value in enumerate(found.get("inputs", ())):
        own = list(point.inputs.values())
        assert abs(value - own[k]) <= SAME * max(np.abs(own).max(), 1e-9)


@pytest.mark.parametrize("name", ["pendulum", pytest.param("andrews", marks=pytest.mark.slow), "two-masses"])
def test_adaptive_steps_meet_the_tolerance(name: str, tmp_path: Path) -> None:
    case = da.gallery.case(name)
    library, model = exported(case, tmp_path)
    end = float(case.times[0] + min(case.times[-1] - case.times[0], 2.0))
    y, t, valid = library.integrate(model.start.y, model.start.t, end, model.start.p, 1e-10, [1e-12] * (2 * model.n))
    run = da.simulate(case.system, case.q0, case.qd0, [case.times[0], end], parameters=case.parameters, rtol=1e-12)
    assert valid and t == end
    assert np.abs(y - np.concatenate([run.q[-1], run.qd[-1]])).max() < 1e-7 * np.abs(run.qd).max()


def test_at_most_so_many_steps_are_taken(tmp_path: Path) -> None:
    library, model = exported(da.gallery.case("pendulum"), tmp_path)
    y, t, valid = library.integrate(model.start.y, 0.0, 100.0, model.start.p, 1e-10, [1e-12] * 4, most=10)
    assert not valid and 0 < t < 100
    assert abs(np.hypot(*y[:2]) - np.hypot(*model.start.y[:2])) < 1e-12


def test_the_inputs_of_servos_have_a_function_of_their_own(tmp_path: Path) -> None:
    case = da.gallery.case("five-bar")
    library, model = exported(case, tmp_path)
    found, valid = library.at("inputs", len(model.control.outputs) - 1, model.start.y, model.start.t, model.start.p)
    point = da.motion(case.system, case.q0, case.qd0, case.times[0], parameters=case.parameters)
    assert valid
    assert found[:2] == pytest.approx(list(point.inputs.values()), rel=1e-12)


def test_a_result_that_is_not_valid_is_flagged(tmp_path: Path) -> None:
    library, model = exported(da.gallery.case("pendulum"), tmp_path)
    p = model.start.p
    for y in ([0, 0, 1, 0], [np.nan, 1, 0, 0], [1, 0, np.inf, 0]):  # the rod has no direction; numbers are not finite
        for verb, count in (("acceleration", 2), ("outputs", len(model.output_names))):
            assert library.at(verb, count, y, 0.0, p)[1] == 0
        before = np.array(y, float)
        after, valid = library.step(y, 0.0, 0.01, p)
        assert not valid and np.array_equal(before, after, equal_nan=True)


def test_constraints_that_are_left_out_must_agree(tmp_path: Path) -> None:
    x, y = da.coordinates("x y")
    rods = (da.Constraint(x**2 + y**2 - 1, name="rod"), da.Constraint(x + y - 1, name="line"))
    twice = da.System((x, y), [[1, 0], [0, 1]], (0, -1), (*rods, da.Constraint(2 * x + 2 * y - 2, name="again")))
    single = da.System((x, y), [[1, 0], [0, 1]], (0, -1), (rods[1], da.Constraint(2 * x + 2 * y - 2, name="again")))
    library = CLibrary(da.export_c(single, tmp_path / "single.c", q0=(1, 0), qd0=(0, 0), parameters={}))
    assert library.step([1, 0, 0, 0], 0.0, 0.1, [])[1] == 1
    assert library.step([1, 0.5, 0, 0], 0.0, 0.1, [])[1] == 0
    assert "left out, since they follow from the others: again" in (tmp_path / "single.c").read_text()
    library = CLibrary(da.export_c(twice, tmp_path / "twice.c"))  # without a start all rows are in use, and dependent
    assert library.at("acceleration", 2, [1, 0, 0, 0], 0.0, [])[1] == 0


def functions_of(x, v, p):
    """Every function that the tape knows, as a sum of terms that are defined for 0 < x < 1."""
    plain = (sp.sin, sp.cos, sp.tan, sp.asin, sp.acos, sp.atan, sp.sinh, sp.cosh, sp.tanh, sp.asinh, sp.atanh, sp.exp)
    others = (sp.log, sp.erf, sp.erfc, sp.gamma, sp.loggamma, sp.floor, sp.ceiling, sp.sign, sp.sec, sp.acot, sp.frac)
    terms = [f(x) for f in (*plain, *others)]
    terms += [sp.acosh(1 + x), sp.atan2(v, x), x**p, sp.sqrt(x), x**-3, sp.Abs(v), sp.Max(x, v, p), sp.Min(x, v)]
    terms += [sp.Heaviside(v), sp.sinc(x - v), sp.Mod(v, x)]
    condition = sp.Or(sp.And(x > v, x <= p), sp.Not(sp.Eq(x, v)))
    return sum(terms) + sp.Piecewise((x, condition), (v * x, x < 2), (1 / (x - v), True))


def test_every_function_has_its_c_form(tmp_path: Path) -> None:
    x = da.coordinates("x")
    p = da.parameters("p")
    system = da.System((x,), [[1 + x**2]], (functions_of(x, x.diff(da.t), p) + sp.cos(da.t),))
    library = CLibrary(da.export_c(system, tmp_path / "all.c"))
    for q, qd in ((0.3, 0.7), (0.3, -0.2), (0.9, 0.9), (0.5, 0.0)):
        (found,), valid = library.at("acceleration", 1, [q, qd], 0.4, [1.5])
        assert valid
        assert found == pytest.approx(
            da.motion(system, (q,), (qd,), 0.4, parameters={"p": 1.5}).acceleration[0], rel=1e-13
        )


def test_names_become_identifiers(tmp_path: Path) -> None:
    angle, other = sp.Function("θ₁")(da.t), sp.Function("theta1")(da.t)
    k = sp.Symbol("k/m */ ??/")
    system = da.System((angle, other), [[1, 0], [0, 1]], (-k * angle, -k * other))
    file = da.export_c(system, tmp_path / "4 bars.c", q0=(1, 2), qd0=(0, 0), parameters={k: 3.0})
    text = file.read_text(encoding="utf-8")
    assert "model_4_bars_q_theta1," in text and "model_4_bars_q_theta1_2," in text and "model_4_bars_p_k_m" in text
    done = subprocess.run(
        ["cc", *STRICT, "-c", "-o", str(tmp_path / "bars.o"), str(file)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_an_actuator_may_be_driven_from_outside(tmp_path: Path) -> None:
    case = da.gallery.case("two-masses")
    names = [actuator.name for servo in case.system.servos for actuator in servo.by]
    file = da.export_c(
        case.system, tmp_path / "plant.c", q0=case.q0, qd0=case.qd0, parameters=case.parameters, inputs=names
    )
    library, text = CLibrary(file), file.read_text()
    assert f"input({names[0]})" in text and "plant_inputs" not in text
    model = model_of(case.system, "plant", **case.export_arguments, inputs=names)
    u = model.parameters.index(f"input({names[0]})")
    p = model.start.p.copy()
    idle, _ = library.at("acceleration", model.n, model.start.y, 0.0, p)
    p[u] = 2.0
    pushed, _ = library.at("acceleration", model.n, model.start.y, 0.0, p)
    point = da.motion(case.system, case.q0, case.qd0, parameters=case.parameters)
    force = next(iter(point.inputs.values()))
    assert idle + force / 2 * (pushed - idle) == pytest.approx(point.acceleration, abs=1e-12)
