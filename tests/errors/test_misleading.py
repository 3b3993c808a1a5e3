"""Messages at mistakes that are easily made: each says what to write instead."""

import numpy as np
import pytest
import sympy as sp

import dalembert as da
from dalembert.files.model import ModelFile

x, y = da.coordinates("x y")
k = da.parameters("k")
ROD = da.Constraint(x**2 + y**2 - 1, name="rod")
PENDULUM = da.System((x, y), sp.eye(2), (0, -10), ROD)
BOB = da.Particle("bob", 1, (1, 0))
MECHANISM = da.Mechanism(BOB, da.Rod("arm", da.ground.at(0, 0), BOB, length=1), da.Gravity((0, -10)))


def test_python_comparisons_are_no_equations():
    with pytest.raises(da.ModelError, match=r"constraint `c` must be an equation.*Python value False, which `==`.*Eq"):
        da.Constraint(x**2 + y**2 == k**2, name="c")
    with pytest.raises(
        da.ModelError, match=r"must be an equation.*Python value True, which `!=`.*`sympy.Eq\(left, right"
    ):
        da.Constraint(x**2 + y**2 != k**2)


@pytest.mark.parametrize("e", [x > 0, x < 1])
def test_strict_inequalities_are_no_constraints(e):
    with pytest.raises(da.ModelError, match=r"inequality that allows contact; got `.*Write `sympy.Ge\(left, right\)`"):
        da.Constraint(e, name="c")
    with pytest.raises(da.ModelError, match=r"must be an equation; got `Ne\(x\(t\), 0\)`"):
        da.Constraint(sp.Ne(x, 0), name="c")


VERBS = {
    "simulate": lambda s: da.simulate(s, (1, 0), (0, 0), [0, 1]),
    "motion": lambda s: da.motion(s, (1, 0), (0, 0)),
    "consistent_state": lambda s: da.consistent_state(s, (1, 0), (0, 0)),
    "simulate_ensemble": lambda s: da.simulate_ensemble(s, np.ones((2, 2)), (0, 0), [0, 1]),
    "check": da.check,
    "classify": da.classify,
    "derive": da.derive,
    "reduce": da.reduce,
    "build": da.build,
    "linearize": lambda s: da.linearize(s, (0, -1)),
    "flow": lambda s: da.flow(s, [0, 1]),
    "vakonomic": da.vakonomic,
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_mechanism_is_not_its_system(verb: str):
    with pytest.raises(da.InputError, match=r"got Mechanism: pass its `\.system`"):
        VERBS[verb](MECHANISM)


def test_a_misspelt_name_is_answered_with_the_nearest():
    with pytest.raises(AttributeError, match=r"no attribute `Columb`. Did you mean `Coulomb`\?"):
        da.Columb  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute `xyzzy`$"):
        da.xyzzy  # noqa: B018


PASSED_ON = {
    "reproduce": lambda **given: da.reproduce(da.simulate(PENDULUM, (1, 0), (0, 0), [0, 0.1]), **given),
    "simulate_to_store": lambda **given: da.simulate_to_store("a.zarr", PENDULUM, (1, 0), (0, 0), [0, 1], **given),
    "ModelFile.simulate": lambda **given: ModelFile(system=PENDULUM, times=(0, 1)).simulate(**given),
}


@pytest.mark.parametrize("function", PASSED_ON)
def test_arguments_that_are_passed_on_have_names(function: str):
    given = PASSED_ON[function]
    with pytest.raises(da.InputError, match=r"arguments of `da.simulate`; got `stepp`. Did you mean `step`\?"):
        given(stepp=0.1)
    with pytest.raises(da.InputError, match=r"got `q7`. They are: `parameters`, `rtol`"):
        given(q7=1)


def test_time_is_the_time_of_the_library():
    own = sp.Symbol("t", real=True)
    with pytest.raises(da.ModelError, match=r"must write time as `da.t`; got another symbol.*Use `t = da.t`"):
        da.System((x,), [[1]], (sp.sin(own),))
    with pytest.raises(da.ModelError, match=r"`coordinates` must be functions of `da.t`; .* another symbol named `t`"):
        da.System((sp.Function("x")(own),), [[1]], (0,))


def test_a_start_that_conflicting_constraints_exclude():
    system = da.System((x, y), sp.eye(2), (0, 0), [da.Constraint(x - 1, name="a"), da.Constraint(x - 2, name="b")])
    with pytest.raises(da.StateError, match=r"If constraints contradict one another, `da.check\(system\)` names them"):
        da.simulate(system, (1, 0), (0, 0), [0, 1])
    with pytest.raises(da.StateError, match=r"If they contradict one another, `da.check\(system\)` names them"):
        da.consistent_state(system, (1, 0), (0, 0))
    assert "`a`" in str(da.check(system))


def test_an_ensemble_does_not_recommend_what_it_has_not():
    many = da.simulate_ensemble(PENDULUM, np.array([[1.0, 0.0], [2.0, 0.0]]), (0, 0), [0, 1])
    reason = str(many["reason"].values[1])
    assert "`rod` is violated" in reason
    assert "allow_violation" not in reason
    bang = da.System((x,), [[1]], (1 / (1 - da.t) ** 3,))
    reason = str(da.simulate_ensemble(bang, [[0.0], [1.0]], (0,), [0, 2])["reason"].values[0])
    assert "solver=" not in reason or "run this member by `da.simulate`" in reason


@pytest.mark.parametrize("given", [[5, 5], "5", None, True, 5j, np.nan, np.array([1.0])])
def test_gains_are_one_number(given):
    with pytest.raises(da.InputError, match="`alpha` must be one finite number, the same for all constraints; got"):
        da.Baumgarte(given, 5)
    with pytest.raises(da.InputError, match="`beta` must be one finite number"):
        da.Baumgarte(5, given)


def test_iterations_are_a_whole_number():
    with pytest.raises(da.InputError, match=r"`iterations` must be a whole number, at least 1; got 1.5"):
        da.Projection(1.5)  # pyright: ignore


def test_arrays_where_an_expression_belongs():
    with pytest.raises(da.ModelError, match=r"`applied_force` must be an expression; got array\(\[1., 2.\]\)"):
        da.System((x,), [[1]], (np.array([1.0, 2.0]),))


def test_data_in_an_expression():
    """SciPy's splines cannot be called with a symbol; SymPy's can, and are the same polynomials."""
    from scipy.interpolate import CubicSpline

    at, values = [0, 1, 2, 3, 4], [0, 1, 0, 2, 1]
    force = sp.interpolating_spline(3, da.t, at, values)
    run = da.simulate(da.System((x,), [[1]], (force,)), (0,), (0,), [0, 2, 3.9])
    by_scipy = CubicSpline(at, values).antiderivative(2)
    np.testing.assert_allclose(run.q[:, 0], by_scipy(run.t), rtol=1e-7, atol=1e-12)


def test_virtual_displacements_have_no_labels():
    """An answer does not know the names of coordinates, so labels cannot be honoured."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    point = da.motion(PENDULUM, (1, 0), (0, 0))
    for given in (pandas.Series({"y": 0.0, "x": 1.0}), {"x": 0.0, "y": 1.0}):
        with pytest.raises(da.InputError, match="in the order of the coordinates, without labels"):
            point.virtual_work(given)
    with pytest.raises(da.InputError, match="masked entries"):
        point.virtual_work(np.ma.masked_array([0.0, 1.0], [True, False]))
    with pytest.raises(da.InputError, match="`displacement` must hold numbers"):
        point.virtual_work("ab")
    assert float(point.virtual_work(pandas.Series([0.0, 1.0]))) == 0


def test_members_are_not_paired_across_labels():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    one, other = pandas.Series([9.0, 10.0], index=["A", "B"]), pandas.Series([2.0, 1.0], index=["B", "A"])
    free = da.System((x, y), sp.eye(2), (k, da.parameters("g")))
    with pytest.raises(da.InputError, match=r"`parameters\[k\]` and `parameters\[g\]` must have the same labels"):
        da.simulate_ensemble(free, (0, 0), (0, 0), [0, 1], parameters={"k": one, "g": other})
    starts = pandas.DataFrame({"x": [0.0, 1.0], "y": [0.0, 1.0]}, index=["B", "A"])
    with pytest.raises(da.InputError, match=r"`q0` and `parameters\[k\]` must have the same labels"):
        da.simulate_ensemble(free, starts, (0, 0), [0, 1], parameters={"k": one, "g": 1.0})
    counted = pandas.Series([9.0, 10.0])
    with pytest.raises(da.InputError, match="must have the same labels"):
        da.simulate_ensemble(free, (0, 0), (0, 0), [0, 1], parameters={"k": counted, "g": counted[::-1]})
    both = da.simulate_ensemble(free, (0, 0), (0, 0), [0, 1], parameters={"k": one, "g": other[["A", "B"]]})
    np.testing.assert_allclose(both["q"].values[:, -1], [[4.5, 0.5], [5, 1]])


def test_names_of_subpackages_are_not_suggested():
    with pytest.raises(AttributeError, match=r"has no attribute `integrate`$"):
        _ = da.integrate  # pyright: ignore


def test_text_as_coordinates_of_pfaffian_forms():
    with pytest.raises(da.ModelError, match=r"`coordinates` must be coordinates, as `da\.coordinates` returns them"):
        da.pfaffian(["x", "y"], [[1, 2]])


def test_derivatives_of_something_else_than_a_run():
    with pytest.raises(da.InputError, match=r"`run` must be one of `da\.simulate` with events"):
        da.transition_matrix(MECHANISM)  # pyright: ignore
