"""Signals in machine code, JAX, ensembles, exports and files, against closed forms and SciPy."""

import runpy
import shutil
import subprocess
from itertools import pairwise

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import quad, solve_ivp
from scipy.interpolate import CubicSpline

import dalembert as da
from dalembert.lowering.native_system import BatchProgram
from dalembert.lowering.recording import Recorder
from dalembert.native.tape import Program, Tape
from helpers import PATIENCE

RNG = np.random.default_rng(7)
TIMES = np.sort(np.concatenate([[0, 5], RNG.uniform(0, 5, 40)]))
VALUES = RNG.normal(size=len(TIMES))
CLOSED = np.append(VALUES[:-1], VALUES[0])
X = da.coordinates("x")


def compiled(expression, at):
    tape = Tape()
    program = Program(tape, [Recorder(tape, {da.t: tape.input("t", 0)})(expression)])
    return BatchProgram(program, 1)(np.zeros((len(at), 1)), at, np.zeros(0))[:, 0]


@pytest.mark.parametrize("extend", [None, "hold", "periodic"])
@pytest.mark.parametrize("kind", ["previous", "linear", "pchip", "cubic", "quintic"])
def test_machine_code_equals_numpy(kind, extend):
    signal = da.signal(TIMES, CLOSED, kind, extend=extend)
    at = np.concatenate([TIMES, np.nextafter(TIMES, -9), RNG.uniform(-7, 12, 200)])
    for _ in range(3):
        expected = signal.data.polynomial(at)
        assert compiled(signal, at) == pytest.approx(expected, abs=1e-13 * (1 + np.nanmax(abs(expected))), nan_ok=True)
        if extend is None:
            assert np.isnan(compiled(signal, np.array([-0.1, 5.1]))).all()
        signal = signal.diff(da.t)
        if signal.data.polynomial.is_zero:
            break


@pytest.mark.parametrize("pieces", [1, 2, 3, 7, 8, 9, 1000])
def test_the_binary_search_finds_every_piece(pieces):
    at = np.arange(pieces + 1.0)
    steps = da.signal(at, at, "previous", extend="hold")
    places = np.concatenate([at, at + 0.5, [-3.0, pieces + 2.0]])
    assert np.array_equal(compiled(steps, places), np.clip(np.floor(places), 0, pieces))


def test_a_force_by_pieces_is_integrated_exactly():
    """x'' = f(t): the velocity is the integral of the polynomials, which the method of order 8 integrates exactly."""
    for kind in ("previous", "linear", "cubic"):
        force = da.signal(TIMES, VALUES, kind)
        run = da.simulate(da.System((X,), [[1]], (force,)), (0,), (0,), [0, 2.5, 5])
        polynomial = force.data.polynomial
        knots = [0, *TIMES[(TIMES > 0) & (TIMES < 5)], 5]
        exact = sum(quad(polynomial, a, np.nextafter(b, a))[0] for a, b in pairwise(knots))
        assert run["x'"][-1] == pytest.approx(exact, abs=2e-13)


def test_every_jump_is_a_step_even_of_a_long_record():
    at = np.arange(0, 2.0005, 0.001)
    values = np.random.default_rng(3).normal(size=len(at))
    system = da.System((X,), [[1]], (da.signal(at, values, "previous"),))
    run = da.simulate(system, (0,), (0,), [0, 2])
    assert run["x'"][-1] == pytest.approx(0.001 * values[:-1].sum(), abs=1e-12)


def test_a_cubic_drive_prescribes_position_velocity_and_acceleration():
    x, y = da.coordinates("x y")
    path = da.signal(TIMES[::4], VALUES[::4], name="path")
    drive = da.Constraint(x - path, name="drive")
    system = da.System((x, y), [[2, 0], [0, 1]], (-3 * x, -x), drive)
    reference = CubicSpline(TIMES[::4], VALUES[::4])
    at = np.linspace(0, TIMES[::4][-1], 31)
    run = da.simulate(system, (VALUES[0], 0), (reference(0.0, 1), 0), at)
    assert run["x"] == pytest.approx(reference(at), abs=1e-12)
    assert run["x''"] == pytest.approx(reference(at, 2), abs=1e-9)
    force = 2 * reference(at, 2) + 3 * reference(at)
    assert run.multipliers[:, 0] == pytest.approx(force, abs=1e-9)
    assert abs(run.ledger().audit).max() < 1e-7


def test_a_table_of_the_state_is_a_force():
    v = X.diff(da.t)
    speeds, torques = np.linspace(-4, 4, 9), np.array([3.0, 2, 2, 1, 0, -1, -2, -2, -3])
    system = da.System((X,), [[1]], (da.signal(speeds, torques, name="torque", of=v),))
    run = da.simulate(system, (0,), (3.7,), [0, 1, 2], rtol=1e-11)
    spline = CubicSpline(speeds, torques)
    expected = solve_ivp(lambda _, y: [y[1], spline(y[1])], (0, 2), [0, 3.7], rtol=1e-12, atol=1e-13)
    assert [run["x"][-1], run["x'"][-1]] == pytest.approx(expected.y[:, -1], abs=1e-9)


def test_times_outside_are_refused_by_name():
    system = da.System((X,), [[1]], (da.signal([0, 1, 2], [0, 1, 0], name="gust"),))
    message = r"`times` must lie in the range of signal `gust`, from 0 to 2; got 0 to 3\. .*`extend=\"hold\"`"
    with pytest.raises(da.InputError, match=message):
        da.simulate(system, (0,), (0,), [0, 3])
    with pytest.raises(da.InputError, match=message):
        da.simulate_ensemble(system, (0,), (0,), [0, 3])
    with pytest.raises(da.InputError, match=r"`t` must lie in the range of signal `gust`"):
        da.motion(system, (0,), (0,), t=2.5)
    table = da.System((X,), [[1]], (1 + da.signal([-1, 0, 1], [0, 0.1, 0], name="torque", of=X.diff(da.t)),))
    message = r"the argument `Derivative\(x\(t\), t\)` of signal `torque` must lie in its range, from -1 to 1; it is 3"
    with pytest.raises(da.InputError, match=message):
        da.motion(table, (0,), (3,))
    with pytest.raises(da.SimulationError, match=r"of signal `torque` is 1, and the signal has values from -1 to 1"):
        da.simulate(table, (0,), (0,), [0, 5])


def test_ensembles_stop_at_jumps_too():
    a = da.parameters("a")
    system = da.System((X,), [[1]], (a * da.signal(TIMES, VALUES, "previous"),))
    many = da.simulate_ensemble(system, (0,), (0,), [0, 5], parameters={"a": np.array([1.0, 2.0, -1.0])})
    exact = (VALUES[:-1] * np.diff(TIMES)).sum()
    assert many["qd"].values[:, -1, 0] == pytest.approx(exact * np.array([1, 2, -1]), abs=1e-12)
    assert many.attrs["handed_over"] == 0


def test_linearisation_and_expressions_along_a_run():
    c = da.signal([-2, -1, 0, 1, 2], [4, 1, 0, 1, 4], name="stiffening", of=X)
    system = da.System((X,), [[1]], (-X - c,))
    run = da.simulate(system, (0.5,), (0,), [0, 0.5, 1])
    assert run.evaluate(c) == pytest.approx(run["x"] ** 2, abs=1e-12)
    assert da.linearize(system, (0,), (0,)).matrix[1, 0] == pytest.approx(-1)


def test_files_hold_signals_in_arrays_or_beside(tmp_path):
    gust, v = da.signal([0, 1, 2], [0, 3, 0], "linear", name="gust", extend="hold"), X.diff(da.t)
    long = da.signal(np.arange(2000.0), np.arange(2000.0) ** 2, name="long record", of=v)
    path = da.signal([0, 1, 2, 3], [0, 1, 0, 1], name="path")
    y = da.coordinates("y")
    drive = da.Constraint(y - path - path.diff(da.t), name="drive")
    system = da.System((X, y), [[1, 0], [0, 1]], (gust**2 + long, 0), drive)
    file = system.save(tmp_path / "model.toml")
    assert da.load(file).system == system
    assert (tmp_path / "model_long_record.csv").is_file() and "long record" in file.read_text()
    table = "time,a,b\n0,1,2\n1,3,4\n"
    (tmp_path / "two.csv").write_text(table)
    text = (
        'format = 1\ncoordinates = ["x"]\nmass_matrix = [[1]]\napplied_force = ["s(t)"]\n'
        '[signals]\ns = { file = "two.csv", values = "b", kind = "linear" }\n'
    )
    model = tmp_path / "other.toml"
    model.write_text(text)
    assert da.load(model).system == da.System((X,), [[1]], (da.signal([0, 1], [2, 4], "linear", name="s"),))
    for wrong, message in (
        (text.replace('"b"', '"c"'), r"`values` must name a column of the file, one of `time`, `a`, `b`; got `c`\."),
        (text.replace("two.csv", "../two.csv"), r"`file` must name a file in the folder of the model file"),
        (text.replace("two.csv", "none.csv"), r"`file` must name a file of at most .* there is no such `none.csv`"),
        (text.replace("s(t)", "s + 1"), r"signal `s` must be followed by at most 4 primes and its argument"),
        (text.replace("linear", "lineal"), r"Did you mean `linear`\?"),
    ):
        model.write_text(wrong)
        with pytest.raises(da.FileError, match=message):
            da.load(model)


def test_python_and_c_files_look_up_signals(tmp_path):
    system = da.System(
        (X,), [[1]], (da.signal(TIMES, CLOSED, extend="periodic") + da.signal(TIMES, VALUES, name="b", of=X),)
    )
    at, places = 17.3, RNG.uniform(0, 5, 5)
    expected = [da.motion(system, (x,), (0,), at).acceleration[0] for x in places]
    module = runpy.run_path(str(da.export_python(system, tmp_path / "model.py")))
    found, valid = module["acceleration"](np.stack([places, 0 * places]), at, ())
    assert found[0] == pytest.approx(expected, rel=1e-13) and valid.all()
    assert not module["acceleration"]([9.0, 0.0], at, ())[1]
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler `cc` was found")
    source = da.export_c(system, tmp_path / "model.c")
    main = 'int main(void) { double y[2] = {%r, 0}, a[1]; model_acceleration(y, %r, 0, a); printf("%%.17g", a[0]); }'
    (tmp_path / "main.c").write_text(f'#include <stdio.h>\n#include "{source}"\n' + main % (float(places[0]), at))
    subprocess.run(
        [compiler, "-Wall", "-o", tmp_path / "main", tmp_path / "main.c", "-lm"], check=True, timeout=PATIENCE
    )
    printed = subprocess.run([tmp_path / "main"], check=True, capture_output=True, text=True, timeout=PATIENCE).stdout
    assert float(printed) == pytest.approx(expected[0], rel=1e-13)


def test_servos_follow_a_recorded_reference():
    motor = da.Actuator("motor", along=(1,))
    reference = da.signal([0, 1, 2, 3], [0, 1, 0.5, 0.7], name="reference")
    servo = da.Servo("follow", X - reference, by=motor, settle=4)
    system = da.System((X,), [[2]], (-5 * X,), servos=servo)
    start = da.consistent_state(system, (0,), (0,), servos=True)
    run = da.simulate(system, *start, np.linspace(0, 3, 7))
    assert run["x"] == pytest.approx(CubicSpline([0, 1, 2, 3], [0, 1, 0.5, 0.7])(run.t), abs=1e-9)
    rough = da.Servo("follow", X - da.signal([0, 1, 2], [0, 1, 0], "linear", name="rough"), by=motor, settle=4)
    with pytest.raises(
        da.ModelError, match=r"derivative 2 of signal `rough`, on which requirement `follow` at position level"
    ):
        da.System((X,), [[2]], (-5 * X,), servos=rough)


def test_inputs_behind_a_spring_need_four_derivatives_of_a_reference():
    z, times = da.coordinates("z"), np.linspace(50, 56, 13)

    def arm(kind):
        reference = da.signal(times, np.sin(times), kind, name="path")
        servo = da.Servo("tip", z - reference, by=da.Actuator("motor", along=(1, 0)), settle=6)
        return da.System((X, z), [[1, 0], [0, 1]], (-40 * (X - z), 40 * (X - z)), servos=servo)

    system = arm("quintic")
    start = da.consistent_state(system, (0, 0), (0, 0), t=50, servos=True)
    run = da.simulate(system, *start, times)
    assert run["z"] == pytest.approx(np.sin(times), abs=1e-8)
    with pytest.raises(da.ModelError, match=r"finite derivatives up to the order in which inputs appear, 4; .* `path`"):
        da.build(arm("cubic"))


@pytest.mark.slow
def test_jax_differentiates_through_a_signal():
    import jax

    a = da.parameters("a")
    system = da.System(
        (X,), [[1]], (a * da.signal(TIMES, VALUES, "linear") + da.signal([-9, 0, 9], [3, 0, 3], name="b", of=X),)
    )
    motion = da.flow(system, times=[0, 2, 5])
    gradient = jax.grad(lambda a: motion([0.1], [0.0], {"a": a})[0][-1, 0])(0.3)
    ends = [da.simulate(system, (0.1,), (0,), [0, 5], parameters={"a": 0.3 + h})["x"][-1] for h in (-1e-4, 1e-4)]
    assert gradient == pytest.approx((ends[1] - ends[0]) / 2e-4, rel=1e-6)
    assert motion([0.1], [0.0], {"a": 0.3})[0][-1, 0] == pytest.approx(np.mean(ends), rel=1e-6)


def test_classify_check_and_derive_take_signals():
    x, y = da.coordinates("x y")
    road = da.signal([-3, -1, 0, 1, 3], [0.2, 0, 0.1, 0, 0.2], name="road", of=x)
    system = da.System((x, y), [[1, 0], [0, 1]], (1, -10), da.Constraint(y - road, name="road"))
    kinds = da.classify(system).constraints
    assert kinds[0].holonomic and kinds[0].scleronomic
    assert da.check(system, q=(0.0, 0.1), qd=(0.0, 0.0)).well_posed
    derivation = da.derive(system)
    assert "road" in derivation.to_latex()
    assert derivation.constraint_matrix == sp.Matrix([[-road.diff(x), 1]])


def test_a_prescribed_velocity_follows_a_record_that_jumps():
    """A cart at recorded speeds pulls another one: the work of the drive is that of the impulses and of the spring."""
    x, y = da.coordinates("x y")
    speed = da.signal([0, 1, 3], [2, -1, 0], "previous", name="speed")
    carts = da.System((x, y), [[1, 0], [0, 1]], (0, x - y), da.Constraint(x.diff(da.t) - speed, name="drive"))
    run = da.simulate(carts, (0, 0), (2, 0), [0, 1, 2], rtol=1e-12, atol=1e-14)
    assert run["x"] == pytest.approx([0, 2, 1], abs=1e-12)
    # ÿ = x − y: a uniform motion of x and an oscillation about it
    lead, rate = -2 * np.sin(1), 3 - 2 * np.cos(1)  # y − x and its rate after the jump of x′ by −3
    assert run["y"][2] == pytest.approx(1 + lead * np.cos(1) + rate * np.sin(1), abs=1e-10)
    assert abs(run.ledger().audit).max() < 1e-10
    assert "a prescribed velocity jumps" in run.notes[0]
