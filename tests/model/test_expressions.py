"""Expressions given by a user: text is never evaluated, complex numbers and infinities are refused by name."""

import itertools
import pickle
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.model.constraint import named_constraints
from dalembert.model.expressions import as_expression, as_matrix
from dalembert.model.symbols import InternalSymbol, StateSymbols

x, y = da.coordinates("x y")
xd = x.diff(da.t)
k = da.parameters("k")


def one(force=0, mass=1, **fields) -> da.System:
    return da.System((x,), [[mass]], (force,), **fields)


def hostile(path: Path) -> list[str]:
    return [
        f"__import__('os').system('touch {path}')",
        f"open({str(path)!r}, 'w')",
        "().__class__.__bases__[0].__subclasses__()",
        "x.__class__",
        "sin(x)",
        "x + 1",
        "1 +",
        "lambda: 0",
        "",
        " x",
        "1/2",
        "1_000",
        "nan",
        "q.x",
    ]


WAYS_IN = {
    "applied_force": one,
    "applied_force by name": lambda e: da.System((x,), [[1]], {"x": e}),
    "mass_matrix": lambda e: one(mass=e),
    "mass_matrix as an array": lambda e: da.System((x,), np.array([[e]], object), (0,)),
    "lagrangian": lambda e: da.System.from_lagrangian(e, (x,)),
    "constraint": da.Constraint,
    "nonideal": lambda e: one(nonideal=[e]),
    "Prescribed": lambda e: da.Prescribed([e]),
    "Viscous": da.Viscous,
    "Quadratic": da.Quadratic,
    "Proportional": da.Proportional,
    "velocity": lambda e: da.Viscous(1, velocity=e),
    "velocities": lambda e: da.Viscous(1, velocity=(e,)),
    "Coulomb": da.Coulomb,
    "mu_static": lambda e: da.Coulomb(0.1, mu_static=e),
    "normal_force": lambda e: da.Coulomb(0.1, normal_force=e),
    "smoothing": lambda e: da.Coulomb(0.1, smoothing=e),
    "Stribeck": lambda e: da.Stribeck(0.1, 0.2, e),
    "ideal_force": da.ideal_force,
    "pfaffian": lambda e: da.pfaffian((x,), [[e]]),
    "pfaffian's vector": lambda e: da.pfaffian((x,), [[1]], [e]),
    "mass of a particle": lambda e: da.Particle("bob", e, (0, 0)),
    "spring": lambda e: da.Spring(da.ground.at(0, 0), da.Particle("bob", 1, (0, 0)), e),
    "gravity": lambda e: da.Gravity((0, e)),
}


@pytest.mark.parametrize("way", WAYS_IN)
def test_no_text_is_evaluated(way: str, tmp_path: Path):
    for text in hostile(tmp_path / "touched"):
        with pytest.raises(da.ModelError, match=r"neither a name nor a number|must be.*finite number"):
            WAYS_IN[way](text)
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize("way", WAYS_IN)
@pytest.mark.parametrize("thing", [b"1", True, None, {1}, np.bool_(True), 1j, 2 + 0j, np.timedelta64(3, "s"), sp.I * x])
def test_what_is_no_real_expression_is_refused_everywhere(way: str, thing: object):
    optional = thing is None and way in ("velocity", "mu_static", "normal_force", "smoothing")
    if optional or (way == "velocities" and thing is None):
        return
    with pytest.raises(da.ModelError, match=r"must be|must not"):
        WAYS_IN[way](thing)


def test_text_in_outputs_is_not_evaluated(tmp_path: Path):
    for text in hostile(tmp_path / "touched"):
        with pytest.raises(da.InputError, match="output `e` must be an expression; got the text"):
            da.linearize(one(-x), (0,), outputs={"e": text})
    assert not (tmp_path / "touched").exists()


def test_names_are_names_and_numbers_are_numbers():
    system = one("c", "2.5")
    assert system.parameter_names == ("c",)
    assert da.motion(system, (0,), (0,), parameters={"c": 5}).acceleration == pytest.approx(2)
    assert as_expression("-3e2", "`a`") == -300.0
    assert as_expression("7", "`a`") == 7
    assert as_expression("pi", "`a`") == sp.Symbol("pi") != sp.pi
    assert as_expression(Fraction(1, 3), "`a`") == sp.Rational(1, 3)
    assert as_expression(np.array(x**2, object), "`a`") == x**2
    assert as_matrix(np.array([["m", 0], [0, 1]], object), "`a`")[0, 0] == sp.Symbol("m")


def test_no_symbol_with_a_hostile_name_is_evaluated(tmp_path: Path):
    name = f"__import__('os').system('touch {tmp_path / 'touched'}')"
    system = one(-sp.Symbol(name) * x)
    found = da.motion(system, (2,), (0,), parameters={name: 3})
    assert found.acceleration == pytest.approx(-6)
    da.build(system).terms(np.array([2.0]), np.array([0.0]), 0.0, (3.0,))
    assert not (tmp_path / "touched").exists()


@pytest.mark.parametrize("e", [sp.I * x, sp.sqrt(-1) * x, sp.sqrt(-x) * sp.sqrt(-4), (-1) ** sp.Rational(1, 3) * x])
def test_complex_expressions_are_refused(e):
    with pytest.raises(da.ModelError, match="`applied_force` must be real"):
        one(e)
    with pytest.raises(da.ModelError, match="constraint `c` must be real"):
        da.Constraint(x - e, name="c")


def test_a_symbol_that_is_not_real_is_refused():
    with pytest.raises(da.ModelError, match="`applied_force` must be real; got `w`"):
        one(sp.Symbol("w", imaginary=True) ** 2)


def test_complex_numbers_are_refused_where_they_are_given():
    system = one(-k * x)
    message = "must be real; got complex numbers. Give their real parts"
    with pytest.raises(da.InputError, match=rf"`q0.*` {message}"):
        da.simulate(system, np.array([1 + 2j]), (0,), [0, 1], parameters={"k": 1})
    with pytest.raises(da.InputError, match=rf"`qd0.*` {message}"):
        da.simulate(system, (1,), {"x": 1 + 0j}, [0, 1], parameters={"k": 1})
    with pytest.raises(da.InputError, match=rf"`parameters\[k\]` {message}"):
        da.simulate(system, (1,), (0,), [0, 1], parameters={"k": 1j})
    with pytest.raises(da.InputError, match=rf"`times` {message}"):
        da.simulate(system, (1,), (0,), np.array([0, 1 + 0j]), parameters={"k": 1})
    with pytest.raises(da.InputError, match=rf"`t` {message}"):
        da.motion(system, (1,), (0,), 1j, parameters={"k": 1})
    with pytest.raises(da.InputError, match=rf"`q0` {message}"):
        da.simulate_ensemble(system, np.array([[1j], [2]]), (0,), [0, 1], parameters={"k": 1})


NAMES = ["q.x", "qd.x", "qdd.x", "Qi.x", "lam.rod", "t.", "hidden.0", "letter.0", "slot.0", "level.c"]


@pytest.mark.parametrize("name", NAMES)
def test_no_parameter_is_taken_for_a_symbol_of_the_library(name: str):
    """x'' = −10 at x = 2 with the constant 5, whatever the constant is called: −25 was found for `q.x`."""
    for c in (sp.Symbol(name), sp.Symbol(name, real=True)):
        system = one(-c * x)
        found = da.motion(system, (2,), (7,), parameters={name: 5})
        assert found.acceleration == pytest.approx(-10)
        free = one(0, constraints=da.Constraint(x - c * da.t**2, name="rod"))
        assert da.motion(free, (0,), (0,), parameters={name: 5}).acceleration == pytest.approx(10)
        run = da.simulate(system, (1,), (0,), [0, 1], parameters={name: 4})
        assert run.q[-1, 0] == pytest.approx(np.cos(2), abs=1e-8)
        assert system.symbols.restore(system.symbols.plain(c * x)) == sp.Symbol(name) * x


def test_a_parameter_named_as_a_sliding_direction():
    """Coulomb friction with sticking makes parameters of its own; a block on a line decelerates by μ g all the same."""
    mu = sp.Symbol("floor: along 0.1")
    z = da.coordinates("z")
    floor = da.Constraint(z, name="floor", nonideal=da.Coulomb(mu, mu_static=mu))
    block = da.System((x, z), sp.eye(2), (0, -10), floor)
    run = da.simulate(block, (0, 0), (3, 0), [0, 1, 5], parameters={"floor: along 0.1": 0.2})
    assert run.q[:, 0] == pytest.approx([0, 2, 2.25], abs=1e-8)


def test_internal_symbols_differ_print_and_pickle():
    internal = StateSymbols((x,)).q[0]
    assert internal != sp.Symbol("q.x", real=True)
    assert internal == InternalSymbol("q.x")
    assert hash(internal) == hash(InternalSymbol("q.x"))
    assert internal.is_real
    assert pickle.loads(pickle.dumps(internal)) == internal
    assert sp.lambdify([internal, sp.Symbol("q.x")], internal - sp.Symbol("q.x"))(3, 1) == 2
    c = sp.Symbol("q.x")
    derivation = da.derive(one(-c * x, constraints=da.Constraint(x - c * da.t, name="rod")))
    assert "q.x" in derivation.to_latex()


def test_infinite_and_unevaluated_expressions_are_refused():
    n = sp.Symbol("n")
    for e in (sp.zoo * x, sp.nan, sp.oo, x + 10**400):
        with pytest.raises(da.ModelError, match=r"`applied_force` must (be finite|hold numbers below 1e308)"):
            one(e)
    for e in (sp.Sum(x**n, (n, 0, sp.oo)), sp.Product(x, (n, 1, k)), sp.Sum(x**n, (n, 0, 10**6))):
        with pytest.raises(da.ModelError, match="constraint `c` must hold sums and products over at most 10000"):
            da.Constraint(e, name="c")
    with pytest.raises(da.ModelError, match="constraint `c` must be evaluated; got an unevaluated `Integral`"):
        da.Constraint(sp.Integral(sp.sin(n * x), (n, 0, 1)), name="c")


def test_finite_sums_and_products_are_written_out():
    n, m = sp.symbols("n m")
    assert as_expression(sp.Sum(x**n, (n, 0, 3)), "`a`") == 1 + x + x**2 + x**3
    assert as_expression(sp.Product(x + n, (n, 1, 2)), "`a`") == (x + 1) * (x + 2)
    assert as_expression(sp.Sum(n * m * x, (n, 1, m), (m, 1, 3)), "`a`") == 25 * x
    assert as_expression(sp.Sum(sp.Product(x, (n, 1, m)), (m, 1, 2)), "`a`") == x + x**2


def test_many_constraints_are_named_with_one_set_of_symbols(monkeypatch: pytest.MonkeyPatch):
    made, family = [], StateSymbols._family
    monkeypatch.setattr(StateSymbols, "_family", lambda self, prefix: made.append(prefix) or family(self, prefix))
    q = da.coordinates("q", 30)
    named = named_constraints(tuple(da.Constraint(u + v.diff(da.t)) for u, v in itertools.pairwise(q)), tuple(q))
    assert named[-1].name == "q[28] + q[29]'"
    assert sorted(made) == ["Qi", "q", "qd", "qdd"]
