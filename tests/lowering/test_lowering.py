"""Compiled programs: the same numbers from every path, the same order in every process."""

import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.equation.dynamics import Gains
from dalembert.lowering.build import build
from helpers import CHAIN_NUMBERS, chain, chain_state

x, y, z = da.coordinates("x y z")
xd, yd, zd = (q.diff(da.t) for q in (x, y, z))
a, k = da.parameters("a k")


def full_mass_system() -> da.System:
    """A full, state-dependent mass matrix, redundant and rheonomic constraints of all levels, a law of each form."""
    mass = sp.Matrix([[3 + x**2, y, sp.S.Half], [y, 4 + sp.cos(z), k / 5], [sp.S.Half, k / 5, 2]])
    table = da.Constraint(x + y * z - sp.sin(da.t), name="table")
    return da.System(
        (x, y, z),
        mass,
        (k * x, -yd, sp.exp(-x)),
        (
            da.Constraint(z.diff(da.t, 2) + xd * yd, name="driven"),
            da.Constraint(xd + y * zd + z * yd - sp.cos(da.t), name="table again"),
            table,
        ),
        (da.Viscous(a), da.Prescribed((0, -a * sp.Abs(da.ideal_force(x)) * yd, 0))),
    )


def test_engine_agrees_with_the_formulations() -> None:
    """Array code against the literal pseudo-inverse, on a state that satisfies the constraints."""
    system = full_mass_system()
    numbers = {"a": 0.3, "k": 1.7}
    q, qd = da.consistent_state(system, (0.1, 0.4, -0.3), (1, 2, 3), 0.2, parameters=numbers)
    expected = da.motion(system, q, qd, 0.2, parameters=numbers, formulation=da.PseudoInverse())
    assert expected.rank == 2
    dynamics = build(system)
    p = (0.3, 1.7)
    selection = dynamics.engine.select_rows(q, qd, 0.2, p)
    assert selection.rank == 2
    assert selection.valid
    got = dynamics.engine.acceleration(jnp.asarray(q), jnp.asarray(qd), 0.2, p, selection.rows, None)
    np.testing.assert_allclose(got, expected.acceleration, rtol=1e-12, atol=1e-12)


def test_baumgarte_terms() -> None:
    """φ̈ = −2αφ̇ − β²φ and ψ̇ = −αψ off the constraints, from the terms themselves."""
    system = da.System((x, y), sp.diag(1, 2), (1, 2), (da.Constraint(x * y - 1), da.Constraint(xd + yd - x)))
    dynamics = build(system)
    q, qd = jnp.array([0.7, 1.1]), jnp.array([0.2, -0.4])
    rows = dynamics.engine.select_rows(q, qd, 0.0, ()).rows
    qdd = dynamics.engine.acceleration(q, qd, 0.0, (), rows, Gains(3.0, 2.0))
    terms = dynamics.terms(q, qd, 0.0, ())
    rates = terms.A @ qdd - terms.b
    np.testing.assert_allclose(rates[0], -6 * terms.velocity[0] - 4 * terms.position[0], rtol=1e-12)
    np.testing.assert_allclose(rates[1], -3 * terms.velocity[1], rtol=1e-12)


@pytest.mark.parametrize("links", [3, 20])
def test_chain_of_any_size(links: int) -> None:
    q, qd = chain_state(links)
    dynamics = da.build(chain(links))
    p = tuple(CHAIN_NUMBERS[name] for name in dynamics.parameters)
    rows = dynamics.engine.select_rows(jnp.asarray(q), jnp.asarray(qd), 0.0, p).rows
    got = dynamics.engine.acceleration(jnp.asarray(q), jnp.asarray(qd), 0.0, p, rows, None)
    terms = dynamics.terms(q, qd, 0.0, p)
    M, Q, A, b = (np.asarray(term) for term in terms[:4])
    free = np.linalg.solve(M, Q)
    expected = free + np.linalg.solve(M, A.T @ np.linalg.solve(A @ np.linalg.solve(M, A.T), b - A @ free))
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-10)


def test_function_system_equals_its_symbolic_twin() -> None:
    """From mass matrix and force, and from a Lagrangian; constraints of every level; a law with the ideal force."""
    numbers = {"a": 0.3, "k": 1.7}
    symbolic = full_mass_system()

    def mass(q, qd, t, p):
        x, y, z = q
        return jnp.array([[3 + x**2, y, 0.5], [y, 4 + jnp.cos(z), p["k"] / 5], [0.5, p["k"] / 5, 2]])

    def force(q, qd, t, p):
        return jnp.array([p["k"] * q[0], -qd[1], jnp.exp(-q[0])])

    def law(q, qd, t, p, ideal):
        return -p["a"] * qd + jnp.array([0, -p["a"] * jnp.abs(ideal[0]) * qd[1], 0])

    def driven(q, qd, qdd, t, p):
        return qdd[2] + qd[0] * qd[1]

    def again(q, qd, t, p):
        return qd[0] + q[1] * qd[2] + q[2] * qd[1] - jnp.cos(t)

    def table(q, t, p):
        return jnp.array([q[0] + q[1] * q[2] - jnp.sin(t)])

    constraints = (
        da.FunctionConstraint(driven, "acceleration", "driven"),
        da.FunctionConstraint(again, "velocity", "table again"),
        da.FunctionConstraint(table, "position", "table"),
    )
    functions = da.FunctionSystem(mass, force, constraints, law)
    q, qd = da.consistent_state(functions, (0.1, 0.4, -0.3), (1, 2, 3), 0.2, parameters=numbers)
    one = da.motion(functions, q, qd, 0.2, parameters=numbers)
    two = da.motion(symbolic, q, qd, 0.2, parameters=numbers)
    for field in (
        "acceleration",
        "ideal_force",
        "nonideal_force",
        "multipliers",
        "constraint_matrix",
        "constraint_rhs",
    ):
        np.testing.assert_allclose(getattr(one, field), getattr(two, field), rtol=1e-11, atol=1e-11)


def test_function_lagrangian_equals_symbolic_lagrangian() -> None:
    """A velocity-dependent potential, explicit time and an applied force."""
    L = sp.exp(k * da.t) * (xd**2 + yd**2 * x**2) / 2 + a * x * yd - sp.cos(y)
    symbolic = da.System.from_lagrangian(L, (x, y), applied_force=(-xd, 0))

    def lagrangian(q, qd, t, p):
        kinetic = jnp.exp(p["k"] * t) * (qd[0] ** 2 + qd[1] ** 2 * q[0] ** 2) / 2
        return kinetic + p["a"] * q[0] * qd[1] - jnp.cos(q[1])

    functions = da.FunctionSystem(
        lagrangian=lagrangian, applied_force=lambda q, qd, t, p: jnp.array([-qd[0], 0.0]), coordinates="x y"
    )
    state = {"q": (0.7, 0.4), "qd": (0.3, -0.8), "t": 0.6, "parameters": {"a": 0.5, "k": 0.2}}
    one, two = da.motion(functions, **state), da.motion(symbolic, **state)
    np.testing.assert_allclose(one.acceleration, two.acceleration, rtol=1e-13)
    p = (0.5, 0.2)
    energies = [
        float(
            da.build(s.sized(2, "ak") if s is functions else s).energy(
                np.array(state["q"]), np.array(state["qd"]), 0.6, p
            )
        )
        for s in (functions, symbolic)
    ]
    assert energies[0] == pytest.approx(energies[1], rel=1e-14)


def test_scaled_law_uses_the_symmetric_square_root() -> None:
    """z = M^(-1/2) C: with C = M^(1/2) z the two forms are the same law, for diagonal and for full mass matrices."""
    rod = da.Constraint(x - y, name="together")
    for mass in (sp.diag(4, 9), sp.Matrix([[5, 4], [4, 5]])):  # roots diag(2, 3) and [[2, 1], [1, 2]]
        root = mass.applyfunc(sp.sqrt) if mass.is_diagonal() else sp.Matrix([[2, 1], [1, 2]])
        z_form = da.System((x, y), mass, (1, 0), rod, da.Prescribed((-xd, x), scaled=True))
        C_form = da.System((x, y), mass, (1, 0), rod, list(root * sp.Matrix([-xd, x])))
        one, two = (da.motion(system, (1, 1), (2, 2)) for system in (z_form, C_form))
        np.testing.assert_allclose(one.nonideal_force, two.nonideal_force, atol=1e-14)
        q = jnp.array([1.0, 1.0])
        for system in (z_form, C_form):
            engine = da.build(system).engine
            rows = engine.select_rows(q, 2 * q, 0.0, ()).rows
            np.testing.assert_allclose(engine.acceleration(q, 2 * q, 0.0, (), rows, None), two.acceleration, atol=1e-13)


def test_order_of_arguments_does_not_depend_on_the_process() -> None:
    code = (
        "import inspect, sys; sys.path.insert(0, '.'); from benchmarks.chains import chain; import dalembert as da\n"
        "from dalembert.lowering.programs import Programs\n"
        "from dalembert.lowering.symbolic import symbolic_functions\n"
        "source = da.build(chain(3)).native.source\n"
        "f = symbolic_functions(source); print(chain(3).parameter_names)\n"
        "print(inspect.getsource(f.terms.__closure__[0].cell_contents))\n"
        "lines = Programs(source, range(3), None).acceleration().tape.lines\n"
        "print([(line.name, [getattr(a, 'line', a) for a in line.arguments]) for line in lines])"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_import_is_light() -> None:
    heavy = ("jax", "diffrax", "matplotlib", "xarray", "scipy")
    code = f"import dalembert, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_double_precision_is_switched_on_by_the_import_before_or_after_jax() -> None:
    for code in ("import jax, dalembert", "import dalembert, jax"):
        script = f"{code}; print(jax.numpy.result_type(float))"
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "float64"


@pytest.mark.parametrize("eps", [1e-4, 1e-6])
def test_a_nearly_parallel_row_does_not_fake_an_independent_one(eps: float) -> None:
    """Rows a, a + εb, b of rank 2: without pivoting, rounding left of b would count as a third direction."""
    a_row, b_row = np.random.default_rng(0).normal(size=(2, 4))
    q = da.coordinates("q1:5")
    rows = [(a_row, 1), (a_row + eps * b_row, 1 + 2 * eps), (b_row, 2)]
    constraints = [
        da.Constraint(sum(float(c) * s.diff(da.t, 2) for c, s in zip(row, q, strict=True)) - right)
        for row, right in rows
    ]
    engine = build(da.System(q, sp.eye(4), (0,) * 4, constraints)).engine
    rest = jnp.zeros(4)
    selection = engine.select_rows(rest, rest, 0.0, ())
    expected = np.linalg.lstsq(np.array([a_row, b_row]), [1, 2], rcond=None)[0]
    assert selection.rank == 2
    np.testing.assert_allclose(engine.acceleration(rest, rest, 0.0, (), selection.rows, None), expected, atol=1e-12)
