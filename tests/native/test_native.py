"""Machine code against everything else that computes the same: SymPy's numbers, diffrax, the formulations."""

import ctypes
import math

import diffrax
import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st
from llvmlite import ir
from scipy.integrate import DOP853

import dalembert as da
from dalembert.lowering.build import build
from dalembert.lowering.programs import Programs
from dalembert.lowering.recording import NoMachineCodeError, Recorder
from dalembert.lowering.source import source_of
from dalembert.native import assembly
from dalembert.native.assembly import MachineCode, write_program
from dalembert.native.dormand_prince import DORMAND_PRINCE
from dalembert.native.elimination import eliminate, sparse_order
from dalembert.native.tape import Program, Tape, Value
from dalembert.numerics.linear_algebra import independent_rows
from helpers import CHAIN_NUMBERS, chain, chain_state, pendulum, quick_first, random_rank_deficient, random_spd

x, y, z = da.coordinates("x y z")
xd, yd, zd = (q.diff(da.t) for q in (x, y, z))
u, v = sp.symbols("u v", real=True)


def computed(expressions: list, a: float, b: float) -> np.ndarray:
    """The values of expressions in u and v, by machine code."""
    tape = Tape()
    read = Recorder(tape, {u: tape.input("y", 0), v: tape.input("y", 1)})
    module = ir.Module()
    write_program(module, "values", Program(tape, [read(e) for e in expressions]), hot=True)
    code = MachineCode(module)
    kinds = (ctypes.c_void_p, ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p)
    function = ctypes.CFUNCTYPE(None, *kinds)(code.address("values"))
    given, out = np.array([a, b]), np.empty(len(expressions))
    function(given.ctypes.data, 0.0, 0, out.ctypes.data)
    return out


def test_levels_of_optimisation_are_read_at_each_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the module, which tests set to zero, unless a caller states its own."""
    asked: list[int] = []
    compiled = assembly.object_code
    monkeypatch.setattr(assembly, "object_code", lambda text, level: asked.append(level) or compiled(text, level))
    for level in (0, 2):
        monkeypatch.setattr(assembly, "SELECTION", level)
        assert computed([u + v], 1.0, 2.0) == [3.0]
    MachineCode(ir.Module(), selection=1)
    assert asked == [0, 2, 1]


EXPRESSIONS = [
    u + v - 2 * u * v / 3,
    u**7 - v**-3 + u ** sp.Rational(5, 2) + (u + v) ** sp.Rational(-1, 2),
    sp.sqrt(u) / (1 + v**2) - sp.pi * sp.E,
    *(f(u / 9) for f in (sp.sin, sp.cos, sp.tan, sp.asin, sp.acos, sp.atan, sp.sinh, sp.cosh, sp.tanh, sp.asinh)),
    *(f(u / 9) for f in (sp.atanh, sp.exp, sp.log, sp.erf, sp.erfc, sp.sec, sp.csc, sp.cot, sp.sinc)),
    sp.acosh(1 + u),
    sp.gamma(u) + sp.loggamma(v),
    sp.Mod(7 * u, v) + sp.Mod(-u, v),
    sp.atan2(u - 1, v),
    u**v,
    2**u,
    sp.floor(u) + sp.ceiling(3 * v),
    sp.Abs(u - v) + sp.sign(v - u) + sp.Heaviside(u - v) + sp.sign(0 * u),
    sp.Max(u, v, 1) - sp.Min(u, 2 * v, 3),
    sp.Piecewise((u, u < v), (v, sp.And(u >= v, u < 2 * v)), (u * v, True)),
    sp.Piecewise((1, sp.Or(sp.Eq(u, v), sp.Ne(u, 3), sp.Not(v > 1))), (2, True)),
    sp.Piecewise((1, u <= v), (2, u > v)),
]


@pytest.mark.parametrize(("a", "b"), [(0.3, 1.7), (1.7, 0.3), (2.5, 2.5), (3.0, 0.4)])
def test_functions_agree_with_sympy(a: float, b: float) -> None:
    exact = [float(e.subs({u: sp.Rational(a), v: sp.Rational(b)}).evalf(30)) for e in EXPRESSIONS]
    np.testing.assert_allclose(computed(EXPRESSIONS, a, b), exact, rtol=4e-15, atol=1e-15)


def test_what_is_outside_all_pieces_is_not_a_number() -> None:
    assert np.isnan(computed([sp.Piecewise((u, u < 0))], 1.0, 0.0)[0])
    assert np.isnan(computed([sp.sqrt(u - 2)], 1.0, 0.0)[0])


def test_known_numbers_are_computed_while_recording() -> None:
    tape = Tape()
    read = Recorder(tape, {u: 2.0, v: tape.input("y", 0)})
    assert read(sp.sin(u) ** 2 + sp.Piecewise((1, u > 1), (0, True))) == pytest.approx(math.sin(2) ** 2 + 1)
    assert math.isnan(read(sp.log(u - 2)))
    assert len(tape.lines) == 1


def test_nothing_is_recorded_twice() -> None:
    tape = Tape()
    read = Recorder(tape, {u: tape.input("y", 0), v: tape.input("y", 1)})
    first = read(sp.sin(u * v) + v)
    count = len(tape.lines)
    assert read(sp.sin(v * u) + v) is first
    assert tape.record("fadd", read(v), read(sp.sin(u * v))) is first
    assert len(tape.lines) == count


def test_unknown_functions_are_left_to_the_general_integrator() -> None:
    tape = Tape()
    with pytest.raises(NoMachineCodeError, match="besselj"):
        Recorder(tape, {u: tape.input("y", 0)})(sp.besselj(0, u))
    plain, special = (da.System((x,), [[1]], (-force,)) for force in (x * (x + 1), sp.factorial(x + 1) / sp.gamma(x)))
    runs = [da.simulate(system, (1,), (0,), (0, 0.5)) for system in (plain, special)]
    assert [run.statistics["program"] for run in runs] == ["machine code", "JAX"]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-10)


def test_special_functions_have_one_value_everywhere() -> None:
    forces = (sp.erf(x), sp.erfc(x), sp.gamma(x), sp.loggamma(x + 3), sp.factorial(x))
    forces += (sp.sec(x), sp.csc(x), sp.cot(x), sp.Heaviside(x - 1) + sp.Heaviside(x - 2))
    for force in forces:
        expected = float(force.subs(x, sp.Rational(7, 5)).evalf())
        found = da.motion(da.System((x,), [[1]], (force,)), (1.4,), (0,)).acceleration[0]
        assert float(found) == pytest.approx(expected, rel=1e-13)


def test_coefficients_are_those_of_scipy() -> None:
    def row(factors: dict[int, float]) -> list[float]:
        return [factors.get(j, 0.0) for j in range(12)]

    np.testing.assert_array_equal(DORMAND_PRINCE.nodes, DOP853.C[:12])
    np.testing.assert_array_equal([row(factors) for factors in DORMAND_PRINCE.stages], DOP853.A[:12, :12])
    np.testing.assert_array_equal(row(DORMAND_PRINCE.result), DOP853.B[:12])
    np.testing.assert_array_equal(row(DORMAND_PRINCE.errors[0]), DOP853.E5[:12])
    np.testing.assert_array_equal(row(DORMAND_PRINCE.errors[1]), DOP853.E3[:12])


@given(st.integers(0, 2**32 - 1))
def test_elimination_solves_both_equations(seed: int) -> None:
    """M q̈ − Aᵀλ = f and A q̈ = e, in any order that lets multipliers wait, with all rows or the first ones."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    m = int(rng.integers(1, n + 1))
    M, A = random_spd(rng, n), random_rank_deficient(rng, m, n, m)
    f, e = rng.normal(size=n), rng.normal(size=m)
    classes = sorted(rng.integers(0, 2, m).tolist())
    order = sparse_order([set(range(n))] * n, [set(range(n))] * m, classes)
    assert sorted(order) == list(range(n + m))
    factored = eliminate(M.tolist(), A.tolist(), order)
    for rows in (m, classes.count(0)):
        found = factored.solve(f.tolist(), e.tolist(), rows)
        qdd, lam = np.array(found.acceleration), np.array(found.multipliers[:rows], float)
        np.testing.assert_allclose(M @ qdd - A[:rows].T @ lam, f, atol=1e-10)
        np.testing.assert_allclose(A[:rows] @ qdd, e[:rows], atol=1e-10)
    assert all(larger > smaller for larger, smaller in factored.margins())


def test_elimination_of_a_chain_makes_no_new_entries() -> None:
    """Twice the links, twice the arithmetic."""
    sizes = []
    for links in (8, 16, 32):
        source = build(chain(links)).native.source
        sizes.append(len(Programs(source, range(links), None).acceleration().tape.lines))
    # up to a few operations at the ends of the chain, which differ from another one by a sign only
    assert sizes[2] - sizes[1] == pytest.approx(2 * (sizes[1] - sizes[0]), abs=4)


@given(st.integers(0, 2**32 - 1))
def test_independent_rows_span_the_rest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, n = rng.integers(1, 8, 2)
    rank = int(rng.integers(0, min(m, n) + 1))
    B = random_rank_deficient(rng, m, n, rank) * 10.0 ** rng.uniform(-6, 6, (m, 1))
    levels = rng.integers(0, 3, m).tolist()
    kept = independent_rows(B, levels, 1e-10)
    assert len(kept) == rank
    if rank:  # before NumPy 2.4 a matrix without rows has no rank
        assert np.linalg.matrix_rank(B[list(kept)] / np.linalg.norm(B[list(kept)], axis=1, keepdims=True)) == rank
    for level in range(3):
        low = [k for k in range(m) if levels[k] <= level]
        scaled = B[low] / np.maximum(np.linalg.norm(B[low], axis=1, keepdims=True), 1e-300)
        assert sum(levels[k] <= level for k in kept) == (np.linalg.matrix_rank(scaled, tol=1e-9) if low else 0)


def mixed() -> da.System:
    """Full mass matrix, constraints of three levels, rheonomic and redundant, laws with and without the reaction."""
    a = da.parameters("a")
    mass = sp.Matrix([[3 + x**2, y / 3, sp.S.Half], [y / 3, 4 + sp.cos(z), 0], [sp.S.Half, 0, 2]])
    return da.System(
        (x, y, z),
        mass,
        (-x, -yd, sp.exp(-x)),
        (
            da.Constraint(xd + y * zd + z * yd - sp.cos(da.t) / 3, name="table again"),
            da.Constraint(x + y * z - sp.sin(da.t) / 3, name="table"),
        ),
        (da.Viscous(a), da.Prescribed((0, -a * sp.Abs(da.ideal_force(x)) * yd, 0))),
    )


def test_a_run_is_that_of_diffrax_in_every_respect() -> None:
    """States, forces, multipliers, violations, rank: redundant rows, laws, a mass matrix that depends on the state."""
    system, numbers = mixed(), {"a": 0.3}
    q, qd = da.consistent_state(system, (0.1, 0.4, -0.3), (1, 0.2, 0.3), 0.2, parameters=numbers)
    settings = {"parameters": numbers, "rtol": 1e-11, "atol": 1e-13}
    times = np.linspace(0.2, 3, 9)
    ours = da.simulate(system, q, qd, times, **settings)
    theirs = da.simulate(system, q, qd, times, **settings, solver=diffrax.Dopri8())
    assert ours.statistics["program"] == "machine code"
    assert theirs.statistics["program"] != "machine code"
    for name in ("q", "qd", "acceleration", "ideal_force", "nonideal_force", "multipliers", "rank"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-8, err_msg=name)
    assert np.abs(ours.violation).max() < 1e-14
    assert np.abs(ours.velocity_violation).max() < 1e-14
    assert [note for note in ours.notes if "redundant" in note] == [n for n in theirs.notes if "redundant" in n]


@pytest.mark.parametrize("drift", quick_first([None, da.Baumgarte(3.0, 2.0)], [da.Baumgarte(3.0, 2.0)]))
def test_drift_without_projection_is_that_of_diffrax(drift: da.Baumgarte | None) -> None:
    """Off the constraints too: the start violates them, and the violation goes the same way."""
    settings = {"parameters": {"g": 9.81}, "rtol": 1e-11, "atol": 1e-13, "drift": drift, "allow_violation": True}
    runs = [
        da.simulate(pendulum(), (1.01, 0.02), (0.03, 0.1), np.linspace(0, 1, 6), solver=solver, **settings)
        for solver in (None, diffrax.Dopri8())
    ]
    assert runs[0].statistics["program"] == "machine code"
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-9)
    np.testing.assert_allclose(runs[0].violation, runs[1].violation, atol=1e-9)


def test_energy_is_reported() -> None:
    system = da.System.from_lagrangian(xd**2 / 2 + yd**2 / 2 - y, (x, y), constraints=da.Constraint(x**2 + y**2 - 1))
    run = da.simulate(system, (1, 0), (0, 0), np.linspace(0, 5, 7))
    assert run.statistics["program"] == "machine code"
    np.testing.assert_allclose(run.energy, 0, atol=1e-9)


def parallelogram() -> da.System:
    """Two cranks and a coupler of equal lengths: the cranks can fall into line, where the constraints lose rank."""
    a, b, c, d = da.coordinates("a b c d")
    rods = (
        da.Constraint(a**2 + b**2 - 1, name="left crank"),
        da.Constraint((c - 1) ** 2 + d**2 - 1, name="right crank"),
        da.Constraint((c - a) ** 2 + (d - b) ** 2 - 1, name="coupler"),
    )
    return da.System((a, b, c, d), sp.eye(4), (0, -9.81, 0, -9.81), rods)


def test_near_a_singular_configuration_the_general_integrator_takes_over() -> None:
    """With the cranks almost in line the rows are almost dependent; the motion is that of a pendulum all the same."""
    angle, times = np.pi / 2 - 0.002, np.linspace(0, 0.6, 7)
    theta = da.coordinates("theta")
    simple = da.simulate(da.System((theta,), [[1]], (-9.81 * sp.sin(theta),)), (angle,), (0,), times, rtol=1e-12)
    crank = np.array([np.sin(angle), -np.cos(angle)])
    run = da.simulate(parallelogram(), (*crank, 1 + crank[0], crank[1]), np.zeros(4), times)
    assert run.statistics["program"] != "machine code"
    np.testing.assert_allclose(run["a"], np.sin(simple["theta"]), atol=1e-7)


def test_a_start_that_is_clear_stays_in_machine_code() -> None:
    run = da.simulate(parallelogram(), (0, -1, 1, -1), (1, 0, 1, 0), np.linspace(0, 10, 13))
    assert run.statistics["program"] == "machine code"
    energy = (run.qd**2).sum(axis=1) / 2 + 9.81 * (run["b"] + run["d"])
    np.testing.assert_allclose(energy, energy[0], rtol=1e-9)


def test_terms_are_those_of_jax() -> None:
    system = chain(3)
    dynamics = build(system)
    q, qd = chain_state(3)
    p = tuple(CHAIN_NUMBERS[name] for name in dynamics.parameters)
    for ours, theirs in zip(dynamics.native.terms(q, qd, 0.0, p), dynamics.terms(q, qd, 0.0, p), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-14, atol=1e-14)


def test_a_symmetric_start_at_rest_does_not_fool_the_step_control() -> None:
    """A pendulum let go from upright, a hair off: for long nothing happens, then it swings."""
    theta = da.coordinates("theta")
    system = da.System((theta,), [[1]], (sp.sin(theta),))
    run = da.simulate(system, (1e-9,), (0,), (0, 25), rtol=1e-10, atol=1e-14)
    fine = da.simulate(system, (1e-9,), (0,), (0, 25), rtol=1e-12, atol=1e-16)
    np.testing.assert_allclose(run.q[-1], fine.q[-1], atol=1e-4)
    assert fine.q[-1, 0] > 1


def test_leaving_the_domain_of_the_equations_ends_in_words() -> None:
    """Steps that meet a root of a negative number are shortened, and the error is that of the general integrator."""
    system = da.System((x,), [[1]], (-1 / sp.sqrt(x),))
    with pytest.raises(da.SimulationError, match="ended at t ="):
        da.simulate(system, (1,), (0,), (0, 5))


def test_huge_forces_are_no_trouble_by_themselves() -> None:
    x, g = da.coordinates("x"), da.parameters("g")
    run = da.simulate(da.System((x,), [[1]], (-g,)), (0,), (0,), (0, 1), parameters={"g": 1e200})
    np.testing.assert_allclose(run["x"][-1], -0.5e200)


def test_values_combine_with_numbers_from_either_side() -> None:
    tape = Tape()
    value = tape.input("y", 0)
    assert value + 0 is value
    assert 1 * value is value
    assert value * 0 == 0
    assert value / 1 is value
    assert 0 / value == 0
    assert isinstance(2 - value, Value)
    assert isinstance(-value, Value)


def test_threads_do_not_meet() -> None:
    """Two threads in the same machine code, each with its own numbers."""
    from concurrent.futures import ThreadPoolExecutor

    def end(gravity: float) -> np.ndarray:
        return da.simulate(pendulum(), (1, 0), (0, 0), (0, 50), parameters={"g": gravity}).q[-1]

    alone = {gravity: end(gravity) for gravity in (5.0, 20.0)}
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(end, [5.0, 20.0] * 15))
    np.testing.assert_array_equal(found, [alone[5.0], alone[20.0]] * 15)


def test_rows_are_chosen_anew_where_parameters_make_them_dependent() -> None:
    k = da.parameters("k")
    rows = (da.Constraint(z, name="floor"), da.Constraint(z + k * y, name="wall"))
    system = da.System((x, y, z), np.eye(3).tolist(), (1, 0, 0), rows)
    runs = [da.simulate(system, (0, 0, 0), (1, 0, 0), (0, 1), parameters={"k": value}) for value in (1, 0, 1)]
    assert [run.rank[-1] for run in runs] == [2, 1, 2]
    assert all(np.allclose(run.q[-1], (1.5, 0, 0), atol=1e-12) for run in runs)


def test_the_compiled_check_of_a_start() -> None:
    """Terms that are not finite, a mass matrix that is not symmetric, a violated constraint: then no, else yes."""
    a, b = da.parameters("a b")

    def may_start(system: da.System, *numbers: float) -> bool:
        return da.build(system).native.start(np.array([0.6, -0.8, 0.8, 0.6]), 0.0, numbers)[0]

    rod = da.Constraint(x**2 + y**2 - 1)
    assert may_start(da.System((x, y), [[a, b / 2], [b / 2, a]], (0, -1), rod), 1.0, 0.1)
    assert not may_start(da.System((x, y), [[1, 0], [0, 1]], (0, sp.log(-a)), rod), 1.0)
    assert not may_start(da.System((x, y), [[1, 0], [0, 1]], (0, -a), da.Constraint(x**2 + y**2 - a**2)), 1.0001)
    assert not may_start(da.System((x, y), [[1, 0], [0, 1]], (0, -a), da.Constraint(x + y - sp.log(-a))), 1.0)


def test_no_number_is_subtracted_from_itself() -> None:
    """A fused product less itself is not zero, which would decline every member on a GPU."""
    rod = da.Constraint(sp.cos(x) ** 2 + y**2 * sp.sin(x) - 1)
    programs = Programs(source_of(da.System((x, y), [[1, 0], [0, 1 + x**2]], (0, -x * y), rod)), (0,), None)
    for program in (programs.start(), programs.acceleration(), programs.residuals()):
        lines = [line for line in program.tape.lines if line.name == "fsub"]
        assert not any(line.arguments[0] is line.arguments[1] for line in lines)


@pytest.mark.parametrize(
    "options", [{}, {"step": 0.01}, {"drift": da.Baumgarte(2, 2)}], ids=["adaptive", "fixed", "drift"]
)
def test_a_second_run_compiles_nothing(monkeypatch: pytest.MonkeyPatch, options: dict) -> None:
    """Whatever a run needs is compiled by the first one, for other numbers and starts as well."""
    g, x, y = sp.Symbol("g"), *da.coordinates("x y")
    system = da.System((x, y), sp.eye(2), (0, -g), da.Constraint(x**2 + y**2 - 1, name="rod"))
    da.simulate(system, (1, 0), (0, 0), [0, 1, 2], parameters={"g": 9.81}, **options)
    compiled: list[object] = []
    monkeypatch.setattr(assembly.MachineCode, "__init__", lambda self, module: compiled.append(module))
    run = da.simulate(system, (0.6, -0.8), (0.8, 0.6), [0, 0.5, 3], parameters={"g": 3.0}, **options)
    assert not compiled and run.statistics["program"] == "machine code"
